# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The rounds of budget passive-aggressive learning: who leaves, and who takes over its share, at once."""
import numpy as np

cimport numpy as cnp
from libc.math cimport INFINITY

from nystream._core.expansions.expansion cimport Terms
from nystream._core.expansions.inverse cimport Inverse
from nystream._core.linalg.linear_kernel cimport clean
from nystream._core.expansions.loop cimport Correction
from nystream._core.expansions.mistakes cimport Mistakes

cnp.import_array()

cdef enum: REFRESH = 1000   # exchanges after which the inverse is computed anew
cdef double FLAT = 1e-12    # determinant, of a Gram matrix with unit diagonal, at which a pair is one point


cdef class Simple(Mistakes):
    """BPA-S: when full, the point that goes is projected on the new point alone."""
    cdef double* past
    cdef object _past

    def __init__(self, Terms terms, Correction rule, Py_ssize_t budget):
        super().__init__(terms, rule, budget)
        self._past = np.zeros(self.K)
        self.past = <double*> clean(self._past, -1, self.K)

    cdef int keep(self, double own, long long t) except -1 nogil:
        if self.f.n < self.limit:
            return self.f.append(self.f.x(), self.alpha, own, t)
        return self.exchange(own, t)

    cdef int exchange(self, double own, long long t) except -1 nogil:
        cdef Py_ssize_t r, gone = 0
        cdef double damage, least = INFINITY
        cdef const double* k = self.f.row()
        for r in range(self.f.n):
            damage = self.weight(r) * max(0.0, self.f.diag[r] - k[r] * k[r] / own)
            if damage < least:
                least, gone = damage, r
        return self.take_slot(gone, k[gone] / own, own, t)

    cdef double weight(self, Py_ssize_t r) noexcept nogil:
        """|alpha_r|^2, or alpha_r' M alpha_r where labels have similarities."""
        cdef Py_ssize_t c
        cdef double w = 0
        for c in range(self.K):
            self.past[c] = self.f.a[c * self.f.capacity + r]
        self.loss.mix(self.past)
        for c in range(self.K):
            w += self.f.a[c * self.f.capacity + r] * self.past[c]
        return max(w, 0.0)

    cdef void pass_on(self, Py_ssize_t r, Py_ssize_t j, double b) noexcept nogil:
        """Point j gets b times what point r contributes, now and in the rounds so far."""
        cdef Py_ssize_t c, ld = self.f.capacity
        cdef double* a = self.f.a
        cdef double* sums = self.f.sums
        for c in range(self.K):
            a[c * ld + j] += b * a[c * ld + r]
            sums[c * ld + j] += b * sums[c * ld + r]

    cdef int take_slot(self, Py_ssize_t r, double b, double own, long long t) except -1 nogil:
        """The present row takes the slot of r with the coefficients alpha + b alpha_r."""
        cdef Py_ssize_t c, ld = self.f.capacity
        cdef double* a = self.f.a + r
        cdef double* sums = self.f.sums + r
        for c in range(self.K):
            self.alpha[c] += b * a[c * ld]
            self.past[c] = b * (a[c * ld] * self.f.cum + sums[c * ld])
        self.f.put(r, self.f.x(), self.alpha, own, t)
        for c in range(self.K):
            sums[c * ld] += self.past[c]
        return 0


cdef class Neighbour(Simple):
    """BPA-NN: the point that goes is projected on its nearest neighbour and the new point.

    gram (budget, budget) holds the kernel between the stored points; it is the learner's own array.
    """
    cdef double* gram
    cdef Py_ssize_t* nearest
    cdef object _arrays

    def __init__(self, Terms terms, Correction rule, Py_ssize_t budget, cnp.ndarray gram):
        cdef Py_ssize_t r
        super().__init__(terms, rule, budget)
        nearest = np.zeros(budget, np.intp)
        self._arrays = (gram, nearest)
        self.gram = <double*> clean(gram, budget, budget)
        self.nearest = <Py_ssize_t*> cnp.PyArray_DATA(<cnp.ndarray> nearest)
        for r in range(terms.n):
            self.find(r)

    cdef int keep(self, double own, long long t) except -1 nogil:
        cdef Py_ssize_t n = self.f.n
        if n == self.limit:
            return self.exchange(own, t)
        self.f.append(self.f.x(), self.alpha, own, t)
        self.enter(n)
        return 0

    cdef double distance(self, Py_ssize_t i, Py_ssize_t j) noexcept nogil:
        """Squared, in the kernel's space."""
        return (self.gram[i * (self.limit + 1)] + self.gram[j * (self.limit + 1)]) - 2 * self.gram[i * self.limit + j]

    cdef void find(self, Py_ssize_t r) noexcept nogil:
        """The nearest other point of r, the first of equals; r itself where there is no other."""
        cdef Py_ssize_t j
        cdef double d, least = INFINITY
        self.nearest[r] = r
        for j in range(self.f.n):
            if j != r:
                d = self.distance(r, j)
                if d < least:
                    least, self.nearest[r] = d, j

    cdef void enter(self, Py_ssize_t i) noexcept nogil:
        """The present row is now point i: its kernel row, and who is nearest to whom."""
        cdef Py_ssize_t j, near
        cdef double d, then
        for j in range(self.f.n):
            self.gram[i * self.limit + j] = self.gram[j * self.limit + i] = self.f.row()[j]
        self.find(i)
        for j in range(self.f.n):
            near = self.nearest[j]
            if j == i:
                continue
            if near == i or near == j:      # its neighbour has left, or it had none
                self.find(j)
                continue
            d, then = self.distance(j, i), self.distance(j, near)
            if d < then or (d == then and i < near):
                self.nearest[j] = i

    cdef double residual(self, Py_ssize_t r, double own, double* bn, double* bt) noexcept nogil:
        """Squared distance of point r to the span of its neighbour and the present row, and its projection on them."""
        cdef Py_ssize_t n = self.nearest[r]
        cdef const double* k = self.f.row()
        cdef double rn = self.gram[r * self.limit + n], nn = self.gram[n * (self.limit + 1)], det
        det = nn * own - k[n] * k[n]
        if n == r or det <= FLAT * nn * own:
            bn[0], bt[0] = 0, k[r] / own
        else:
            bn[0], bt[0] = (rn * own - k[r] * k[n]) / det, (nn * k[r] - k[n] * rn) / det
        return max(0.0, self.f.diag[r] - bn[0] * rn - bt[0] * k[r])

    cdef int exchange(self, double own, long long t) except -1 nogil:
        cdef Py_ssize_t r, gone = 0
        cdef double damage, least = INFINITY, bn = 0, bt = 0
        for r in range(self.f.n):
            damage = self.weight(r) * self.residual(r, own, &bn, &bt)
            if damage < least:
                least, gone = damage, r
        self.residual(gone, own, &bn, &bt)
        if bn != 0:
            self.pass_on(gone, self.nearest[gone], bn)
        self.take_slot(gone, bt, own, t)
        self.enter(gone)
        return 0


cdef class Projecting(Simple):
    """BPA-P: the point that goes is projected on all others and the new point.

    The inverse Gram matrix of the stored points is computed when the budget is first reached; from then on points
    change places in it, until it is computed anew.
    """
    cdef Inverse inverse

    def __init__(self, Terms terms, Correction rule, Py_ssize_t budget, Inverse inverse):
        super().__init__(terms, rule, budget)
        self.inverse = inverse

    cdef int exchange(self, double own, long long t) except -1 nogil:
        cdef Py_ssize_t r, gone
        cdef double pivot
        if self.inverse.n < self.f.n:
            with gil:
                self.inverse.compute(self.f)
        pivot = self.inverse.solve(self.f.row(), own)
        gone = self.cheapest(pivot)
        if gone < 0:
            with gil:
                self.inverse.refresh()
            pivot = self.inverse.solve(self.f.row(), own)
            gone = max(0, self.cheapest(pivot))
        self.inverse.share(gone, pivot)
        for r in range(self.f.n):
            if r != gone:
                self.pass_on(gone, r, self.inverse.b[r])
        self.take_slot(gone, self.inverse.b[gone], own, t)
        self.inverse.exchange(gone, pivot)
        if self.inverse.changes >= REFRESH:
            with gil:
                self.inverse.refresh()
        return 0

    cdef Py_ssize_t cheapest(self, double pivot) noexcept nogil:
        """The point r with the least alpha_r^2 R_r; -1 where rounding has spoilt the inverse, whose diagonal is > 0."""
        cdef Py_ssize_t r, gone = -1, n = self.f.n
        cdef double damage, least = INFINITY, diagonal, share
        for r in range(n):
            diagonal, share = self.inverse.G[r * (n + 1)], self.inverse.d[r]
            if not diagonal > 0:
                return -1
            damage = self.weight(r) * pivot / (pivot * diagonal + share * share)
            if damage < least:
                least, gone = damage, r
        return gone
