# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What a stack hears of every row: outputs of experts within bounds, answers of others, the last labels."""
cimport numpy as cnp

from nystream._core.auto.arrays cimport blank, for_columns, numbers, spread_out, state, within
from nystream._core.auto.lags cimport remember

cnp.import_array()


cpdef cnp.ndarray gathered(cnp.ndarray F, Py_ssize_t first, cnp.ndarray low, cnp.ndarray high, cnp.ndarray shift,
                           cnp.ndarray scale, cnp.ndarray answers=None, bint scaled=False, cnp.ndarray lags=None,
                           cnp.ndarray rates=None, cnp.ndarray T=None):
    """(n, E + M + R, C): outputs F (n, E, J), of which the columns from `first` on are wanted, within low and high
    (n, C), or (1, C), or (1, 1); answers (n, M, C), with `scaled` standardised and within the bounds too; and
    the label lags.

    lags (R, C) are running means of labels in their own units, as many as rates, and then labels of before; shift and
    scale (C,) or (1,) standardise them; one that is nan, before the first row, is heard as 0. With targets T (n, J)
    they are brought up to date after each row, as in `nystream._core.auto.lags.lagged`.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(F, 0), E = cnp.PyArray_DIM(F, 1), J = cnp.PyArray_DIM(F, 2), C = J - first
    cdef Py_ssize_t M = 0 if answers is None else cnp.PyArray_DIM(answers, 1), R = 0, paces = 0, N, t, i, c
    cdef Py_ssize_t low_down = 0, low_right = 0, high_down = 0, high_right = 0, shift_right = 0, scale_right = 0
    cdef const double* f = numbers(F, 3, n, E, J)
    cdef const double* least = spread_out(low, n, C, &low_down, &low_right)
    cdef const double* most = spread_out(high, n, C, &high_down, &high_right)
    cdef const double* zero = for_columns(shift, C, &shift_right)
    cdef const double* unit = for_columns(scale, C, &scale_right)
    cdef const double* others = NULL
    cdef double* means = NULL
    cdef const double* pace = NULL
    cdef const double* told = NULL
    if answers is not None:
        others = numbers(answers, 3, n, M, C)
    if lags is not None:
        R, paces = cnp.PyArray_DIM(lags, 0), cnp.PyArray_DIM(rates, 0)
        means, pace = state(lags, 2, max(R, paces), C, 0), numbers(rates, 1, paces, 0, 0)
        told = numbers(T, 2, n, J, 0) if T is not None else NULL
    N = E + M + R
    cdef cnp.ndarray out = blank(3, n, N, C)
    cdef double* g = <double*> cnp.PyArray_DATA(out)
    cdef double x, a, b
    with nogil:
        for t in range(n):
            for c in range(C):
                a, b = least[t*low_down + c*low_right], most[t*high_down + c*high_right]
                for i in range(E):
                    g[i*C + c] = within(f[i*J + first + c], a, b)
                for i in range(M):
                    x = others[i*C + c]
                    if scaled:
                        x = within((x - zero[c*shift_right])/unit[c*scale_right], a, b)
                    g[(E + i)*C + c] = x
                for i in range(R):
                    x = (means[i*C + c] - zero[c*shift_right])/unit[c*scale_right]
                    g[(E + M + i)*C + c] = x if x == x else 0
                if told:
                    x = told[first + c]*unit[c*scale_right] + zero[c*shift_right]
                    remember(means + c, C, pace, paces, R - paces, x)
            f += E*J
            g += N*C
            others += M*C
            told = told + J if told else NULL
    return out
