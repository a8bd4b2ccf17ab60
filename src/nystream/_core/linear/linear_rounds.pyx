# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The rounds of mistake-driven learners with the linear kernel: d weights per output instead of stored points."""
import numpy as np

cimport numpy as cnp

from nystream._core.linalg.linear_kernel cimport clean, linear_ops, linear_pick
from nystream._core.expansions.loop cimport Correction

cnp.import_array()

cdef linear_ops OPS = linear_pick()


cdef class LinearRounds:
    """p = W x, then W += alpha x'. Weights W (K, d) and past (K, d) are the caller's arrays.

    Where labels have similarities M, M alpha stands for alpha.

    The sum of the weights over the rounds 1..T is T W + past: a change alpha x' in round t subtracts t alpha x'.
    """
    cdef Correction rule
    cdef Py_ssize_t K, d
    cdef double* W
    cdef double* past
    cdef double* alpha
    cdef tuple arrays

    def __init__(self, cnp.ndarray W, cnp.ndarray past, Correction rule):
        self.K, self.d, self.rule = rule.K, cnp.PyArray_DIM(W, 1), rule
        alpha = np.zeros(self.K)
        self.arrays = (W, past, alpha)
        self.W, self.past = <double*> clean(W, self.K, self.d), <double*> clean(past, self.K, self.d)
        self.alpha = <double*> clean(alpha, -1, self.K)

    def step(self, cnp.ndarray x, cnp.ndarray y, double weight, long long t):
        """Round t (the first is 1) on x (d,) with label y (K,), or (1,) for a class number -> prediction (K,)."""
        cdef cnp.npy_intp K = self.K
        cdef cnp.ndarray p = cnp.PyArray_EMPTY(1, &K, cnp.NPY_FLOAT64, 0)
        cdef const double* label = clean(y, -1, self.rule.columns)
        self.rule.check(label, 1)
        self.round(clean(x, -1, self.d), label, weight, t, <double*> cnp.PyArray_DATA(p))
        return p

    def run(self, cnp.ndarray X, cnp.ndarray Y, object weights, long long t):
        """Rounds t, t + 1, ... on the rows of X -> predictions (n, K), each made before its label was read."""
        cdef Py_ssize_t i, n = cnp.PyArray_DIM(X, 0), columns = self.rule.columns
        cdef const double* x = clean(X, n, self.d)
        cdef const double* y = clean(Y, n, columns)
        cdef const double* weight = clean(weights, -1, n) if weights is not None else NULL
        cdef cnp.ndarray P = np.empty((n, self.K))
        cdef double* p = <double*> cnp.PyArray_DATA(P)
        self.rule.check(y, n)
        with nogil:
            for i in range(n):
                self.round(x + i * self.d, y + i * columns, weight[i] if weight else 1.0, t + i, p + i * self.K)
        return P

    cdef int round(self, const double* x, const double* y, double weight, long long t, double* p) except -1 nogil:
        cdef Py_ssize_t c
        cdef double own
        for c in range(self.K):
            p[c] = OPS.dot(self.d, self.W + c * self.d, x)
        own = OPS.dot(self.d, x, x)
        if own > 0 and self.rule.ask(y, p, own, weight, self.alpha):
            self.rule.mix(self.alpha)
            for c in range(self.K):
                if self.alpha[c] != 0:
                    OPS.mix(self.d, 1.0, self.W + c * self.d, self.alpha[c], x)
                    OPS.mix(self.d, 1.0, self.past + c * self.d, -<double> t * self.alpha[c], x)
        return 0
