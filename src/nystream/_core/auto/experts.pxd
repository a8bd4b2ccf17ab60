# One row of the experts of `Auto`: views, kernel rows that wait, window smoothers, and queries of all of them.
cimport numpy as cnp

from nystream._core.kernels cimport KernelRows


# ----------------------------------------------------------------------------------------------------------------------
# Rows as experts see them, for compiled rounds.
# ----------------------------------------------------------------------------------------------------------------------
cpdef cnp.ndarray seen(cnp.ndarray X, cnp.ndarray mean, cnp.ndarray scale, clip, cnp.ndarray T=*)


# ----------------------------------------------------------------------------------------------------------------------
# Rows that wait to be learnt together, for compiled loops.
# ----------------------------------------------------------------------------------------------------------------------
cdef void keep(KernelRows kernel, const double* u, const double* y, const double* w, Py_ssize_t n, const double* points,
               const double* weights, Py_ssize_t m, Py_ssize_t d, Py_ssize_t K, double* z, double* p) noexcept nogil


# ----------------------------------------------------------------------------------------------------------------------
# Nearest neighbours in a sliding window, one row at a time, for compiled loops.
# ----------------------------------------------------------------------------------------------------------------------
cdef int one_round(cnp.ndarray points, cnp.ndarray targets, Py_ssize_t kept, int neighbours, const double* x,
                   Py_ssize_t d, const double* y, Py_ssize_t K, double weight, double* p) except -1


# ----------------------------------------------------------------------------------------------------------------------
# All experts of a bank, for compiled rounds.
# ----------------------------------------------------------------------------------------------------------------------
cpdef cnp.ndarray answers(tuple asked, tuple views, cnp.ndarray X, object beside, cnp.ndarray Y, cnp.ndarray w=*)
