# A lower triangular factor that grows, for compiled code that has one row at a time.
from nystream._core.linalg.nested cimport NestedFactor


cdef class Triangle(NestedFactor):
    cdef double solve_one(self, double* b) noexcept nogil
    cdef int append_one(self, const double* t, double pivot) except -1
    cdef double* _place(self, Py_ssize_t i) noexcept nogil
