# The eigen-decomposition of U' diag(d) U + gain y y' from that of U' diag(d) U, by the secular equation: O(n^2) for the
# eigenvalues of an n x n problem and one n x n x m product for the vectors; from scratch is 3 to 8 times slower here.
from libc.math cimport fabs, fmax, sqrt
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport dgemm, drot
from scipy.linalg.cython_lapack cimport dlaed9

cdef enum: KEPT = 0, SETTLED = 1


cdef inline int deflate(int n, int m, double* d, double* z, double rho, double* U, int width, int* mark) noexcept nogil:
    """Eigenpairs that rho z z' moves by rounding only are SETTLED; of two equal ones, a rotation settles the first.

    What is neglected is below 8 eps times the matrix: the tolerance of LAPACK's divide and conquer (dlaed2).
    """
    cdef int j, last = -1, kept = 0, one = 1
    cdef double tol = 8 * 1.1102230246251565e-16 * fmax(d[n - 1], rho), c, s, r, t
    for j in range(n):
        mark[j] = SETTLED
        if rho * fabs(z[j]) <= tol:
            continue
        mark[j] = KEPT
        kept += 1
        if last >= 0:
            r = sqrt(z[last]*z[last] + z[j]*z[j])
            c, s = z[j]/r, -z[last]/r
            if fabs((d[j] - d[last])*c*s) <= tol:
                mark[last] = SETTLED
                kept -= 1
                z[last], z[j] = 0, r
                drot(&m, U + last*width, &one, U + j*width, &one, &c, &s)
                t = d[last]*c*c + d[j]*s*s
                d[j] = d[last]*s*s + d[j]*c*c
                d[last] = t
        last = j
    return kept


cdef inline int rank_one(int n, int m, double* d, double* z, double gain, double* U, int width, double* work,
                         int* mark) noexcept nogil:
    """d (n,) ascending and the rows of U (n, m), `width` apart, become those of U' diag(d) U + gain y y', z = U y.

    z is used up. work: n (2 n + 2 width + 3) numbers, mark: n. Returns LAPACK's info, 0 for success.
    """
    cdef int i, j, out, one = 1, kept, info = 0
    cdef double norm = 0, rho, unit = 1, zero = 0
    cdef double* S = work
    cdef double* Q = S + n*n
    cdef double* poles = Q + n*n
    cdef double* w = poles + n
    cdef double* roots = w + n
    cdef double* rows = roots + n
    cdef double* turned = rows + n*width
    for i in range(n):
        norm += z[i]*z[i]
    rho = gain*norm
    if not rho > 0:
        return 0
    for i in range(n):
        z[i] /= sqrt(norm)
    kept, j = deflate(n, m, d, z, rho, U, width, mark), 0
    if kept == 0:
        return 0
    for i in range(n):
        if mark[i] == KEPT:
            poles[j], w[j] = d[i], z[i]
            memcpy(rows + j*width, U + i*width, m*sizeof(double))
            j += 1
    dlaed9(&kept, &one, &kept, &kept, roots, Q, &kept, &rho, poles, w, S, &kept, &info)
    if info:
        return info
    dgemm(b"N", b"N", &m, &kept, &kept, &unit, rows, &width, S, &kept, &zero, turned, &width)
    i, j = n - 1, kept - 1
    for out in range(n - 1, -1, -1):   # merge what settled with what moved, the largest last
        while i >= 0 and mark[i] == KEPT:
            i -= 1
        if i < 0 or (j >= 0 and roots[j] >= d[i]):
            poles[out] = roots[j]
            memcpy(rows + out*width, turned + j*width, m*sizeof(double))
            j -= 1
        else:
            poles[out] = d[i]
            memcpy(rows + out*width, U + i*width, m*sizeof(double))
            i -= 1
    memcpy(d, poles, n*sizeof(double))
    for i in range(n):
        memcpy(U + i*width, rows + i*width, m*sizeof(double))
    return 0
