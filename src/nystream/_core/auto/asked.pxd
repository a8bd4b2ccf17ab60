# All experts of a bank, for compiled rounds.
cimport numpy as cnp


cpdef cnp.ndarray answers(tuple asked, tuple views, cnp.ndarray X, object beside, cnp.ndarray Y, cnp.ndarray w=*)
