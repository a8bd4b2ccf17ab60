# Factors of positive definite matrices: LDL of least squares, nested Nystrom coordinates, Cholesky that grows.
cimport numpy as cnp

from nystream._core.inputs cimport OneRow
from nystream._core.ldl_kernel cimport Scratch


# ----------------------------------------------------------------------------------------------------------------------
# The growing triangular factor of nested coordinates, for compiled code that has one row at a time.
# ----------------------------------------------------------------------------------------------------------------------
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


# ----------------------------------------------------------------------------------------------------------------------
# Exact streaming least squares for compiled loops: engine.rows(...) on plain pointers.
# ----------------------------------------------------------------------------------------------------------------------
cdef enum:                             # features from which one step is long enough to be worth giving up the GIL
    RELEASE = 256


cdef class LDL(OneRow):
    cdef readonly int dim, outputs
    cdef int blocks, ld, together
    cdef bint vovk
    cdef double clip
    cdef double* L
    cdef double* dinv
    cdef double* Q
    cdef double* totals
    cdef double* columns
    cdef object arrays
    cdef Scratch own

    cdef int _check(self, cnp.ndarray Z, int ndim) except -1
    cdef int _check_kept(self, cnp.ndarray kept, Py_ssize_t at) except -1
    cdef int rows(self, Py_ssize_t n, const double* Z, const double* Y, const double* w, double* P,
                  bint release) except -1
    cdef void _learn(self, Py_ssize_t n, const double* Z, const double* Y, const double* w, double* P) noexcept nogil
    cdef void _ask(self, Scratch* own, int S, const double* Z) noexcept nogil
    cdef void _emit(self, const double* m, double s, double* p) noexcept nogil


# ----------------------------------------------------------------------------------------------------------------------
# A lower triangular factor that grows, for compiled code that has one row at a time.
# ----------------------------------------------------------------------------------------------------------------------
cdef class Triangle(NestedFactor):
    cdef double solve_one(self, double* b) noexcept nogil
    cdef int append_one(self, const double* t, double pivot) except -1
    cdef double* _place(self, Py_ssize_t i) noexcept nogil
