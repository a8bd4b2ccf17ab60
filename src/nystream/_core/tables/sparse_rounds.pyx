# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rounds of a linear model on sparse rows whose weights are records of a hashed table: what every rule shares."""
import numpy as np

cimport numpy as cnp
from libc.stdint cimport int64_t, uint32_t
from libc.math cimport fabs
from libc.stdlib cimport calloc, free, malloc

from nystream._core.one_row cimport clean_number, clean_row
from nystream._core.scalar_losses cimport LOSS_LOGISTIC, LOSS_SOFTMAX, loss_grad, multi_grad
from nystream._core.tables.labels cimport MOMENTS
from nystream._core.tables.tokens cimport Work, gather, prefetch

cnp.import_array()

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
