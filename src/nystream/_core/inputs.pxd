# Checks of inputs, and small loops over one row: running sums, standardised rows, ring buffers, coins.
cimport numpy as cnp
from numpy.random cimport bitgen_t


# ----------------------------------------------------------------------------------------------------------------------
# One row, one number for a label and one for an answer: the shortest way from Python into compiled rounds.
# ----------------------------------------------------------------------------------------------------------------------
cdef class RowMap:
    cdef readonly Py_ssize_t d          # columns of a row

    cdef Py_ssize_t features(self) noexcept
    cdef int bytes(self) noexcept
    cdef int fill(self, Py_ssize_t n, const double* x, void* z) except -1
    cdef int passed(self) except -1


cdef class OneRow:
    cdef bint signs                     # labels are -1 or +1
    cdef void* _row_at                  # features of the row of the moment
    cdef object _held_row

    cdef Py_ssize_t accepts(self) noexcept
    cdef int bytes(self) noexcept
    cdef int one(self, const void* x, double y, long long t, double* p) except -1
    cdef const void* mapped(self, RowMap map, object x) except? NULL


cdef inline bint all_numbers(const double* v, Py_ssize_t n) noexcept nogil:
    # x - x is 0 for every finite x and NaN otherwise; the sum of such zeros is 0 exactly, in any order
    cdef double a = 0, b = 0, c = 0, d = 0
    cdef Py_ssize_t i = 0
    while i + 4 <= n:
        a += v[i] - v[i]
        b += v[i + 1] - v[i + 1]
        c += v[i + 2] - v[i + 2]
        d += v[i + 3] - v[i + 3]
        i += 4
    while i < n:
        a += v[i] - v[i]
        i += 1
    return a + b + c + d == 0


cdef inline const double* clean_row(object x, Py_ssize_t d) noexcept:
    """The numbers of a contiguous, finite float64 vector of length d; NULL for anything to convert or to refuse."""
    if not cnp.PyArray_CheckExact(x):   # a masked array is not what its memory says
        return NULL
    cdef cnp.ndarray a = <cnp.ndarray> x
    if (cnp.PyArray_TYPE(a) != cnp.NPY_FLOAT64 or cnp.PyArray_NDIM(a) != 1 or cnp.PyArray_DIM(a, 0) != d
            or not cnp.PyArray_IS_C_CONTIGUOUS(a) or not cnp.PyArray_ISBEHAVED_RO(a)):
        return NULL
    cdef const double* v = <const double*> cnp.PyArray_DATA(a)
    return v if all_numbers(v, d) else NULL


cdef inline bint clean_number(object y, bint signs, double* v) except -1:
    """Whether y is a plain finite number, -1 or +1 with `signs`; then v is that number."""
    if type(y) is not float and type(y) is not int and not isinstance(y, float):
        return False
    v[0] = y
    return v[0] - v[0] == 0 and (not signs or v[0] == 1 or v[0] == -1)


# ----------------------------------------------------------------------------------------------------------------------
# Uniform numbers one at a time, for compiled rounds.
# ----------------------------------------------------------------------------------------------------------------------
cdef class Coins:
    cdef object rng
    cdef bitgen_t* bits

    cpdef double toss(self) except? -1
