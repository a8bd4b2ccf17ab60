# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A Gram matrix of a fixed number of points and its inverse: one point takes the place of another in O(n^2)."""
import numpy as np

cimport numpy as cnp
from libc.string cimport memcpy

from nystream._core.expansions.expansion cimport Terms
from nystream._core.linalg.linear_kernel cimport clean, linear_ops, linear_pick

cnp.import_array()

cdef linear_ops OPS = linear_pick()
cdef double RIDGE = 1e-10       # times k(x, x), added to the diagonal


cdef class Inverse:
    """K, with 1e-10 k(x, x) added to its diagonal, and G = K^-1.

    For a new point with kernel row k, d = G k are the coefficients of its projection on the span of the others and
    pivot = k(x, x) - k.d is its squared distance to it, up to the ridge.
    """

    @property
    def gram(self):
        """K, (n, n), a copy."""
        return self._K.copy() if self.n else np.zeros((0, 0))

    @property
    def matrix(self):
        """G, (n, n), a copy."""
        return self._G.copy() if self.n else np.zeros((0, 0))

    @property
    def nbytes(self):
        return self._K.nbytes + self._G.nbytes + self._work.nbytes if self.n else 0

    def restore(self, cnp.ndarray gram, cnp.ndarray matrix, Py_ssize_t changes):
        if len(gram):
            self.hold(np.array(gram), np.array(matrix), changes)

    cdef int hold(self, object K, object G, Py_ssize_t changes) except -1:
        cdef Py_ssize_t n = len(K)
        self._K, self._G, self._work, self.n, self.changes = K, G, np.zeros(5 * n), n, changes
        self.K, self.G = <double*> clean(K, n, n), <double*> clean(G, n, n)
        self.k = <double*> clean(self._work, -1, 5 * n)
        self.d, self.b, self.c, self.rest = self.k + n, self.k + 2 * n, self.k + 3 * n, self.k + 4 * n
        return 0

    cdef int compute(self, Terms f) except -1:
        """Both from the kernel of the stored points."""
        cdef Py_ssize_t n = f.n
        K = np.ascontiguousarray(f.kernel(f._points[:n], f._points[:n]), dtype=np.float64)
        K.flat[::n + 1] = f._own[:n] * (1 + RIDGE)
        self.hold(K, np.empty((n, n)), 0)
        return self.refresh()

    cdef int refresh(self) except -1:
        """G from K, O(n^3), on the scale where the diagonal is 1."""
        root = np.sqrt(self._K.diagonal())
        scale = np.outer(root, root)
        G = np.linalg.inv(self._K / scale)
        self._G[:] = 0.5 * (G + G.T) / scale
        self.changes = 0
        return 0

    cdef double solve(self, const double* k, double own) noexcept nogil:
        """d for a new point with kernel row k (n) and own = k(x, x); its pivot, never below its share of the ridge.

        G k is corrected by G (k - K G k). Where points are nearly dependent the pivot is a small difference, and
        without this step a single exchange could cost G four digits.
        """
        cdef Py_ssize_t i, n = self.n
        memcpy(self.k, k, n * sizeof(double))
        self.own = own * (1 + RIDGE)
        for i in range(n):
            self.d[i] = OPS.dot(n, self.G + i * n, k)
        for i in range(n):
            self.rest[i] = k[i] - OPS.dot(n, self.K + i * n, self.d)
        for i in range(n):
            self.d[i] += OPS.dot(n, self.G + i * n, self.rest)
        return max(self.own - OPS.dot(n, self.d, k), own * RIDGE)

    cdef void share(self, Py_ssize_t r, double pivot) noexcept nogil:
        """b: the projection of point r on the others (b_j) and the point of the last `solve` (b_r), its place taken.

        In the bordered inverse the coefficients are -G_rj / G_rr; written with q = pivot G_rr + d_r^2 nothing is
        divided by the pivot, which is next to nothing when the new point repeats a stored one.
        """
        cdef Py_ssize_t i, n = self.n
        cdef double q
        memcpy(self.c, self.G + r * n, n * sizeof(double))
        q = pivot * self.c[r] + self.d[r] * self.d[r]
        for i in range(n):
            self.b[i] = -(pivot * self.c[i] + self.d[r] * self.d[i]) / q
        self.b[r] = self.d[r] / q

    cdef void exchange(self, Py_ssize_t r, double pivot) noexcept nogil:
        """After `share(r)`: the point of the last `solve` takes the place of point r.

        Bordering by the one and deleting the other is, for rows other than r, G += A d' + B c' with c = G_r,
        A = (c_r d - d_r c)/q and B = b; row r becomes -A, its diagonal c_r/q. Row r of the sum is 0, as it must be.
        """
        cdef Py_ssize_t i, n = self.n
        cdef double a = self.c[r], dr = self.d[r], q = pivot * a + dr * dr, A
        for i in range(n):
            self.K[r * n + i] = self.K[i * n + r] = self.k[i]
            if i != r:
                A = (a * self.d[i] - dr * self.c[i]) / q
                OPS.mix(n, 1.0, self.G + i * n, A, self.d)
                OPS.mix(n, 1.0, self.G + i * n, self.b[i], self.c)
                self.G[r * n + i] = self.G[i * n + r] = -A
        self.G[r * n + r], self.K[r * n + r] = a / q, self.own
        self.changes += 1

    def replace(self, Py_ssize_t r, cnp.ndarray k, double own):
        """A new point in the place of point r -> r's projection (n,), the new point's coefficient at r; from Python."""
        cdef double pivot = self.solve(clean(k, -1, self.n), own)
        self.share(r, pivot)
        projection = self._work[2 * self.n:3 * self.n].copy()
        self.exchange(r, pivot)
        return projection
