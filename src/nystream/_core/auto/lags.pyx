# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Running means of labels and labels of before, as they stood before every row."""
cimport numpy as cnp
from libc.string cimport memcpy

from nystream._core.auto.arrays cimport blank, numbers, state

cnp.import_array()


cpdef cnp.ndarray lagged(cnp.ndarray T, cnp.ndarray means, cnp.ndarray rates):
    """(n, R + D, C) means before each of n rows of targets T (n, C); means (R + D, C) are brought up to date in place.

    After a row, mean += rate (target - mean); a mean that is nan, before the first row, becomes the target itself. What
    the last D, 0 or more, become is what the first was before: where its rate is 1, the label before the last one, the
    one before that, ...
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(T, 0), C = cnp.PyArray_DIM(T, 1), R = cnp.PyArray_DIM(rates, 0), _t, c
    cdef Py_ssize_t D = max(0, cnp.PyArray_DIM(means, 0) - R)
    cdef const double* y = numbers(T, 2, n, C, 0)
    cdef double* mean = state(means, 2, R + D, C, 0)
    cdef const double* pace = numbers(rates, 1, R, 0, 0)
    cdef cnp.ndarray out = blank(3, n, R + D, C)
    cdef double* before = <double*> cnp.PyArray_DATA(out)
    with nogil:
        for _t in range(n):
            memcpy(before, mean, (R + D)*C*sizeof(double))
            for c in range(C):
                remember(mean + c, C, pace, R, D, y[c])
            before += (R + D)*C
            y += C
    return out
