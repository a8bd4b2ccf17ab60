# A block of rows against a growing factor, seen through its m x m residual Gram matrix alone.
#
# G = phi(X) phi(X)' - T T' with T the whitened kernel rows L^-1 (s_i k(x_i, x)); of G the upper triangle is kept. When
# row j enters the factor with scale s and pivot d, each later row i gains the coordinate (s/d) G_ij, and G loses the
# outer product of these: O(m^2) instead of a new triangular solve.
#
# The factor is that of a Gram matrix plus a ridge, which double precision cannot tell apart beyond fifteen orders. Two
# rules keep rounding from deciding anything, whatever the kernel and the ridge: no row enters with s^2 k(x, x) above
# 1e12 ridge (the matrix, scaled to a diagonal of ones, is then at least 1e-12, enough for its factor to be stable),
# and a residual below 7e-14 k(x, x) is none (repeated rows leave 1e-12/n of it: no tie).


cdef inline double bounded(double weight, double own, double ridge) noexcept nogil:
    """The weight s^2 of a row with k(x, x) = own, as far as it can enter the factor."""
    return weight if weight * own <= 1e12 * ridge else 1e12 * ridge / own


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


cdef inline Score scored(double squared, double own, double weight, double ridge, double eps,
                         double beta) noexcept nogil:
    """KORS score of a row of this weight whose squared residual is `squared`, of k(x, x) = own.

    beta may be infinite: 0 stays 0, all else is kept.
    """
    cdef Score q
    q.s = weight * squared / ridge if squared > 7e-14 * own else 0
    q.tau = (1 + eps) * q.s / (1 + q.s)
    q.p = 0
    if q.tau > 0:
        q.p = beta * q.tau if beta * q.tau < 1 else 1
    return q
