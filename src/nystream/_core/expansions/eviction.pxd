# A bounded buffer of terms for compiled loops: keeper.admit(...) stores the present row and drops one entry if needed.
from nystream._core.expansions.expansion cimport Terms


cdef class Eviction:
    cdef readonly str rule
    cdef readonly Py_ssize_t budget     # 0: none
    cdef Terms f
    cdef int code
    cdef Py_ssize_t ld
    cdef double* factor                 # project: Cholesky factor of the Gram matrix, by columns
    cdef Py_ssize_t* order              # slot of each row of the factor
    cdef Py_ssize_t* place              # row of the factor of each slot
    cdef double* work
    cdef Py_ssize_t* partners
    cdef object _factor, _order, _place, _work, _partners

    cdef Py_ssize_t limit(self) noexcept nogil
    cdef int admit(self, const double* alpha, double own, long long t) except -1 nogil
    cdef void expire(self, long long t) noexcept nogil
    cdef Py_ssize_t smallest(self) noexcept nogil
    cdef int replace(self, const double* a, double own, long long t) except -1 nogil
    cdef void project(self) noexcept nogil
    cdef int merge(self, long long t) except -1 nogil
    cdef Py_ssize_t partner(self, Py_ssize_t i, double* h) noexcept nogil
    cdef int unite(self, Py_ssize_t i, Py_ssize_t j, double h, long long t) except -1 nogil
