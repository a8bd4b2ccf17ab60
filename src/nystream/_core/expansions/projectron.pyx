# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The rounds of Projectron and Projectron++: a mistake that the stored points can nearly express is not stored."""
cimport numpy as cnp
from libc.math cimport INFINITY, sqrt

from nystream._core.expansions.expansion cimport Terms
from nystream._core.expansions.loop cimport Correction, Loop
from nystream._core.scalar_losses cimport multi_pair, multi_rival
from nystream._core.expansions.span cimport Span

cnp.import_array()

cdef double PIVOT = 1e-10       # squared distance to the span, in units of k(x, x), below which a point lies in it


cdef class Projections(Loop):
    """A correction is y, or for classes e_label - e_rival; `square` is its squared norm, which similarities change."""
    cdef Span span
    cdef double tol, square
    cdef bint plus

    def __init__(self, Terms terms, Correction rule, object budget, Span span, double tol, bint plus):
        super().__init__(terms, rule, budget)
        self.span, self.tol, self.plus = span, tol, plus
        self.square = 1

    cdef int prepare(self, const double* X, Py_ssize_t b) except -1:
        self.span.reserve(min(self.f.n + b, self.limit))
        return 0

    cdef int round(self, Py_ssize_t j, const double* y, double weight, long long t, double* p) except -1 nogil:
        cdef double margin, own, delta2
        self.f.begin(j)
        self.scores(j, p)
        self.loss.mix(p)
        margin = self.direct(y, p)
        if margin > 0 and not (self.plus and margin < 1):
            return 0
        own = self.f.k_own()
        if not own * self.square > 0:
            return 0
        delta2 = max(0.0, self.span.reach(self.f.row(), own))
        if margin > 0:
            self.improve(1 - margin, own, delta2)
        elif self.f.n and (sqrt(self.square * delta2) <= self.tol or self.f.n >= self.limit or delta2 < PIVOT * own):
            self.spread(1.0)
        else:
            self.span.extend(delta2)
            self.f.append(self.f.x(), self.alpha, own, t)
        return 0

    cdef double direct(self, const double* y, const double* p) noexcept nogil:
        """alpha: the direction of a correction; the margin by which p is right."""
        cdef Py_ssize_t c
        cdef int label, rival
        if not self.loss.multiclass:
            self.alpha[0] = y[0]
            return y[0] * p[0]
        label = <int> y[0]
        rival = multi_rival(NULL, <int> self.K, label, p)
        for c in range(self.K):
            self.alpha[c] = 0
        self.alpha[label], self.alpha[rival] = 1, -1
        self.square = multi_pair(self.loss.similarity, <int> self.K, label, rival)
        return p[label] - p[rival]

    cdef void improve(self, double loss, double own, double delta2) noexcept nogil:
        """A margin error: a step along the projection, unless too little of the point lies in the span."""
        cdef double far = sqrt(self.square * delta2), P = self.square * (own - delta2)
        far = 0 if delta2 < PIVOT * own else far / self.tol if self.tol > 0 else INFINITY
        if self.f.n and loss >= far and P > 0:
            self.spread(min(loss / P, 2 * (loss - far) / P, 1.0))

    cdef void spread(self, double step) noexcept nogil:
        """Coefficients += step alpha d': the correction as the stored points express it."""
        cdef Py_ssize_t c, i
        cdef double change
        cdef const double* d = self.span.d
        cdef double* a = self.f.a
        cdef double* sums = self.f.sums
        self.span.project()
        for c in range(self.K):
            for i in range(self.f.n):
                change = step * self.alpha[c] * d[i]
                a[i] += change
                sums[i] -= self.f.cum * change
            a, sums = a + self.f.capacity, sums + self.f.capacity
