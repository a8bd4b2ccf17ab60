# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The span of stored points in the kernel's space: how far a new one is from it, and its projection, in O(n^2)."""
import numpy as np

cimport numpy as cnp
from libc.math cimport sqrt
from libc.string cimport memcpy

from nystream._core.linalg.linear_kernel cimport clean, linear_ops, linear_pick

cnp.import_array()

cdef linear_ops OPS = linear_pick()


cdef class Span:
    """L L' = K, the Gram matrix of the points, L lower triangular; memory doubles."""

    def __init__(self):
        self.reserve(16)

    @property
    def matrix(self):
        """L, (n, n), a copy."""
        return np.tril(self._L[:self.n, :self.n])

    @property
    def nbytes(self):
        return self._L.nbytes + self._work.nbytes

    def restore(self, cnp.ndarray matrix):
        cdef Py_ssize_t n = len(matrix), i
        self.n = 0
        self.reserve(n)
        self._L[:n, :n] = matrix
        self.n = n
        for i in range(n):
            self.over[i] = 1 / self.L[i * (self.capacity + 1)]

    cdef int reserve(self, Py_ssize_t n) except -1:
        cdef Py_ssize_t m = self.n, capacity = max(self.capacity, 16)
        if n <= self.capacity:
            return 0
        while capacity < n:
            capacity *= 2
        L, work = np.zeros((capacity, capacity)), np.zeros(3 * capacity)
        if m:
            L[:m, :m] = self._L[:m, :m]
            work[2 * capacity:2 * capacity + m] = self._work[2 * self.capacity:2 * self.capacity + m]
        self._L, self._work, self.capacity = L, work, capacity
        self.L, self.z = <double*> cnp.PyArray_DATA(<cnp.ndarray> L), <double*> cnp.PyArray_DATA(<cnp.ndarray> work)
        self.d, self.over = self.z + capacity, self.z + 2 * capacity
        return 0

    cdef double reach(self, const double* k, double own) noexcept nogil:
        """Squared distance to the span of a point with kernel row k (n) and own = k(x, x); rounding may make it < 0.

        z = L^-1 k: four rows at a time, whose products with what is known of z do not wait for one another.
        """
        cdef Py_ssize_t i = 0, j, c, ld = self.capacity
        cdef double[4] rest
        cdef const double* row
        while i < self.n:
            row = self.L + i * ld
            for j in range(min(4, self.n - i)):
                rest[j] = k[i + j] - OPS.dot(i, row + j * ld, self.z)
            row += i
            for j in range(min(4, self.n - i)):
                for c in range(j):
                    rest[j] -= row[j * ld + c] * self.z[i + c]
                self.z[i + j] = rest[j] * self.over[i + j]
            i += 4
        return own - OPS.dot(self.n, self.z, self.z)

    cdef void project(self) noexcept nogil:
        """d: the coefficients of the projection of the point of the last `reach`, L^-T z."""
        cdef Py_ssize_t i, ld = self.capacity
        memcpy(self.d, self.z, self.n * sizeof(double))
        for i in range(self.n - 1, -1, -1):
            self.d[i] *= self.over[i]
            OPS.mix(i, 1.0, self.d, -self.d[i], self.L + i * ld)

    cdef void extend(self, double delta2) noexcept nogil:
        """The point of the last `reach`, which said delta2 > 0, becomes point n; there is room (`reserve`)."""
        memcpy(self.L + self.n * self.capacity, self.z, self.n * sizeof(double))
        self.L[self.n * (self.capacity + 1)] = sqrt(delta2)
        self.over[self.n] = 1 / sqrt(delta2)
        self.n += 1

    def coefficients(self, cnp.ndarray k, double own):
        """(projection coefficients (n,), squared distance) of a point with kernel row k (n,), from Python."""
        cdef double delta2 = self.reach(clean(k, -1, self.n), own)
        self.project()
        return self._work[self.capacity:self.capacity + self.n].copy(), delta2

    def append(self, cnp.ndarray k, double own):
        """One more point with kernel row k (n,), from Python."""
        self.reserve(self.n + 1)
        self.extend(self.reach(clean(k, -1, self.n), own))
