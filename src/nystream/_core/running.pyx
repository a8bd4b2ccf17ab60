# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rows of columns scaled by running means and deviations, one after the other."""
import numpy as np

cimport numpy as cnp

from nystream._core.linalg.linear_kernel cimport clean

cnp.import_array()

cdef extern from "running.h" nogil:
    void running_scale(Py_ssize_t, Py_ssize_t, const double*, const double*, double*, double*, double*, double*)


def scale_rows(cnp.ndarray X, cnp.ndarray first, cnp.ndarray count, cnp.ndarray total, cnp.ndarray spread):
    """Z (n, d) of finite rows X (n, d); counts, all above 0, totals of x - first and spreads are moved on in place."""
    cdef Py_ssize_t n = cnp.PyArray_DIM(X, 0), d = cnp.PyArray_DIM(X, 1)
    cdef const double* x = clean(X, n, d)
    cdef const double* at = clean(first, -1, d)
    cdef double* counts = <double*> clean(count, -1, d)
    cdef double* totals = <double*> clean(total, -1, d)
    cdef double* spreads = <double*> clean(spread, -1, d)
    cdef cnp.ndarray Z = np.empty((n, d))
    cdef double* z = <double*> cnp.PyArray_DATA(Z)
    with nogil:
        running_scale(n, d, x, at, counts, totals, spreads, z)
    return Z
