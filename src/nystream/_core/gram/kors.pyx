# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The coins of kernel online row sampling for a block of rows, in their residual Gram matrix."""
import numpy as np

cimport numpy as cnp
from libc.math cimport sqrt

from nystream._core.linalg.linear_kernel cimport clean
from nystream._core.gram.residual cimport Score, bounded, enter, scored

cnp.import_array()


def toss(cnp.ndarray G, cnp.ndarray own, cnp.ndarray c, cnp.ndarray u, double ridge, double eps, double beta,
         Py_ssize_t room):
    """One round per row: (tau, p, kept), each (m,).

    G (m, m) is the residual Gram matrix of the rows and is used up, own (m,) their k(x, x), c (m,) their scales, u (m,)
    their uniforms. Row j is kept if u_j < p_j, then weighs 1/p_j; after `room` rows none is kept any more.
    """
    cdef Py_ssize_t m = cnp.PyArray_DIM(G, 0), j
    cdef double* g = <double*> clean(G, m, m)
    cdef const double* k = clean(own, -1, m)
    cdef const double* scale = clean(c, -1, m)
    cdef const double* coin = clean(u, -1, m)
    cdef cnp.ndarray out = np.zeros((3, m)), kept = np.zeros(m, dtype=bool)
    cdef double* tau = <double*> cnp.PyArray_DATA(out)
    cdef double* p = tau + m
    cdef double* e = tau + 2*m
    cdef cnp.npy_bool* keep = <cnp.npy_bool*> cnp.PyArray_DATA(kept)
    cdef double weight
    cdef Score q
    with nogil:
        for j in range(m):
            q = scored(g[j*m + j], k[j], scale[j] * scale[j], ridge, eps, beta)
            tau[j] = q.tau
            if room <= 0:
                continue
            p[j] = q.p
            if coin[j] < q.p:
                keep[j] = True
                room -= 1
                weight = bounded(scale[j] * scale[j] / q.p, k[j], ridge)
                enter(g, m, j, sqrt(weight / (ridge + weight * g[j*m + j])), e)
    return out[0], out[1], kept
