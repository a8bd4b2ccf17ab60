# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Medians of columns, and where to cut sizes of residuals: what labels with long tails ask for in every row."""
import numpy as np

cimport numpy as cnp
from libc.math cimport INFINITY
from libc.stdlib cimport free, malloc

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


def cuts(const double[:, :] sizes, const double[::1] median, const double[::1] least, const double[::1] reaches,
         double part):
    """(K,) what sizes (n, K) of residuals are cut to, the part of them that is not cut, and the estimate's variance.

    Of k = max(reach median, least) the one with the least mean(min(size, k)^2) / q^2, q the part that is at most k, and
    at least `part`. Where all k are 0 they are cut to 1, and the variance is infinite.
    """
    cdef Py_ssize_t n = sizes.shape[0], K = sizes.shape[1], C = reaches.shape[0], t, k, c, below
    cdef double cut, total, q, size, variance
    if median.shape[0] != K or least.shape[0] != K:
        raise ValueError(f"median and least must be ({K},), got ({median.shape[0]},) and ({least.shape[0]},)")
    out = np.empty((3, K))
    cdef double[:, ::1] found = out
    with nogil:
        for k in range(K):
            found[0, k] = found[1, k] = 1
            found[2, k] = INFINITY
            for c in range(C):
                cut = reaches[c]*median[k]
                cut = cut if cut > least[k] else least[k]
                if not cut > 0:
                    continue
                total, below = 0, 0
                for t in range(n):
                    size = sizes[t, k]
                    if size <= cut:
                        below += 1
                        total += (size/cut)*(size/cut)
                q = <double> below/n
                q = q if q > part else part
                variance = (total + (n - below))/n*(cut/q)*(cut/q)
                if variance < found[2, k]:
                    found[0, k], found[1, k], found[2, k] = cut, q, variance
    return out[0], out[1], out[2]
