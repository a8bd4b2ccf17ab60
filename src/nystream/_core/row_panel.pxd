# One row through several compiled learners, for whoever makes one answer of theirs.


cdef class RowPanel:
    cdef readonly Py_ssize_t n          # of learners
    cdef list states, solvers, parts, engines, maps, held, told, counted
    cdef object group, answers
    cdef double* q                      # (n,) what they said

    cdef bint ready(self)
    cdef double mixed(self, double y) noexcept
