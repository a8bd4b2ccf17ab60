# One row through several compiled learners, for whoever makes one answer of theirs.
from cpython.ref cimport PyObject

from nystream._core.one_row cimport OneRow


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
