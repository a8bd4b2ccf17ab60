# A lower triangular factor that grows, for compiled code that has one row at a time.


cdef class Triangle:
    cdef object _store
    cdef double[:, ::1] _L
    cdef int _n

    cdef void _reserve(self, int n) except *
    cdef void solve_one(self, double* b) noexcept nogil
    cdef int append_one(self, const double* t, double pivot) except -1
