# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Features of one standardised row, and the constant 1, in one call."""
import numpy as np

cimport numpy as cnp

from nystream._core.linalg.linear_kernel cimport clean
from nystream._core.one_row cimport RowMap

cnp.import_array()


cdef class StandardRows(RowMap):
    """z(x) = (features(clip((x - mean) / scale)), 1), clipped to [-most, most]. Works on copies of mean and scale."""
    cdef RowMap inner
    cdef const double* mean
    cdef const double* scale
    cdef double* u
    cdef double most
    cdef object arrays

    def __init__(self, RowMap inner, object mean, object scale, double most):
        self.inner, self.d, self.most = inner, inner.d, most
        self.arrays = np.array([mean, scale, mean], dtype=np.float64)
        self.mean = clean(self.arrays, 3, self.d)
        self.scale, self.u = self.mean + self.d, <double*> self.mean + 2*self.d

    cdef Py_ssize_t features(self) noexcept:
        cdef Py_ssize_t n = self.inner.features()
        return -1 if n < 0 or self.inner.bytes() != 8 else n + 1

    cdef int fill(self, Py_ssize_t n, const double* x, void* z) except -1:
        cdef Py_ssize_t i, j, wide = self.inner.features()
        cdef double v
        cdef double* row
        for i in range(n):
            for j in range(self.d):
                v = (x[i*self.d + j] - self.mean[j])/self.scale[j]
                self.u[j] = -self.most if v < -self.most else self.most if v > self.most else v
            row = <double*> z + i*(wide + 1)
            if self.inner.fill(1, self.u, row):
                return 1
            row[wide] = 1.0
        return 0
