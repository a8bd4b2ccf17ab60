# What is remembered of the labels of one column.
cimport numpy as cnp


cpdef cnp.ndarray lagged(cnp.ndarray T, cnp.ndarray means, cnp.ndarray rates)


cdef inline void remember(double* lags, Py_ssize_t step, const double* rates, Py_ssize_t R, Py_ssize_t D,
                          double label) noexcept nogil:
    """R running means, mean += rate (label - mean), or the label in place of nan, before the first; then D, 0 or more,
    of what the first of them was before: where its rate is 1, the label before this one, the one before that, ...

    lags: numbers that are `step` apart.
    """
    cdef Py_ssize_t r
    for r in range(R + D - 1, R - 1, -1):
        lags[r*step] = lags[(r - 1)*step] if r > R else lags[0]
        if lags[r*step] != lags[r*step]:
            lags[r*step] = label
    for r in range(R):
        if lags[r*step] != lags[r*step]:
            lags[r*step] = label
        else:
            lags[r*step] += rates[r]*(label - lags[r*step])
