# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rounds of AdaGrad on sparse rows, at several rates side by side, and of the pool that combines the rates."""
import numpy as np

cimport numpy as cnp
from libc.math cimport fabs, sqrt
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free

from nystream._core.scalar_losses cimport LOSS_LOGISTIC, LOSS_SOFTMAX, loss_grad, loss_second, multi_grad
from nystream._core.tables.labels cimport MEAN, MOMENTS, count_label, spread, within_range
from nystream._core.tables.pool cimport MOST_MODELS, newton
from nystream._core.tables.tokens cimport Tokens, gather

cnp.import_array()

cdef enum: SQUARED = 0, LOGISTIC = 1, SOFTMAX = 2
KINDS = {"squared": SQUARED, "logistic": LOGISTIC, "softmax": SOFTMAX}
MOST_RATES = MOST_MODELS

cdef double FAR = 5.0       # residuals of standardised labels beyond count as this
cdef double SURE = 30.0     # scores of classes beyond count as this in the pool


cdef class Descent:
    """Works on the learner's own arrays.

    direct : columns below are not hashed
    table : (buckets + 1, M, R) records, the last of the constant. At each of M rates a record is K weights and then
        sums of squares: K of them for the squared loss, whose outputs are learnt apart, else one.
    rates : (M,)
    shares : (G, M) weights of the pool, and `curves` (G, M, M) its sums of Hessians; G = K for the squared loss, else 1
    moments : (K, 5) of the labels, see labels.pxd; of the squared loss only
    norm : (2,) weight of the rows and the mean of sum_i |x_i| over them, which rates are divided by
    """
    cdef double[:, :, ::1] table
    cdef const double[::1] rates
    cdef double[:, ::1] shares
    cdef double[:, :, ::1] curves
    cdef double[:, ::1] moments
    cdef double[::1] norm
    cdef double[::1] scratch
    cdef int kind, K, M
    cdef uint32_t direct
    cdef bint pairs
    cdef Tokens row

    def __init__(self, str loss, uint32_t direct, bint pairs, int outputs, double[:, :, ::1] table, const double[::1] rates,
                 double[:, ::1] shares, double[:, :, ::1] curves, double[:, ::1] moments,
                 double[::1] norm):
        cdef int M = rates.shape[0], K = outputs, groups, width
        self.kind, self.direct, self.pairs, self.K, self.M = KINDS[loss], direct, pairs, K, M
        cdef bint apart = self.kind == SQUARED
        groups = K if apart else 1
        width = 2*K if apart else K + 1
        if (M > MOST_MODELS or table.shape[1] != M or table.shape[2] != width or shares.shape[0] != groups
                or shares.shape[1] != M or curves.shape[0] != groups or curves.shape[1] != M or curves.shape[2] != M
                or moments.shape[0] != (K if apart else 0) or moments.shape[1] != MOMENTS
                or norm.shape[0] != 2):
            raise ValueError(f"the arrays do not fit {M} rates and {K} outputs")
        self.table, self.rates, self.shares, self.curves, self.moments = table, rates, shares, curves, moments
        self.norm = norm
        self.scratch = np.zeros(2*M*K + 2*K)

    def __dealloc__(self):
        free(self.row.index)
        free(self.row.value)

    def predict(self, const int64_t[::1] begin, const int64_t[::1] end, const uint32_t[::1] columns,
                const double[::1] values):
        """(n, K) of the pool and (n, M, K) of the rates, for rows columns[begin[i]:end[i]]."""
        return self._rounds(begin, end, columns, values, None, None)

    def run(self, const int64_t[::1] begin, const int64_t[::1] end, const uint32_t[::1] columns,
            const double[::1] values, const double[:, ::1] Y not None, const double[::1] weights):
        """The same, each row learnt after it was predicted. Y (n, K), or (n, 1) class numbers or signs."""
        if Y.shape[0] != begin.shape[0] or Y.shape[1] != (1 if self.kind == SOFTMAX else self.K) \
                or (weights is not None and weights.shape[0] != Y.shape[0]):
            raise ValueError("labels or weights do not fit the rows")
        return self._rounds(begin, end, columns, values, Y, weights)

    cdef object _rounds(self, const int64_t[::1] begin, const int64_t[::1] end, const uint32_t[::1] columns,
                        const double[::1] values, const double[:, ::1] Y, const double[::1] weights):
        cdef Py_ssize_t t, n = begin.shape[0], room = columns.shape[0]
        cdef uint32_t buckets = <uint32_t> (self.table.shape[0] - 1)
        cdef bint learn = Y is not None, weighted = weights is not None
        if end.shape[0] != n or values.shape[0] != room:
            raise ValueError("begin, end, columns and values do not fit together")
        pooled, apart = np.empty((n, self.K)), np.empty((n, self.M, self.K))
        cdef double[:, ::1] P = pooled
        cdef double[:, :, ::1] F = apart
        cdef double weight = 1.0
        cdef const double* y = NULL
        cdef const uint32_t* first = &columns[0] if room else NULL
        cdef const double* entries = &values[0] if room else NULL
        with nogil:
            for t in range(n):
                if begin[t] < 0 or end[t] < begin[t] or end[t] > room:
                    with gil:
                        raise ValueError(f"row {t} is not within the {room} entries")
                gather(&self.row, end[t] - begin[t], first + begin[t], entries + begin[t], self.direct, buckets,
                       self.pairs)
                if learn:
                    y = &Y[t, 0]
                    weight = weights[t] if weighted else 1.0
                    if self.kind == SOFTMAX and not 0 <= y[0] < self.K:
                        with gil:
                            raise ValueError(f"y must be a class number below {self.K}, got {y[0]:g}")
                self._round(y if weight > 0 else NULL, weight, &F[t, 0, 0], &P[t, 0])
        return pooled, apart

    cdef void _round(self, const double* y, double weight, double* F, double* P) noexcept nogil:
        """Predict into F (M, K) and P (K,); learn y unless it is NULL."""
        cdef int M = self.M, K = self.K, m, k, g
        cdef double* raw = &self.scratch[0]        # (M, K) scores
        cdef double* held = raw + M*K              # (M, K) within bounds
        cdef double* e = held + M*K                # (K,) residuals
        cdef double* target = e + K                # (K,)
        cdef double mean, sd
        cdef double* moments
        self._scores(raw)
        for k in range(K):
            g = k if self.kind == SQUARED else 0
            P[k] = 0
            for m in range(M):
                held[m*K + k] = (within_range(&self.moments[k, 0], raw[m*K + k]) if self.kind == SQUARED
                                 else min(max(raw[m*K + k], -SURE), SURE))
                P[k] += self.shares[g, m]*held[m*K + k]
            if self.kind == SQUARED:
                P[k] = within_range(&self.moments[k, 0], P[k])
        if y != NULL:
            if self.kind != SQUARED:
                self._pool(y, weight, held, P, e)
        for k in range(K):
            if self.kind != SQUARED:
                for m in range(M):
                    F[m*K + k] = held[m*K + k]
                continue
            moments = &self.moments[k, 0]
            mean, sd = moments[MEAN], spread(moments)
            if y != NULL:
                e[k] = P[k]
                count_label(moments, y[k], weight)
                target[k] = (y[k] - moments[MEAN])/spread(moments)
            P[k] = mean + sd*P[k]
            for m in range(M):
                F[m*K + k] = mean + sd*held[m*K + k]
        if y == NULL:
            return
        self._measure(weight)
        if self.kind == SQUARED:
            self._pool(target, weight, held, e, e)
        for m in range(M):
            self._residuals(target if self.kind == SQUARED else y, raw + m*K, e)
            self._descend(m, weight, e)

    cdef void _measure(self, double weight) noexcept nogil:
        cdef Py_ssize_t i
        cdef double size = 0
        for i in range(self.row.count):
            size += fabs(self.row.value[i])
        self.norm[0] += weight
        self.norm[1] += (size - self.norm[1])*weight/self.norm[0]

    cdef void _scores(self, double* raw) noexcept nogil:
        cdef Py_ssize_t i, stride = self.table.shape[1]*self.table.shape[2]
        cdef int M = self.M, K = self.K, R = <int> self.table.shape[2], m, k
        cdef const double* record
        cdef double x
        for i in range(M*K):
            raw[i] = 0
        for i in range(self.row.count):
            x = self.row.value[i]
            record = &self.table[0, 0, 0] + self.row.index[i]*stride
            for m in range(M):
                for k in range(K):
                    raw[m*K + k] += x*record[m*R + k]

    cdef void _residuals(self, const double* y, const double* p, double* e) noexcept nogil:
        """e = -dl/dp (half of it for the squared loss); e may be p."""
        cdef int k
        cdef double r
        if self.kind == SOFTMAX:
            multi_grad(LOSS_SOFTMAX, NULL, self.K, <int> y[0], p, e)
            for k in range(self.K):
                e[k] = -e[k]
        elif self.kind == LOGISTIC:
            e[0] = -loss_grad(LOSS_LOGISTIC, 0, 0, y[0], p[0])
        else:
            for k in range(self.K):
                r = y[k] - p[k]
                e[k] = min(max(r, -FAR), FAR)

    cdef void _descend(self, int m, double weight, const double* e) noexcept nogil:
        """v += (x e)^2;  w += rate x e / sqrt(v), the sum over outputs in v where they are classes."""
        cdef Py_ssize_t i, stride = self.table.shape[1]*self.table.shape[2]
        cdef int K = self.K, R = <int> self.table.shape[2], k
        cdef double* w
        cdef double x, g, size = 0, step, rate = self.rates[m]/self.norm[1]
        for k in range(K):
            size += e[k]*e[k]
        if size == 0:
            return
        for i in range(self.row.count):
            x = weight*self.row.value[i]
            w = &self.table[0, 0, 0] + self.row.index[i]*stride + m*R
            if self.kind == SQUARED:
                for k in range(K):
                    g = x*e[k]
                    w[K + k] += g*g
                    if w[K + k] > 0:
                        w[k] += rate*g/sqrt(w[K + k])
            else:
                w[K] += x*x*size
                if w[K] == 0:
                    continue
                step = rate*x/sqrt(w[K])
                for k in range(K):
                    w[k] += step*e[k]

    cdef void _pool(self, const double* y, double weight, const double* held, const double* P, double* e) noexcept nogil:
        cdef int M = self.M, K = self.K, m, j, k
        cdef double[16] gradient
        cdef double[16] mean
        cdef double[256] hessian
        cdef double p, total, top
        if M == 1:
            return
        if self.kind != SOFTMAX:
            if self.kind == LOGISTIC:
                total = loss_second(LOSS_LOGISTIC, 0, 0, y[0], P[0])
            else:
                total = 1.0
            self._residuals(y, P, e)
            for k in range(K):
                for m in range(M):
                    gradient[m] = -e[k]*held[m*K + k]
                    for j in range(M):
                        hessian[m*M + j] = total*held[m*K + k]*held[j*K + k]
                newton(M, &self.shares[k, 0], &self.curves[k, 0, 0], gradient, hessian, weight)
            return
        self._residuals(y, P, e)
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
