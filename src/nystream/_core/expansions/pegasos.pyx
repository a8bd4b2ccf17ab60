# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The rounds of stochastic gradient descent with steps 1/(lam t) on a bounded expansion, or on that and features."""
import numpy as np

cimport numpy as cnp

from nystream._core.expansions.eviction cimport Eviction
from nystream._core.expansions.expansion cimport Terms
from nystream._core.linalg.linear_kernel cimport clean, linear_ops, linear_pick
from nystream._core.expansions.loop cimport Correction, Loop
from nystream._core.one_row cimport RowMap

cnp.import_array()

cdef linear_ops OPS = linear_pick()


cdef class Pegasos(Loop):
    """f <- (1 - 1/(t0 + t)) f - l'(f(x)) / (lam (t0 + t)) k(x, .); the keeper sees to the budget (BSGD).

    The factors 1 - 1/(t0 + t) telescope: after round t every term is its -l', divided by lam (t0 + t). That number is
    the scale of the expansion, so that coefficients which are equal on paper, as with the hinge, are equal in memory,
    and rules that compare them do not follow rounding.
    """
    cdef Eviction keeper
    cdef double lam, t0

    def __init__(self, Terms terms, Eviction keeper, Correction rule, double lam, double t0):
        super().__init__(terms, rule)
        self.keeper, self.lam, self.t0 = keeper, lam, t0
        self.limit = keeper.limit()

    cdef int round(self, Py_ssize_t j, const double* y, double weight, long long t, double* p) except -1 nogil:
        cdef double rate = 1 / (self.lam * (self.t0 + t)), own
        cdef int active
        self.begin(j)
        self.scores(j, p)
        self.loss.mix(p)
        own = self.f.k_own()
        active = self.rule.ask(y, p, own, weight * rate, self.alpha)
        self.f.scale = rate
        if active and own > 0:      # where k(x, x) = 0, k(x, .) is the zero function
            self.admit(own, t)
        return 0

    cdef void begin(self, Py_ssize_t j) noexcept nogil:
        self.f.begin(j)

    cdef int admit(self, double own, long long t) except -1 nogil:
        return self.keeper.admit(self.alpha, own, t)


cdef class DualPegasos(Pegasos):
    """The same; when full, the `evict` smallest terms become random features: f(x) = sum_i alpha_i k(x_i, x) + W z(x).

    W (K, dim) and its sums over the rounds, past (K, dim), are the learner's arrays, in units of the expansion's scale:
    the sum of the weights over the rounds is W cum + past, as for the coefficients.
    """
    cdef object features, _Z
    cdef RowMap map
    cdef Py_ssize_t budget, evict, dim, tall      # rows that Z has room for
    cdef double* W
    cdef double* past
    cdef double* Z
    cdef tuple arrays

    def __init__(self, Terms terms, Eviction keeper, Correction rule, double lam, double t0, *, object features,
                 Py_ssize_t budget, Py_ssize_t evict, cnp.ndarray W, cnp.ndarray past):
        super().__init__(terms, keeper, rule, lam, t0)
        self.features, self.evict, self.dim = features, evict, cnp.PyArray_DIM(W, 1)
        self.limit = self.budget = budget
        self.arrays = (W, past)
        self.W, self.past = <double*> clean(W, self.K, self.dim), <double*> clean(past, self.K, self.dim)
        self.map = features.engine
        if self.map.features() != self.dim or self.map.d != terms.d or self.map.bytes() != 8:
            raise ValueError(f"{self.map.features()} features of {self.map.d} columns do not fit the arrays")

    cdef int prepare(self, const double* X, Py_ssize_t b) except -1:
        if self.tall < b:
            self._Z, self.tall = np.empty((b, self.dim)), b
            self.Z = <double*> cnp.PyArray_DATA(<cnp.ndarray> self._Z)
        return self.map.fill(b, X, self.Z)

    cdef void begin(self, Py_ssize_t j) noexcept nogil:
        cdef double before = self.f.cum
        self.f.begin(j)
        if self.f.cum < before:     # the terms have settled their sums: what is missing went there
            OPS.mix(self.K * self.dim, 1.0, self.past, before + self.f.scale - self.f.cum, self.W)

    cdef void scores(self, Py_ssize_t j, double* p) noexcept nogil:
        cdef Py_ssize_t c
        self.f.scores(self.f.row(), p)
        for c in range(self.K):
            p[c] += self.f.scale * OPS.dot(self.dim, self.W + c * self.dim, self.Z + j * self.dim)

    cdef int admit(self, double own, long long t) except -1 nogil:
        cdef Py_ssize_t c
        if self.f.n >= self.budget:
            with gil:
                self.spill()
        for c in range(self.K):
            self.alpha[c] /= self.f.scale
        return self.f.append(self.f.x(), self.alpha, own, t)

    cdef int spill(self) except -1:
        """Move the smallest terms, the oldest of equals, into the weights."""
        cdef Py_ssize_t n = self.f.n
        cdef Terms f = self.f
        order = np.lexsort((f._birth[:n], np.abs(f._coef[:, :n]).max(axis=0)))[:self.evict]
        Z = self.features.transform(f._points[order].astype(np.float64, copy=False))
        W, past = self.arrays
        W += f._coef[:, order] @ Z
        past += f._past[:, order] @ Z
        for i in sorted(order.tolist(), reverse=True):      # a slot beyond the present one has been dealt with
            f.drop(i)
        return 0
