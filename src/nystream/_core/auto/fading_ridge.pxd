# Small ridge regressions whose sums fade: A = sum of z z', b = sum of v z, (A + ridge) w = b.
from libc.math cimport sqrt


cdef inline double dot(Py_ssize_t n, const double* a, const double* b) noexcept nogil:
    cdef double total = 0
    cdef Py_ssize_t i
    for i in range(n):
        total += a[i]*b[i]
    return total


cdef inline void gather(Py_ssize_t n, const double* z, double keep, double u, double* A) noexcept nogil:
    """A = keep A + u z z', the lower triangle."""
    cdef Py_ssize_t i, j
    cdef double v
    for i in range(n):
        v = u*z[i]
        for j in range(i + 1):
            A[i*n + j] = keep*A[i*n + j] + v*z[j]


cdef inline void pull(Py_ssize_t n, const double* z, double keep, double v, double* b) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        b[i] = keep*b[i] + v*z[i]


cdef inline void factor(Py_ssize_t n, const double* A, double ridge, double* L) noexcept nogil:
    """Cholesky factor of A + ridge 1; sums of squares, so there is one."""
    cdef Py_ssize_t i, j, k
    cdef double s
    for i in range(n):
        for j in range(i + 1):
            s = A[i*n + j] + (ridge if i == j else 0)
            for k in range(j):
                s -= L[i*n + k]*L[j*n + k]
            if i == j:
                L[i*n + i] = sqrt(s if s > ridge*1e-9 else ridge*1e-9)
            else:
                L[i*n + j] = s/L[j*n + j]


cdef inline void solve(Py_ssize_t n, const double* L, const double* b, double* x) noexcept nogil:
    cdef Py_ssize_t i, k
    cdef double s
    for i in range(n):
        s = b[i]
        for k in range(i):
            s -= L[i*n + k]*x[k]
        x[i] = s/L[i*n + i]
    for i in range(n - 1, -1, -1):
        s = x[i]
        for k in range(i + 1, n):
            s -= L[k*n + i]*x[k]
        x[i] = s/L[i*n + i]
