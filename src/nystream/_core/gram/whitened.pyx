# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One row against stored points and the factor of their Gram matrix."""
import numpy as np

cimport numpy as cnp
from libc.math cimport fmax, sqrt

from nystream._core.kernel_rows cimport KernelRows
from nystream._core.linalg.cholesky cimport Triangle
from nystream._core.linalg.linear_kernel cimport clean

cnp.import_array()


cdef class WhitenedRow:
    """L^-1 (s_i k(x_i, x)) of a row x, for points x_i (m, d), scales s_i (m, 1) and their factor L, `triangle`.

    Works on the memory of a model, which is given anew (`hold`) where it may have moved.
    """

    def __init__(self, KernelRows form, Triangle triangle):
        self.form, self.triangle, self.scratch = form, triangle, np.zeros(0)

    def hold_row(self, cnp.ndarray points, cnp.ndarray scale):
        """Where points and scales are, where there is nothing else to hold."""
        self.hold_points(points, scale)

    cdef int hold_points(self, cnp.ndarray points, cnp.ndarray scale) except -1:
        cdef Py_ssize_t m = cnp.PyArray_DIM(points, 0), d = cnp.PyArray_DIM(points, 1)
        if self.triangle.n != m:
            raise ValueError(f"the factor has {self.triangle.n} rows, {m} points are given")
        cdef const double* at = clean(points, m, d)
        cdef const double* scales = clean(scale, m, 1)
        if cnp.PyArray_DIM(self.scratch, 0) < m + ROOM:
            self.scratch = np.zeros(2*m + ROOM)
        self.t = <double*> cnp.PyArray_DATA(<cnp.ndarray> self.scratch)
        self.at, self.scales, self.m, self.d, self.arrays = at, scales, m, d, (points, scale)
        return 0

    def enter(self, double scale, double own, double ridge):
        """The row that was whitened last, of k(x, x) = own, enters the factor with this scale; then its point and scale
        are appended, and all is given anew."""
        cdef Py_ssize_t i
        cdef double square = 0
        for i in range(self.m):
            square += self.t[i]*self.t[i]
            self.t[i] *= scale
        self.triangle.append_one(self.t, sqrt(fmax(ridge + scale*scale*(own - square), ridge)))

    cdef double whiten(self, const double* x, double* t) noexcept nogil:
        """Into t, m numbers with room for 8 more: their squared length."""
        cdef Py_ssize_t i
        if not self.m:
            return 0
        self.form.fill(x, 1, self.at, self.m, self.d, t, self.m)
        for i in range(self.m):
            t[i] *= self.scales[i]
        return self.triangle.solve_one(t)
