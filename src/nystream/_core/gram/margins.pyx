# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The rounds of binary learners with margin phi' A^-1 theta, for a block of rows in their residual Gram matrix."""
import numpy as np

cimport numpy as cnp
from libc.math cimport fmax, sqrt

from nystream._core.linalg.linear_kernel cimport clean
from nystream._core.gram.residual cimport bounded, enter

cnp.import_array()

cdef enum: NOTHING, ENTERED, OUTSIDE   # what a round did; margin_learner.py counts on the order


cdef inline double gain(double label, double margin, double chi, double b) noexcept nogil:
    """Multiple of phi phi' that A gains by this round: below 0 if theta stays as it is too."""
    if b == 0:   # the second-order perceptron: mistakes, with 0 read as +1
        return 1.0 if (margin >= 0) != (label > 0) else -1.0
    return fmax(b - 1/chi, 0) if label*margin < 1 else -1.0


def margin_rounds(cnp.ndarray margins, cnp.ndarray G, cnp.ndarray own, cnp.ndarray y, double ridge, double trace,
                  double b):
    """One round per row -> (what each did (m,), scales (r,), entries (r,)) where r rows entered the factor.

    margins (m,) are those at the start of the block and become those before each round; G (m, m) is the block's
    residual Gram matrix, of which the upper triangle counts and is used up; own (m,) k(x, x); y (m, 1) labels; trace
    the trace of the factor's Gram matrix. b = 0: on a mistake theta += y phi, A += phi phi'. b > 0: where y margin < 1,
    theta += y phi and A += max(0, b - 1/chi) phi phi', chi = phi' A^-1 phi; rows that leave A alone stay OUTSIDE.

    With the whitened kernel row l(x) a margin is l(x).f + sum over rows outside y k(x, .)/ridge. `entries` are the part
    of f that belongs to the rows that entered; the older part loses y l / ridge for each row outside, which the caller
    does.
    """
    cdef Py_ssize_t m = cnp.PyArray_DIM(margins, 0), i, j, r = 0
    cdef cnp.ndarray did = np.zeros(m, dtype=np.int8), E = np.zeros((m, m)), rest = np.zeros((2, m))
    cdef double* f = <double*> clean(margins, -1, m)
    cdef double* g = <double*> clean(G, m, m)
    cdef const double* k = clean(own, -1, m)
    cdef const double* label = clean(y, m, 1)
    cdef double* e = <double*> cnp.PyArray_DATA(E)
    cdef double* scale = <double*> cnp.PyArray_DATA(rest)
    cdef double* entry = scale + m
    cdef signed char* act = <signed char*> cnp.PyArray_DATA(did)
    cdef double chi, rise, pivot
    with nogil:
        for j in range(m):
            if not k[j] > 0:   # no feature: nothing can be learnt
                continue
            chi = fmax(g[j*m + j] / ridge, k[j] / (ridge + trace))
            rise = gain(label[j], f[j], chi, b)
            if rise > 0:
                rise = bounded(rise, k[j], ridge)
                act[j], scale[r], pivot = ENTERED, sqrt(rise), sqrt(ridge * (1 + rise*chi))
                entry[r] = (label[j] / scale[r] - scale[r]*f[j]) / pivot
                trace += rise*k[j]
                enter(g, m, j, scale[r] / pivot, e + r*m)
                for i in range(j + 1, m):
                    f[i] += entry[r] * e[r*m + i]
                r += 1
            elif rise == 0:
                act[j] = OUTSIDE
                for i in range(j + 1, m):
                    f[i] += label[j] * g[j*m + i] / ridge
                for i in range(r):
                    entry[i] -= label[j] * e[i*m + j] / ridge
    return did, rest[0, :r].copy(), rest[1, :r].copy()
