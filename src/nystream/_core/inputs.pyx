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
    if not cnp.PyArray_CheckExact(x):  # a masked array is not what its memory says
        return False
    cdef cnp.ndarray a = <cnp.ndarray> x
    if (cnp.PyArray_TYPE(a) != cnp.NPY_FLOAT64 or cnp.PyArray_NDIM(a) != 1 or cnp.PyArray_DIM(a, 0) != d
            or not cnp.PyArray_IS_C_CONTIGUOUS(a) or not cnp.PyArray_ISBEHAVED_RO(a)):
        return False
    return _all_finite(<const double*> cnp.PyArray_DATA(a), d)


def clean_label(object y, bint sign):
    """(1,) float64 of a plain finite number (-1 or +1 with `sign`); None for anything that needs the full checks."""
    cdef double v
    if type(y) is not float and type(y) is not int and not isinstance(y, float):
        return None
    v = y
    if v - v != 0 or (sign and v != 1 and v != -1):
        return None
    cdef cnp.npy_intp one = 1
    cdef cnp.ndarray a = cnp.PyArray_SimpleNew(1, &one, cnp.NPY_FLOAT64)
    (<double*> cnp.PyArray_DATA(a))[0] = v
    return a


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
