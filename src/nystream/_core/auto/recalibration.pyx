# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Probabilities of classes made as sure as they turn out to be: maps that keep the order, learnt row by row."""
cimport numpy as cnp
from libc.math cimport exp, log
from libc.stdint cimport int64_t

from nystream._core.auto.arrays cimport blank, numbers, state, whole
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
    check(K > 0 and 0 <= mark[0] < BLOCK)
    for t in range(n if label else 0):
        check(0 <= label[t] < K)
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
                    A[4*m] = KEEP[m]*A[4*m] + u*ff
                    A[4*m + 1] = KEEP[m]*A[4*m + 1] + u*fg
                    A[4*m + 2] = A[4*m + 1]
                    A[4*m + 3] = KEEP[m]*A[4*m + 3] + u*gg
                    c[2*m] = KEEP[m]*c[2*m] + u*(ff*a + fg*b + dx)
                    c[2*m + 1] = KEEP[m]*c[2*m + 1] + u*(fg*a + gg*b + dy)
                follow(MAPS + 1, losses, share, u, SHARE)
                mark[0] += 1
                if mark[0] == BLOCK:
                    mark[0] = 0
                    for m in range(MAPS):
                        fitted(A + 4*m, c + 2*m, v + 2*m)
            x += K
            Q += K
    return out


cdef int check(bint fit) except -1:
    if not fit:
        raise ValueError("the arrays of the recalibration do not fit together")
    return 0
