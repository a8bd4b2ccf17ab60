# The stack of `Auto`: label lags, inputs, targets and stackers.
cimport numpy as cnp


# ----------------------------------------------------------------------------------------------------------------------
# What is remembered of the labels of one column.
# ----------------------------------------------------------------------------------------------------------------------
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


# ----------------------------------------------------------------------------------------------------------------------
# What a stack hears of rows, for compiled rounds.
# ----------------------------------------------------------------------------------------------------------------------
cpdef cnp.ndarray gathered(cnp.ndarray F, Py_ssize_t first, cnp.ndarray low, cnp.ndarray high, cnp.ndarray shift,
                           cnp.ndarray scale, cnp.ndarray answers=*, bint scaled=*, cnp.ndarray lags=*,
                           cnp.ndarray rates=*, cnp.ndarray T=*)


# ----------------------------------------------------------------------------------------------------------------------
# Labels in standard units, for compiled rounds.
# ----------------------------------------------------------------------------------------------------------------------
cpdef tuple entered(cnp.ndarray Y, cnp.ndarray low, cnp.ndarray high, cnp.ndarray shift, cnp.ndarray scale,
                    double around)


# ----------------------------------------------------------------------------------------------------------------------
# Rounds of stackers, for compiled ones.
# ----------------------------------------------------------------------------------------------------------------------
cpdef cnp.ndarray ridge_rounds(cnp.ndarray F, cnp.ndarray weights, cnp.ndarray Y=*, cnp.ndarray given=*,
                               cnp.ndarray gram=*, cnp.ndarray sums=*)
