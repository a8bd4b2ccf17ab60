# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Running means of labels, as they stood before every row."""
cimport numpy as cnp

from nystream._core.linalg.linear_kernel cimport clean

cnp.import_array()


def lagged(cnp.ndarray T, cnp.ndarray means, cnp.ndarray rates):
    """(n, R, C) means before each of n rows of targets T (n, C); means (R, C) are brought up to date in place.

    After a row, mean += rate (target - mean); a mean that is nan, before the first row, becomes the target itself.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(T, 0), C = cnp.PyArray_DIM(T, 1), R = cnp.PyArray_DIM(rates, 0), t, r, c
    cdef const double* target = clean(T, n, C)
    cdef double* mean = <double*> clean(means, R, C)
    cdef const double* rate = clean(rates, -1, R)
    cdef cnp.npy_intp[3] shape
    shape[0], shape[1], shape[2] = n, R, C
    cdef cnp.ndarray out = cnp.PyArray_EMPTY(3, shape, cnp.NPY_FLOAT64, 0)
    cdef double* before = <double*> cnp.PyArray_DATA(out)
    with nogil:
        for t in range(n):
            for r in range(R):
                for c in range(C):
                    before[(t*R + r)*C + c] = mean[r*C + c]
                    if mean[r*C + c] != mean[r*C + c]:
                        mean[r*C + c] = target[t*C + c]
                    else:
                        mean[r*C + c] += rate[r]*(target[t*C + c] - mean[r*C + c])
    return out
