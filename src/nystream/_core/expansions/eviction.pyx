# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The buffer of a budget learner: which point leaves when one enters, and what becomes of its share."""
import numpy as np

cimport numpy as cnp
from libc.math cimport exp, fabs, log, sqrt

from nystream._core.expansions.expansion cimport Terms
from nystream._core.linalg.linear_kernel cimport clean

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
        void (*golden)(const exp_ops*, Py_ssize_t, const double*, double, const double*, const double*, double*,
                       double*, double*) noexcept nogil
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
        if terms.single and (self.code == PROJECT or self.code == MERGE):
            raise TypeError(f"the rule {rule!r} needs points in double precision")
        if self.code == PROJECT:
            self._factor = np.zeros((self.ld, self.ld))
            self._order, self._place = np.zeros(self.ld, np.intp), np.zeros(self.ld, np.intp)
            self.factor = <double*> cnp.PyArray_DATA(self._factor)
            self.order = <Py_ssize_t*> cnp.PyArray_DATA(self._order)
            self.place = <Py_ssize_t*> cnp.PyArray_DATA(self._place)
        if self.code == MERGE:
            self._partners = np.zeros(self.ld, np.intp)
            self.partners = <Py_ssize_t*> cnp.PyArray_DATA(self._partners)
        # numbers for each entry: merging compares pairs, rules of size look at all, the others at none
        each = 14 if self.code == MERGE else 0 if self.code == NONE or self.code == AGE else 1
        if each and terms.n > budget:   # as only a forged file has it
            raise ValueError(f"{terms.n} points are more than the budget of {budget}")
        self._work = np.zeros(each * self.ld + 4 * terms.K + 2 * terms.d)
        self.work = <double*> cnp.PyArray_DATA(self._work)

    def refactor(self):
        """The factor of the points stored already, from the beginning, O(n^3)."""
        cdef Py_ssize_t n = self.f.n
        if self.code != PROJECT or n == 0:
            return
        own = self.f._own[:n]
        K = np.asarray(self.f.kernel(self.f._points[:n], self.f._points[:n])) + np.diag(RIDGE * own)
        for i in range(n):
            column = np.ascontiguousarray(K[i, :self.ld])
            KEEP.append(i, self.ld, self.factor, <double*> cnp.PyArray_DATA(<cnp.ndarray> column), K[i, i],
                        RIDGE * own[i])
        self._order[:n] = self._place[:n] = np.arange(n)

    def state(self):
        """What cannot be recomputed bit for bit from the terms."""
        n = self.f.n
        if self.code != PROJECT:
            return {}
        return {"factor_": self._factor[:n, :n].copy(), "order_": self._order[:n].copy()}

    def restore(self, state):
        cdef Py_ssize_t n = self.f.n
        if self.code == PROJECT:
            self._factor[:n, :n], self._order[:n] = state["factor_"], state["order_"]
            self._place[self._order[:n]] = np.arange(n)

    @property
    def nbytes(self):
        arrays = (self._factor, self._order, self._place, self._work, self._partners)
        return sum(a.nbytes for a in arrays if a is not None)

    def enter(self, cnp.ndarray alpha, double own, long long t):
        """`admit` from Python."""
        self.admit(clean(alpha, -1, self.f.K), own, t)

    cdef Py_ssize_t limit(self) noexcept nogil:
        """Points that may be stored for a moment."""
        return self.ld if self.code != NONE else (<size_t> -1) >> 1

    cdef int admit(self, const double* alpha, double own, long long t) except -1 nogil:
        """Store the present row of the open block with coefficients alpha (K), own = k(x, x) > 0, in round t."""
        cdef Py_ssize_t c, i, n = self.f.n, K = self.f.K
        cdef double* a = self.work
        for c in range(K):
            a[c] = alpha[c] / self.f.scale
        if n >= self.budget and (self.code == SMALLEST or self.code == OLDEST or self.code == CONTRIBUTION):
            return self.replace(a, own, t)
        if self.code == PROJECT:
            for i in range(n):
                self.work[K + i] = self.f.row()[self.order[i]]
            KEEP.append(n, self.ld, self.factor, self.work + K, own * (1 + RIDGE), own * RIDGE)
            self.order[n] = self.place[n] = n
        self.f.append(self.f.x(), a, own, t)
        if self.code == PROJECT and n >= self.budget:
            self.project()
        elif self.code == MERGE and n >= self.budget:
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
        cdef const double* diag = self.f.diag if self.code == CONTRIBUTION else NULL
        return KEEP.smallest(self.f.n, self.f.K, self.f.capacity, self.f.a, diag, self.f.born, self.work + self.f.K)

    cdef int replace(self, const double* a, double own, long long t) except -1 nogil:
        """The new entry takes the slot of the one to go, unless it is itself the smallest."""
        cdef Py_ssize_t c, i
        cdef double v = 0
        if self.code == OLDEST:
            return self.f.put(self.f.oldest(), self.f.x(), a, own, t)
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
        cdef Py_ssize_t n = self.f.n, last = n - 1, r = self.smallest(), q = self.place[r], p, slot, _
        cdef double *g = self.work + self.f.K
        cdef double *a = self.f.a
        cdef double *sums = self.f.sums
        cdef double step
        KEEP.inverse_column(n, self.ld, self.factor, q, g)
        for _ in range(self.f.K):
            for p in range(n):
                slot, step = self.order[p], -g[p] / g[q]
                if p != q:
                    a[slot] += step * a[r]
                    sums[slot] += step * sums[r]
            a, sums = a + self.f.capacity, sums + self.f.capacity
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
        cdef Py_ssize_t n = self.f.n, j, c, m = 0, best = -1
        cdef const double* a
        cdef double *k = self.work
        cdef double *logk = k + self.ld
        cdef double *Q = logk + self.ld
        cdef double *C = Q + self.ld
        cdef double *h = C + self.ld
        cdef double *value = h + self.ld
        cdef double P = 0, inner, square, damage, least = 0
        self.f.fill(self.f.xs + i * self.f.stride, 1, self.f.xs, n, k, n)
        for j in range(n):
            inner = square = 0
            for c in range(self.f.K):
                a = self.f.a + c * self.f.capacity
                inner += a[i] * a[j]
                square += a[j] * a[j]
            if j == i:
                P = square
            elif inner >= 0 and k[j] > 0:
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
        cdef Py_ssize_t c, K = self.f.K, d = self.f.d, ld = self.f.capacity
        cdef double logk = log(self.work[j]), u = exp((1 - h) * (1 - h) * logk), v = exp(h * h * logk)
        cdef double *a = self.work + self.ld
        cdef double *sums = a + K
        cdef double *z = sums + K
        cdef const double *xs = <const double*> self.f.xs
        for c in range(d):
            z[c] = h * xs[i * d + c] + (1 - h) * xs[j * d + c]
        for c in range(K):
            a[c] = u * self.f.a[c * ld + i] + v * self.f.a[c * ld + j]
            sums[c] = u * self.f.sums[c * ld + i] + v * self.f.sums[c * ld + j]
        self.f.put(j, z, a, self.f.diag[j], t)
        for c in range(K):
            self.f.sums[c * ld + j] = sums[c]
        return 0
