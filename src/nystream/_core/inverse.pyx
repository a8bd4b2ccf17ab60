# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The inverse of a Gram matrix: a point enters, or takes the place of another, in O(n^2)."""
import numpy as np

cimport numpy as cnp
from libc.string cimport memcpy

from nystream._core.expansion cimport Terms
from nystream._core.linear_kernel cimport clean, linear_ops, linear_pick

cnp.import_array()

cdef linear_ops OPS = linear_pick()
RIDGE = 1e-10       # times k(x, x), added to the diagonal where the matrix is computed from the kernel


cdef class Inverse:
    """G = K^-1. For a new point, d = G k are the coefficients of its projection on the span of the others and
    pivot = k(x, x) - k.d is its squared distance to it.
    """

    def __init__(self):
        self.reserve(16)

    @property
    def matrix(self):
        """(n, n), a copy."""
        return self._G[:self.n, :self.n].copy()

    @property
    def nbytes(self):
        return self._G.nbytes + self._work.nbytes

    def restore(self, cnp.ndarray matrix, Py_ssize_t changes):
        cdef Py_ssize_t n = len(matrix)
        self.n = 0
        self.reserve(n)
        self._G[:n, :n] = matrix
        self.n, self.changes = n, changes

    cdef int reserve(self, Py_ssize_t n) except -1:
        cdef Py_ssize_t m = self.n, capacity = max(self.capacity, 16)
        if n <= self.capacity:
            return 0
        while capacity < n:
            capacity *= 2
        G, work = np.zeros((capacity, capacity)), np.zeros(3 * capacity)
        if m:
            G[:m, :m] = self._G[:m, :m]
        self._G, self._work, self.capacity = G, work, capacity
        self.G, self.d = <double*> cnp.PyArray_DATA(<cnp.ndarray> G), <double*> cnp.PyArray_DATA(<cnp.ndarray> work)
        self.b, self.c = self.d + capacity, self.d + 2 * capacity
        return 0

    cdef double solve(self, const double* k, double own) noexcept nogil:
        """d = G k for a new point with kernel row k (n) and own = k(x, x); its pivot, which rounding may make negative."""
        cdef Py_ssize_t i
        for i in range(self.n):
            self.d[i] = OPS.dot(self.n, self.G + i * self.capacity, k)
        return own - OPS.dot(self.n, self.d, k)

    cdef void border(self, double pivot) noexcept nogil:
        """The point of the last `solve` becomes point n: G <- [[G, 0], [0, 0]] + e e'/pivot, e = (d, -1)."""
        cdef Py_ssize_t i, n = self.n, ld = self.capacity
        for i in range(n):
            OPS.mix(n, 1.0, self.G + i * ld, self.d[i] / pivot, self.d)
            self.G[n * ld + i] = self.G[i * ld + n] = -self.d[i] / pivot
        self.G[n * ld + n] = 1 / pivot
        self.n = n + 1

    cdef void share(self, Py_ssize_t r, double pivot) noexcept nogil:
        """b: the projection of point r on the others (b_j) and the point of the last `solve` (b_r), its place taken.

        In the bordered inverse the coefficients are -G_rj / G_rr; written with q = pivot G_rr + d_r^2 nothing is
        divided by the pivot, which is 0 when the new point repeats a stored one.
        """
        cdef Py_ssize_t i, n = self.n
        cdef double q
        memcpy(self.c, self.G + r * self.capacity, n * sizeof(double))
        q = pivot * self.c[r] + self.d[r] * self.d[r]
        for i in range(n):
            self.b[i] = -(pivot * self.c[i] + self.d[r] * self.d[i]) / q
        self.b[r] = self.d[r] / q

    cdef double exchange(self, Py_ssize_t r, double pivot) noexcept nogil:
        """After `share(r)`: the point of the last `solve` takes the place of point r. Its squared distance to the rest.

        Bordering by the one and deleting the other is, for rows other than r, G += A d' + B c' with c = G_r,
        A = (c_r d - d_r c)/q and B = b; row r becomes -A, its diagonal c_r/q. Row r of the sum is 0, as it must be.
        """
        cdef Py_ssize_t i, n = self.n, ld = self.capacity
        cdef double a = self.c[r], dr = self.d[r], q = pivot * a + dr * dr, A
        for i in range(n):
            if i == r:
                continue
            A = (a * self.d[i] - dr * self.c[i]) / q
            OPS.mix(n, 1.0, self.G + i * ld, A, self.d)
            OPS.mix(n, 1.0, self.G + i * ld, self.b[i], self.c)
            self.G[r * ld + i] = self.G[i * ld + r] = -A
        self.G[r * ld + r] = a / q
        self.changes += 1
        return q / a

    cdef int compute(self, Terms f) except -1:
        """From the kernel, O(n^3): the inverse of K + 1e-10 diag(K), on the scale where the diagonal is 1."""
        cdef Py_ssize_t n = f.n
        self.reserve(n)
        root = np.sqrt(f._own[:n])
        K = np.asarray(f.kernel(f._points[:n], f._points[:n])) / np.outer(root, root)
        K.flat[::n + 1] = 1 + RIDGE
        G = np.linalg.inv(K)
        self._G[:n, :n] = 0.5 * (G + G.T) / np.outer(root, root)
        self.n, self.changes = n, 0
        return 0

    # -- the same from Python, for tests -------------------------------------------------------------------------------
    def append(self, cnp.ndarray k, double own):
        """A new point with kernel row k (n,)."""
        self.reserve(self.n + 1)
        self.border(self.solve(clean(k, -1, self.n), own))

    def replace(self, Py_ssize_t r, cnp.ndarray k, double own):
        """A new point in the place of point r -> r's projection (n,), the new point's coefficient at r."""
        cdef double pivot = self.solve(clean(k, -1, self.n), own)
        self.share(r, pivot)
        projection = self._work[self.capacity:self.capacity + self.n].copy()
        self.exchange(r, pivot)
        return projection
