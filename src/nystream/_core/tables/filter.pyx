# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rounds of the diagonal Gaussian filter on sparse rows."""
from libc.stdint cimport uint32_t

from nystream._core.tables.labels cimport MEAN, count_label, spread, within_range
from nystream._core.tables.sparse_rounds cimport LOGISTIC, SQUARED, SparseRounds
from nystream._core.tables.tokens cimport Work

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
