# Rounds of the learners on landmarks: whitened kernel rows, nearest landmarks, margins, ridge, Lanczos turns.
cimport numpy as cnp

from nystream._core.kernels cimport KernelRows
from nystream._core.linalg cimport Triangle


# ----------------------------------------------------------------------------------------------------------------------
# A row against stored points and the factor of their Gram matrix, for compiled rounds of one row.
# ----------------------------------------------------------------------------------------------------------------------
cdef enum: ROOM = 8     # numbers beyond a whitened row that solving for it writes to


cdef class WhitenedRow:
    cdef KernelRows form
    cdef Triangle triangle
    cdef Py_ssize_t m, d
    cdef const double* at
    cdef const double* scales
    cdef double* t                      # (m,) the whitened kernel row of the last row
    cdef object scratch
    cdef tuple arrays

    cdef int hold_points(self, cnp.ndarray points, cnp.ndarray scale) except -1
    cdef double whiten(self, const double* x, double* t) noexcept nogil
