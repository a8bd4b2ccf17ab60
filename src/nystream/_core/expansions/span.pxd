# The span of stored points for compiled loops: projection on it, distance to it, one more point.


cdef class Span:
    cdef readonly Py_ssize_t n          # points
    cdef Py_ssize_t capacity
    cdef double* L                      # row i of the factor at L + i * capacity
    cdef double* z                      # capacity numbers: L^-1 k of the last `reach`
    cdef double* d                      # capacity numbers: K^-1 k of the last `project`
    cdef double* over                   # capacity numbers: 1 over the diagonal of L
    cdef object _L, _work

    cdef int reserve(self, Py_ssize_t n) except -1
    cdef double reach(self, const double* k, double own) noexcept nogil
    cdef void project(self) noexcept nogil
    cdef void extend(self, double delta2) noexcept nogil
