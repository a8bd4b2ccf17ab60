# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The rounds of mistake-driven learners with the linear kernel: d weights per output instead of stored points."""
import numpy as np

cimport numpy as cnp

from nystream._core.linalg.linear_kernel cimport clean, linear_ops, linear_pick
from nystream._core.expansions.loop cimport Correction
from nystream._core.linear.row_loop cimport RowLoop

cnp.import_array()

cdef linear_ops OPS = linear_pick()


cdef class LinearRounds(RowLoop):
    """p = W x, then W += alpha x'. Weights W (K, d) and past (K, d) are the caller's arrays.

    Where labels have similarities M, M alpha stands for alpha.

    The sum of the weights over the rounds 1..T is T W + past: a change alpha x' in round t subtracts t alpha x'.
    """
    cdef Correction rule
    cdef double* W
    cdef double* past
    cdef double* alpha
    cdef tuple arrays

    def __init__(self, cnp.ndarray W, cnp.ndarray past, Correction rule):
        self.K, self.width, self.rule, self.loss = rule.K, cnp.PyArray_DIM(W, 1), rule, rule.loss
        alpha = np.zeros(self.K)
        self.arrays = (W, past, alpha)
        self.W, self.past = <double*> clean(W, self.K, self.width), <double*> clean(past, self.K, self.width)
        self.alpha = <double*> clean(alpha, -1, self.K)

    cdef int round(self, const void* row, const double* y, double weight, long long t, double* p) except -1 nogil:
        cdef Py_ssize_t c
        cdef double own
        cdef const double* x = <const double*> row
        for c in range(self.K):
            p[c] = OPS.dot(self.width, self.W + c * self.width, x)
        own = OPS.dot(self.width, x, x)
        if own > 0 and self.rule.ask(y, p, own, weight, self.alpha):
            self.loss.mix(self.alpha)
            for c in range(self.K):
                if self.alpha[c] != 0:
                    OPS.mix(self.width, 1.0, self.W + c * self.width, self.alpha[c], x)
                    OPS.mix(self.width, 1.0, self.past + c * self.width, -<double> t * self.alpha[c], x)
        return 0
