# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rounds of the learners on sparse rows of tables."""
import numpy as np
cimport numpy as cnp
from libc.math cimport fabs, sqrt
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport calloc, free, malloc

from nystream._core.inputs cimport clean_number, clean_row
from nystream._core.labels cimport MEAN, MOMENTS, count_label, spread, within_range
from nystream._core.pool cimport MOST_MODELS, newton
from nystream._core.scalar_losses cimport LOSS_LOGISTIC, LOSS_SOFTMAX, loss_grad, loss_second, multi_grad
from nystream._core.tokens cimport Work, gather, prefetch

cnp.import_array()

# ----------------------------------------------------------------------------------------------------------------------
# Rounds of a linear model on sparse rows whose weights are records of a hashed table: what every rule shares.
# ----------------------------------------------------------------------------------------------------------------------
KINDS = {"squared": SQUARED, "logistic": LOGISTIC, "softmax": SOFTMAX}


cdef class SparseRounds:
    """Works on the learner's own arrays: a rule writes `_round`, which predicts one row and learns its label, and says
    how many numbers of `scratch` it needs for that.

    direct : columns below are not hashed
    pairs : whether products of two columns are columns too
    table : (buckets + 1, M, R) records of M models, the last record of the constant
    moments : (K, 5) of the labels, see labels.pxd; of the squared loss only
    norm : (2,) weight of the rows and the mean of their size, as the rule measures it
    """

    def __init__(self, str loss, uint32_t direct, bint pairs, int outputs, double[:, :, ::1] table,
                 double[:, ::1] moments, double[::1] norm):
        cdef Py_ssize_t buckets = table.shape[0] - 1
        self.kind, self.direct, self.pairs, self.K, self.M = KINDS[loss], direct, pairs, outputs, table.shape[1]
        if (buckets < 1 or buckets & (buckets - 1) or moments.shape[0] != (outputs if self.kind == SQUARED else 0)
                or moments.shape[1] != MOMENTS or norm.shape[0] != 2 or (self.kind == LOGISTIC and outputs != 1)):
            raise ValueError(f"the arrays do not fit {outputs} outputs of the {loss} loss")
        self.table, self.moments, self.norm = table, moments, norm

    def predict(self, const int64_t[::1] begin, const int64_t[::1] end, const uint32_t[::1] columns,
                const double[::1] values):
        """(n, K) predictions, and (n, M, K) more that the rule tells, for rows columns[begin[i]:end[i]]."""
        return self._rounds(begin, end, columns, values, None, None)

    def run(self, const int64_t[::1] begin, const int64_t[::1] end, const uint32_t[::1] columns,
            const double[::1] values, const double[:, ::1] Y not None, const double[::1] weights=None):
        """The same, each row learnt after it was predicted. Y (n, K), or (n, 1) class numbers."""
        if Y.shape[0] != begin.shape[0] or Y.shape[1] != (1 if self.kind == SOFTMAX else self.K) \
                or (weights is not None and weights.shape[0] != Y.shape[0]):
            raise ValueError("labels or weights do not fit the rows")
        return self._rounds(begin, end, columns, values, Y, weights)

    def one_dense(self, object x, object y, Py_ssize_t d, double largest):
        """A round on a dense row x (d,) with label y -> the prediction; None, and nothing done, where x or y is not a
        clean row or a plain number, x has values beyond `largest`, or there are several outputs."""
        cdef double label = 0, p = 0
        cdef const double* row = clean_row(x, d) if self.K == 1 and self.kind != SOFTMAX else NULL
        if row == NULL or not clean_number(y, self.kind == LOGISTIC, &label):
            return None
        cdef Py_ssize_t i, count = 0, stride = self.table.shape[1]*self.table.shape[2]
        cdef uint32_t buckets = <uint32_t> (self.table.shape[0] - 1)
        for i in range(d):
            if fabs(row[i]) > largest:
                return None
        cdef Work work
        work.row.count, work.row.room, work.row.index, work.row.value = 0, 0, NULL, NULL
        work.scratch = <double*> calloc(self.scratch, sizeof(double))
        cdef double* values = <double*> malloc((d + self.M)*sizeof(double))    # and what the rule tells
        cdef uint32_t* columns = <uint32_t*> malloc(d*sizeof(uint32_t))
        try:
            if work.scratch == NULL or values == NULL or columns == NULL:
                raise MemoryError
            for i in range(d):
                if row[i] != 0:
                    columns[count], values[count] = <uint32_t> i, row[i]
                    count += 1
            with nogil:
                gather(&work.row, count, columns, values, self.direct, buckets, self.pairs)
                prefetch(&work.row, &self.table[0, 0, 0], stride)
                self._round(&work, &label, 1.0, &p, values + d)
        finally:
            free(work.row.index)
            free(work.row.value)
            free(work.scratch)
            free(values)
            free(columns)
        return p

    cdef object _rounds(self, const int64_t[::1] begin, const int64_t[::1] end, const uint32_t[::1] columns,
                        const double[::1] values, const double[:, ::1] Y, const double[::1] weights):
        cdef Py_ssize_t t, n = begin.shape[0], room = columns.shape[0]
        cdef Py_ssize_t stride = self.table.shape[1]*self.table.shape[2]
        cdef uint32_t buckets = <uint32_t> (self.table.shape[0] - 1)
        cdef bint learn = Y is not None, weighted = weights is not None
        if end.shape[0] != n or values.shape[0] != room:
            raise ValueError("begin, end, columns and values do not fit together")
        out, more = np.empty((n, self.K)), np.empty((n, self.M, self.K))
        cdef double[:, ::1] P = out
        cdef double[:, :, ::1] F = more
        cdef double weight = 1.0
        cdef const double* y = NULL
        cdef const uint32_t* first = &columns[0] if room else NULL
        cdef const double* entries = &values[0] if room else NULL
        cdef Work work
        work.row.count, work.row.room, work.row.index, work.row.value = 0, 0, NULL, NULL
        work.scratch = <double*> calloc(self.scratch, sizeof(double))
        if work.scratch == NULL:
            raise MemoryError
        try:
            with nogil:
                for t in range(n):
                    if begin[t] < 0 or end[t] < begin[t] or end[t] > room:
                        with gil:
                            raise ValueError(f"row {t} is not within the {room} entries")
                    gather(&work.row, end[t] - begin[t], first + begin[t], entries + begin[t], self.direct, buckets,
                           self.pairs)
                    prefetch(&work.row, &self.table[0, 0, 0], stride)
                    if learn:
                        y = &Y[t, 0]
                        weight = weights[t] if weighted else 1.0
                        if self.kind == SOFTMAX and not 0 <= y[0] < self.K:
                            with gil:
                                raise ValueError(f"y must be a class number below {self.K}, got {y[0]:g}")
                    self._round(&work, y if weight > 0 else NULL, weight, &P[t, 0], &F[t, 0, 0])
        finally:
            free(work.row.index)
            free(work.row.value)
            free(work.scratch)
        return out, more

    cdef void _round(self, Work* work, const double* y, double weight, double* P, double* F) noexcept nogil:
        """Predict the row into P (K,) and F (M, K); learn y unless it is NULL."""

    cdef void _residuals(self, const double* y, const double* p, double* e) noexcept nogil:
        """e = -dl/dp, for the squared loss y - p within bounds; e may be p."""
        cdef int k
        cdef double r
        if self.kind == SOFTMAX:
            multi_grad(LOSS_SOFTMAX, NULL, self.K, <int> y[0], p, e)
            for k in range(self.K):
                e[k] = -e[k]
        elif self.kind == LOGISTIC:
            e[0] = -loss_grad(LOSS_LOGISTIC, 0, y[0], p[0])
        else:
            for k in range(self.K):
                r = y[k] - p[k]
                e[k] = min(max(r, -FAR), FAR)

    cdef void _count_norm(self, double size, double weight) noexcept nogil:
        self.norm[0] += weight
        self.norm[1] += (size - self.norm[1])*weight/self.norm[0]


# ----------------------------------------------------------------------------------------------------------------------
# Rounds of AdaGrad on sparse rows, at several rates side by side, and of the pool that combines the rates.
# ----------------------------------------------------------------------------------------------------------------------
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


# ----------------------------------------------------------------------------------------------------------------------
# Rounds of the diagonal Gaussian filter on sparse rows.
# ----------------------------------------------------------------------------------------------------------------------
cdef double FLAT = 0.01     # curvatures of the log loss below count as this
cdef double PACE = 0.01     # rate of the running mean of squared residuals, the noise
cdef double EXACT = 1e-6    # noise below counts as this: labels that are known without error


cdef class Filter(SparseRounds):
    """A record is K weights and what was added to their K precisions. The norm of a row is |x|^2.

    prior : precision of every weight before anything is known, over the mean of |x|^2
    noise : (K,) running mean of squared residuals; of the squared loss only
    """
    cdef double prior
    cdef double[::1] noise

    def __init__(self, str loss, uint32_t direct, bint pairs, int outputs, double[:, :, ::1] table,
                 double[:, ::1] moments, double[::1] norm, double prior, double[::1] noise):
        SparseRounds.__init__(self, loss, direct, pairs, outputs, table, moments, norm)
        if (self.M != 1 or table.shape[2] != 2*outputs
                or noise.shape[0] != (outputs if self.kind == SQUARED else 0)):
            raise ValueError(f"the arrays do not fit {outputs} outputs")
        self.prior, self.noise = prior, noise
        self.scratch = 4*outputs

    cdef void _round(self, Work* work, const double* y, double weight, double* P, double* F) noexcept nogil:
        """F (K,) are variances of the scores."""
        cdef int K = self.K, k
        cdef double* raw = work.scratch    # (K,) scores
        cdef double* e = raw + K               # (K,) -dl/dp
        cdef double* h = e + K                 # (K,) curvatures
        cdef double sd
        if y != NULL:
            self._measure(work, weight)
        self._scores(work, raw, F)
        for k in range(K):
            P[k] = raw[k]
            if self.kind == SQUARED:
                sd = spread(&self.moments[k, 0])
                P[k] = self.moments[k, MEAN] + sd*within_range(&self.moments[k, 0], raw[k])
        if y != NULL:
            self._derivatives(y, weight, raw, e, h)
            self._learn(work, weight, e, h, F)
        for k in range(K):
            if self.kind == SQUARED:
                sd = spread(&self.moments[k, 0])
                F[k] *= sd*sd

    cdef void _measure(self, const Work* work, double weight) noexcept nogil:
        cdef Py_ssize_t i
        cdef double size = 0
        for i in range(work.row.count):
            size += work.row.value[i]*work.row.value[i]
        self._count_norm(size, weight)

    cdef double _prior(self) noexcept nogil:
        return self.prior*(self.norm[1] if self.norm[0] > 0 else 1.0)

    cdef void _scores(self, const Work* work, double* raw, double* variance) noexcept nogil:
        cdef Py_ssize_t i
        cdef int K = self.K, k
        cdef const double* record
        cdef double x, prior = self._prior()
        for k in range(K):
            raw[k], variance[k] = 0, 0
        for i in range(work.row.count):
            x = work.row.value[i]
            record = &self.table[work.row.index[i], 0, 0]
            for k in range(K):
                raw[k] += x*record[k]
                variance[k] += x*x/(prior + record[K + k])

    cdef void _derivatives(self, const double* y, double weight, const double* raw, double* e,
                           double* h) noexcept nogil:
        cdef int k
        cdef double p, pace = PACE*weight/(1 + PACE*weight)
        if self.kind == SQUARED:
            for k in range(self.K):
                count_label(&self.moments[k, 0], y[k], weight)
                h[k] = (y[k] - self.moments[k, MEAN])/spread(&self.moments[k, 0])
            self._residuals(h, raw, e)
            for k in range(self.K):
                self.noise[k] += pace*(e[k]*e[k] - self.noise[k])
                h[k] = 1/max(self.noise[k], EXACT)
                e[k] *= h[k]
            return
        self._residuals(y, raw, e)
        for k in range(self.K):
            p = e[k] if self.kind == LOGISTIC else (1.0 if k == <int> y[0] else 0.0) - e[k]
            if p < 0:
                p = -p
            h[k] = max(p*(1 - p), FLAT)

    cdef void _learn(self, const Work* work, double weight, double* e, const double* h,
                     const double* variance) noexcept nogil:
        """w_i += x_i e / q_i / (1 + h sum_j x_j^2 / q_j) with the q that predicted; v_i += h x_i^2."""
        cdef Py_ssize_t i
        cdef int K = self.K, k
        cdef double* record
        cdef double x, prior = self._prior()
        for k in range(K):
            e[k] = weight*e[k]/(1 + weight*h[k]*variance[k])
        for i in range(work.row.count):
            x = work.row.value[i]
            record = &self.table[work.row.index[i], 0, 0]
            for k in range(K):
                record[k] += e[k]*x/(prior + record[K + k])
                record[K + k] += weight*h[k]*x*x
