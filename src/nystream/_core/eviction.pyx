# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The buffer of a budget learner: who leaves when a point enters, and what becomes of what it said."""
import numpy as np

cimport numpy as cnp
from libc.math cimport exp, fabs, log, sqrt

from nystream._core.expansion cimport Terms
from nystream._core.linear_kernel cimport clean

cnp.import_array()

cdef extern from "keep_kernel.h" nogil:
    ctypedef struct exp_ops:
        pass
    ctypedef struct keep_ops:
        Py_ssize_t (*smallest)(Py_ssize_t, Py_ssize_t, Py_ssize_t, const double*, const double*, const long long*,
                               double*) noexcept nogil
        void (*append)(Py_ssize_t, Py_ssize_t, double*, double*, double, double) noexcept nogil
        void (*inverse_column)(Py_ssize_t, Py_ssize_t, const double*, Py_ssize_t, double*) noexcept nogil
        void (*erase)(Py_ssize_t, Py_ssize_t, double*, Py_ssize_t, double*) noexcept nogil
        void (*golden)(const exp_ops*, Py_ssize_t, const double*, double, const double*, const double*, double*, double*,
                       double*) noexcept nogil
    exp_ops exp_pick()
    keep_ops keep_pick()

cdef exp_ops EXPS = exp_pick()
cdef keep_ops KEEP = keep_pick()
cdef enum: NONE, SMALLEST, OLDEST, CONTRIBUTION, PROJECT, MERGE, AGE
RULES = {"none": NONE, "smallest": SMALLEST, "oldest": OLDEST, "contribution": CONTRIBUTION, "project": PROJECT,
         "merge": MERGE, "age": AGE}
cdef double RIDGE = 1e-10       # of the projection's solve, relative to k(x, x)


cdef class Eviction:
    """At most `budget` terms. The rules and their reasons are told in nystream.dictionary.budget."""

    def __init__(self, Terms terms, str rule, Py_ssize_t budget):
        self.f, self.rule, self.code, self.budget = terms, rule, RULES[rule], budget
        self.ld = budget + 1
        if self.code == PROJECT:
            self._factor = np.zeros((self.ld, self.ld))
            self._order, self._place = np.zeros(self.ld, np.intp), np.zeros(self.ld, np.intp)
            self.factor = <double*> cnp.PyArray_DATA(self._factor)
            self.order = <Py_ssize_t*> cnp.PyArray_DATA(self._order)
            self.place = <Py_ssize_t*> cnp.PyArray_DATA(self._place)
            if terms.n:
                self.refactor()
        if self.code == MERGE:
            self._partners = np.zeros(self.ld, np.intp)
            self.partners = <Py_ssize_t*> cnp.PyArray_DATA(self._partners)
        self._work = np.zeros(max(14 * self.ld, 0) + 4 * terms.K + 2 * terms.d)
        self.work = <double*> cnp.PyArray_DATA(self._work)

    def refactor(self):
        """The factor of the stored points from the beginning, O(n^3)."""
        cdef Py_ssize_t n = self.f.n
        own = self.f._own[:n]
        K = np.asarray(self.f.kernel(self.f._points[:n], self.f._points[:n])) + np.diag(RIDGE * own)
        for i in range(n):
            column = np.ascontiguousarray(K[i, :self.ld])
            KEEP.append(i, self.ld, self.factor, <double*> cnp.PyArray_DATA(<cnp.ndarray> column), K[i, i], RIDGE * own[i])
        self._order[:n] = self._place[:n] = np.arange(n)

    def state(self):
        """What cannot be recomputed bit for bit from the terms."""
        n = self.f.n
        return {"factor_": self._factor[:n, :n].copy(), "order_": self._order[:n].copy()} if self.code == PROJECT else {}

    def restore(self, state):
        cdef Py_ssize_t n = self.f.n
        if self.code == PROJECT:
            self._factor[:n, :n], self._order[:n] = state["factor_"], state["order_"]
            self._place[self._order[:n]] = np.arange(n)

    @property
    def nbytes(self):
        return sum(a.nbytes for a in (self._factor, self._order, self._place, self._work, self._partners) if a is not None)

    def enter(self, cnp.ndarray alpha, double own, long long t):
        """`admit` from Python."""
        self.admit(clean(alpha, -1, self.f.K), own, t)

    cdef Py_ssize_t limit(self) noexcept nogil:
        """Points that may be stored for a moment."""
        return self.ld if self.code != NONE else (<size_t> -1) >> 1

    cdef int admit(self, const double* alpha, double own, long long t) except -1 nogil:
        """Store the present row of the open block with coefficients alpha (K), own = k(x, x) > 0, in round t."""
        cdef Py_ssize_t c, i
        cdef double* a = self.work
        for c in range(self.f.K):
            a[c] = alpha[c] / self.f.scale
        if self.f.n >= self.budget and (self.code == SMALLEST or self.code == OLDEST or self.code == CONTRIBUTION):
            return self.replace(a, own, t)
        if self.code == PROJECT:
            for i in range(self.f.n):
                self.work[self.f.K + i] = self.f.row()[self.order[i]]
            KEEP.append(self.f.n, self.ld, self.factor, self.work + self.f.K, own * (1 + RIDGE), own * RIDGE)
            self.order[self.f.n] = self.place[self.f.n] = self.f.n
        self.f.append(self.f.x(), a, own, t)
        if self.code == PROJECT and self.f.n > self.budget:
            self.project()
        elif self.code == MERGE and self.f.n > self.budget:
            self.merge(t)
        return 0

    cdef void expire(self, long long t) noexcept nogil:
        """At the end of round t nothing may be `budget` rounds old."""
        cdef Py_ssize_t i = self.f.n
        if self.code != AGE:
            return
        while i > 0:
            i -= 1
            if self.f.born[i] <= t - self.budget:
                self.f.drop(i)

    cdef Py_ssize_t smallest(self) noexcept nogil:
        """The entry whose largest coefficient is least (times |k(x_i, .)| for `contribution`); the oldest of equals."""
        return KEEP.smallest(self.f.n, self.f.K, self.f.capacity, self.f.a, self.f.diag if self.code == CONTRIBUTION else NULL, self.f.born,
                             self.work + self.f.K)

    cdef Py_ssize_t oldest(self) noexcept nogil:
        cdef Py_ssize_t i, first = 0
        for i in range(1, self.f.n):
            if self.f.born[i] < self.f.born[first]:
                first = i
        return first

    cdef int replace(self, const double* a, double own, long long t) except -1 nogil:
        """The new entry takes the slot of the one to go, unless it is itself the smallest."""
        cdef Py_ssize_t c, i
        cdef double v = 0
        if self.code == OLDEST:
            return self.f.put(self.oldest(), self.f.x(), a, own, t)
        for c in range(self.f.K):
            v = max(v, fabs(a[c]))
        if self.code == CONTRIBUTION:
            v *= sqrt(own)
        i = self.smallest()
        if v < self.work[self.f.K + i]:      # among equals the old one goes
            return 0
        return self.f.put(i, self.f.x(), a, own, t)

    cdef void project(self) noexcept nogil:
        """Drop the smallest entry r and add a_r times its projection on the others.

        With G the inverse of the Gram matrix of all, the projection of k(x_r, .) on the others has coefficients
        -G_jr / G_rr; then the factor loses row r.
        """
        cdef Py_ssize_t n = self.f.n, last = n - 1, r = self.smallest(), q = self.place[r], p, slot, c
        cdef double *g = self.work + self.f.K
        cdef double step
        KEEP.inverse_column(n, self.ld, self.factor, q, g)
        for p in range(n):
            if p != q:
                slot, step = self.order[p], -g[p] / g[q]
                for c in range(self.f.K):
                    self.f.a[c * self.f.capacity + slot] += step * self.f.a[c * self.f.capacity + r]
                    self.f.sums[c * self.f.capacity + slot] += step * self.f.sums[c * self.f.capacity + r]
        KEEP.erase(n, self.ld, self.factor, q, g)
        for p in range(q, last):
            self.order[p] = self.order[p + 1]
            self.place[self.order[p]] = p
        self.f.drop(r)
        if r != last:
            self.place[r] = self.place[last]
            self.order[self.place[r]] = r

    cdef int merge(self, long long t) except -1 nogil:
        """Unite the smallest entry i with the partner whose union costs least; drop i if it has none."""
        cdef double h = 0
        cdef Py_ssize_t i = self.smallest(), j = self.partner(i, &h)
        if j >= 0:
            self.unite(i, j, h, t)
        self.f.drop(i)
        return 0

    cdef Py_ssize_t partner(self, Py_ssize_t i, double* place) noexcept nogil:
        """The entry j that loses least when i and j become one point; -1 when no coefficients agree in sign."""
        cdef Py_ssize_t j, c, m = 0, best = -1
        cdef double *k = self.work
        cdef double *logk = k + self.ld
        cdef double *Q = logk + self.ld
        cdef double *C = Q + self.ld
        cdef double *h = C + self.ld
        cdef double *value = h + self.ld
        cdef double P = 0, inner, square, damage, least = 0
        self.f.form.fill(self.f.xs + i * self.f.d, 1, self.f.xs, self.f.n, self.f.d, k, self.f.n)
        for c in range(self.f.K):
            P += self.f.a[c * self.f.capacity + i] ** 2
        for j in range(self.f.n):
            inner = square = 0
            for c in range(self.f.K):
                inner += self.f.a[c * self.f.capacity + i] * self.f.a[c * self.f.capacity + j]
                square += self.f.a[c * self.f.capacity + j] ** 2
            if j != i and inner >= 0 and k[j] > 0:
                self.partners[m], logk[m], Q[m], C[m] = j, log(k[j]), square, inner
                m += 1
        if m == 0:
            return -1
        KEEP.golden(&EXPS, m, logk, P, Q, C, h, value, value + self.ld)
        for j in range(m):
            damage = P + Q[j] + 2 * C[j] * k[self.partners[j]] - value[j]
            if best < 0 or damage < least:
                least, best, place[0] = damage, self.partners[j], h[j]
        return best

    cdef int unite(self, Py_ssize_t i, Py_ssize_t j, double h, long long t) except -1 nogil:
        """Entry j becomes z = h x_i + (1 - h) x_j with the coefficients of the projection on k(z, .)."""
        cdef Py_ssize_t c
        cdef double logk = log(self.work[j]), u = exp((1 - h) * (1 - h) * logk), v = exp(h * h * logk)
        cdef double *a = self.work + self.ld
        cdef double *sums = a + self.f.K
        cdef double *z = sums + self.f.K
        for c in range(self.f.d):
            z[c] = h * self.f.xs[i * self.f.d + c] + (1 - h) * self.f.xs[j * self.f.d + c]
        for c in range(self.f.K):
            a[c] = u * self.f.a[c * self.f.capacity + i] + v * self.f.a[c * self.f.capacity + j]
            sums[c] = u * self.f.sums[c * self.f.capacity + i] + v * self.f.sums[c * self.f.capacity + j]
        self.f.put(j, z, a, self.f.diag[j], t)
        for c in range(self.f.K):
            self.f.sums[c * self.f.capacity + j] = sums[c]
        return 0
