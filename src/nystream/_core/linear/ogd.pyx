# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The rounds of online gradient descent on K outputs: predict, ask the loss, update, one row after the other."""
import numpy as np

cimport numpy as cnp
from libc.math cimport pow, sqrt

from nystream._core.linalg.linear_kernel cimport LINEAR_BETA1, LINEAR_BETA2, clean, clean_numbers
from nystream._core.linear.row_loop cimport RowLoop
from nystream._core.losses cimport OutputLoss

cnp.import_array()

cdef extern from "descent_kernel.h" nogil:
    ctypedef struct descent_ops:
        double (*dot)(Py_ssize_t, const void*, const void*) noexcept nogil
        void (*add)(Py_ssize_t, double*, const void*) noexcept nogil
        void (*mix)(Py_ssize_t, double, void*, double, const void*) noexcept nogil
        void (*adagrad)(Py_ssize_t, double, double, double, const void*, void*, void*) noexcept nogil
        void (*adam)(Py_ssize_t, double, double, double, double, double, const void*, void*, void*,
                     void*) noexcept nogil
    descent_ops descent_pick(int single)

cdef descent_ops DOUBLE = descent_pick(0), SINGLE = descent_pick(1)
cdef int SGD = 0, ADAGRAD = 1, ADAM = 2, IMPLICIT = 3
METHODS = {"sgd": SGD, "adagrad": ADAGRAD, "adam": ADAM, "implicit": IMPLICIT}


cdef class Descent(RowLoop):
    """Works on the solver's own arrays, all (K, dim): weights, moments of the gradient, sum of the iterates.

    Arrays that the method does not need are None. All are float64, or but for the sum all float32, and so are features.
    """
    cdef tuple arrays
    cdef descent_ops ops
    cdef int size           # bytes of a weight
    cdef Py_ssize_t apart   # bytes from a row of weights to the next
    cdef char *W
    cdef char *first
    cdef char *second
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
        self.size = 4 if cnp.PyArray_TYPE(W) == cnp.NPY_FLOAT32 else 8
        self.apart, self.ops = self.width * self.size, SINGLE if self.size == 4 else DOUBLE
        self.W = self._weights_like(W)
        self.first, self.second = self._weights_like(first), self._weights_like(second)
        self.total = <double*> clean(total, self.K, self.width) if total is not None else NULL
        self.scratch = <double*> clean(scratch, 2, self.K)
        self.loss = OutputLoss(loss, self.K)
        self.method = METHODS[method]
        if (self.method == ADAM and not self.first) or (self.method in (ADAM, ADAGRAD) and not self.second):
            raise ValueError(f"the moments that method={method!r} needs are missing")
        self.eta, self.sqrt_schedule, self.lam = eta, sqrt_schedule, lam

    cdef char* _weights_like(self, object a) except? NULL:
        return <char*> clean_numbers(a, self.K, self.width, self.size) if a is not None else NULL

    cdef int bytes(self) noexcept:
        return self.size

    def predict(self, cnp.ndarray Z):
        """(n, dim) -> (n, K), by the same dot products as `run`."""
        cdef Py_ssize_t i, n = cnp.PyArray_DIM(Z, 0)
        cdef const char* z = <const char*> clean_numbers(Z, n, self.width, self.size)
        cdef cnp.ndarray P = np.empty((n, self.K))
        cdef double* p = <double*> cnp.PyArray_DATA(P)
        with nogil:
            for i in range(n):
                self._scores(z + i * self.apart, p + i * self.K)
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
                    b[k * n + i] = DOUBLE.dot(dim, a + k * dim, rows + i * dim)
        return B

    cdef void _scores(self, const void* z, double* p) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.K):
            p[k] = self.ops.dot(self.width, self.W + k * self.apart, z)

    cdef int round(self, const void* z, const double* y, double weight, long long t, double* p) except -1 nogil:
        cdef double eta = self.eta / sqrt(<double> t) if self.sqrt_schedule else self.eta
        self._scores(z, p)
        if self.total:
            self.ops.add(self.K * self.width, self.total, self.W)
        if self.method == IMPLICIT:
            return self._proximal(z, y, weight, eta, p)
        return self._gradient(z, y, weight, eta, t, p)

    cdef int _gradient(self, const void* z, const double* y, double weight, double eta, long long t,
                       const double* p) except -1 nogil:
        cdef Py_ssize_t k
        cdef double *g = self.scratch
        cdef char *w
        cdef double decay = 1 - eta * self.lam, bias1 = 0, bias2 = 0
        self.loss.gradient(y, p, g)
        self.loss.mix(g)
        if self.method == ADAM:
            bias1, bias2 = 1 - pow(LINEAR_BETA1, <double> t), 1 - pow(LINEAR_BETA2, <double> t)
        for k in range(self.K):
            w = self.W + k * self.apart
            if self.method == ADAM:
                self.ops.adam(self.width, eta, self.lam, weight * g[k], bias1, bias2, z, w,
                              self.first + k * self.apart, self.second + k * self.apart)
            elif g[k] * weight == 0 and self.lam == 0:
                continue
            elif self.method == ADAGRAD:
                self.ops.adagrad(self.width, eta, self.lam, weight * g[k], z, w, self.second + k * self.apart)
            else:
                self.ops.mix(self.width, decay, w, -eta * weight * g[k], z)
        return 0

    cdef int _proximal(self, const void* z, const double* y, double weight, double eta,
                       const double* p) except -1 nogil:
        """w <- kappa w + alpha z, alpha = argmin_a s/2 a^2 + c l(kappa p + s a), s = |z|^2, c = kappa eta weight."""
        cdef Py_ssize_t k
        cdef double kappa = 1 / (1 + eta * self.lam), s = self.ops.dot(self.width, z, z)
        cdef double *alpha = self.scratch
        cdef double *q = self.scratch + self.K
        for k in range(self.K):
            q[k] = kappa * p[k]
        self.loss.implicit(y, q, NULL, s, kappa * eta * weight, alpha)
        self.loss.mix(alpha)
        for k in range(self.K):
            if alpha[k] != 0 or kappa != 1:
                self.ops.mix(self.width, kappa, self.W + k * self.apart, alpha[k], z)
        return 0
