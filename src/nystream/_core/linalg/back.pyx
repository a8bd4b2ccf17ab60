# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""From the factor of least squares to its weights: the shell around simd/back_kernel.h."""
import numpy as np

cimport numpy as cnp

from nystream._core.linalg.ldl import aligned_zeros

cnp.import_array()

cdef extern from "back_kernel.h" nogil:
    ctypedef void (*back_fn)(Py_ssize_t blocks, Py_ssize_t outputs, const double* L, const double* Q, Py_ssize_t ld,
                             double* W, double* scratch) noexcept
    back_fn back_pick() noexcept

cdef back_fn solve = back_pick()


def solution(const double[:, :, ::1] tiles, const double[:, ::1] q, Py_ssize_t dim, Py_ssize_t outputs):
    """(outputs, dim) w with L' w = q, L unit lower triangular in 8 x 8 tiles as simd/ldl_kernel.h keeps it."""
    cdef Py_ssize_t blocks = (dim + 7)//8
    if dim < 1 or outputs < 1 or tiles.shape[0] != blocks*(blocks + 1)//2 or tiles.shape[1] != 8 or tiles.shape[2] != 8:
        raise ValueError(f"{tiles.shape[0]} tiles are not the factor of {dim} features")
    if q.shape[0] < 8*blocks or q.shape[1] < outputs:
        raise ValueError(f"q must be at least ({8*blocks}, {outputs}), got ({q.shape[0]}, {q.shape[1]})")
    out = aligned_zeros(outputs, 8*blocks)
    cdef double[:, ::1] W = out
    cdef double[::1] scratch = np.empty(64*outputs)
    with nogil:
        solve(blocks, outputs, &tiles[0, 0, 0], &q[0, 0], q.shape[1], &W[0, 0], &scratch[0])
    return np.ascontiguousarray(out[:, :dim])
