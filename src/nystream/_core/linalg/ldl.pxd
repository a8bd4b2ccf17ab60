# Exact streaming least squares for compiled loops: engine.rows(...) on plain pointers.
cimport numpy as cnp

from nystream._core.linalg.ldl_kernel cimport Scratch
from nystream._core.one_row cimport OneRow

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
