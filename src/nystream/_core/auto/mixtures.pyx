# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Mixtures of predictions: exponential weights, fixed share, members of the ensemble, persistence, recalibration."""
import numpy as np
cimport numpy as cnp
from libc.math cimport INFINITY, exp, fabs, fmax, fmin, log, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from nystream._core.auto.arrays cimport blank, for_columns, numbers, spread_out, state, whole, within
from nystream._core.kernels cimport RowPanel
from nystream._core.linear_kernel cimport clean

cnp.import_array()

# ----------------------------------------------------------------------------------------------------------------------
# Predictions of experts become one: the aggregating algorithm and the exponentially weighted average, row by row.
# ----------------------------------------------------------------------------------------------------------------------
cdef inline double log_sum(Py_ssize_t n, const double* a) noexcept nogil:
    """log sum exp a_i, without overflow."""
    cdef double top = a[0], total = 0
    cdef Py_ssize_t i
    for i in range(1, n):
        top = fmax(top, a[i])
    for i in range(n):
        total += exp(a[i] - top)
    return top + log(total)


cdef inline double substitution(Py_ssize_t n, const double* q, const double* W, double bound, double eta,
                                double* a) noexcept nogil:
    """(G(-B) - G(B)) / 4B with G(y) = -1/eta log sum w_i exp(-eta (y - q_i)^2); the norm of the weights cancels."""
    cdef double high
    cdef Py_ssize_t i
    for i in range(n):
        a[i] = W[i] - eta * (bound - q[i])**2
    high = log_sum(n, a)
    for i in range(n):
        a[i] = W[i] - eta * (bound + q[i])**2
    return (high - log_sum(n, a)) / (4*eta*bound)


cdef inline double average(Py_ssize_t n, const double* q, const double* W) noexcept nogil:
    """sum w_i q_i."""
    cdef double top = W[0], total = 0, p = 0, w
    cdef Py_ssize_t i
    for i in range(1, n):
        top = fmax(top, W[i])
    for i in range(n):
        w = exp(W[i] - top)
        total += w
        p += w * q[i]
    return p / total


cdef inline double aggregate_round(Py_ssize_t n, double* q, const double* prior, double* regret, double bound,
                                   double eta, bint aggregating, const double* y, double* W) noexcept nogil:
    """The prediction from those of n experts, q (clipped here); with a label, regret (n,) is brought up to date.

    W is scratch of 2n numbers.
    """
    cdef Py_ssize_t i
    cdef double p
    for i in range(n):
        q[i] = fmin(fmax(q[i], -bound), bound)
        W[i] = prior[i] + eta*regret[i]
    p = substitution(n, q, W, bound, eta, W + n) if aggregating else average(n, q, W)
    if y:
        for i in range(n):
            regret[i] += (p - q[i]) * (p + q[i] - 2*y[0])   # (p - y)^2 - (q - y)^2
    return p


def mix_aggregated(cnp.ndarray Q, cnp.ndarray log_prior, cnp.ndarray regrets, double bound, double eta,
                   bint aggregating, object Y=None):
    """Predictions (n, K) from those of N experts, Q (n, K, N), clipped to [-bound, bound] here (in place).

    regrets (K, N) are our squared loss so far minus that of each expert; with eta they are the log-weights, up to a
    constant. With labels Y (n, K) they are brought up to date after each row; without, nothing changes.
    """
    cdef Py_ssize_t n = Q.shape[0], K = Q.shape[1], N = Q.shape[2], _t, k
    if cnp.PyArray_TYPE(Q) != cnp.NPY_FLOAT64 or not cnp.PyArray_IS_C_CONTIGUOUS(Q):
        raise ValueError("Q must be a C-ordered float64 array")
    cdef double* q = <double*> cnp.PyArray_DATA(Q)
    cdef const double* prior = clean(log_prior, -1, N)
    cdef double* regret = <double*> clean(regrets, K, N)
    cdef const double* y = clean(Y, n, K) if Y is not None else NULL
    cdef cnp.ndarray out = np.empty((n, K)), memory = np.empty(2*N)
    cdef double* p = <double*> cnp.PyArray_DATA(out)
    cdef double* W = <double*> cnp.PyArray_DATA(memory)
    with nogil:
        for _t in range(n):
            for k in range(K):
                p[0] = aggregate_round(N, q, prior, regret + k*N, bound, eta, aggregating, y, W)
                if y:
                    y += 1
                p += 1
                q += N
    return out


cdef class Aggregated(RowPanel):
    """`mix_aggregated` of one row and one output, whose answers come from compiled learners."""
    cdef double bound, eta
    cdef bint aggregating
    cdef object arrays
    cdef const double* prior
    cdef double* regret
    cdef double* W

    def __init__(self, list learners, list groups, list told, cnp.ndarray log_prior, cnp.ndarray regrets, double bound,
                 double eta, bint aggregating):
        super().__init__(learners, groups, told)
        memory = np.empty(2*self.n)
        self.arrays = (log_prior, regrets, memory)
        self.prior, self.regret = clean(log_prior, -1, self.n), <double*> clean(regrets, 1, self.n)
        self.W = <double*> cnp.PyArray_DATA(<cnp.ndarray> memory)
        self.bound, self.eta, self.aggregating = bound, eta, aggregating

    cdef double mixed(self, double y) noexcept:
        return aggregate_round(self.n, self.q, self.prior, self.regret, self.bound, self.eta, self.aggregating, &y,
                               self.W)


# ----------------------------------------------------------------------------------------------------------------------
# Predictions of experts become one: exponential weights with a fixed share, row by row.
# ----------------------------------------------------------------------------------------------------------------------
cdef inline double share_round(Py_ssize_t n, double* q, double* weights, double* losses, double bound, double eta,
                               double share, const double* y, double* scratch) noexcept nogil:
    """The prediction from those of n experts, q (clipped here); with a label, weights and losses (n,) are brought up
    to date. n numbers of scratch."""
    cdef Py_ssize_t i
    cdef double p = 0
    for i in range(n):
        q[i] = fmin(fmax(q[i], -bound), bound)
        p += weights[i]*q[i]
    if y:
        for i in range(n):
            scratch[i] = (q[i] - y[0])*(q[i] - y[0])
            losses[i] += scratch[i]
        follow(n, scratch, weights, eta, share)
    return p


def mix_shared(cnp.ndarray Q, cnp.ndarray weights, cnp.ndarray losses, double bound, double eta, double share,
               object Y=None):
    """Predictions (n, K) from those of N experts, Q (n, K, N), clipped to [-bound, bound] here (in place).

    With labels Y (n, K), weights (K, N), each row summing to 1, and the squared losses so far (K, N) are brought up to
    date after each row; without, nothing changes.
    """
    cdef Py_ssize_t n = Q.shape[0], K = Q.shape[1], N = Q.shape[2], _t, k
    if cnp.PyArray_TYPE(Q) != cnp.NPY_FLOAT64 or not cnp.PyArray_IS_C_CONTIGUOUS(Q):
        raise ValueError("Q must be a C-ordered float64 array")
    cdef double* q = <double*> cnp.PyArray_DATA(Q)
    cdef double* v = <double*> clean(weights, K, N)
    cdef double* total = <double*> clean(losses, K, N)
    cdef const double* y = clean(Y, n, K) if Y is not None else NULL
    cdef cnp.ndarray out = np.empty((n, K)), memory = np.empty(N)
    cdef double* p = <double*> cnp.PyArray_DATA(out)
    cdef double* scratch = <double*> cnp.PyArray_DATA(memory)
    with nogil:
        for _t in range(n):
            for k in range(K):
                p[0] = share_round(N, q, v + k*N, total + k*N, bound, eta, share, y, scratch)
                if y:
                    y += 1
                p += 1
                q += N
    return out


cdef class Shared(RowPanel):
    """`mix_shared` of one row and one output, whose answers come from compiled learners."""
    cdef double bound, eta, share
    cdef object arrays
    cdef double* weights
    cdef double* losses
    cdef double* scratch

    def __init__(self, list learners, list groups, list told, cnp.ndarray weights, cnp.ndarray losses, double bound,
                 double eta, double share):
        super().__init__(learners, groups, told)
        memory = np.empty(self.n)
        self.arrays = (weights, losses, memory)
        self.weights, self.losses = <double*> clean(weights, 1, self.n), <double*> clean(losses, 1, self.n)
        self.scratch = <double*> cnp.PyArray_DATA(<cnp.ndarray> memory)
        self.bound, self.eta, self.share = bound, eta, share

    cdef double mixed(self, double y) noexcept:
        return share_round(self.n, self.q, self.weights, self.losses, self.bound, self.eta, self.share, &y,
                           self.scratch)


# ----------------------------------------------------------------------------------------------------------------------
# Predictions of stackers and the plain aggregation of experts, mixed by fixed shares round by round.
# ----------------------------------------------------------------------------------------------------------------------
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
    check_members(E <= N and -1 <= last < N and some > 0)
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
    check_members(E <= N)
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
            check_members(0 <= y[t] < K)
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
    check_members(cnp.PyArray_TYPE(steady) == cnp.NPY_INT64 and cnp.PyArray_NDIM(steady) == 1
                  and cnp.PyArray_IS_C_CONTIGUOUS(steady))
    cdef const int64_t* place = <const int64_t*> cnp.PyArray_DATA(steady)
    for i in range(cnp.PyArray_DIM(steady, 0)):
        check_members(0 <= place[i] < E)
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


cdef int check_members(bint fit) except -1:
    if not fit:
        raise ValueError("the arrays of experts, stackers, weights and labels do not fit together")
    return 0


# ----------------------------------------------------------------------------------------------------------------------
# The last class once more, as often as that was right so far; and counts of what came.
# ----------------------------------------------------------------------------------------------------------------------
cdef double TINY = 1e-300    # in place of a sum that is 0: with one class there is no other


def repeated(cnp.ndarray labels or None, cnp.ndarray counts, Py_ssize_t last, long long times):
    """(n, K) probabilities before each of the labels (n,); the last class and how often one was repeated, after them.

    counts (K,) of the classes are brought up to date; last = -1: there was none. Without labels, for one row.
    """
    cdef Py_ssize_t n = 1 if labels is None else cnp.PyArray_DIM(labels, 0), K = cnp.PyArray_DIM(counts, 0), t, c, y
    cdef double* seen = state(counts, 1, K, 0, 0)
    cdef const double* label = numbers(labels, 1, n, 0, 0) if labels is not None else NULL
    cdef cnp.ndarray out = blank(2, n, K, 0)
    cdef double* P = <double*> cnp.PyArray_DATA(out)
    cdef double rows = 0, others, stays, part
    if not -1 <= last < K:
        raise ValueError(f"the last class must be one of {K}, got {last}")
    for c in range(K):
        rows += seen[c]
    for t in range(n):
        if label and not 0 <= label[t] < K:
            raise ValueError(f"labels must be 0 to {K - 1}, got {label[t]}")
        others, stays = 0, 0
        for c in range(K):
            P[c] = seen[c] + 1 if c != last else 0
            others += P[c]
        if last >= 0:
            stays = (times + 0.5)/(rows if rows > 1 else 1)  # n rows have n - 1 pairs
        part = (1 - stays)/(others if others > TINY else TINY)
        for c in range(K):
            P[c] *= part
        if last >= 0:
            P[last] = stays
        if label:
            y = <Py_ssize_t> label[t]
            times += y == last
            last = y
            seen[y] += 1
            rows += 1
        P += K
    return out, last, times


# ----------------------------------------------------------------------------------------------------------------------
# Predictions and the last label, mixed where labels hardly ever change; row by row, rows after a change apart.
# ----------------------------------------------------------------------------------------------------------------------
cdef double PACE = 0.005            # rate of the means of steps, which are plain means before
cdef double RARE = 0.05             # labels hardly ever change: the mean size of steps, squared, over the mean square
cdef double LARGE = 9               # a step is a change: its square is so many times the mean square
cdef double[2] GUARD_KEEP = [0.9999, 0.98]        # of the sums, a row: after no step and after a change
cdef double RECENT = 3              # rows after a change of class that are counted apart
cdef double WILD = 1000             # an error counts at most so many times the distance of the last label
cdef double STAYS = 1.5, LEAVES = 0.5       # rows after a change with the last class and without, to begin with
cdef double GUARD_SHARE = 0.01            # of the mixture of classes


cdef inline bint rare(double size, double square) noexcept nogil:
    return size*size < RARE*square


cdef inline double part_of(double size, double square, double product, double length) noexcept nogil:
    """s: what the last label counts for."""
    if not rare(size, square):
        return 0.0
    if length <= 0 or product >= length:
        return 1.0
    return product/length if product > 0 else 0.0


cdef inline double moved(double step, double rate, double* size, double* square) noexcept nogil:
    """The means of steps after one more; and what it was: 1 a change, 0 none at all, else -1."""
    size[0] += rate*(step - size[0])
    square[0] += rate*(step*step - square[0])
    if step == 0:
        return 0.0
    return 1.0 if step*step > LARGE*square[0] else -1.0


cdef inline double rate_of(int64_t* steps) noexcept nogil:
    steps[0] += 1
    return 1.0/steps[0] if PACE*steps[0] < 1 else PACE


def guarded_targets(cnp.ndarray P, cnp.ndarray labels or None, cnp.ndarray given or None, cnp.ndarray last,
                    cnp.ndarray after, cnp.ndarray steps, cnp.ndarray sums, cnp.ndarray count):
    """Predictions (n, K) from such, P (n, K), and the last labels, each before its label is learnt.

    last (K,), nan before the first row; after (K,) what the last step was (`moved`); steps (2, K) means of sizes
    and squares of `count` (1,) steps; sums (2, 2, K) of (y - p)(last - p) and (last - p)^2, over rows after no
    step, then over rows after a change. labels (n, K) or None, then nothing is learnt; `given` are weights of rows.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(P, 0), K = cnp.PyArray_DIM(P, 1), t, k, c
    cdef const double* p = numbers(P, 2, n, K, 0)
    cdef const double* y = numbers(labels, 2, n, K, 0) if labels is not None else NULL
    cdef const double* w = numbers(given, 1, n, 0, 0) if given is not None else NULL
    cdef double* before = state(last, 1, K, 0, 0)
    cdef double* kind = state(after, 1, K, 0, 0)
    cdef double* size = state(steps, 2, 2, K, 0)
    cdef double* square = size + K
    cdef double* products = state(sums, 3, 2, 2, K)
    cdef int64_t* seen = whole(count, 1)
    cdef cnp.ndarray out = blank(2, n, K, 0)
    cdef double* q = <double*> cnp.PyArray_DATA(out)
    cdef double* product
    cdef double* length
    cdef double rate = 0, part, d, error, u
    with nogil:
        for t in range(n):
            u = w[t] if w else 1.0
            if y and K > 0 and before[0] == before[0]:
                rate = rate_of(seen)
            for k in range(K):
                q[k] = p[k]
                if kind[k] >= 0:
                    c = 1 if kind[k] > 0 else 0
                    product, length = products + 2*c*K + k, products + (2*c + 1)*K + k
                    d = before[k] - p[k]
                    part = part_of(size[k], square[k], product[0], length[0])
                    if part > 0:
                        q[k] = before[k] if part == 1 else p[k] + part*d
                    if y:
                        error = y[k] - p[k]
                        if fabs(error) > WILD*fabs(d):
                            error = WILD*fabs(d) if error > 0 else -WILD*fabs(d)
                        product[0] = GUARD_KEEP[c]*product[0] + u*error*d
                        length[0] = GUARD_KEEP[c]*length[0] + u*d*d
                if y:
                    if before[k] == before[k]:
                        kind[k] = moved(fabs(y[k] - before[k]), rate, size + k, square + k)
                    before[k] = y[k]
            p += K
            q += K
            y = y + K if y else NULL
    return out


def guarded_classes(cnp.ndarray P, cnp.ndarray labels or None, cnp.ndarray given or None, cnp.ndarray last,
                    cnp.ndarray after, cnp.ndarray steps, cnp.ndarray counts, cnp.ndarray shares, cnp.ndarray count):
    """The same for logarithms of probabilities P (n, K) and labels (n,); steps are 0 or 1.

    after (1,) is 1, 2, 3 in the rows after a change. counts (2,) of those rows that had the last class and that had
    not, shares (2,) of what was said and of no change.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(P, 0), K = cnp.PyArray_DIM(P, 1), t, k, y = 0, before
    cdef const double* p = numbers(P, 2, n, K, 0)
    cdef const double* label = numbers(labels, 1, n, 0, 0) if labels is not None else NULL
    cdef const double* w = numbers(given, 1, n, 0, 0) if given is not None else NULL
    cdef double* known = state(last, 1, 1, 0, 0)
    cdef double* since = state(after, 1, 1, 0, 0)
    cdef double* step = state(steps, 2, 2, 1, 0)
    cdef double* times = state(counts, 1, 2, 0, 0)
    cdef double* share = state(shares, 1, 2, 0, 0)
    cdef int64_t* seen = whole(count, 1)
    cdef cnp.ndarray out = blank(2, n, K, 0)
    cdef double* q = <double*> cnp.PyArray_DATA(out)
    cdef double stays, others, a, b, u, kind
    cdef double[2] losses
    check_guard(not known[0] >= K)
    for t in range(n if label else 0):
        check_guard(0 <= label[t] < K)
    with nogil:
        for t in range(n):
            u = w[t] if w else 1.0
            y = <Py_ssize_t> label[t] if label else 0
            memcpy(q, p, K*sizeof(double))
            if known[0] == known[0]:
                before = <Py_ssize_t> known[0]
                others = 0
                if since[0] > 0:
                    for k in range(K):
                        others += exp(p[k]) if k != before else 0.0
                if others > 0:
                    stays = (STAYS + times[0])/(STAYS + LEAVES + times[0] + times[1])
                    if rare(step[0], step[1]):
                        for k in range(K):
                            a = exp(p[k])
                            b = stays if k == before else (1 - stays)*(a/others)
                            q[k] = log(share[0]*a + share[1]*b)
                    if label:
                        a = exp(p[y])
                        b = stays if y == before else (1 - stays)*(a/others)
                        losses[0] = -log(a if a > LEAST else LEAST)
                        losses[1] = -log(b if b > LEAST else LEAST)
                        follow(2, losses, share, u, GUARD_SHARE)
                        times[0] = GUARD_KEEP[1]*times[0] + (u if y == before else 0.0)
                        times[1] = GUARD_KEEP[1]*times[1] + (0.0 if y == before else u)
                if label:
                    kind = moved(0.0 if y == before else 1.0, rate_of(seen), step, step + 1)
                    since[0] = since[0] + 1 if kind == 0 and 0 < since[0] < RECENT else kind
            if label:
                known[0] = y
            p += K
            q += K
    return out


def parts_of_targets(const double[::1] after, const double[:, ::1] steps, const double[:, :, ::1] sums):
    """(K,) what the last labels count for in the next predictions."""
    cdef Py_ssize_t K = after.shape[0], k, c
    check_guard(steps.shape[0] == 2 and steps.shape[1] == K and sums.shape[0] == 2 and sums.shape[1] == 2
                and sums.shape[2] == K)
    out = np.empty(K)
    cdef double[::1] parts = out
    for k in range(K):
        c = 1 if after[k] > 0 else 0
        parts[k] = part_of(steps[0, k], steps[1, k], sums[c, 0, k], sums[c, 1, k]) if after[k] >= 0 else 0.0
    return out


def part_of_class(const double[::1] after, const double[:, ::1] steps, const double[::1] shares):
    """What no change counts for in the next probabilities."""
    check_guard(after.shape[0] == 1 and steps.shape[0] == 2 and steps.shape[1] == 1 and shares.shape[0] == 2)
    return shares[1] if after[0] > 0 and rare(steps[0, 0], steps[1, 0]) else 0.0


cdef int check_guard(bint fit) except -1:
    if not fit:
        raise ValueError("the arrays of the guard do not fit together")
    return 0


# ----------------------------------------------------------------------------------------------------------------------
# Probabilities of classes made as sure as they turn out to be: maps that keep the order, learnt row by row.
# ----------------------------------------------------------------------------------------------------------------------
cdef enum:
    MAPS = 2
    BLOCK = 10      # rows in which the maps stay as they are

cdef double[2] MAP_KEEP = [0.995, 0.9995]
cdef double RIDGE = 1
cdef double MAP_SHARE = 0.0001      # of the mixture: about one change in ten thousand rows
cdef double FLOOR = 2e-6        # nor, over the number of classes, in a map
cdef double STEEP = 0.05        # a map's slope in log p is at least this


cdef void mapped(Py_ssize_t K, const double* logs, const double* p, const double* weights, double* q) noexcept nogil:
    """q (K,) in proportion to exp((1 + a/2) log p + 2 b p)."""
    cdef Py_ssize_t k
    cdef double most = -1e300, total = 0
    for k in range(K):
        q[k] = logs[k] + 0.5*weights[0]*logs[k] + 2*weights[1]*p[k]
        most = q[k] if q[k] > most else most
    for k in range(K):
        q[k] = exp(q[k] - most)
        total += q[k]
    for k in range(K):
        q[k] /= total


cdef void fitted(const double* A, const double* b, double* weights) noexcept nogil:
    """(A + RIDGE) weights = b, two by two; and then what makes the map rise with p."""
    cdef double s = A[0] + RIDGE, t = A[3] + RIDGE, u = A[1], det, slope
    det = s*t - u*u
    weights[0] = (t*b[0] - u*b[1])/det
    weights[1] = (s*b[1] - u*b[0])/det
    if 1 + 0.5*weights[0] < STEEP:
        weights[0] = 2*(STEEP - 1)
    slope = 1 + 0.5*weights[0]      # of log p; in all slope/p + 2 b, least at p = 1
    if slope + 2*weights[1] < STEEP:
        weights[1] = 0.5*(STEEP - slope)


def recalibrated(cnp.ndarray P, cnp.ndarray labels or None, cnp.ndarray given or None, cnp.ndarray squares,
                 cnp.ndarray sums, cnp.ndarray weights, cnp.ndarray shares, cnp.ndarray marks):
    """Logarithms (n, K) of the mixture of what was said, logarithms P (n, K), and of the maps; each before its label.

    squares (2, 4), sums and weights (2, 2) of the maps, shares (3,), marks (1,) rows since the maps moved. labels (n,)
    or None, then nothing is learnt; `given` are weights of rows.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(P, 0), K = cnp.PyArray_DIM(P, 1), t, k, m, y
    cdef const double* x = numbers(P, 2, n, K, 0)
    cdef const double* label = numbers(labels, 1, n, 0, 0) if labels is not None else NULL
    cdef const double* w = numbers(given, 1, n, 0, 0) if given is not None else NULL
    cdef double* A = state(squares, 2, MAPS, 4, 0)
    cdef double* c = state(sums, 2, MAPS, 2, 0)
    cdef double* v = state(weights, 2, MAPS, 2, 0)
    cdef double* share = state(shares, 1, MAPS + 1, 0, 0)
    cdef int64_t* mark = whole(marks, 1)
    check_maps(K > 0 and 0 <= mark[0] < BLOCK)
    for t in range(n if label else 0):
        check_maps(0 <= label[t] < K)
    cdef cnp.ndarray out = blank(2, n, K, 0), memory = blank(1, (MAPS + 2)*K, 0, 0)
    cdef double* Q = <double*> cnp.PyArray_DATA(out)
    cdef double* logs = <double*> cnp.PyArray_DATA(memory)
    cdef double* p = logs + K
    cdef double* maps = p + K
    cdef double* said
    cdef double[MAPS + 1] losses
    cdef double least = log(FLOOR/K), u, total, f, g, F, G, ff, fg, gg, dx, dy, a, b
    with nogil:
        for t in range(n):
            for k in range(K):
                logs[k] = x[k] if x[k] > least else least
                p[k] = exp(logs[k])
            for m in range(MAPS):
                mapped(K, logs, p, v + 2*m, maps + m*K)
            for k in range(K):
                total = share[0]*exp(x[k])
                for m in range(MAPS):
                    total += share[1 + m]*maps[m*K + k]
                Q[k] = log(total)
            if label:
                y = <Py_ssize_t> label[t]
                u = w[t] if w else 1.0
                total = exp(x[y])
                losses[0] = -log(total if total > LEAST else LEAST)
                for m in range(MAPS):
                    said = maps + m*K
                    losses[1 + m] = -log(said[y] if said[y] > LEAST else LEAST)
                    F = G = ff = fg = gg = 0
                    for k in range(K):
                        f, g = 0.5*logs[k], 2*p[k]
                        F += said[k]*f
                        G += said[k]*g
                        ff += said[k]*f*f
                        fg += said[k]*f*g
                        gg += said[k]*g*g
                    ff -= F*F
                    fg -= F*G
                    gg -= G*G
                    dx, dy = 0.5*logs[y] - F, 2*p[y] - G
                    a, b = v[2*m], v[2*m + 1]
                    A[4*m] = MAP_KEEP[m]*A[4*m] + u*ff
                    A[4*m + 1] = MAP_KEEP[m]*A[4*m + 1] + u*fg
                    A[4*m + 2] = A[4*m + 1]
                    A[4*m + 3] = MAP_KEEP[m]*A[4*m + 3] + u*gg
                    c[2*m] = MAP_KEEP[m]*c[2*m] + u*(ff*a + fg*b + dx)
                    c[2*m + 1] = MAP_KEEP[m]*c[2*m + 1] + u*(fg*a + gg*b + dy)
                follow(MAPS + 1, losses, share, u, MAP_SHARE)
                mark[0] += 1
                if mark[0] == BLOCK:
                    mark[0] = 0
                    for m in range(MAPS):
                        fitted(A + 4*m, c + 2*m, v + 2*m)
            x += K
            Q += K
    return out


cdef int check_maps(bint fit) except -1:
    if not fit:
        raise ValueError("the arrays of the recalibration do not fit together")
    return 0
