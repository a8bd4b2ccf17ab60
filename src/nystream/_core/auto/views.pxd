# Rows as experts see them, for compiled rounds.
cimport numpy as cnp


cpdef cnp.ndarray seen(cnp.ndarray X, cnp.ndarray mean, cnp.ndarray scale, clip, cnp.ndarray T=*)
