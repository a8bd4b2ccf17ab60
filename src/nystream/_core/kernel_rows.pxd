# Kernel rows for compiled loops that run without the interpreter: form.fill(...) on plain pointers.
from libc.float cimport FLT_MAX


cdef class KernelRows:
    cdef int _op
    cdef int _map
    cdef int _degree
    cdef double _a
    cdef double _b
    cdef double _narrow                 # _a in single precision
    cdef void fill(self, const double* X, Py_ssize_t n, const double* Y, Py_ssize_t m, Py_ssize_t d, double* out,
                   Py_ssize_t ldo) noexcept nogil
    cdef void fill_single(self, const float* X, Py_ssize_t n, const float* Y, Py_ssize_t m, Py_ssize_t d, double* out,
                          Py_ssize_t ldo) noexcept nogil
    cdef bint of_distance(self) noexcept nogil
    cdef void apply(self, double* v, Py_ssize_t n) noexcept nogil


cdef inline void narrow(const double* x, Py_ssize_t n, float* out) noexcept nogil:
    # beyond the range of float: its largest number, not infinity
    cdef Py_ssize_t i
    for i in range(n):
        out[i] = <float> (FLT_MAX if x[i] > FLT_MAX else -FLT_MAX if x[i] < -FLT_MAX else x[i])
