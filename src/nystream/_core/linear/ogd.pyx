# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The rounds of online gradient descent on K outputs: predict, ask the loss, update, one row after the other."""
import numpy as np

cimport numpy as cnp
from libc.math cimport pow, sqrt

from nystream._core.linalg.linear_kernel cimport LINEAR_BETA1, LINEAR_BETA2, clean, linear_ops, linear_pick
from nystream._core.scalar_losses cimport (
    MULTI_EXACT, MULTI_RUNNER_UP, loss_grad, loss_implicit, multi_grad, multi_implicit, multi_mix
)

cnp.import_array()

cdef linear_ops OPS = linear_pick()
cdef int SGD = 0, ADAGRAD = 1, ADAM = 2, IMPLICIT = 3
METHODS = {"sgd": SGD, "adagrad": ADAGRAD, "adam": ADAM, "implicit": IMPLICIT}


cdef class Descent:
    """Works on the solver's own arrays, all (K, dim): weights, moments of the gradient, sum of the iterates.

    Arrays that the method does not need are None. A loss whose `compiled` is None is asked in Python, row by row.
    """
    cdef object loss
    cdef tuple arrays
    cdef double *W
    cdef double *first
    cdef double *second
    cdef double *total
    cdef double *scratch
    cdef const double *margins
    cdef const double *similar
    cdef Py_ssize_t dim
    cdef int K, kind, method
    cdef bint multiclass, sqrt_schedule
    cdef double a, b, eta, lam

    def __init__(self, object loss, cnp.ndarray W, object first, object second, object total, str method, double eta,
                 bint sqrt_schedule, double lam):
        self.K, self.dim = W.shape[0], W.shape[1]
        margins = getattr(loss, "label_margins", None)
        similar = getattr(loss, "label_similarity", None)
        scratch = np.zeros((4, self.K))
        self.arrays = (W, first, second, total, scratch, margins, similar)
        self.W = self._weights_like(W)
        self.first, self.second = self._weights_like(first), self._weights_like(second)
        self.total = self._weights_like(total)
        self.scratch = <double*> clean(scratch, 4, self.K)
        self.margins = clean(margins, self.K, self.K) if margins is not None else NULL
        self.similar = clean(similar, self.K, self.K) if similar is not None else NULL
        self.loss, self.multiclass = loss, loss.multiclass
        self.kind, self.a, self.b = loss.compiled or (-1, 0.0, 0.0)
        self.method = METHODS[method]
        self.eta, self.sqrt_schedule, self.lam = eta, sqrt_schedule, lam

    cdef double* _weights_like(self, object a) except? NULL:
        return <double*> clean(a, self.K, self.dim) if a is not None else NULL

    def predict(self, cnp.ndarray Z):
        """(n, dim) -> (n, K), by the same dot products as `run`."""
        cdef Py_ssize_t i, n = cnp.PyArray_DIM(Z, 0)
        cdef const double* z = clean(Z, n, self.dim)
        cdef cnp.ndarray P = np.empty((n, self.K))
        cdef double* p = <double*> cnp.PyArray_DATA(P)
        with nogil:
            for i in range(n):
                self._scores(z + i * self.dim, p + i * self.K)
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

    def step(self, cnp.ndarray z, cnp.ndarray y, double weight, long long t):
        """Round t (the first is 1) on z (dim,) with label y (K,), or (1,) for a class number -> prediction (K,)."""
        cdef const double* row = clean(z, -1, self.dim)
        cdef const double* label = clean(y, -1, 1 if self.multiclass else self.K)
        cdef cnp.npy_intp K = self.K
        cdef cnp.ndarray p = cnp.PyArray_EMPTY(1, &K, cnp.NPY_FLOAT64, 0)
        self._round(row, label, weight, t, <double*> cnp.PyArray_DATA(p))
        return p

    def run(self, cnp.ndarray Z, cnp.ndarray Y, object weights, long long t):
        """Rounds t, t + 1, ... on the rows of Z -> predictions (n, K), each made before its label was read."""
        cdef Py_ssize_t i, n = cnp.PyArray_DIM(Z, 0), columns = 1 if self.multiclass else self.K
        cdef const double* z = clean(Z, n, self.dim)
        cdef const double* y = clean(Y, n, columns)
        cdef const double* weight = clean(weights, -1, n) if weights is not None else NULL
        cdef cnp.ndarray P = np.empty((n, self.K))
        cdef double* p = <double*> cnp.PyArray_DATA(P)
        with nogil:
            for i in range(n):
                self._round(z + i * self.dim, y + i * columns, weight[i] if weight else 1.0, t + i, p + i * self.K)
        return P

    cdef void _scores(self, const double* z, double* p) noexcept nogil:
        cdef int k
        for k in range(self.K):
            p[k] = OPS.dot(self.dim, self.W + k * self.dim, z)

    cdef int _round(self, const double* z, const double* y, double weight, long long t, double* p) except -1 nogil:
        cdef double eta = self.eta / sqrt(<double> t) if self.sqrt_schedule else self.eta
        self._scores(z, p)
        if self.total:
            OPS.add(self.K * self.dim, self.total, self.W)
        if self.multiclass and not 0 <= y[0] < self.K:
            with gil:
                raise ValueError(f"y must be a class number below {self.K}, got {y[0]:g}")
        if self.method == IMPLICIT:
            return self._proximal(z, y, weight, eta, p)
        return self._gradient(z, y, weight, eta, t, p)

    cdef int _gradient(self, const double* z, const double* y, double weight, double eta, long long t,
                       const double* p) except -1 nogil:
        cdef int k
        cdef double *g = self.scratch
        cdef double *w
        cdef double decay = 1 - eta * self.lam, bias1 = 0, bias2 = 0
        self._ask_gradient(y, p, g)
        if self.method == ADAM:
            bias1, bias2 = 1 - pow(LINEAR_BETA1, <double> t), 1 - pow(LINEAR_BETA2, <double> t)
        for k in range(self.K):
            w = self.W + k * self.dim
            if self.method == ADAM:
                OPS.adam(self.dim, eta, self.lam, weight * g[k], bias1, bias2, z, w, self.first + k * self.dim,
                         self.second + k * self.dim)
            elif g[k] * weight == 0 and self.lam == 0:
                continue
            elif self.method == ADAGRAD:
                OPS.adagrad(self.dim, eta, self.lam, weight * g[k], z, w, self.second + k * self.dim)
            else:
                OPS.mix(self.dim, decay, w, -eta * weight * g[k], z)
        return 0

    cdef int _proximal(self, const double* z, const double* y, double weight, double eta,
                       const double* p) except -1 nogil:
        """w <- kappa w + alpha z, alpha = argmin_a s/2 a^2 + c l(kappa p + s a), s = |z|^2, c = kappa eta weight."""
        cdef int k
        cdef double kappa = 1 / (1 + eta * self.lam), s = OPS.dot(self.dim, z, z)
        cdef double *alpha = self.scratch
        cdef double *q = self.scratch + self.K
        for k in range(self.K):
            q[k] = kappa * p[k]
        self._ask_implicit(y, q, s, kappa * eta * weight, alpha)
        for k in range(self.K):
            if alpha[k] != 0 or kappa != 1:
                OPS.mix(self.dim, kappa, self.W + k * self.dim, alpha[k], z)
        return 0

    cdef int _ask_gradient(self, const double* y, const double* p, double* g) except -1 nogil:
        cdef int k
        if self.kind < 0:
            with gil:
                self._fill(g, self.loss.grad(int(y[0]), self._vector(p)) if self.multiclass
                           else [self.loss.grad(y[k], p[k]) for k in range(self.K)])
        elif self.multiclass:
            multi_grad(self.kind, self.margins, self.K, <int> y[0], p, g)
            self._spread(g)
        else:
            for k in range(self.K):
                g[k] = loss_grad(self.kind, self.a, self.b, y[k], p[k])
        return 0

    cdef int _ask_implicit(self, const double* y, const double* p, double s, double c, double* alpha) except -1 nogil:
        cdef int k
        if not (s > 0 and c > 0):
            for k in range(self.K):
                alpha[k] = 0
        elif self.kind < 0:
            with gil:
                self._fill(alpha, self.loss.implicit(int(y[0]), self._vector(p), s, c) if self.multiclass
                           else [self.loss.implicit(y[k], p[k], s, c) for k in range(self.K)])
        elif self.multiclass:
            multi_implicit(self.kind, MULTI_EXACT if self.similar == NULL else MULTI_RUNNER_UP, self.margins,
                           self.similar, self.K, <int> y[0], p, NULL, s, c, self.scratch + 2 * self.K, alpha)
            self._spread(alpha)
        else:
            for k in range(self.K):
                alpha[k] = loss_implicit(self.kind, self.a, self.b, y[k], p[k], s, c)
        return 0

    cdef void _spread(self, double* v) noexcept nogil:
        """v <- M v: with the joint kernel z.z' M[y, y'], what moves one label moves those like it."""
        multi_mix(self.similar, self.K, v, self.scratch + 3 * self.K)

    cdef object _vector(self, const double* p):
        return np.array([p[k] for k in range(self.K)])

    cdef int _fill(self, double* out, object values) except -1:
        cdef int k
        for k in range(self.K):
            out[k] = values[k]
        return 0
