# A Gram matrix and its inverse for compiled loops, kept right while points change places.
from nystream._core.expansions.expansion cimport Terms


cdef class Inverse:
    cdef readonly Py_ssize_t n          # points
    cdef readonly Py_ssize_t changes    # exchanges since the inverse was last computed
    cdef double* K                      # K + ridge, row i at K + i * n
    cdef double* G                      # its inverse, row i at G + i * n
    cdef double* k                      # n numbers: the kernel row of the last `solve`
    cdef double* d                      # n numbers: its coefficients
    cdef double* b                      # n numbers: the projection of the last `share`
    cdef double* c
    cdef double* rest
    cdef double own
    cdef object _K, _G, _work

    cdef int hold(self, object K, object G, Py_ssize_t changes) except -1
    cdef int compute(self, Terms f) except -1
    cdef int refresh(self) except -1
    cdef double solve(self, const double* k, double own) noexcept nogil
    cdef void share(self, Py_ssize_t r, double pivot) noexcept nogil
    cdef void exchange(self, Py_ssize_t r, double pivot) noexcept nogil
