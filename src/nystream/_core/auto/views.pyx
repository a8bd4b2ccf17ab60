# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rows as experts see them: scaled columns with missing values at the mean; kernel values with a constant."""
import numpy as np

cimport numpy as cnp
from libc.math cimport INFINITY

from nystream._core.kernel_rows cimport KernelRows

cnp.import_array()

cdef enum:
    WORTH_RELEASING = 1 << 14    # numbers, below which giving up the GIL costs more than it gives


def scaled(const double[:, ::1] X, const double[::1] mean, const double[::1] scale, clip=None):
    """(n, d) (x - mean) / scale of every column, clipped to [-clip, clip]; 0 where x is nan."""
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], i, j
    if mean.shape[0] != d or scale.shape[0] != d:
        raise ValueError(f"rows of {d} columns need as many means and scales, got {mean.shape[0]} and {scale.shape[0]}")
    out = np.empty((n, d))
    cdef double[:, ::1] U = out
    cdef double most = INFINITY if clip is None else clip, u
    for i in range(n):
        for j in range(d):
            u = (X[i, j] - mean[j])/scale[j]
            u = most if u > most else (-most if u < -most else u)
            U[i, j] = u if u == u else 0.0
    return out


def with_constant(KernelRows kernel, const double[:, ::1] X, const double[:, ::1] points):
    """(n, m + 1) kernel values between the rows of X and m points, and a last column of ones."""
    cdef Py_ssize_t n = X.shape[0], m = points.shape[0], d = X.shape[1], i
    if points.shape[1] != d:
        raise ValueError(f"X has {d} columns and the points have {points.shape[1]}; rows must be equally long")
    out = np.empty((n, m + 1))
    cdef double[:, ::1] Z = out
    if n and m and n*m*d < WORTH_RELEASING:
        kernel.fill(&X[0, 0], n, &points[0, 0], m, d, &Z[0, 0], m + 1)
    elif n and m:
        with nogil:
            kernel.fill(&X[0, 0], n, &points[0, 0], m, d, &Z[0, 0], m + 1)
    for i in range(n):
        Z[i, m] = 1.0
    return out
