# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rows as experts see them: scaled columns with missing values at the mean, perhaps turned; kernel values."""
cimport numpy as cnp
from libc.math cimport INFINITY
from libc.string cimport memcpy

from nystream._core.kernel_rows cimport KernelRows
from nystream._core.linalg.linear_kernel cimport clean

cnp.import_array()

cdef enum:
    WORTH_RELEASING = 1 << 14    # numbers, below which giving up the GIL costs more than it gives

cdef KernelRows LINEAR = KernelRows("linear")


cpdef cnp.ndarray seen(cnp.ndarray X, cnp.ndarray mean, cnp.ndarray scale, clip, cnp.ndarray T=None):
    """(n, d) rows (x - mean) / scale, clipped to [-clip, clip] unless that is None, 0 where x is nan; then T x.

    T is (d, d), or (d,), its diagonal. A row has the same bits in any block, so that near ties stay what they are.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(X, 0), d = cnp.PyArray_DIM(X, 1), i, j
    cdef const double* x = clean(X, n, d)
    cdef const double* middle = clean(mean, -1, d)
    cdef const double* size = clean(scale, -1, d)
    cdef const double* t = NULL
    cdef bint full = False
    cdef double most = INFINITY if clip is None else clip, u
    cdef cnp.npy_intp[2] shape
    shape[0], shape[1] = n, d
    if T is not None:
        full = cnp.PyArray_NDIM(T) == 2
        t = clean(T, d if full else -1, d)
    cdef cnp.ndarray out = cnp.PyArray_EMPTY(2, shape, cnp.NPY_FLOAT64, 0), turned
    cdef double* v = <double*> cnp.PyArray_DATA(out)
    for i in range(n):
        for j in range(d):
            u = (x[i*d + j] - middle[j])/size[j]
            u = most if u > most else (-most if u < -most else u)
            u = u if u == u else 0.0
            v[i*d + j] = u*t[j] if t != NULL and not full else u
    if not full:
        return out
    turned = cnp.PyArray_EMPTY(2, shape, cnp.NPY_FLOAT64, 0)
    cdef double* w = <double*> cnp.PyArray_DATA(turned)
    if n*d*d < WORTH_RELEASING:
        LINEAR.fill(v, n, t, d, d, w, d)
    else:
        with nogil:
            LINEAR.fill(v, n, t, d, d, w, d)
    return turned


def with_constant(KernelRows kernel, cnp.ndarray X, cnp.ndarray points):
    """(n, m + 1) kernel values between the rows of X and m points, and a last column of ones."""
    cdef Py_ssize_t n = cnp.PyArray_DIM(X, 0), m = cnp.PyArray_DIM(points, 0), d = cnp.PyArray_DIM(X, 1), i
    cdef const double* x = clean(X, n, d)
    cdef const double* a = clean(points, m, d)
    cdef cnp.npy_intp[2] shape
    shape[0], shape[1] = n, m + 1
    cdef cnp.ndarray out = cnp.PyArray_EMPTY(2, shape, cnp.NPY_FLOAT64, 0)
    cdef double* z = <double*> cnp.PyArray_DATA(out)
    if n*m*d < WORTH_RELEASING:
        kernel.fill(x, n, a, m, d, z, m + 1)
    else:
        with nogil:
            kernel.fill(x, n, a, m, d, z, m + 1)
    for i in range(n):
        z[i*(m + 1) + m] = 1.0
    return out


def after_constant(cnp.ndarray X):
    """(n, 1 + d) a column of ones, and the rows of X."""
    cdef Py_ssize_t n = cnp.PyArray_DIM(X, 0), d = cnp.PyArray_DIM(X, 1), i
    cdef const double* x = clean(X, n, d)
    cdef cnp.npy_intp[2] shape
    shape[0], shape[1] = n, 1 + d
    cdef cnp.ndarray out = cnp.PyArray_EMPTY(2, shape, cnp.NPY_FLOAT64, 0)
    cdef double* z = <double*> cnp.PyArray_DATA(out)
    for i in range(n):
        z[i*(1 + d)] = 1.0
        memcpy(z + i*(1 + d) + 1, x + i*d, d*sizeof(double))
    return out
