# Rounds of the learners on sparse rows of tables.
from libc.stdint cimport int64_t, uint32_t

from nystream._core.tokens cimport Work


# ----------------------------------------------------------------------------------------------------------------------
#
# ----------------------------------------------------------------------------------------------------------------------
cdef enum: SQUARED = 0, LOGISTIC = 1, SOFTMAX = 2

cdef extern from *:
    """
    #define FAR 5.0   /* residuals of standardised labels beyond count as this */
    """
    double FAR


cdef class SparseRounds:
    cdef double[:, :, ::1] table
    cdef double[:, ::1] moments
    cdef double[::1] norm
    cdef int kind, K, M
    cdef uint32_t direct
    cdef bint pairs
    cdef Py_ssize_t scratch
    cdef object _rounds(self, const int64_t[::1] begin, const int64_t[::1] end, const uint32_t[::1] columns,
                        const double[::1] values, const double[:, ::1] Y, const double[::1] weights)
    cdef void _round(self, Work* work, const double* y, double weight, double* P, double* F) noexcept nogil
    cdef void _residuals(self, const double* y, const double* p, double* e) noexcept nogil
    cdef void _count_norm(self, double size, double weight) noexcept nogil
