# The growing triangular factor of nested coordinates, for compiled code that has one row at a time.
cimport numpy as cnp


cdef class NestedFactor:
    cdef object _store
    cdef double* _R
    cdef Py_ssize_t _held       # panels that fit
    cdef readonly int n

    cdef double forward_one(self, double* z) noexcept nogil
    cdef void backward_one(self, double* z) noexcept nogil
    cdef int _solve(self, bint forward, Py_ssize_t rows, const double* K, Py_ssize_t ld, double* Z, Py_ssize_t columns,
                    double* squares) except -1
    cdef tuple _check(self, cnp.ndarray rows, Py_ssize_t columns, cnp.ndarray out)
    cdef int _reserve(self, Py_ssize_t panels) except -1
