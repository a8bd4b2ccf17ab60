# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Predictions of experts become one: the aggregating algorithm and the exponentially weighted average, row by row."""
import numpy as np

cimport numpy as cnp
from libc.math cimport exp, fmax, fmin, log

from nystream._core.linalg.linear_kernel cimport clean

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


def mix(cnp.ndarray Q, cnp.ndarray log_prior, cnp.ndarray regrets, double bound, double eta, bint aggregating,
        object Y=None):
    """Predictions (n, K) from those of N experts, Q (n, K, N), clipped to [-bound, bound] here (in place).

    regrets (K, N) are our squared loss so far minus that of each expert; with eta they are the log-weights, up to a
    constant. With labels Y (n, K) they are brought up to date after each row; without, nothing changes.
    """
    cdef Py_ssize_t n = Q.shape[0], K = Q.shape[1], N = Q.shape[2], _t, k, i
    if cnp.PyArray_TYPE(Q) != cnp.NPY_FLOAT64 or not cnp.PyArray_IS_C_CONTIGUOUS(Q):
        raise ValueError("Q must be a C-ordered float64 array")
    cdef double* q = <double*> cnp.PyArray_DATA(Q)
    cdef const double* prior = clean(log_prior, -1, N)
    cdef double* regret = <double*> clean(regrets, K, N)
    cdef const double* y = clean(Y, n, K) if Y is not None else NULL
    cdef cnp.ndarray out = np.empty((n, K)), memory = np.empty(2*N)
    cdef double* p = <double*> cnp.PyArray_DATA(out)
    cdef double* W = <double*> cnp.PyArray_DATA(memory)
    cdef double* mine
    with nogil:
        for _t in range(n):
            for k in range(K):
                mine = regret + k*N
                for i in range(N):
                    q[i] = fmin(fmax(q[i], -bound), bound)
                    W[i] = prior[i] + eta*mine[i]
                p[0] = substitution(N, q, W, bound, eta, W + N) if aggregating else average(N, q, W)
                if y:
                    for i in range(N):
                        mine[i] += (p[0] - q[i]) * (p[0] + q[i] - 2*y[0])   # (p - y)^2 - (q - y)^2
                    y += 1
                p += 1
                q += N
    return out
