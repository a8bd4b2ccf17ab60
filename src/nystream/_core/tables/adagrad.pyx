# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rounds of AdaGrad on sparse rows, at several rates side by side, and of the pool that combines the rates."""
from libc.math cimport fabs, sqrt
from libc.stdint cimport uint32_t

from nystream._core.scalar_losses cimport LOSS_LOGISTIC, loss_second
from nystream._core.tables.labels cimport MEAN, count_label, spread, within_range
from nystream._core.tables.pool cimport MOST_MODELS, newton
from nystream._core.tables.sparse_rounds cimport LOGISTIC, SOFTMAX, SQUARED, SparseRounds
from nystream._core.tables.tokens cimport Work

MOST_RATES = MOST_MODELS

cdef double SURE = 30.0     # scores of classes beyond count as this in the pool


cdef class Descent(SparseRounds):
    """A record has at each of the M rates K weights and then sums of squares: K of them for the squared loss, whose
    outputs are learnt apart, else one. The norm of a row is sum_i |x_i|; rates are divided by its mean.

    rates : (M,)
    shares : (G, M) weights of the pool, and `curves` (G, M, M) its sums of Hessians; G = K for the squared loss, else 1
    """
    cdef const double[::1] rates
    cdef double[:, ::1] shares
    cdef double[:, :, ::1] curves

    def __init__(self, str loss, uint32_t direct, bint pairs, int outputs, double[:, :, ::1] table,
                 double[:, ::1] moments, double[::1] norm, const double[::1] rates, double[:, ::1] shares,
                 double[:, :, ::1] curves):
        SparseRounds.__init__(self, loss, direct, pairs, outputs, table, moments, norm)
        cdef int M = self.M, K = self.K, groups = K if self.kind == SQUARED else 1
        if (M > MOST_MODELS or rates.shape[0] != M or table.shape[2] != (2*K if self.kind == SQUARED else K + 1)
                or shares.shape[0] != groups or shares.shape[1] != M or curves.shape[0] != groups
                or curves.shape[1] != M or curves.shape[2] != M):
            raise ValueError(f"the arrays do not fit {M} rates and {K} outputs")
        self.rates, self.shares, self.curves = rates, shares, curves
        self.scratch = 2*M*K + 3*K

    cdef void _round(self, Work* work, const double* y, double weight, double* P, double* F) noexcept nogil:
        cdef int M = self.M, K = self.K, m, k
        cdef double* raw = work.scratch        # (M, K) scores
        cdef double* held = raw + M*K              # (M, K) the same within bounds
        cdef double* e = held + M*K                # (K,) residuals
        cdef double* target = e + K                # (K,) standardised labels
        cdef double* pooled = target + K           # (K,)
        self._scores(work, raw)
        for k in range(K):
            pooled[k] = 0
            for m in range(M):
                held[m*K + k] = self._within(k, raw[m*K + k])
                pooled[k] += self.shares[k if self.kind == SQUARED else 0, m]*held[m*K + k]
            if self.kind == SQUARED:
                pooled[k] = within_range(&self.moments[k, 0], pooled[k])
        self._say(held, pooled, P, F)
        if y == NULL:
            return
        if self.kind == SQUARED:
            for k in range(K):
                count_label(&self.moments[k, 0], y[k], weight)
                target[k] = (y[k] - self.moments[k, MEAN])/spread(&self.moments[k, 0])
            y = target
        self._measure(work, weight)
        if M > 1:
            self._pool(y, weight, held, pooled, e)
        for m in range(M):
            self._residuals(y, raw + m*K, e)
            self._descend(work, m, weight, e)

    cdef double _within(self, int k, double score) noexcept nogil:
        return within_range(&self.moments[k, 0], score) if self.kind == SQUARED else min(max(score, -SURE), SURE)

    cdef void _say(self, const double* held, const double* pooled, double* P, double* F) noexcept nogil:
        """In the units of the labels, whose moments are those before this row."""
        cdef int M = self.M, K = self.K, m, k
        cdef double mean = 0, sd = 1
        for k in range(K):
            if self.kind == SQUARED:
                mean, sd = self.moments[k, MEAN], spread(&self.moments[k, 0])
            P[k] = mean + sd*pooled[k]
            for m in range(M):
                F[m*K + k] = mean + sd*held[m*K + k]

    cdef void _scores(self, const Work* work, double* raw) noexcept nogil:
        cdef Py_ssize_t i, stride = self.table.shape[1]*self.table.shape[2]
        cdef int M = self.M, K = self.K, R = <int> self.table.shape[2], m, k
        cdef const double* record
        cdef double x
        for i in range(M*K):
            raw[i] = 0
        for i in range(work.row.count):
            x = work.row.value[i]
            record = &self.table[0, 0, 0] + work.row.index[i]*stride
            for m in range(M):
                for k in range(K):
                    raw[m*K + k] += x*record[m*R + k]

    cdef void _measure(self, const Work* work, double weight) noexcept nogil:
        cdef Py_ssize_t i
        cdef double size = 0
        for i in range(work.row.count):
            size += fabs(work.row.value[i])
        self._count_norm(size, weight)

    cdef void _descend(self, const Work* work, int m, double weight, const double* e) noexcept nogil:
        """v += (x e)^2;  w += rate x e / sqrt(v), the sum over outputs in v where they are classes."""
        cdef Py_ssize_t i, stride = self.table.shape[1]*self.table.shape[2]
        cdef int K = self.K, R = <int> self.table.shape[2], k
        cdef double* w
        cdef double x, g, size = 0, step, rate = self.rates[m]/self.norm[1]
        for k in range(K):
            size += e[k]*e[k]
        if size == 0:
            return
        for i in range(work.row.count):
            x = weight*work.row.value[i]
            w = &self.table[0, 0, 0] + work.row.index[i]*stride + m*R
            if self.kind == SQUARED:
                for k in range(K):
                    g = x*e[k]
                    w[K + k] += g*g
                    if w[K + k] > 0:
                        w[k] += rate*g/sqrt(w[K + k])
            else:
                w[K] += x*x*size
                if w[K] > 0:
                    step = rate*x/sqrt(w[K])
                    for k in range(K):
                        w[k] += step*e[k]

    cdef void _pool(self, const double* y, double weight, const double* held, const double* pooled,
                    double* e) noexcept nogil:
        """A Newton step for the weights of the rates; real targets have their own."""
        cdef int M = self.M, K = self.K, m, j, k
        cdef double[16] gradient
        cdef double[16] mean
        cdef double[256] hessian
        cdef double p
        self._residuals(y, pooled, e)
        if self.kind != SOFTMAX:
            p = loss_second(LOSS_LOGISTIC, 0, y[0], pooled[0]) if self.kind == LOGISTIC else 1.0
            for k in range(K):
                for m in range(M):
                    gradient[m] = -e[k]*held[m*K + k]
                    for j in range(M):
                        hessian[m*M + j] = p*held[m*K + k]*held[j*K + k]
                newton(M, &self.shares[k, 0], &self.curves[k, 0, 0], gradient, hessian, weight)
            return
        for m in range(M):
            gradient[m], mean[m] = 0, 0
            for j in range(M):
                hessian[m*M + j] = 0
        for k in range(K):
            p = (1.0 if k == <int> y[0] else 0.0) - e[k]
            for m in range(M):
                gradient[m] -= e[k]*held[m*K + k]
                mean[m] += p*held[m*K + k]
                for j in range(M):
                    hessian[m*M + j] += p*held[m*K + k]*held[j*K + k]
        for m in range(M):
            for j in range(M):
                hessian[m*M + j] -= mean[m]*mean[j]
        newton(M, &self.shares[0, 0], &self.curves[0, 0, 0], gradient, hessian, weight)
