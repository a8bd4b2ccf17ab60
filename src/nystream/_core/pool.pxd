# Weights of a few models of one thing, learnt by online Newton steps with forgetting.
from libc.math cimport sqrt

cdef enum: MOST_MODELS = 16
cdef extern from *:
    """
    #define POOL_KEEP 0.999   /* what a round keeps of the sum of Hessians */
    #define POOL_RIDGE 30.0   /* added to it: how slowly the weights move at first */
    """
    double POOL_KEEP
    double POOL_RIDGE


cdef inline void newton(int M, double* w, double* H, const double* gradient, const double* hessian,
                        double weight) noexcept nogil:
    """H <- keep H + hessian;  w <- w - (H + ridge I)^-1 gradient, of M <= MOST_MODELS weights, by Cholesky."""
    cdef double[256] L
    cdef double[16] x
    cdef int i, j, k
    cdef double s, ridge = POOL_RIDGE
    for i in range(M*M):
        H[i] = POOL_KEEP*H[i] + weight*hessian[i]
    for i in range(M):
        ridge += 1e-10*H[i*M + i]   # beyond the rounding of what is subtracted below
    for i in range(M):
        for j in range(i + 1):
            s = H[i*M + j] + (ridge if i == j else 0.0)
            for k in range(j):
                s -= L[i*M + k]*L[j*M + k]
            L[i*M + j] = sqrt(s) if i == j else s/L[j*M + j]
        s = weight*gradient[i]
        for k in range(i):
            s -= L[i*M + k]*x[k]
        x[i] = s/L[i*M + i]
    for i in range(M - 1, -1, -1):
        s = x[i]
        for k in range(i + 1, M):
            s -= L[k*M + i]*x[k]
        x[i] = s/L[i*M + i]
        w[i] -= x[i]
