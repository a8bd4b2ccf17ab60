# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The inverse of a Gram matrix of a fixed number of points: one takes the place of another in O(n^2)."""
import numpy as np

cimport numpy as cnp
from libc.string cimport memcpy

from nystream._core.expansion cimport Terms
from nystream._core.linear_kernel cimport clean, linear_ops, linear_pick

cnp.import_array()

cdef linear_ops OPS = linear_pick()
cdef double RIDGE = 1e-10       # times k(x, x), added to the diagonal
cdef double FACTOR = 4
cdef enum: LATEST = 1000


cdef class Inverse:
    """G = (K + 1e-10 diag K)^-1. For a new point, d = G k are the coefficients of its projection on the span of the
    others and pivot = k(x, x) (1 + 1e-10) - k.d is its squared distance to it, up to the ridge.
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

    def restore(self, cnp.ndarray matrix, Py_ssize_t changes, double peak):
        cdef Py_ssize_t n = len(matrix)
        self.n = 0
        self.reserve(n)
        self._G[:n, :n] = matrix
        self.n, self.changes, self.peak = n, changes, peak

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
        """d = G k for a new point with kernel row k (n) and own = k(x, x); its pivot, never below its share of ridge."""
        cdef Py_ssize_t i
        for i in range(self.n):
            self.d[i] = OPS.dot(self.n, self.G + i * self.capacity, k)
        return max(own * (1 + RIDGE) - OPS.dot(self.n, self.d, k), own * RIDGE)

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

    cdef void exchange(self, Py_ssize_t r, double pivot) noexcept nogil:
        """After `share(r)`: the point of the last `solve` takes the place of point r.

        Bordering by the one and deleting the other is, for rows other than r, G += A d' + B c' with c = G_r,
        A = (c_r d - d_r c)/q and B = b; row r becomes -A, its diagonal c_r/q. Row r of the sum is 0, as it must be.
        """
        cdef Py_ssize_t i, n = self.n, ld = self.capacity
        cdef double a = self.c[r], dr = self.d[r], q = pivot * a + dr * dr, A
        for i in range(n):
            if i != r:
                A = (a * self.d[i] - dr * self.c[i]) / q
                OPS.mix(n, 1.0, self.G + i * ld, A, self.d)
                OPS.mix(n, 1.0, self.G + i * ld, self.b[i], self.c)
                self.G[r * ld + i] = self.G[i * ld + r] = -A
        self.G[r * ld + r] = a / q
        self.changes += 1

    cdef bint worn(self, const double* own) noexcept nogil:
        """Whether to compute it anew: after 1000 exchanges, or when points close to the span of the others have left.

        Errors are rounding times the square of the largest G_ii k(x_i, x_i) that there was. They stay when the entries
        that brought them are gone; while the largest is within a factor of the peak, a new matrix would be no better.
        """
        cdef Py_ssize_t i
        cdef double largest = 0
        for i in range(self.n):
            largest = max(largest, self.G[i * (self.capacity + 1)] * own[i])
        self.peak = max(self.peak, largest)
        return self.changes >= LATEST or largest * FACTOR < self.peak

    cdef int compute(self, Terms f) except -1:
        """From the kernel, O(n^3), on the scale where the diagonal is 1."""
        cdef Py_ssize_t n = f.n
        self.reserve(n)
        root = np.sqrt(f._own[:n])
        K = np.asarray(f.kernel(f._points[:n], f._points[:n])) / np.outer(root, root)
        K.flat[::n + 1] = 1 + RIDGE
        G = np.linalg.inv(K)
        self._G[:n, :n] = 0.5 * (G + G.T) / np.outer(root, root)
        self.n, self.changes, self.peak = n, 0, 0.0
        return 0

    def replace(self, Py_ssize_t r, cnp.ndarray k, double own):
        """A new point in the place of point r -> r's projection (n,), the new point's coefficient at r; from Python."""
        cdef double pivot = self.solve(clean(k, -1, self.n), own)
        self.share(r, pivot)
        projection = self._work[self.capacity:self.capacity + self.n].copy()
        self.exchange(r, pivot)
        return projection
