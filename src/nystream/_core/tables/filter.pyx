# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rounds of the diagonal Gaussian filter on sparse rows."""
import numpy as np

cimport numpy as cnp
from libc.math cimport sqrt
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport free

from nystream._core.scalar_losses cimport LOSS_LOGISTIC, LOSS_SOFTMAX, loss_grad, loss_second, multi_grad
from nystream._core.tables.labels cimport MEAN, MOMENTS, count_label, spread, within_range
from nystream._core.tables.tokens cimport Tokens, gather

cnp.import_array()

cdef enum: SQUARED = 0, LOGISTIC = 1, SOFTMAX = 2
KINDS = {"squared": SQUARED, "logistic": LOGISTIC, "softmax": SOFTMAX}

cdef double FAR = 5.0       # residuals of standardised labels beyond count as this
cdef double FLAT = 0.01     # curvatures of the log loss below count as this
cdef double PACE = 0.01     # rate of the running mean of squared residuals, the noise


cdef class Filter:
    """Works on the learner's own arrays.

    direct : columns below are not hashed
    prior : precision of every weight before anything is known, over the mean of |x|^2
    table : (buckets + 1, 2 K) records: K weights and what was added to their K precisions; the last of the constant
    moments : (K, 5) of the labels, see labels.pxd, and `noise` (K,); of the squared loss only
    norm : (2,) weight of the rows and the mean of |x|^2 over them
    """
    cdef double[:, ::1] table
    cdef double[:, ::1] moments
    cdef double[::1] noise
    cdef double[::1] norm
    cdef double[::1] scratch
    cdef double prior
    cdef int kind, K
    cdef uint32_t direct
    cdef bint pairs
    cdef Tokens row

    def __init__(self, str loss, uint32_t direct, bint pairs, int outputs, double prior, double[:, ::1] table,
                 double[:, ::1] moments, double[::1] noise, double[::1] norm):
        cdef int K = outputs
        self.kind, self.direct, self.pairs, self.K, self.prior = KINDS[loss], direct, pairs, K, prior
        cdef int real = K if self.kind == SQUARED else 0
        if table.shape[1] != 2*K or moments.shape[0] != real or moments.shape[1] != MOMENTS or noise.shape[0] != real \
                or norm.shape[0] != 2:
            raise ValueError(f"the arrays do not fit {K} outputs")
        self.table, self.moments, self.noise, self.norm = table, moments, noise, norm
        self.scratch = np.zeros(4*K)

    def __dealloc__(self):
        free(self.row.index)
        free(self.row.value)

    def predict(self, const int64_t[::1] begin, const int64_t[::1] end, const uint32_t[::1] columns,
                const double[::1] values):
        """Predictions (n, K), and (n, K) variances of the scores, for rows columns[begin[i]:end[i]]."""
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
        out, variances = np.empty((n, self.K)), np.empty((n, self.K))
        cdef double[:, ::1] P = out, V = variances
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
                self._round(y if weight > 0 else NULL, weight, &P[t, 0], &V[t, 0])
        return out, variances

    cdef void _round(self, const double* y, double weight, double* P, double* V) noexcept nogil:
        cdef int K = self.K, k
        cdef double* raw = &self.scratch[0]
        cdef double* e = raw + K
        cdef double* h = e + K
        cdef double mean, sd
        cdef double* moments
        if y != NULL:
            self._measure(weight)
        self._scores(raw, V)
        for k in range(K):
            P[k] = raw[k]
        if self.kind == SQUARED:
            for k in range(K):
                moments = &self.moments[k, 0]
                mean, sd = moments[MEAN], spread(moments)
                P[k] = mean + sd*within_range(moments, raw[k])
                if y != NULL:
                    count_label(moments, y[k], weight)
                    e[k] = (y[k] - moments[MEAN])/spread(moments) - raw[k]
                    e[k] = min(max(e[k], -FAR), FAR)
                    self.noise[k] += PACE*weight/(1 + PACE*weight)*(e[k]*e[k] - self.noise[k])
                    h[k] = 1/max(self.noise[k], 1e-6)
                    e[k] *= h[k]
        elif y != NULL:
            self._derivatives(y, raw, e, h)
        if y != NULL:
            self._learn(weight, e, h, V)
        if self.kind == SQUARED:
            for k in range(K):
                V[k] *= sd*sd

    cdef void _derivatives(self, const double* y, const double* p, double* e, double* h) noexcept nogil:
        """e = -dl/dp and curvatures."""
        cdef int k
        cdef double q
        if self.kind == LOGISTIC:
            e[0] = -loss_grad(LOSS_LOGISTIC, 0, 0, y[0], p[0])
            h[0] = max(loss_second(LOSS_LOGISTIC, 0, 0, y[0], p[0]), FLAT)
            return
        multi_grad(LOSS_SOFTMAX, NULL, self.K, <int> y[0], p, e)
        for k in range(self.K):
            e[k] = -e[k]
            q = (1.0 if k == <int> y[0] else 0.0) - e[k]
            h[k] = max(q*(1 - q), FLAT)

    cdef void _measure(self, double weight) noexcept nogil:
        cdef Py_ssize_t i
        cdef double size = 0
        for i in range(self.row.count):
            size += self.row.value[i]*self.row.value[i]
        self.norm[0] += weight
        self.norm[1] += (size - self.norm[1])*weight/self.norm[0]

    cdef void _scores(self, double* raw, double* V) noexcept nogil:
        cdef Py_ssize_t i
        cdef int K = self.K, k
        cdef const double* record
        cdef double x, prior = self.prior*(self.norm[1] if self.norm[1] > 0 else 1.0)
        for k in range(K):
            raw[k], V[k] = 0, 0
        for i in range(self.row.count):
            x = self.row.value[i]
            record = &self.table[self.row.index[i], 0]
            for k in range(K):
                raw[k] += x*record[k]
                V[k] += x*x/(prior + record[K + k])

    cdef void _learn(self, double weight, const double* e, const double* h, const double* V) noexcept nogil:
        """w_i += s_i x_i e / (1 + h x'S x);  1/s_i += h x_i^2, e and h times the weight."""
        cdef Py_ssize_t i
        cdef int K = self.K, k
        cdef double* record
        cdef double x, prior = self.prior*self.norm[1]
        cdef double* gain = &self.scratch[3*K]
        for k in range(K):
            gain[k] = weight*e[k]/(1 + weight*h[k]*V[k])
        for i in range(self.row.count):
            x = self.row.value[i]
            record = &self.table[self.row.index[i], 0]
            for k in range(K):
                record[k] += gain[k]*x/(prior + record[K + k])
                record[K + k] += weight*h[k]*x*x
