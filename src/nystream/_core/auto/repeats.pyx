# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The last class once more, as often as that was right so far; and counts of what came."""
cimport numpy as cnp

from nystream._core.auto.arrays cimport blank, numbers, state

cnp.import_array()

cdef double TINY = 1e-300    # in place of a sum that is 0: with one class there is no other


def repeated(cnp.ndarray labels or None, cnp.ndarray counts, Py_ssize_t last, long long times):
    """(n, K) probabilities before each of the labels (n,); the last class and how often one was repeated, after them.

    counts (K,) of the classes are brought up to date; last = -1: there was none. Without labels, for one row.
    """
    cdef Py_ssize_t n = 1 if labels is None else cnp.PyArray_DIM(labels, 0), K = cnp.PyArray_DIM(counts, 0), t, c, y
    cdef double* seen = state(counts, 1, K, 0, 0)
    cdef const double* label = numbers(labels, 1, n, 0, 0) if labels is not None else NULL
    cdef cnp.ndarray out = blank(2, n, K, 0)
    cdef double* P = <double*> cnp.PyArray_DATA(out)
    cdef double rows = 0, others, stays, part
    if not -1 <= last < K:
        raise ValueError(f"the last class must be one of {K}, got {last}")
    for c in range(K):
        rows += seen[c]
    for t in range(n):
        if label and not 0 <= label[t] < K:
            raise ValueError(f"labels must be 0 to {K - 1}, got {label[t]}")
        others, stays = 0, 0
        for c in range(K):
            P[c] = seen[c] + 1 if c != last else 0
            others += P[c]
        if last >= 0:
            stays = (times + 0.5)/(rows if rows > 1 else 1)  # n rows have n - 1 pairs
        part = (1 - stays)/(others if others > TINY else TINY)
        for c in range(K):
            P[c] *= part
        if last >= 0:
            P[last] = stays
        if label:
            y = <Py_ssize_t> label[t]
            times += y == last
            last = y
            seen[y] += 1
            rows += 1
        P += K
    return out, last, times
