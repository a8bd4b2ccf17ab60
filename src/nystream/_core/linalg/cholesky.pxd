# A lower triangular factor that grows, for compiled code that has one row at a time.


cdef class Triangle:
    cdef object _store
    cdef double* _L
    cdef Py_ssize_t _held               # panels that there is memory for
    cdef int _n

    cdef int _reserve(self, Py_ssize_t n) except -1
    cdef double* row(self, Py_ssize_t i) noexcept nogil
    cdef void _forward(self, double* b, int m) noexcept nogil
    cdef void _backward(self, double* b, int m) noexcept nogil
    cdef void solve_one(self, double* b) noexcept nogil
    cdef int append_one(self, const double* t, double pivot) except -1
