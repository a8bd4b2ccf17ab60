# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The rounds of online gradient descent on K outputs: predict, ask the loss, update, one row after the other."""
import numpy as np

cimport numpy as cnp
from libc.math cimport pow, sqrt

from nystream._core.linalg.linear_kernel cimport LINEAR_BETA1, LINEAR_BETA2, clean, linear_ops, linear_pick
from nystream._core.linear.row_loop cimport RowLoop
from nystream._core.losses cimport OutputLoss

cnp.import_array()

cdef linear_ops OPS = linear_pick()
cdef int SGD = 0, ADAGRAD = 1, ADAM = 2, IMPLICIT = 3
METHODS = {"sgd": SGD, "adagrad": ADAGRAD, "adam": ADAM, "implicit": IMPLICIT}


cdef class Descent(RowLoop):
    """Works on the solver's own arrays, all (K, dim): weights, moments of the gradient, sum of the iterates.

    Arrays that the method does not need are None.
    """
    cdef tuple arrays
    cdef double *W
    cdef double *first
    cdef double *second
    cdef double *total
    cdef double *scratch
    cdef int method
    cdef bint sqrt_schedule
    cdef double eta, lam

    def __init__(self, object loss, cnp.ndarray W, object first, object second, object total, str method, double eta,
                 bint sqrt_schedule, double lam):
        self.K, self.width = W.shape[0], W.shape[1]
        scratch = np.zeros((2, self.K))
        self.arrays = (W, first, second, total, scratch)
        self.W = self._weights_like(W)
        self.first, self.second = self._weights_like(first), self._weights_like(second)
        self.total = self._weights_like(total)
        self.scratch = <double*> clean(scratch, 2, self.K)
        self.loss = OutputLoss(loss, self.K)
        self.method = METHODS[method]
        if (self.method == ADAM and not self.first) or (self.method in (ADAM, ADAGRAD) and not self.second):
            raise ValueError(f"the moments that method={method!r} needs are missing")
        self.eta, self.sqrt_schedule, self.lam = eta, sqrt_schedule, lam

    cdef double* _weights_like(self, object a) except? NULL:
        return <double*> clean(a, self.K, self.width) if a is not None else NULL

    def predict(self, cnp.ndarray Z):
        """(n, dim) -> (n, K), by the same dot products as `run`."""
        cdef Py_ssize_t i, n = cnp.PyArray_DIM(Z, 0)
        cdef const double* z = clean(Z, n, self.width)
        cdef cnp.ndarray P = np.empty((n, self.K))
        cdef double* p = <double*> cnp.PyArray_DATA(P)
        with nogil:
            for i in range(n):
                self._scores(z + i * self.width, p + i * self.K)
        return P

    @staticmethod
    def carried(cnp.ndarray A, cnp.ndarray T):
        """A T' for A (K, dim) and T (n, dim), by one dot product for each entry: K outputs give the bits of K alone."""
        cdef Py_ssize_t i, k, K = cnp.PyArray_DIM(A, 0), n = cnp.PyArray_DIM(T, 0), dim = cnp.PyArray_DIM(A, 1)
        cdef const double* a = clean(A, K, dim)
        cdef const double* rows = clean(T, n, dim)
        cdef cnp.ndarray B = np.empty((K, n))
        cdef double* b = <double*> cnp.PyArray_DATA(B)
        with nogil:
            for i in range(n):
                for k in range(K):
                    b[k * n + i] = OPS.dot(dim, a + k * dim, rows + i * dim)
        return B

    cdef void _scores(self, const double* z, double* p) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.K):
            p[k] = OPS.dot(self.width, self.W + k * self.width, z)

    cdef int round(self, const double* z, const double* y, double weight, long long t, double* p) except -1 nogil:
        cdef double eta = self.eta / sqrt(<double> t) if self.sqrt_schedule else self.eta
        self._scores(z, p)
        if self.total:
            OPS.add(self.K * self.width, self.total, self.W)
        if self.method == IMPLICIT:
            return self._proximal(z, y, weight, eta, p)
        return self._gradient(z, y, weight, eta, t, p)

    cdef int _gradient(self, const double* z, const double* y, double weight, double eta, long long t,
                       const double* p) except -1 nogil:
        cdef Py_ssize_t k
        cdef double *g = self.scratch
        cdef double *w
        cdef double decay = 1 - eta * self.lam, bias1 = 0, bias2 = 0
        self.loss.gradient(y, p, g)
        self.loss.mix(g)
        if self.method == ADAM:
            bias1, bias2 = 1 - pow(LINEAR_BETA1, <double> t), 1 - pow(LINEAR_BETA2, <double> t)
        for k in range(self.K):
            w = self.W + k * self.width
            if self.method == ADAM:
                OPS.adam(self.width, eta, self.lam, weight * g[k], bias1, bias2, z, w, self.first + k * self.width,
                         self.second + k * self.width)
            elif g[k] * weight == 0 and self.lam == 0:
                continue
            elif self.method == ADAGRAD:
                OPS.adagrad(self.width, eta, self.lam, weight * g[k], z, w, self.second + k * self.width)
            else:
                OPS.mix(self.width, decay, w, -eta * weight * g[k], z)
        return 0

    cdef int _proximal(self, const double* z, const double* y, double weight, double eta,
                       const double* p) except -1 nogil:
        """w <- kappa w + alpha z, alpha = argmin_a s/2 a^2 + c l(kappa p + s a), s = |z|^2, c = kappa eta weight."""
        cdef Py_ssize_t k
        cdef double kappa = 1 / (1 + eta * self.lam), s = OPS.dot(self.width, z, z)
        cdef double *alpha = self.scratch
        cdef double *q = self.scratch + self.K
        for k in range(self.K):
            q[k] = kappa * p[k]
        self.loss.implicit(y, q, NULL, s, kappa * eta * weight, alpha)
        self.loss.mix(alpha)
        for k in range(self.K):
            if alpha[k] != 0 or kappa != 1:
                OPS.mix(self.width, kappa, self.W + k * self.width, alpha[k], z)
        return 0
