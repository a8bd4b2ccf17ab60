# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Predictions of experts become one: exponential weights with a fixed share, row by row."""
import numpy as np

cimport numpy as cnp
from libc.math cimport fmax, fmin

from nystream._core.linalg.linear_kernel cimport clean
from nystream._core.row_panel cimport RowPanel

cnp.import_array()


cdef inline double one_round(Py_ssize_t n, double* q, double* weights, double* losses, double bound, double eta,
                             double share, const double* y, double* scratch) noexcept nogil:
    """The prediction from those of n experts, q (clipped here); with a label, weights and losses (n,) are brought up
    to date. n numbers of scratch."""
    cdef Py_ssize_t i
    cdef double p = 0
    for i in range(n):
        q[i] = fmin(fmax(q[i], -bound), bound)
        p += weights[i]*q[i]
    if y:
        for i in range(n):
            scratch[i] = (q[i] - y[0])*(q[i] - y[0])
            losses[i] += scratch[i]
        follow(n, scratch, weights, eta, share)
    return p


def mix(cnp.ndarray Q, cnp.ndarray weights, cnp.ndarray losses, double bound, double eta, double share,
        object Y=None):
    """Predictions (n, K) from those of N experts, Q (n, K, N), clipped to [-bound, bound] here (in place).

    With labels Y (n, K), weights (K, N), each row summing to 1, and the squared losses so far (K, N) are brought up to
    date after each row; without, nothing changes.
    """
    cdef Py_ssize_t n = Q.shape[0], K = Q.shape[1], N = Q.shape[2], _t, k
    if cnp.PyArray_TYPE(Q) != cnp.NPY_FLOAT64 or not cnp.PyArray_IS_C_CONTIGUOUS(Q):
        raise ValueError("Q must be a C-ordered float64 array")
    cdef double* q = <double*> cnp.PyArray_DATA(Q)
    cdef double* v = <double*> clean(weights, K, N)
    cdef double* total = <double*> clean(losses, K, N)
    cdef const double* y = clean(Y, n, K) if Y is not None else NULL
    cdef cnp.ndarray out = np.empty((n, K)), memory = np.empty(N)
    cdef double* p = <double*> cnp.PyArray_DATA(out)
    cdef double* scratch = <double*> cnp.PyArray_DATA(memory)
    with nogil:
        for _t in range(n):
            for k in range(K):
                p[0] = one_round(N, q, v + k*N, total + k*N, bound, eta, share, y, scratch)
                if y:
                    y += 1
                p += 1
                q += N
    return out


cdef class Shared(RowPanel):
    """`mix` of one row and one output, whose answers come from compiled learners."""
    cdef double bound, eta, share
    cdef object arrays
    cdef double* weights
    cdef double* losses
    cdef double* scratch

    def __init__(self, list learners, list groups, list told, cnp.ndarray weights, cnp.ndarray losses, double bound,
                 double eta, double share):
        super().__init__(learners, groups, told)
        memory = np.empty(self.n)
        self.arrays = (weights, losses, memory)
        self.weights, self.losses = <double*> clean(weights, 1, self.n), <double*> clean(losses, 1, self.n)
        self.scratch = <double*> cnp.PyArray_DATA(<cnp.ndarray> memory)
        self.bound, self.eta, self.share = bound, eta, share

    cdef double mixed(self, double y) noexcept:
        return one_round(self.n, self.q, self.weights, self.losses, self.bound, self.eta, self.share, &y, self.scratch)
