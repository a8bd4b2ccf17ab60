# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The stack of `Auto`: label lags, inputs, targets and stackers."""
cimport numpy as cnp
from libc.math cimport INFINITY, exp
from libc.string cimport memcpy

from nystream._core.auto.arrays cimport blank, for_columns, numbers, spread_out, state, within
from nystream._core.auto.fading_ridge cimport factor, solve

cnp.import_array()

# ----------------------------------------------------------------------------------------------------------------------
# Running means of labels and labels of before, as they stood before every row.
# ----------------------------------------------------------------------------------------------------------------------
cpdef cnp.ndarray lagged(cnp.ndarray T, cnp.ndarray means, cnp.ndarray rates):
    """(n, R + D, C) means before each of n rows of targets T (n, C); means (R + D, C) are brought up to date in place.

    After a row, mean += rate (target - mean); a mean that is nan, before the first row, becomes the target itself. What
    the last D, 0 or more, become is what the first was before: where its rate is 1, the label before the last one, the
    one before that, ...
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(T, 0), C = cnp.PyArray_DIM(T, 1), R = cnp.PyArray_DIM(rates, 0), _t, c
    cdef Py_ssize_t D = max(0, cnp.PyArray_DIM(means, 0) - R)
    cdef const double* y = numbers(T, 2, n, C, 0)
    cdef double* mean = state(means, 2, R + D, C, 0)
    cdef const double* pace = numbers(rates, 1, R, 0, 0)
    cdef cnp.ndarray out = blank(3, n, R + D, C)
    cdef double* before = <double*> cnp.PyArray_DATA(out)
    with nogil:
        for _t in range(n):
            memcpy(before, mean, (R + D)*C*sizeof(double))
            for c in range(C):
                remember(mean + c, C, pace, R, D, y[c])
            before += (R + D)*C
            y += C
    return out


# ----------------------------------------------------------------------------------------------------------------------
# What a stack hears of every row: outputs of experts within bounds, answers of others, the last labels.
# ----------------------------------------------------------------------------------------------------------------------
cpdef cnp.ndarray gathered(cnp.ndarray F, Py_ssize_t first, cnp.ndarray low, cnp.ndarray high, cnp.ndarray shift,
                           cnp.ndarray scale, cnp.ndarray answers=None, bint scaled=False, cnp.ndarray lags=None,
                           cnp.ndarray rates=None, cnp.ndarray T=None):
    """(n, E + M + R, C): outputs F (n, E, J), of which the columns from `first` on are wanted, within low and high
    (n, C), or (1, C), or (1, 1); answers (n, M, C), with `scaled` standardised and within the bounds too; and
    the label lags.

    lags (R, C) are running means of labels in their own units, as many as rates, and then labels of before; shift and
    scale (C,) or (1,) standardise them; one that is nan, before the first row, is heard as 0. With targets T (n, J)
    they are brought up to date after each row, as in `nystream._core.auto.lags.lagged`.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(F, 0), E = cnp.PyArray_DIM(F, 1), J = cnp.PyArray_DIM(F, 2), C = J - first
    cdef Py_ssize_t M = 0 if answers is None else cnp.PyArray_DIM(answers, 1), R = 0, paces = 0, N, t, i, c
    cdef Py_ssize_t low_down = 0, low_right = 0, high_down = 0, high_right = 0, shift_right = 0, scale_right = 0
    cdef const double* f = numbers(F, 3, n, E, J)
    cdef const double* least = spread_out(low, n, C, &low_down, &low_right)
    cdef const double* most = spread_out(high, n, C, &high_down, &high_right)
    cdef const double* zero = for_columns(shift, C, &shift_right)
    cdef const double* unit = for_columns(scale, C, &scale_right)
    cdef const double* others = NULL
    cdef double* means = NULL
    cdef const double* pace = NULL
    cdef const double* told = NULL
    if answers is not None:
        others = numbers(answers, 3, n, M, C)
    if lags is not None:
        R, paces = cnp.PyArray_DIM(lags, 0), cnp.PyArray_DIM(rates, 0)
        means, pace = state(lags, 2, max(R, paces), C, 0), numbers(rates, 1, paces, 0, 0)
        told = numbers(T, 2, n, J, 0) if T is not None else NULL
    N = E + M + R
    cdef cnp.ndarray out = blank(3, n, N, C)
    cdef double* g = <double*> cnp.PyArray_DATA(out)
    cdef double x, a, b
    with nogil:
        for t in range(n):
            for c in range(C):
                a, b = least[t*low_down + c*low_right], most[t*high_down + c*high_right]
                for i in range(E):
                    g[i*C + c] = within(f[i*J + first + c], a, b)
                for i in range(M):
                    x = others[i*C + c]
                    if scaled:
                        x = within((x - zero[c*shift_right])/unit[c*scale_right], a, b)
                    g[(E + i)*C + c] = x
                for i in range(R):
                    x = (means[i*C + c] - zero[c*shift_right])/unit[c*scale_right]
                    g[(E + M + i)*C + c] = x if x == x else 0
                if told:
                    x = told[first + c]*unit[c*scale_right] + zero[c*shift_right]
                    remember(means + c, C, pace, paces, R - paces, x)
            f += E*J
            g += N*C
            others += M*C
            told = told + J if told else NULL
    return out


# ----------------------------------------------------------------------------------------------------------------------
# Labels as they are learnt: whether all are within fences, in standard units, the range of those before; codes.
# ----------------------------------------------------------------------------------------------------------------------
def all_inside(cnp.ndarray Y, cnp.ndarray fences, cnp.ndarray outside):
    """Whether all labels Y (n, K) are within fences (2, K), and the running share of those that were not, (1, K), is 0.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(Y, 0), K = cnp.PyArray_DIM(Y, 1), t, k
    cdef const double* y = numbers(Y, 2, n, K, 0)
    cdef const double* fence = numbers(fences, 2, 2, K, 0)
    cdef const double* share = numbers(outside, 2, 1, K, 0)
    for k in range(K):
        if share[k] != 0:
            return False
    for t in range(n):
        for k in range(K):
            if fence[k] > y[t*K + k] or fence[K + k] < y[t*K + k]:
                return False
    return True


cpdef tuple entered(cnp.ndarray Y, cnp.ndarray low, cnp.ndarray high, cnp.ndarray shift, cnp.ndarray scale,
                    double around):
    """(n, K) standardised labels Y (n, K), (y - shift)/scale; and two bounds (n, K) in the same units, the range low
    to high (K,) of the labels before each row and `around` times it to both sides, 0 before the first.

    low and high, infinite before the first, are brought up to date.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(Y, 0), K = cnp.PyArray_DIM(Y, 1), _t, k
    cdef const double* y = numbers(Y, 2, n, K, 0)
    cdef double* least = state(low, 1, K, 0, 0)
    cdef double* most = state(high, 1, K, 0, 0)
    cdef const double* zero = numbers(shift, 1, K, 0, 0)
    cdef const double* unit = numbers(scale, 1, K, 0, 0)
    cdef cnp.ndarray out = blank(2, n, K, 0), under = blank(2, n, K, 0), over = blank(2, n, K, 0)
    cdef double* T = <double*> cnp.PyArray_DATA(out)
    cdef double* floor = <double*> cnp.PyArray_DATA(under)
    cdef double* ceiling = <double*> cnp.PyArray_DATA(over)
    cdef double a, b, more
    for _t in range(n):
        for k in range(K):
            a, b = least[k], most[k]
            if a == INFINITY:
                a, b = 0, 0
            more = around*(b - a)
            floor[k] = (a - more - zero[k])/unit[k]
            ceiling[k] = (b + more - zero[k])/unit[k]
            T[k] = (y[k] - zero[k])/unit[k]
            least[k] = y[k] if y[k] < least[k] else least[k]
            most[k] = y[k] if y[k] > most[k] else most[k]
        y += K
        T += K
        floor += K
        ceiling += K
    return out, under, over


def coded(cnp.ndarray Y, Py_ssize_t classes):
    """(n, 1 + classes) numbers of classes (n, 1) as targets: a constant 1, then codes -1/+1."""
    cdef Py_ssize_t n = cnp.PyArray_DIM(Y, 0), N = 1 + classes, t, c
    cdef const double* y = numbers(Y, 2, n, 1, 0)
    cdef cnp.ndarray out = blank(2, n, N, 0)
    cdef double* T = <double*> cnp.PyArray_DATA(out)
    for t in range(n):
        if not 0 <= y[t] < classes:
            raise ValueError(f"labels must be 0 to {classes - 1}, got {y[t]}")
        T[0] = 1
        for c in range(1, N):
            T[c] = -1
        T[1 + <Py_ssize_t> y[t]] = 1
        T += N
    return out


# ----------------------------------------------------------------------------------------------------------------------
# Rounds of stackers between two moves of their weights: predictions, and the sums that the next move is made from.
# ----------------------------------------------------------------------------------------------------------------------
cpdef cnp.ndarray ridge_rounds(cnp.ndarray F, cnp.ndarray weights, cnp.ndarray Y=None, cnp.ndarray given=None,
                               cnp.ndarray gram=None, cnp.ndarray sums=None):
    """(n, S, K) predictions f.w of S stackers from experts' outputs F (n, E, K), weights (S, K, E).

    With labels Y (n, K), rows weighted by `given` (n,) or 1, f f' is added to gram (K, E, E) and y f to sums (K, E).
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(F, 0), E = cnp.PyArray_DIM(F, 1), K = cnp.PyArray_DIM(F, 2)
    cdef Py_ssize_t S = cnp.PyArray_DIM(weights, 0), t, s, k, i, j
    cdef const double* f = numbers(F, 3, n, E, K)
    cdef const double* v = numbers(weights, 3, S, K, E)
    cdef const double* y = NULL
    cdef const double* w = NULL
    cdef double* squares = NULL
    cdef double* products = NULL
    if Y is not None:
        y, squares, products = numbers(Y, 2, n, K, 0), state(gram, 3, K, E, E), state(sums, 2, K, E, 0)
        w = numbers(given, 1, n, 0, 0) if given is not None else NULL
    cdef cnp.ndarray out = blank(3, n, S, K)
    cdef double* P = <double*> cnp.PyArray_DATA(out)
    cdef double p, u
    with nogil:
        for t in range(n):
            for k in range(K):
                for s in range(S):
                    p = 0
                    for i in range(E):
                        p += v[(s*K + k)*E + i]*f[i*K + k]
                    P[s*K + k] = p
                if y:
                    for i in range(E):
                        u = f[i*K + k]*(w[t] if w else 1.0)
                        products[k*E + i] += u*y[t*K + k]
                        for j in range(E):
                            squares[(k*E + i)*E + j] += u*f[j*K + k]
            f += E*K
            P += S*K
    return out


def ridge_systems(cnp.ndarray gram, cnp.ndarray sums, cnp.ndarray new_gram, cnp.ndarray new_sums, cnp.ndarray decay,
                  cnp.ndarray lam, double start, double rounding):
    """Equations A w = b whose solutions are weights of S stackers: A (S K, E, E) = gram + lam, b (S K, E, 1) = sums +
    lam start.

    gram (S K, E, E) and sums (S K, E) keep `decay` (S,) of what they were, and what is new, (K, E, E) and (K, E), is
    moved to them. lam (S,) is raised to `rounding` times the largest sum of squares.
    """
    cdef Py_ssize_t N = cnp.PyArray_DIM(gram, 0), E = cnp.PyArray_DIM(gram, 1), K = cnp.PyArray_DIM(new_gram, 0)
    cdef Py_ssize_t S = cnp.PyArray_DIM(decay, 0), r, k, i, j
    if N != S*K:
        raise ValueError(f"gram must be ({S*K}, {E}, {E}), got {N} matrices")
    cdef double* G = state(gram, 3, N, E, E)
    cdef double* g = state(sums, 2, N, E, 0)
    cdef double* H = state(new_gram, 3, K, E, E)
    cdef double* h = state(new_sums, 2, K, E, 0)
    cdef const double* keep = numbers(decay, 1, S, 0, 0)
    cdef const double* ridge = numbers(lam, 1, S, 0, 0)
    cdef cnp.ndarray left = blank(3, N, E, E), right = blank(3, N, E, 1)
    cdef double* A = <double*> cnp.PyArray_DATA(left)
    cdef double* b = <double*> cnp.PyArray_DATA(right)
    cdef double most, u
    with nogil:
        for r in range(N):
            k, u, most = r % K, keep[r//K], ridge[r//K]
            for i in range(E*E):
                G[r*E*E + i] = u*G[r*E*E + i] + H[k*E*E + i]
                A[r*E*E + i] = G[r*E*E + i]
            for i in range(E):
                most = rounding*G[(r*E + i)*E + i] if rounding*G[(r*E + i)*E + i] > most else most
            for i in range(E):
                g[r*E + i] = u*g[r*E + i] + h[k*E + i]
                b[r*E + i] = g[r*E + i] + most*start
                A[(r*E + i)*E + i] += most
        for j in range(K*E*E):
            H[j] = 0
        for j in range(K*E):
            h[j] = 0
    return left, right


def moving_rounds(cnp.ndarray F, cnp.ndarray Y, cnp.ndarray weights, cnp.ndarray gram, cnp.ndarray sums,
                  cnp.ndarray decay, cnp.ndarray lam, double start, double rounding, cnp.ndarray given=None):
    """(n, S, K) predictions f.w of stackers whose weights (S, K, E) move after every row, brought up to date in place.

    F (n, E, K), labels Y (n, K), rows weighted by `given` (n,) or 1. After a row gram (S, K, E, E) and sums (S, K, E)
    keep `decay` (S,) of what they were and gain f f' and y f; then w solves (gram + r) w = sums + r start, where r is
    lam (S,), or `rounding` times the largest sum of squares if that is more.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(F, 0), E = cnp.PyArray_DIM(F, 1), K = cnp.PyArray_DIM(F, 2)
    cdef Py_ssize_t S = cnp.PyArray_DIM(weights, 0), t, s, k, i, j
    if (cnp.PyArray_NDIM(gram) != 4 or cnp.PyArray_DIM(gram, 0) != S or cnp.PyArray_DIM(gram, 1) != K
            or cnp.PyArray_DIM(gram, 2) != E or cnp.PyArray_DIM(gram, 3) != E):
        raise ValueError(f"gram must be ({S}, {K}, {E}, {E}), got {(<object> gram).shape}")
    cdef const double* f = numbers(F, 3, n, E, K)
    cdef const double* y = numbers(Y, 2, n, K, 0)
    cdef const double* w = numbers(given, 1, n, 0, 0) if given is not None else NULL
    cdef const double* keep = numbers(decay, 1, S, 0, 0)
    cdef const double* ridge = numbers(lam, 1, S, 0, 0)
    cdef double* v = state(weights, 3, S, K, E)
    cdef double* G = state(gram, 4, S, K, E)
    cdef double* g = state(sums, 3, S, K, E)
    cdef cnp.ndarray out = blank(3, n, S, K), memory = blank(2, E + 1, E, 0)
    cdef double* P = <double*> cnp.PyArray_DATA(out)
    cdef double* L = <double*> cnp.PyArray_DATA(memory)
    cdef double* b = L + E*E
    cdef double* A
    cdef double* c
    cdef double p, u, most
    with nogil:
        for t in range(n):
            for s in range(S):
                for k in range(K):
                    A, c, p, most = G + (s*K + k)*E*E, g + (s*K + k)*E, 0, ridge[s]
                    for i in range(E):
                        p += v[(s*K + k)*E + i]*f[i*K + k]
                    P[s*K + k] = p
                    for i in range(E):
                        u = f[i*K + k]*(w[t] if w else 1.0)
                        c[i] = keep[s]*c[i] + u*y[k]
                        for j in range(E):
                            A[i*E + j] = keep[s]*A[i*E + j] + u*f[j*K + k]
                        most = rounding*A[i*E + i] if rounding*A[i*E + i] > most else most
                    for i in range(E):
                        b[i] = c[i] + most*start
                    factor(E, A, most, L)
                    solve(E, L, b, v + (s*K + k)*E)
            f, y, P = f + E*K, y + K, P + S*K
    return out


def softmax_rounds(cnp.ndarray F, cnp.ndarray weights, Py_ssize_t classes, cnp.ndarray labels=None,
                   cnp.ndarray given=None, cnp.ndarray gradient=None, cnp.ndarray hessian=None, cnp.ndarray curve=None):
    """(n, S, classes) probabilities of S stackers from scores F (n, E, C), weights (S, E + C): shared ones, biases.

    C = 1 for two classes, whose logits are 0 and w.f + b, else C = classes. With labels (n,), rows weighted by `given`
    or 1, the log loss's derivatives are added: to gradient (S, E + C), and the second ones either to hessian
    (S, E + C, E + C) or, where `curve` (S, C) is given, to hessian (S, E, E) those in w alone and to curve the
    probabilities: with twice both, the whole is bounded.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(F, 0), E = cnp.PyArray_DIM(F, 1), C = cnp.PyArray_DIM(F, 2)
    cdef Py_ssize_t S = cnp.PyArray_DIM(weights, 0), Q = E if curve is not None else E + C, t, s
    if classes != (2 if C == 1 else C):
        raise ValueError(f"scores of {C} columns do not fit {classes} classes")
    cdef const double* f = numbers(F, 3, n, E, C)
    cdef const double* v = numbers(weights, 2, S, E + C, 0)
    cdef const double* y = NULL
    cdef const double* w = NULL
    cdef double* slope = NULL
    cdef double* H = NULL
    cdef double* apart = NULL
    if labels is not None:
        y, slope, H = numbers(labels, 1, n, 0, 0), state(gradient, 2, S, E + C, 0), state(hessian, 3, S, Q, Q)
        w = numbers(given, 1, n, 0, 0) if given is not None else NULL
        apart = state(curve, 2, S, C, 0) if curve is not None else NULL
        for t in range(n):
            if not 0 <= y[t] < classes:
                raise ValueError(f"labels must be 0 to {classes - 1}, got {y[t]}")
    cdef cnp.ndarray out = blank(3, n, S, classes), memory = blank(1, E, 0, 0)
    cdef double* P = <double*> cnp.PyArray_DATA(out)
    cdef double* mean = <double*> cnp.PyArray_DATA(memory)
    with nogil:
        for t in range(n):
            for s in range(S):
                probabilities(f, v + s*(E + C), E, C, P)
                if y:
                    derivatives(f, E, C, P + (classes - C), <Py_ssize_t> y[t] - (classes - C), w[t] if w else 1.0,
                                slope + s*(E + C), H + s*Q*Q, apart + s*C if apart else NULL, mean)
                P += classes
            f += E*C
    return out


def softmax_systems(cnp.ndarray weights, cnp.ndarray gradient, cnp.ndarray hessian, cnp.ndarray new_hessian,
                    cnp.ndarray decay, cnp.ndarray lam, Py_ssize_t inputs, double start, double twice):
    """Of Newton's steps A x = b of S stackers, A (S, Q, Q) = twice hessian + lam, and b (S, N) = gradient + lam (1 -
    decay) (weights - those at the start), which are `start` for the first `inputs` and 0 for the biases.

    hessian (S, Q, Q) keeps `decay` (S,) of what it was, and what is new is moved to it; gradient (S, N) becomes 0.
    """
    cdef Py_ssize_t S = cnp.PyArray_DIM(weights, 0), N = cnp.PyArray_DIM(weights, 1), Q = cnp.PyArray_DIM(hessian, 1)
    cdef Py_ssize_t s, i
    cdef const double* v = numbers(weights, 2, S, N, 0)
    cdef double* slope = state(gradient, 2, S, N, 0)
    cdef double* H = state(hessian, 3, S, Q, Q)
    cdef double* new = state(new_hessian, 3, S, Q, Q)
    cdef const double* keep = numbers(decay, 1, S, 0, 0)
    cdef const double* ridge = numbers(lam, 1, S, 0, 0)
    cdef cnp.ndarray left = blank(3, S, Q, Q), right = blank(2, S, N, 0)
    cdef double* A = <double*> cnp.PyArray_DATA(left)
    cdef double* b = <double*> cnp.PyArray_DATA(right)
    cdef double pull
    with nogil:
        for s in range(S):
            pull = ridge[s]*(1 - keep[s])
            for i in range(N):
                b[s*N + i] = slope[s*N + i] + pull*(v[s*N + i] - (start if i < inputs else 0))
                slope[s*N + i] = 0
            for i in range(Q*Q):
                H[i] = keep[s]*H[i] + new[i]
                A[i] = twice*H[i]
                new[i] = 0
            for i in range(Q):
                A[i*Q + i] += ridge[s]
            H += Q*Q
            A += Q*Q
            new += Q*Q
    return left, right


cdef void probabilities(const double* F, const double* weights, Py_ssize_t E, Py_ssize_t C, double* P) noexcept nogil:
    cdef Py_ssize_t i, c, first = 1 if C == 1 else 0
    cdef double most, total = 0
    P[0] = 0
    for c in range(C):
        P[first + c] = weights[E + c]
    for i in range(E):
        for c in range(C):
            P[first + c] += weights[i]*F[i*C + c]
    most = P[0]
    for c in range(1, first + C):
        most = P[c] if P[c] > most else most
    for c in range(first + C):
        P[c] = exp(P[c] - most)
        total += P[c]
    for c in range(first + C):
        P[c] /= total


cdef void derivatives(const double* F, Py_ssize_t E, Py_ssize_t C, const double* p, Py_ssize_t label, double w,
                      double* gradient, double* H, double* curve, double* mean) noexcept nogil:
    """`label`: its place among the C modelled classes, -1 for the first of two."""
    cdef Py_ssize_t i, j, c, e, Q = E if curve != NULL else E + C
    cdef double h
    for i in range(E):
        mean[i] = 0
        for c in range(C):
            mean[i] += p[c]*F[i*C + c]
        gradient[i] += w*(mean[i] - (F[i*C + label] if label >= 0 else 0.0))
    for c in range(C):
        gradient[E + c] += w*(p[c] - (1.0 if c == label else 0.0))
    for i in range(E):
        for j in range(i + 1):
            h = -mean[i]*mean[j]
            for c in range(C):
                h += p[c]*F[i*C + c]*F[j*C + c]
            H[i*Q + j] += w*h
            if j < i:
                H[j*Q + i] += w*h
    if curve != NULL:
        for c in range(C):
            curve[c] += w*p[c]
        return
    for c in range(C):
        for i in range(E):
            h = w*p[c]*(F[i*C + c] - mean[i])
            H[i*Q + E + c] += h
            H[(E + c)*Q + i] += h
        for e in range(C):
            H[(E + c)*Q + E + e] += w*p[c]*((1.0 if c == e else 0.0) - p[e])
