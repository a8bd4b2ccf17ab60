# Nearest neighbours in a sliding window, one row at a time, for compiled loops.
cimport numpy as cnp


cdef int one_round(cnp.ndarray points, cnp.ndarray targets, Py_ssize_t kept, int neighbours, const double* x,
                   Py_ssize_t d, const double* y, Py_ssize_t K, double weight, double* p) except -1
