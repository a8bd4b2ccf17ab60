# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rows that wait until several of them are learnt together: their features are put where they wait."""
cimport numpy as cnp

from nystream._core.kernel_rows cimport KernelRows
from nystream._core.linalg.linear_kernel cimport clean

cnp.import_array()

cdef enum:
    WORTH_RELEASING = 1 << 14    # pairs times columns, below which giving up the GIL costs more than it gives

cdef KernelRows LINEAR = KernelRows("linear")


def answered(KernelRows kernel, cnp.ndarray U, cnp.ndarray Y, cnp.ndarray w or None, Py_ssize_t row, cnp.ndarray points,
             cnp.ndarray weights, cnp.ndarray rows, Py_ssize_t at, cnp.ndarray P):
    """Predict rows of U (n, d) from `row` on and keep them in `rows` from place `at` on, as far as there is room.

    Features are kernel values of the m points and a last 1; predictions P (n, K) their products with weights
    (K, m + 1). A place has the features, the K labels of Y (n, K) and the weight, 1 where w is None. Returns how many
    rows were kept.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(U, 0), d = cnp.PyArray_DIM(U, 1), m = cnp.PyArray_DIM(points, 0)
    cdef Py_ssize_t K = cnp.PyArray_DIM(Y, 1), places = cnp.PyArray_DIM(rows, 0)
    cdef Py_ssize_t wide = m + K + 2, size
    cdef const double* u = clean(U, n, d)
    cdef const double* y = clean(Y, n, K)
    cdef const double* a = clean(points, m, d)
    cdef const double* v = clean(weights, K, m + 1)
    cdef double* z = <double*> clean(rows, places, wide)
    cdef double* p = <double*> clean(P, n, K)
    cdef const double* given = NULL
    if w is not None:
        given = clean(w, -1, n)
    if not 0 <= row <= n or not 0 <= at <= places:
        raise ValueError(f"row {row} of {n} and place {at} of {places} are not there")
    size = min(n - row, places - at)
    if size*m*d < WORTH_RELEASING:
        keep(kernel, u + row*d, y + row*K, NULL if given == NULL else given + row, size, a, v, m, d, K,
             z + at*wide, p + row*K)
    else:
        with nogil:
            keep(kernel, u + row*d, y + row*K, NULL if given == NULL else given + row, size, a, v, m, d, K,
                 z + at*wide, p + row*K)
    return size


cdef void keep(KernelRows kernel, const double* u, const double* y, const double* w, Py_ssize_t n, const double* points,
               const double* weights, Py_ssize_t m, Py_ssize_t d, Py_ssize_t K, double* z, double* p) noexcept nogil:
    """n rows u (n, d) with labels y (n, K) and weights (n,) or NULL, to places z on and predictions p."""
    cdef Py_ssize_t i, k, wide = m + K + 2
    kernel.fill(u, n, points, m, d, z, wide)
    for i in range(n):
        z[m] = 1.0
        for k in range(K):
            z[m + 1 + k] = y[i*K + k]
        z[m + 1 + K] = 1.0 if w == NULL else w[i]
        LINEAR.fill(z, 1, weights, K, m + 1, p + i*K, K)
        z += wide
