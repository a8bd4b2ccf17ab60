# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The loop over rows that learners of fixed size share: predict, then learn, one row after the other."""
import numpy as np

cimport numpy as cnp

from nystream._core.linalg.linear_kernel cimport clean, clean_numbers

cnp.import_array()


cdef class RowLoop(OneRow):
    """Subclasses set loss, K and width, and write `round`, which fills p (K) before it looks at y; and `bytes`, where
    the numbers of a row are not double."""

    cdef int round(self, const void* x, const double* y, double weight, long long t, double* p) except -1 nogil:
        return 0

    cdef Py_ssize_t accepts(self) noexcept:
        self.signs = self.loss.signs
        return self.width if self.K == 1 and not self.loss.multiclass else -1

    cdef int one(self, const void* x, double y, long long t, double* p) except -1:
        return self.round(x, &y, 1.0, t, p)

    def step(self, cnp.ndarray x, cnp.ndarray y, double weight, long long t):
        """Round t (the first is 1) on x (width,) with label y (K,), or (1,) for a class number -> prediction (K,)."""
        cdef cnp.npy_intp K = self.K
        cdef const void* row = clean_numbers(x, -1, self.width, self.bytes())
        cdef const double* label = clean(y, -1, self.loss.columns)
        cdef cnp.ndarray p = cnp.PyArray_EMPTY(1, &K, cnp.NPY_FLOAT64, 0)
        self.loss.check(label, 1)
        self.round(row, label, weight, t, <double*> cnp.PyArray_DATA(p))
        return p

    def run(self, cnp.ndarray X, cnp.ndarray Y, object weights, long long t):
        """Rounds t, t + 1, ... on the rows of X -> predictions (n, K), each made before its label was read."""
        cdef Py_ssize_t i, n = cnp.PyArray_DIM(X, 0), columns = self.loss.columns
        cdef const char* x = <const char*> clean_numbers(X, n, self.width, self.bytes())
        cdef Py_ssize_t apart = self.width * self.bytes()
        cdef const double* y = clean(Y, n, columns)
        cdef const double* weight = clean(weights, -1, n) if weights is not None else NULL
        cdef cnp.ndarray P = np.empty((n, self.K))
        cdef double* p = <double*> cnp.PyArray_DATA(P)
        self.loss.check(y, n)
        with nogil:
            for i in range(n):
                self.round(x + i * apart, y + i * columns, weight[i] if weight else 1.0, t + i, p + i * self.K)
        return P
