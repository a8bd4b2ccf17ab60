# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The checks at the boundary, cheap enough for one row at a time."""
cimport numpy as cnp

cnp.import_array()


cdef bint _all_finite(const double* v, Py_ssize_t n) noexcept nogil:
    # x - x is 0 for every finite x and NaN otherwise; the sum of such zeros is 0 exactly
    cdef double s = 0
    cdef Py_ssize_t i
    for i in range(n):
        s += v[i] - v[i]
    return s == 0


def is_clean_row(object x, Py_ssize_t d):
    """x is a contiguous, finite float64 vector of length d: nothing to convert, nothing to refuse."""
    if not isinstance(x, cnp.ndarray):
        return False
    cdef cnp.ndarray a = <cnp.ndarray> x
    if (cnp.PyArray_TYPE(a) != cnp.NPY_FLOAT64 or cnp.PyArray_NDIM(a) != 1 or cnp.PyArray_DIM(a, 0) != d
            or not cnp.PyArray_IS_C_CONTIGUOUS(a) or not cnp.PyArray_ISBEHAVED_RO(a)):
        return False
    return _all_finite(<const double*> cnp.PyArray_DATA(a), d)


def all_finite(cnp.ndarray a):
    """Every element of a contiguous float64 array is finite (no temporary, any shape)."""
    if cnp.PyArray_TYPE(a) != cnp.NPY_FLOAT64 or not cnp.PyArray_ISCONTIGUOUS(a):
        raise TypeError("all_finite takes a contiguous float64 array")
    cdef const double* v = <const double*> cnp.PyArray_DATA(a)
    cdef Py_ssize_t n = cnp.PyArray_SIZE(a)
    cdef bint good
    with nogil:
        good = _all_finite(v, n)
    return good
