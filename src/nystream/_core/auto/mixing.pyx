# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Predictions of experts become one: the aggregating algorithm and the exponentially weighted average, row by row."""
import numpy as np

cimport numpy as cnp
from libc.math cimport exp, fmax, fmin, log

from nystream._core.linalg.linear_kernel cimport clean
from nystream._core.row_panel cimport RowPanel

cnp.import_array()


cdef inline double log_sum(Py_ssize_t n, const double* a) noexcept nogil:
    """log sum exp a_i, without overflow."""
    cdef double top = a[0], total = 0
    cdef Py_ssize_t i
    for i in range(1, n):
        top = fmax(top, a[i])
    for i in range(n):
        total += exp(a[i] - top)
    return top + log(total)


cdef inline double substitution(Py_ssize_t n, const double* q, const double* W, double bound, double eta,
                                double* a) noexcept nogil:
    """(G(-B) - G(B)) / 4B with G(y) = -1/eta log sum w_i exp(-eta (y - q_i)^2); the norm of the weights cancels."""
    cdef double high
    cdef Py_ssize_t i
    for i in range(n):
        a[i] = W[i] - eta * (bound - q[i])**2
    high = log_sum(n, a)
    for i in range(n):
        a[i] = W[i] - eta * (bound + q[i])**2
    return (high - log_sum(n, a)) / (4*eta*bound)


cdef inline double average(Py_ssize_t n, const double* q, const double* W) noexcept nogil:
    """sum w_i q_i."""
    cdef double top = W[0], total = 0, p = 0, w
    cdef Py_ssize_t i
    for i in range(1, n):
        top = fmax(top, W[i])
    for i in range(n):
        w = exp(W[i] - top)
        total += w
        p += w * q[i]
    return p / total


cdef inline double one_round(Py_ssize_t n, double* q, const double* prior, double* regret, double bound, double eta,
                             bint aggregating, const double* y, double* W) noexcept nogil:
    """The prediction from those of n experts, q (clipped here); with a label, regret (n,) is brought up to date.

    W is scratch of 2n numbers.
    """
    cdef Py_ssize_t i
    cdef double p
    for i in range(n):
        q[i] = fmin(fmax(q[i], -bound), bound)
        W[i] = prior[i] + eta*regret[i]
    p = substitution(n, q, W, bound, eta, W + n) if aggregating else average(n, q, W)
    if y:
        for i in range(n):
            regret[i] += (p - q[i]) * (p + q[i] - 2*y[0])   # (p - y)^2 - (q - y)^2
    return p


def mix(cnp.ndarray Q, cnp.ndarray log_prior, cnp.ndarray regrets, double bound, double eta, bint aggregating,
        object Y=None):
    """Predictions (n, K) from those of N experts, Q (n, K, N), clipped to [-bound, bound] here (in place).

    regrets (K, N) are our squared loss so far minus that of each expert; with eta they are the log-weights, up to a
    constant. With labels Y (n, K) they are brought up to date after each row; without, nothing changes.
    """
    cdef Py_ssize_t n = Q.shape[0], K = Q.shape[1], N = Q.shape[2], _t, k
    if cnp.PyArray_TYPE(Q) != cnp.NPY_FLOAT64 or not cnp.PyArray_IS_C_CONTIGUOUS(Q):
        raise ValueError("Q must be a C-ordered float64 array")
    cdef double* q = <double*> cnp.PyArray_DATA(Q)
    cdef const double* prior = clean(log_prior, -1, N)
    cdef double* regret = <double*> clean(regrets, K, N)
    cdef const double* y = clean(Y, n, K) if Y is not None else NULL
    cdef cnp.ndarray out = np.empty((n, K)), memory = np.empty(2*N)
    cdef double* p = <double*> cnp.PyArray_DATA(out)
    cdef double* W = <double*> cnp.PyArray_DATA(memory)
    with nogil:
        for _t in range(n):
            for k in range(K):
                p[0] = one_round(N, q, prior, regret + k*N, bound, eta, aggregating, y, W)
                if y:
                    y += 1
                p += 1
                q += N
    return out


cdef class Aggregated(RowPanel):
    """`mix` of one row and one output, whose answers come from compiled learners."""
    cdef double bound, eta
    cdef bint aggregating
    cdef object arrays
    cdef const double* prior
    cdef double* regret
    cdef double* W

    def __init__(self, list learners, list groups, list told, cnp.ndarray log_prior, cnp.ndarray regrets, double bound,
                 double eta, bint aggregating):
        super().__init__(learners, groups, told)
        memory = np.empty(2*self.n)
        self.arrays = (log_prior, regrets, memory)
        self.prior, self.regret = clean(log_prior, -1, self.n), <double*> clean(regrets, 1, self.n)
        self.W = <double*> cnp.PyArray_DATA(<cnp.ndarray> memory)
        self.bound, self.eta, self.aggregating = bound, eta, aggregating

    cdef double mixed(self, double y) noexcept:
        return one_round(self.n, self.q, self.prior, self.regret, self.bound, self.eta, self.aggregating, &y, self.W)
