# Rounds of the learners whose function is linear in features.
from nystream._core.inputs cimport OneRow
from nystream._core.losses cimport OutputLoss


# ----------------------------------------------------------------------------------------------------------------------
# Rounds on rows of numbers, one after the other, for compiled learners whose model has a fixed size.
# ----------------------------------------------------------------------------------------------------------------------
cdef class RowLoop(OneRow):
    cdef OutputLoss loss
    cdef Py_ssize_t K                   # outputs
    cdef Py_ssize_t width               # numbers in a row

    cdef int round(self, const void* x, const double* y, double weight, long long t, double* p) except -1 nogil
