# The inverse of a Gram matrix for compiled loops, kept right while points change places.
from nystream._core.expansion cimport Terms


cdef class Inverse:
    cdef readonly Py_ssize_t n          # points
    cdef readonly Py_ssize_t changes    # exchanges since the matrix was last computed from the kernel
    cdef readonly double peak           # largest G_ii k(x_i, x_i) since then
    cdef Py_ssize_t capacity
    cdef double* G                      # row i at G + i * capacity
    cdef double* d                      # capacity numbers: the coefficients of the last `solve`
    cdef double* b                      # capacity numbers: the projection of the last `exchange`
    cdef double* c
    cdef object _G, _work

    cdef int reserve(self, Py_ssize_t n) except -1
    cdef double solve(self, const double* k, double own) noexcept nogil
    cdef void share(self, Py_ssize_t r, double pivot) noexcept nogil
    cdef void exchange(self, Py_ssize_t r, double pivot) noexcept nogil
    cdef bint worn(self, const double* own) noexcept nogil
    cdef int compute(self, Terms f) except -1
