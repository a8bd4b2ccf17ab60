# Rounds of the learners whose function is a kernel expansion.
from nystream._core.inputs cimport OneRow
from nystream._core.losses cimport OutputLoss
from nystream._core.terms cimport Terms


# ----------------------------------------------------------------------------------------------------------------------
# What the compiled rounds of mistake-driven and stochastic-gradient learners share.
# ----------------------------------------------------------------------------------------------------------------------
cdef class Correction:
    cdef readonly Py_ssize_t K          # outputs
    cdef readonly OutputLoss loss
    cdef int rule
    cdef double C

    cdef int ask(self, const double* y, const double* p, double s, double weight, double* alpha) except -1 nogil
    cdef int gradient(self, const double* y, const double* p, double weight, double* alpha) except -1 nogil
    cdef void perceptron(self, const double* y, const double* p, double* alpha) noexcept nogil
    cdef void soft(self, const double* y, const double* p, double s, double slack, double* alpha) noexcept nogil


cdef class Blocks(OneRow):
    cdef Terms f
    cdef Py_ssize_t K                   # scores of a row
    cdef OutputLoss loss

    cdef Py_ssize_t room(self) noexcept
    cdef int prepare(self, const double* X, Py_ssize_t b) except -1
    cdef int round(self, Py_ssize_t j, const double* y, double weight, long long t, double* p) except -1 nogil


cdef class Loop(Blocks):
    cdef Correction rule
    cdef Py_ssize_t limit               # points that are stored at most
    cdef double* alpha                  # K numbers of scratch
    cdef object _alpha

    cdef void scores(self, Py_ssize_t j, double* p) noexcept nogil


# ----------------------------------------------------------------------------------------------------------------------
# The loop that stores every correction, for loops that refine it.
# ----------------------------------------------------------------------------------------------------------------------
cdef class Mistakes(Loop):
    cdef int keep(self, double own, long long t) except -1 nogil
