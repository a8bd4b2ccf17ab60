# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Probabilities of classes made as sure as they turn out to be: maps that keep the order, learnt row by row."""
import numpy as np

cimport numpy as cnp
from libc.math cimport exp, log
from libc.stdint cimport int64_t

from nystream._core.auto.fixed_share cimport follow

cnp.import_array()

cdef enum:
    MAPS = 2
    BLOCK = 10      # rows in which the maps stay as they are

cdef double[2] KEEP = [0.995, 0.9995]
cdef double RIDGE = 1
cdef double SHARE = 0.0001      # of the mixture: about one change in ten thousand rows
cdef double LEAST = 1e-12       # no probability counts less in a loss
cdef double FLOOR = 2e-6        # nor, over the number of classes, in a map
cdef double STEEP = 0.05        # a map's slope in log p is at least this

cdef const double[::1] NONE = np.ones(1)    # in place of what was not given


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


def recalibrated(const double[:, ::1] P, labels, given, double[:, ::1] squares, double[:, ::1] sums,
                 double[:, ::1] weights, double[::1] shares, int64_t[::1] marks):
    """Logarithms (n, K) of the mixture of what was said, logarithms P (n, K), and of the maps; each before its label.

    squares (2, 4), sums and weights (2, 2) of the maps, shares (3,), marks (1,) rows since the maps moved. labels (n,)
    or None, then nothing is learnt; `given` are weights of rows.
    """
    cdef Py_ssize_t n = P.shape[0], K = P.shape[1], t, k, m, y
    cdef bint learn = labels is not None, weighted = given is not None
    cdef const double[::1] Y = labels if learn else NONE
    cdef const double[::1] w = given if weighted else NONE
    check(K > 0 and squares.shape[0] == MAPS and squares.shape[1] == 4 and sums.shape[0] == MAPS and sums.shape[1] == 2
          and weights.shape[0] == MAPS and weights.shape[1] == 2 and shares.shape[0] == MAPS + 1
          and marks.shape[0] == 1 and 0 <= marks[0] < BLOCK)
    check(not learn or (Y.shape[0] == n and (not weighted or w.shape[0] == n)))
    out = np.empty((n, K))
    cdef double[:, ::1] Q = out
    cdef double[:, ::1] said = np.empty((MAPS, K))
    cdef double[::1] logs = np.empty(K), p = np.empty(K)
    cdef double[MAPS + 1] losses
    cdef double least = log(FLOOR/K), u, total, f, g, F, G, ff, fg, gg, dx, dy, a, b
    cdef bint fits = True
    with nogil:
        for t in range(n):
            for k in range(K):
                logs[k] = P[t, k] if P[t, k] > least else least
                p[k] = exp(logs[k])
            for m in range(MAPS):
                mapped(K, &logs[0], &p[0], &weights[m, 0], &said[m, 0])
            for k in range(K):
                total = shares[0]*exp(P[t, k])
                for m in range(MAPS):
                    total += shares[1 + m]*said[m, k]
                Q[t, k] = log(total)
            if not learn:
                continue
            y = <Py_ssize_t> Y[t]
            if not 0 <= y < K:
                fits = False
                break
            u = w[t] if weighted else 1.0
            total = exp(P[t, y])
            losses[0] = -log(total if total > LEAST else LEAST)
            for m in range(MAPS):
                losses[1 + m] = -log(said[m, y] if said[m, y] > LEAST else LEAST)
                F = G = ff = fg = gg = 0
                for k in range(K):
                    f, g = 0.5*logs[k], 2*p[k]
                    F += said[m, k]*f
                    G += said[m, k]*g
                    ff += said[m, k]*f*f
                    fg += said[m, k]*f*g
                    gg += said[m, k]*g*g
                ff -= F*F
                fg -= F*G
                gg -= G*G
                dx, dy = 0.5*logs[y] - F, 2*p[y] - G
                a, b = weights[m, 0], weights[m, 1]
                squares[m, 0] = KEEP[m]*squares[m, 0] + u*ff
                squares[m, 1] = KEEP[m]*squares[m, 1] + u*fg
                squares[m, 2] = squares[m, 1]
                squares[m, 3] = KEEP[m]*squares[m, 3] + u*gg
                sums[m, 0] = KEEP[m]*sums[m, 0] + u*(ff*a + fg*b + dx)
                sums[m, 1] = KEEP[m]*sums[m, 1] + u*(fg*a + gg*b + dy)
            follow(MAPS + 1, losses, &shares[0], u, SHARE)
            marks[0] += 1
            if marks[0] == BLOCK:
                marks[0] = 0
                for m in range(MAPS):
                    fitted(&squares[m, 0], &sums[m, 0], &weights[m, 0])
    check(fits)
    return out


cdef int check(bint fit) except -1:
    if not fit:
        raise ValueError("the arrays of the recalibration do not fit together")
    return 0
