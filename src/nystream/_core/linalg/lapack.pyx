# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What the first rows of a stream need of BLAS and LAPACK, without loading `scipy.linalg` for it."""
import numpy as np

from libc.stdlib cimport free, malloc
from scipy.linalg.cython_blas cimport dsyrk
from scipy.linalg.cython_lapack cimport dpstrf


def add_gram(const double[:, ::1] Z not None, double[:, ::1] G not None):
    """G (dim, dim) <- G + Z'Z for Z (n, dim), its lower triangle alone."""
    cdef int n = <int> Z.shape[0], dim = <int> Z.shape[1]
    cdef double one = 1.0
    cdef char upper = b"U", plain = b"N"
    if dim < 1 or G.shape[0] != dim or G.shape[1] != dim:
        raise ValueError("the arrays do not fit together")
    if n == 0:
        return
    with nogil:   # a row-major lower triangle is a column-major upper one, and Z' as it is stored
        dsyrk(&upper, &plain, &dim, &n, &one, <double*> &Z[0, 0], &dim, &one, &G[0, 0], &dim)


def pivots(double[::1, :] K not None, double tol):
    """Places of the rows of K (n, n), symmetric, that Cholesky with pivoting takes, in its order: until a pivot is at
    most `tol`. K is used up."""
    cdef int n = <int> K.shape[0], rank = 0, info = 0
    cdef char lower = b"L"
    if n < 1 or K.shape[1] != n:
        raise ValueError("the arrays do not fit together")
    cdef int[::1] order = np.empty(n, dtype=np.intc)
    cdef double* work = <double*> malloc(2*n*sizeof(double))
    if work == NULL:
        raise MemoryError
    with nogil:
        dpstrf(&lower, &n, &K[0, 0], &n, &order[0], &rank, &tol, work, &info)
        free(work)
    return np.asarray(order)[:rank] - 1
