# Kernel rows for compiled loops that run without the interpreter: form.fill(...) on plain pointers.
cdef class KernelRows:
    cdef int _op
    cdef int _map
    cdef int _degree
    cdef double _a
    cdef double _b
    cdef void fill(self, const double* X, Py_ssize_t n, const double* Y, Py_ssize_t m, Py_ssize_t d, double* out,
                   Py_ssize_t ldo) noexcept nogil
    cdef bint of_distance(self) noexcept nogil
    cdef void apply(self, double* v, Py_ssize_t n) noexcept nogil
