# What a stack hears of rows, for compiled rounds.
cimport numpy as cnp


cpdef cnp.ndarray gathered(cnp.ndarray F, Py_ssize_t first, cnp.ndarray low, cnp.ndarray high, cnp.ndarray shift,
                           cnp.ndarray scale, cnp.ndarray answers=*, bint scaled=*, cnp.ndarray lags=*,
                           cnp.ndarray rates=*, cnp.ndarray T=*)
