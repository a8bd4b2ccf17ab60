# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Running means of labels, as they stood before every row."""
import numpy as np

cimport numpy as cnp

from nystream._core.auto.arrays cimport numbers, state

cnp.import_array()


def lagged(cnp.ndarray T, cnp.ndarray means, cnp.ndarray rates):
    """(n, R, C) means before each of n rows of targets T (n, C); means (R, C) are brought up to date in place.

    After a row, mean += rate (target - mean); a mean that is nan, before the first row, becomes the target itself.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(T, 0), C = cnp.PyArray_DIM(T, 1), R = cnp.PyArray_DIM(rates, 0), _t, r, c
    cdef const double* y = numbers(T, 2, n, C, 0)
    cdef double* mean = state(means, 2, R, C, 0)
    cdef const double* pace = numbers(rates, 1, R, 0, 0)
    cdef cnp.ndarray out = np.empty((n, R, C))
    cdef double* before = <double*> cnp.PyArray_DATA(out)
    with nogil:
        for _t in range(n):
            for r in range(R):
                for c in range(C):
                    before[r*C + c] = mean[r*C + c]
                    if mean[r*C + c] != mean[r*C + c]:
                        mean[r*C + c] = y[c]
                    else:
                        mean[r*C + c] += pace[r]*(y[c] - mean[r*C + c])
            before += R*C
            y += C
    return out
