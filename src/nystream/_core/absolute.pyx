# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Weighted sums of absolute differences, column by column: what the scales of a Laplacian kernel have as gradients."""
import numpy as np

cimport numpy as cnp
from libc.math cimport fabs

cnp.import_array()


def absolute_sums(const double[:, ::1] W, const double[:, ::1] U, const double[:, ::1] V):
    """(d,) the sums over all pairs of rows of W_ik |u_ij - v_kj|, for U (n, d), V (m, d) and weights W (n, m)."""
    cdef Py_ssize_t n = U.shape[0], m = V.shape[0], d = U.shape[1], i, k, j
    if V.shape[1] != d or W.shape[0] != n or W.shape[1] != m:
        raise ValueError(f"weights ({W.shape[0]}, {W.shape[1]}) do not fit to rows ({n}, {d}) and ({m}, {V.shape[1]})")
    out = np.zeros(d)
    if not (n and m and d):
        return out
    cdef double[::1] total = out
    cdef double* t = &total[0]
    cdef const double* u
    cdef const double* v
    cdef double w
    with nogil:
        for i in range(n):
            u = &U[i, 0]
            for k in range(m):
                v = &V[k, 0]
                w = W[i, k]
                for j in range(d):
                    t[j] += w*fabs(u[j] - v[j])
    return out
