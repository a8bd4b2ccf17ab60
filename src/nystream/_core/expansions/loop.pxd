# What the compiled rounds of mistake-driven and stochastic-gradient learners share.
cimport numpy as cnp

from nystream._core.expansions.expansion cimport Terms


cdef class Correction:
    cdef readonly Py_ssize_t K          # outputs
    cdef readonly Py_ssize_t columns    # numbers in a label
    cdef int rule, kind, multi_rule
    cdef bint multiclass
    cdef double a, b, C
    cdef const double* margins          # K x K, or NULL
    cdef const double* similarity
    cdef double* work
    cdef object loss, _arrays

    cdef void mix(self, double* v) noexcept nogil
    cdef int check(self, const double* y, Py_ssize_t n) except -1
    cdef int ask(self, const double* y, const double* p, double s, double weight, double* alpha) except -1 nogil
    cdef int gradient(self, const double* y, const double* p, double weight, double* alpha) except -1 nogil
    cdef void perceptron(self, const double* y, const double* p, double* alpha) noexcept nogil
    cdef void capped(self, const double* y, const double* p, double s, double c, double* alpha) noexcept nogil
    cdef void soft(self, const double* y, const double* p, double s, double slack, double* alpha) noexcept nogil
    cdef int ask_python(self, const double* y, const double* p, double* g) except -1


cdef class Blocks:
    cdef Terms f
    cdef Py_ssize_t K                   # scores of a row
    cdef bint multiclass                # a label is a class number; else K numbers

    cdef Py_ssize_t room(self) noexcept
    cdef int prepare(self, cnp.ndarray X, Py_ssize_t start, Py_ssize_t b) except -1
    cdef int round(self, Py_ssize_t j, const double* y, double weight, long long t, double* p) except -1 nogil


cdef class Loop(Blocks):
    cdef Correction rule
    cdef Py_ssize_t limit               # points that are stored at most
    cdef double* alpha                  # K numbers of scratch
    cdef object _alpha

    cdef void scores(self, Py_ssize_t j, double* p) noexcept nogil


cdef int between(Terms f, Py_ssize_t i, double* row) except -1 nogil
