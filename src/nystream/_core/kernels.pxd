# Rows of kernel values, and the prediction of one row from them.
from cpython.ref cimport PyObject
from libc.float cimport FLT_MAX

from nystream._core.inputs cimport OneRow


# ----------------------------------------------------------------------------------------------------------------------
# Kernel rows for compiled loops that run without the interpreter: form.fill(...) on plain pointers.
# ----------------------------------------------------------------------------------------------------------------------
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


# ----------------------------------------------------------------------------------------------------------------------
# One row through several compiled learners, for whoever makes one answer of theirs.
# ----------------------------------------------------------------------------------------------------------------------
cdef struct Member:
    PyObject* state                     # what the learner holds by name,
    PyObject* solver                    # its solver,
    PyObject* part                      # what that holds,
    PyObject* engine                    # its compiled rounds,
    bint counted                        # whether it counts them itself,
    const void* z                       # the features of the row of the moment,
    PyObject* told                      # and who wants to `note` the row, or None


cdef class RowPanel:
    cdef readonly Py_ssize_t n          # of learners
    cdef list maps, held
    cdef object kept, members, answers
    cdef Member* member                 # (n,)
    cdef double* q                      # (n,) what they said
    cdef bint fits                      # whether maps and rounds go together

    cdef int hold(self, Py_ssize_t i, dict state, object solver, OneRow engine, object told) except -1
    cdef bint ready(self)
    cdef double mixed(self, double y) noexcept
