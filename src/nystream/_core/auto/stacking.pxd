# Rounds of stackers, for compiled ones.
cimport numpy as cnp


cpdef cnp.ndarray ridge_rounds(cnp.ndarray F, cnp.ndarray weights, cnp.ndarray Y=*, cnp.ndarray given=*,
                               cnp.ndarray gram=*, cnp.ndarray sums=*)
