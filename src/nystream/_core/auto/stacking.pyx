# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rounds of stackers between two moves of their weights: predictions, and the sums that the next move is made from."""
import numpy as np

cimport numpy as cnp
from libc.math cimport exp

cnp.import_array()

cdef const double[::1] NONE = np.ones(1)    # in place of what was not given


def ridge_rounds(const double[:, :, ::1] F, const double[:, :, ::1] weights, const double[:, ::1] Y=None, given=None,
                 double[:, :, ::1] gram=None, double[:, ::1] sums=None):
    """(n, S, K) predictions f.w of S stackers from experts' outputs F (n, E, K), weights (S, K, E).

    With labels Y (n, K), rows weighted by `given` (n,) or 1, f f' is added to gram (K, E, E) and y f to sums (K, E).
    """
    cdef Py_ssize_t n = F.shape[0], E = F.shape[1], K = F.shape[2], S = weights.shape[0], t, s, k, i, j
    if weights.shape[1] != K or weights.shape[2] != E:
        raise ValueError(f"weights must be (S, {K}, {E}), got ({S}, {weights.shape[1]}, {weights.shape[2]})")
    cdef bint learn = Y is not None, weighted = given is not None
    cdef const double[::1] w = given if weighted else NONE
    if learn and (Y.shape[0] != n or Y.shape[1] != K or gram.shape[0] != K or gram.shape[1] != E or gram.shape[2] != E
                  or sums.shape[0] != K or sums.shape[1] != E or (weighted and w.shape[0] != n)):
        raise ValueError(f"{n} rounds of {E} outputs for {K} targets do not fit the labels or the sums")
    out = np.empty((n, S, K))
    cdef double[:, :, ::1] P = out
    cdef double p, f
    with nogil:
        for t in range(n):
            for k in range(K):
                for s in range(S):
                    p = 0
                    for i in range(E):
                        p += weights[s, k, i]*F[t, i, k]
                    P[t, s, k] = p
                if learn:
                    for i in range(E):
                        f = F[t, i, k]*(w[t] if weighted else 1.0)
                        sums[k, i] += f*Y[t, k]
                        for j in range(E):
                            gram[k, i, j] += f*F[t, j, k]
    return out


def softmax_rounds(const double[:, :, ::1] F, const double[:, ::1] weights, Py_ssize_t classes, labels=None, given=None,
                   double[:, ::1] gradient=None, double[:, :, ::1] hessian=None, double[:, ::1] curve=None):
    """(n, S, classes) probabilities of S stackers from scores F (n, E, C), weights (S, E + C): shared ones, biases.

    C = 1 for two classes, whose logits are 0 and w.f + b, else C = classes. With labels (n,), rows weighted by `given`
    or 1, the log loss's derivatives are added: to gradient (S, E + C), and the second ones either to hessian
    (S, E + C, E + C) or, where `curve` (S, C) is given, to hessian (S, E, E) those in w alone and to curve the
    probabilities: with twice both, the whole is bounded.
    """
    cdef Py_ssize_t n = F.shape[0], E = F.shape[1], C = F.shape[2], S = weights.shape[0], Q, t, s
    cdef bint learn = labels is not None, weighted = given is not None, apart = curve is not None
    if weights.shape[1] != E + C or classes != (2 if C == 1 else C):
        raise ValueError(f"weights (S, {weights.shape[1]}) do not fit scores of {E} experts for {classes} classes")
    cdef const double[::1] w = given if weighted else NONE
    cdef const double[::1] y = labels if learn else NONE
    Q = E if apart else E + C
    if learn and (y.shape[0] != n or (weighted and w.shape[0] != n) or gradient.shape[0] != S
                  or gradient.shape[1] != E + C or hessian.shape[0] != S or hessian.shape[1] != Q
                  or hessian.shape[2] != Q or (apart and (curve.shape[0] != S or curve.shape[1] != C))):
        raise ValueError(f"{n} rounds of {E} scores for {classes} classes do not fit the labels or the sums")
    out = np.empty((n, S, classes))
    if n == 0:
        return out
    cdef double[:, :, ::1] P = out
    cdef double[::1] mean = np.empty(E)
    with nogil:
        for t in range(n):
            for s in range(S):
                probabilities(&F[t, 0, 0], &weights[s, 0], E, C, &P[t, s, 0])
                if learn:
                    derivatives(&F[t, 0, 0], E, C, &P[t, s, classes - C], <Py_ssize_t> y[t] - (classes - C),
                                w[t] if weighted else 1.0, &gradient[s, 0], &hessian[s, 0, 0],
                                &curve[s, 0] if apart else NULL, &mean[0])
    return out


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
