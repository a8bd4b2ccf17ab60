# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The checks at the boundary, cheap enough for one row at a time."""
cimport numpy as cnp

from nystream._core.one_row cimport all_numbers, clean_number, clean_row

cnp.import_array()


def is_clean_row(object x, Py_ssize_t d):
    """x is a contiguous, finite float64 vector of length d: nothing to convert, nothing to refuse."""
    return clean_row(x, d) != NULL


def clean_label(object y, bint sign):
    """(1,) float64 of a plain finite number (-1 or +1 with `sign`); None for anything that needs the full checks."""
    cdef double v = 0
    if not clean_number(y, sign, &v):
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
        good = all_numbers(v, n)
    return good
