# A block of rows against a growing factor, seen through its m x m residual Gram matrix alone.
#
# G = phi(X) phi(X)' - T T' with T the whitened kernel rows L^-1 (s_i k(x_i, x)); of G the upper triangle is kept. When
# row j enters the factor with scale s and pivot d, each later row i gains the coordinate (s/d) G_ij, and G loses the
# outer product of these: O(m^2) instead of a new triangular solve.
from libc.math cimport fmax


cdef inline void enter(double* G, Py_ssize_t m, Py_ssize_t j, double gain, double* e) noexcept nogil:
    """e_i = gain G_ji for i > j, then G_ik -= e_i e_k for i, k > j."""
    cdef Py_ssize_t i, k
    cdef double* row
    for i in range(j + 1, m):
        e[i] = gain * G[j*m + i]
    for i in range(j + 1, m):
        row = G + i*m
        for k in range(i, m):
            row[k] -= e[i] * e[k]


cdef struct Score:
    double s      # psi' A^-1 psi without the row itself
    double tau    # (1 + eps) s/(1 + s)
    double p      # min(beta tau, 1)


cdef inline Score scored(double squared, double ridge, double eps, double beta) noexcept nogil:
    """KORS score of a row whose squared residual is `squared`; beta may be infinite: 0 stays 0, all else is kept."""
    cdef Score q
    q.s = fmax(squared, 0) / ridge
    q.tau = (1 + eps) * q.s / (1 + q.s)
    q.p = 0
    if q.tau > 0:
        q.p = beta * q.tau if beta * q.tau < 1 else 1
    return q
