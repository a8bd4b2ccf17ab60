# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Predictions of stackers and the plain aggregation of experts, mixed by fixed shares round by round."""
cimport numpy as cnp
from libc.math cimport INFINITY, log, sqrt
from libc.stdint cimport int64_t

from nystream._core.auto.arrays cimport blank, for_columns, numbers, spread_out, state, within
from nystream._core.auto.fixed_share cimport follow

cnp.import_array()

cdef double SURE = 0.99      # the aggregation is never surer than that
cdef double LEAST = 1e-12    # no probability falls below this


cpdef tuple mix_targets(cnp.ndarray G, cnp.ndarray stacked, cnp.ndarray experts, cnp.ndarray members, Py_ssize_t last,
                        Py_ssize_t aside, cnp.ndarray steady, cnp.ndarray low, cnp.ndarray high, cnp.ndarray shift,
                        cnp.ndarray scale, double eta, double share, cnp.ndarray T=None, cnp.ndarray given=None,
                        cnp.ndarray recent=None, double rate=0.0, double reach=INFINITY, Py_ssize_t early=0):
    """Predictions (n, K), and what there is to know of the experts: see below.

    G (n, N, K) is what the stack hears, the outputs of the E experts first, and stacked (n, S, K) what its stackers say
    of it. experts (K, E) and members (K, M) are weights: M = S + 1, the last of them the aggregation, or S + 2 where
    G[:, last], the last label as it is, is one before it, else last = -1. With standardised targets T (n, K) both move
    by squared losses, times the rows' weights `given`, and recent (1, E) follows the experts' losses. In the first
    `early` rows a target farther than `reach` from the prediction moves weights as one that far. Predictions are within
    low and high, (n, K), (1, K) or (1, 1), and times scale plus shift, (K,) or (1,).

    (n, K) the standard deviation over all experts but the last `aside`, times scale; (n,) with targets the least
    squared error, the mean over K, among experts at places `steady`, 0 where there are none; and (n, K) the mean of
    those, or of all where there are none, times scale plus shift.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(G, 0), N = cnp.PyArray_DIM(G, 1), K = cnp.PyArray_DIM(G, 2), t, k, i
    cdef Py_ssize_t E = cnp.PyArray_DIM(experts, 1), S = cnp.PyArray_DIM(stacked, 1), M = S + 1 + (last >= 0)
    cdef Py_ssize_t some = E - aside, places = cnp.PyArray_DIM(steady, 0)
    cdef Py_ssize_t low_down = 0, low_right = 0, high_down = 0, high_right = 0, shift_right = 0, scale_right = 0
    check(E <= N and -1 <= last < N and some > 0)
    cdef const double* F = numbers(G, 3, n, N, K)
    cdef const double* Q = numbers(stacked, 3, n, S, K)
    cdef double* of_experts = state(experts, 2, K, E, 0)
    cdef double* of_members = state(members, 2, K, M, 0)
    cdef const int64_t* place = places_in(steady, E)
    cdef const double* least = spread_out(low, n, K, &low_down, &low_right)
    cdef const double* most = spread_out(high, n, K, &high_down, &high_right)
    cdef const double* zero = for_columns(shift, K, &shift_right)
    cdef const double* unit = for_columns(scale, K, &scale_right)
    cdef const double* Y = NULL
    cdef const double* w = NULL
    cdef double* mean_losses = NULL
    if T is not None:
        Y, mean_losses = numbers(T, 2, n, K, 0), state(recent, 2, 1, E, 0)
        w = numbers(given, 1, n, 0, 0) if given is not None else NULL
    cdef cnp.ndarray out = blank(2, n, K, 0), deviation = blank(2, n, K, 0), middle = blank(2, n, K, 0)
    cdef cnp.ndarray errors = blank(1, n, 0, 0), memory = blank(1, M + E + (E if E > M else M) + places, 0, 0)
    cdef double* P = <double*> cnp.PyArray_DATA(out)
    cdef double* D = <double*> cnp.PyArray_DATA(deviation)
    cdef double* error = <double*> cnp.PyArray_DATA(errors)
    cdef double* core = <double*> cnp.PyArray_DATA(middle)
    cdef double* q = <double*> cnp.PyArray_DATA(memory)
    cdef double* all_losses = q + M
    cdef double* misses = all_losses + E
    cdef double* losses = misses + places
    cdef double p, mean, u, a, b, y = 0
    with nogil:
        for t in range(n):
            for i in range(E):
                all_losses[i] = 0
            for i in range(places):
                misses[i] = 0
            u = w[t] if w else 1.0
            for k in range(K):
                a, b = zero[k*shift_right], unit[k*scale_right]
                q[M - 1], mean = 0, 0
                for i in range(E):
                    q[M - 1] += of_experts[k*E + i]*F[i*K + k]
                p = 0
                for i in range(M):
                    if i < S:
                        q[i] = Q[i*K + k]
                    elif i < M - 1:
                        q[i] = F[last*K + k]
                    p += of_members[k*M + i]*q[i]
                p = within(p, least[t*low_down + k*low_right], most[t*high_down + k*high_right])
                P[k] = p*b + a
                if Y:
                    y = within(Y[k], p - reach, p + reach) if t < early else Y[k]
                for i in range(some):
                    mean += F[i*K + k]
                mean /= some
                p = 0
                for i in range(some):
                    p += (F[i*K + k] - mean)*(F[i*K + k] - mean)
                D[k] = sqrt(p/some)*b
                p = 0
                if places:
                    for i in range(places):
                        p += F[place[i]*K + k]
                    p /= places
                else:
                    for i in range(E):
                        p += F[i*K + k]
                    p /= E
                core[k] = p*b + a
                if Y:
                    for i in range(E):
                        losses[i] = (F[i*K + k] - Y[k])*(F[i*K + k] - Y[k])
                        all_losses[i] += losses[i]/K
                    for i in range(places):
                        misses[i] += losses[place[i]]
                    for i in range(E):
                        losses[i] = (F[i*K + k] - y)*(F[i*K + k] - y)
                    follow(E, losses, of_experts + k*E, eta*u, share)
                    for i in range(M):
                        losses[i] = (q[i] - y)*(q[i] - y)
                    follow(M, losses, of_members + k*M, eta*u, share)
            error[t] = least_of(places, misses, K)
            if Y:
                remember(E, all_losses, mean_losses, rate)
                Y += K
            F += N*K
            Q += S*K
            P += K
            D += K
            core += K
    return out, deviation, errors, middle


def mix_classes(cnp.ndarray G, cnp.ndarray stacked, cnp.ndarray experts, cnp.ndarray members, cnp.ndarray same or None,
                cnp.ndarray steady, double eta, double share, Py_ssize_t first=0, cnp.ndarray T=None,
                cnp.ndarray labels=None, cnp.ndarray given=None, cnp.ndarray recent=None, double rate=0.0):
    """Probabilities (n, K) from scores G (n, N, C), those of the E experts first, C = 1 for K = 2, and stacked
    probabilities (n, S, K); and (n,), with labels, the least squared error as in `mix_targets`.

    experts (1, E) and members (1, M) are weights as there; `same` (n, K) are the probabilities of the member before the
    last, None: there is none. With targets T (n, J), codes from column `first` on, and labels (n,) the first move by
    mean squared losses and rate eta, the second by log losses and rate 1.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(G, 0), N = cnp.PyArray_DIM(G, 1), C = cnp.PyArray_DIM(G, 2), t, i, c
    cdef Py_ssize_t E = cnp.PyArray_DIM(experts, 1), S = cnp.PyArray_DIM(stacked, 1), M = S + 1 + (same is not None)
    cdef Py_ssize_t J = first + C, K = 2 if C == 1 else C, places = cnp.PyArray_DIM(steady, 0)
    check(E <= N)
    cdef const double* F = numbers(G, 3, n, N, C)
    cdef const double* Q = numbers(stacked, 3, n, S, K)
    cdef double* of_experts = state(experts, 2, 1, E, 0)
    cdef double* of_members = state(members, 2, 1, M, 0)
    cdef const double* again = numbers(same, 2, n, K, 0) if same is not None else NULL
    cdef const int64_t* place = places_in(steady, E)
    cdef const double* y = NULL
    cdef const double* code = NULL
    cdef const double* w = NULL
    cdef double* mean_losses = NULL
    if labels is not None:
        y, code, mean_losses = numbers(labels, 1, n, 0, 0), numbers(T, 2, n, J, 0), state(recent, 2, 1, E, 0)
        w = numbers(given, 1, n, 0, 0) if given is not None else NULL
        for t in range(n):
            check(0 <= y[t] < K)
    cdef cnp.ndarray out = blank(2, n, K, 0), errors = blank(1, n, 0, 0)
    cdef cnp.ndarray memory = blank(1, K + (E if E > M else M) + places, 0, 0)
    cdef double* P = <double*> cnp.PyArray_DATA(out)
    cdef double* error = <double*> cnp.PyArray_DATA(errors)
    cdef double* q = <double*> cnp.PyArray_DATA(memory)
    cdef double* misses = q + K
    cdef double* losses = misses + places
    cdef double total, u, loss, p
    with nogil:
        for t in range(n):
            u = w[t] if w else 1.0
            aggregated(F, of_experts, E, C, q)
            total = 0
            for c in range(K):
                P[c] = of_members[M - 1]*q[c]
                for i in range(M - 1):
                    p = Q[i*K + c] if i < S else again[c]
                    P[c] += of_members[i]*(p if p > LEAST else LEAST)
                total += P[c]
            for c in range(K):
                P[c] /= total
            if y:
                for i in range(E):
                    loss = 0
                    for c in range(C):
                        loss += (F[i*C + c] - code[first + c])*(F[i*C + c] - code[first + c])
                    losses[i] = loss/C
                for i in range(places):
                    misses[i] = losses[place[i]]
                remember(E, losses, mean_losses, rate)
                follow(E, losses, of_experts, eta*u, share)
                c = <Py_ssize_t> y[t]
                for i in range(M):
                    loss = q[c] if i == M - 1 else (Q[i*K + c] if i < S else again[c])
                    losses[i] = -log(loss if loss > LEAST else LEAST)
                follow(M, losses, of_members, u, share)
                code += J
            error[t] = least_of(places if y else 0, misses, 1)
            F += N*C
            Q += S*K
            P += K
            again = again + K if again else NULL
    return out, errors


cdef const int64_t* places_in(cnp.ndarray steady, Py_ssize_t E) except? NULL:
    """Places of experts, all of which there are."""
    cdef Py_ssize_t i
    check(cnp.PyArray_TYPE(steady) == cnp.NPY_INT64 and cnp.PyArray_NDIM(steady) == 1
          and cnp.PyArray_IS_C_CONTIGUOUS(steady))
    cdef const int64_t* place = <const int64_t*> cnp.PyArray_DATA(steady)
    for i in range(cnp.PyArray_DIM(steady, 0)):
        check(0 <= place[i] < E)
    return place


cdef inline double least_of(Py_ssize_t n, const double* sums, Py_ssize_t K) noexcept nogil:
    """Of means of K numbers; nan where one is, 0 where there are none."""
    cdef double least = sums[0]/K if n else 0, one
    cdef Py_ssize_t i
    for i in range(1, n):
        one = sums[i]/K
        least = one if one < least or one != one else least
    return least


cdef void aggregated(const double* F, const double* experts, Py_ssize_t E, Py_ssize_t C, double* q) noexcept nogil:
    """Probabilities from the experts' mean score, between -1 and 1."""
    cdef Py_ssize_t i, c, first = 1 if C == 1 else 0
    cdef double total = 0, p
    for c in range(C):
        p = 0
        for i in range(E):
            p += experts[i]*F[i*C + c]
        p = 0.5*(p + 1)
        q[first + c] = SURE if p > SURE else (1 - SURE if p < 1 - SURE else p)
    if C == 1:
        q[0] = 1 - q[1]
    for c in range(first + C):
        total += q[c]
    for c in range(first + C):
        q[c] = q[c]/total if q[c]/total > LEAST else LEAST


cdef void remember(Py_ssize_t N, const double* losses, double* recent, double rate) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(N):
        if recent[i] != recent[i]:
            recent[i] = losses[i]
        else:
            recent[i] += rate*(losses[i] - recent[i])


cdef int check(bint fit) except -1:
    if not fit:
        raise ValueError("the arrays of experts, stackers, weights and labels do not fit together")
    return 0
