# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Labels as they are learnt: whether all are within fences, in standard units, the range of those before; codes."""
cimport numpy as cnp
from libc.math cimport INFINITY

from nystream._core.auto.arrays cimport blank, numbers, state

cnp.import_array()


def all_inside(cnp.ndarray Y, cnp.ndarray fences, cnp.ndarray outside):
    """Whether all labels Y (n, K) are within fences (2, K), and the running share of those that were not, (1, K), is 0.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(Y, 0), K = cnp.PyArray_DIM(Y, 1), t, k
    cdef const double* y = numbers(Y, 2, n, K, 0)
    cdef const double* fence = numbers(fences, 2, 2, K, 0)
    cdef const double* share = numbers(outside, 2, 1, K, 0)
    for k in range(K):
        if share[k] != 0:
            return False
    for t in range(n):
        for k in range(K):
            if fence[k] > y[t*K + k] or fence[K + k] < y[t*K + k]:
                return False
    return True


cpdef tuple entered(cnp.ndarray Y, cnp.ndarray low, cnp.ndarray high, cnp.ndarray shift, cnp.ndarray scale,
                    double around):
    """(n, K) standardised labels Y (n, K), (y - shift)/scale; and two bounds (n, K) in the same units, the range low
    to high (K,) of the labels before each row and `around` times it to both sides, 0 before the first.

    low and high, infinite before the first, are brought up to date.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(Y, 0), K = cnp.PyArray_DIM(Y, 1), _t, k
    cdef const double* y = numbers(Y, 2, n, K, 0)
    cdef double* least = state(low, 1, K, 0, 0)
    cdef double* most = state(high, 1, K, 0, 0)
    cdef const double* zero = numbers(shift, 1, K, 0, 0)
    cdef const double* unit = numbers(scale, 1, K, 0, 0)
    cdef cnp.ndarray out = blank(2, n, K, 0), under = blank(2, n, K, 0), over = blank(2, n, K, 0)
    cdef double* T = <double*> cnp.PyArray_DATA(out)
    cdef double* floor = <double*> cnp.PyArray_DATA(under)
    cdef double* ceiling = <double*> cnp.PyArray_DATA(over)
    cdef double a, b, more
    for _t in range(n):
        for k in range(K):
            a, b = least[k], most[k]
            if a == INFINITY:
                a, b = 0, 0
            more = around*(b - a)
            floor[k] = (a - more - zero[k])/unit[k]
            ceiling[k] = (b + more - zero[k])/unit[k]
            T[k] = (y[k] - zero[k])/unit[k]
            least[k] = y[k] if y[k] < least[k] else least[k]
            most[k] = y[k] if y[k] > most[k] else most[k]
        y += K
        T += K
        floor += K
        ceiling += K
    return out, under, over


def coded(cnp.ndarray Y, Py_ssize_t classes):
    """(n, 1 + classes) numbers of classes (n, 1) as targets: a constant 1, then codes -1/+1."""
    cdef Py_ssize_t n = cnp.PyArray_DIM(Y, 0), N = 1 + classes, t, c
    cdef const double* y = numbers(Y, 2, n, 1, 0)
    cdef cnp.ndarray out = blank(2, n, N, 0)
    cdef double* T = <double*> cnp.PyArray_DATA(out)
    for t in range(n):
        if not 0 <= y[t] < classes:
            raise ValueError(f"labels must be 0 to {classes - 1}, got {y[t]}")
        T[0] = 1
        for c in range(1, N):
            T[c] = -1
        T[1 + <Py_ssize_t> y[t]] = 1
        T += N
    return out
