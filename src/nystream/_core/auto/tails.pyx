# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Medians of columns, and where to cut sizes of residuals: what labels with long tails ask for in every row."""
import numpy as np

cimport numpy as cnp
from libc.math cimport INFINITY, fabs
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from nystream._core.auto.arrays cimport blank, numbers

cnp.import_array()


cdef double smallest(double* v, Py_ssize_t n, Py_ssize_t rank) noexcept nogil:
    """The value of this rank, from 0, among n; before it in v are none larger afterwards, after it none smaller."""
    cdef Py_ssize_t low = 0, high = n - 1, i, j
    cdef double pivot, kept
    while low < high:
        pivot = v[(low + high)//2]
        i, j = low, high
        while i <= j:
            while v[i] < pivot:
                i += 1
            while v[j] > pivot:
                j -= 1
            if i <= j:
                kept = v[i]
                v[i] = v[j]
                v[j] = kept
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            break
    return v[rank]


cdef double middle(double* v, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef double upper = smallest(v, n, n//2), lower
    if n % 2:
        return upper
    lower = v[0]
    for i in range(1, n//2):
        lower = v[i] if v[i] > lower else lower
    return 0.5*lower + 0.5*upper


def with_residuals(cnp.ndarray P, cnp.ndarray Y):
    """(n, 2 K) predictions P (n, K), and beside them labels Y (n, K) less the predictions."""
    cdef Py_ssize_t n = cnp.PyArray_DIM(P, 0), K = cnp.PyArray_DIM(P, 1), t, k
    cdef const double* p = numbers(P, 2, n, K, 0)
    cdef const double* y = numbers(Y, 2, n, K, 0)
    cdef cnp.ndarray out = blank(2, n, 2*K, 0)
    cdef double* found = <double*> cnp.PyArray_DATA(out)
    for t in range(n):
        for k in range(K):
            found[2*t*K + k] = p[t*K + k]
            found[(2*t + 1)*K + k] = y[t*K + k] - p[t*K + k]
    return out


def medians(const double[:, :] X):
    """(K,) of columns of n >= 1 numbers, none of them nan."""
    cdef Py_ssize_t n = X.shape[0], K = X.shape[1], t, k
    if n < 1:
        raise ValueError("medians need at least one row, got 0")
    out = np.empty(K)
    cdef double[::1] found = out
    cdef double* v = <double*> malloc(n*sizeof(double))
    if v == NULL:
        raise MemoryError
    with nogil:
        for k in range(K):
            for t in range(n):
                v[t] = X[t, k]
            found[k] = middle(v, n)
    free(v)
    return out


cdef void cut_to(const double* sizes, Py_ssize_t n, Py_ssize_t step, double median, double least,
                 const double[::1] reaches, double part, double* cut, double* kept, double* variance) noexcept nogil:
    """What n sizes, `step` apart, are cut to, the part of them that is not cut, and the estimate's variance."""
    cdef Py_ssize_t c, t, below
    cdef double k, q, size, total, found
    cut[0] = kept[0] = 1
    variance[0] = INFINITY
    for c in range(reaches.shape[0]):
        k = reaches[c]*median
        k = k if k > least else least
        if not k > 0:
            continue
        total, below = 0, 0
        for t in range(n):
            size = sizes[t*step]
            if size <= k:
                below += 1
                total += (size/k)*(size/k)
        q = <double> below/n
        q = q if q > part else part
        found = (total + (n - below))/n*(k/q)*(k/q)
        if found < variance[0]:
            cut[0], kept[0], variance[0] = k, q, found


def cuts(const double[:, :] sizes, const double[::1] median, const double[::1] least, const double[::1] reaches,
         double part):
    """(K,) what sizes (n, K) of residuals are cut to, the part of them that is not cut, and the estimate's variance.

    Of k = max(reach median, least) the one with the least mean(min(size, k)^2) / q^2, q the part that is at most k, and
    at least `part`. Where all k are 0 they are cut to 1, and the variance is infinite.
    """
    cdef Py_ssize_t n = sizes.shape[0], K = sizes.shape[1], k
    if n < 1 or median.shape[0] != K or least.shape[0] != K:
        raise ValueError(f"sizes must have rows, and median and least be ({K},), got {n} rows, ({median.shape[0]},) "
                         f"and ({least.shape[0]},)")
    cdef Py_ssize_t step = sizes.strides[0]//<Py_ssize_t> sizeof(double)
    out = np.empty((3, K))
    cdef double[:, ::1] found = out
    with nogil:
        for k in range(K):
            cut_to(&sizes[0, k], n, step, median[k], least[k], reaches, part, &found[0, k], &found[1, k], &found[2, k])
    return out[0], out[1], out[2]


def weighed(const double[:, ::1] past, Py_ssize_t first, Py_ssize_t last, const double[::1] y, const double[::1] p,
            const double[::1] least, const double[::1] reaches, double part, double far, double gain, double changed):
    """What the last residuals say of labels y (K,) with predictions p (K,): cuts of the residuals, parts of them that
    are not cut; 1 where the label is far off, that is, by more than `far` medians, and the mean of the squares with it
    is more than `gain` times the variance of `cuts`, else 0; how many of the `last` ones are beyond `changed` medians,
    all of them where the median is not above 0; and the medians. (5, K).

    past (n, 2 K): predictions and residuals, in a ring of which row `first` is the oldest.
    """
    cdef Py_ssize_t n = past.shape[0], K = past.shape[1]//2, k, t
    if n < 1 or not 0 <= first < n or last > n or y.shape[0] != K or p.shape[0] != K or least.shape[0] != K:
        raise ValueError(f"rows {n}, first {first}, last {last} and labels ({y.shape[0]},) do not fit together")
    out = np.empty((5, K))
    cdef double[:, ::1] found = out
    cdef double* sizes = <double*> malloc(2*n*sizeof(double))
    if sizes == NULL:
        raise MemoryError
    cdef double* v = sizes + n
    cdef double median, variance, squares
    with nogil:
        for k in range(K):
            squares = (y[k] - p[k])*(y[k] - p[k])
            for t in range(n):
                sizes[t] = fabs(past[first + t if first + t < n else first + t - n, K + k])
                squares += sizes[t]*sizes[t]
            memcpy(v, sizes, n*sizeof(double))
            median = middle(v, n)
            cut_to(sizes, n, 1, median, least[k], reaches, part, &found[0, k], &found[1, k], &variance)
            found[2, k] = fabs(y[k] - p[k]) > far*median and squares/(n + 1) > gain*variance
            found[3, k] = last if not median > 0 else 0
            for t in range(n - last if median > 0 else n, n):
                found[3, k] += sizes[t] > changed*median
            found[4, k] = median
    free(sizes)
    return out
