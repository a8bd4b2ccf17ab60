# Terms of a kernel expansion for compiled loops: f = scale sum_i a_i k(x_i, .).
cimport numpy as cnp

from nystream._core.expansions.points cimport Points


cdef class Terms(Points):
    cdef readonly Py_ssize_t K          # outputs
    cdef readonly double scale          # S
    cdef readonly double cum            # sum of S over rounds since the last settlement
    cdef readonly long long rounds      # hypotheses in the average
    # entry i: a point, a[c*capacity + i], sums[c*capacity + i], diag[i] = k(x_i, x_i), born[i]
    cdef double* a
    cdef double* sums
    cdef double* diag
    cdef long long* born
    cdef object _coef, _past, _own, _birth

    cdef void begin(self, Py_ssize_t j) noexcept nogil
    cdef void scores(self, const double* k, double* f) noexcept nogil
    cdef void decay(self, double factor) noexcept nogil
    cdef void settle(self) noexcept nogil
    cdef int put(self, Py_ssize_t i, const void* x, const double* a, double own, long long birth) except -1 nogil
    cdef int append(self, const void* x, const double* a, double own, long long birth) except -1 nogil
    cdef void drop(self, Py_ssize_t i) noexcept nogil
    cdef Py_ssize_t oldest(self) noexcept nogil
    cdef cnp.ndarray as_point(self, cnp.ndarray x)
    cdef int check(self, Py_ssize_t i) except -1
