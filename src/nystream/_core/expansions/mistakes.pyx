# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The rounds of learners that store what they got wrong: all of it, a random choice, or what is not yet forgotten."""
import numpy as np

cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport fabs, sqrt
from numpy.random cimport bitgen_t

from nystream._core.expansions.expansion cimport Terms
from nystream._core.linalg.linear_kernel cimport clean, linear_ops, linear_pick
from nystream._core.expansions.loop cimport Correction, Loop

cnp.import_array()

cdef linear_ops OPS = linear_pick()
cdef double ALLOWANCE = 15.0 / 32.0     # damage that the Forgetron allows itself per mistake


cdef class Mistakes(Loop):
    """Every correction is stored (Perceptron, PA)."""

    cdef int round(self, Py_ssize_t j, const double* y, double weight, long long t, double* p) except -1 nogil:
        cdef double own
        self.f.begin(j)
        self.scores(j, p)
        self.loss.mix(p)
        own = self.f.k_own()
        if own > 0 and self.rule.ask(y, p, own, weight, self.alpha):     # where k(x, x) = 0, k(x, .) is 0
            self.keep(own, t)
        return 0

    cdef int keep(self, double own, long long t) except -1 nogil:
        """Store the present row with the coefficients `alpha`."""
        return self.f.append(self.f.x(), self.alpha, own, t)


cdef class RandomMistakes(Mistakes):
    """When `budget` points are stored, a new one takes the place of one of them, drawn by one uniform of `rng`."""
    cdef bitgen_t* bits
    cdef object rng

    def __init__(self, Terms terms, Correction rule, Py_ssize_t budget, object rng):
        super().__init__(terms, rule, budget)
        self.rng = rng      # keeps the bits alive
        self.bits = <bitgen_t*> PyCapsule_GetPointer(rng.bit_generator.capsule, "BitGenerator")

    cdef int keep(self, double own, long long t) except -1 nogil:
        cdef Py_ssize_t i = self.f.n
        if i < self.limit:
            return self.f.append(self.f.x(), self.alpha, own, t)
        i = <Py_ssize_t> (self.bits.next_double(self.bits.state) * self.limit)
        return self.f.put(i, self.f.x(), self.alpha, own, t)


cdef class Forgetting(Mistakes):
    """The self-tuned Forgetron: all coefficients shrink just enough that dropping the oldest point does little damage.

    ledger (3,) holds Q, the damage so far, M, the mistakes so far, and the last shrinkage phi; the learner's own array.
    """
    cdef double* ledger
    cdef double* k
    cdef object _arrays

    def __init__(self, Terms terms, Correction rule, Py_ssize_t budget, cnp.ndarray ledger):
        super().__init__(terms, rule, budget)
        row = np.zeros(budget)
        self._arrays = (ledger, row)
        self.ledger, self.k = <double*> clean(ledger, -1, 3), <double*> clean(row, -1, budget)

    cdef int keep(self, double own, long long t) except -1 nogil:
        cdef Py_ssize_t old
        self.ledger[1] += 1
        if self.f.n < self.limit:
            self.alpha[0] /= self.f.scale
            return self.f.append(self.f.x(), self.alpha, own, t)
        old = self.f.oldest()
        self.f.decay(self.shrinkage(old))
        self.alpha[0] *= self.ledger[2] / self.f.scale
        return self.f.put(old, self.f.x(), self.alpha, own, t)

    cdef double shrinkage(self, Py_ssize_t old) except -1 nogil:
        """phi, the largest number in [0, 1] with Q + (s phi)^2 + 2 s phi (1 - phi mu) <= 15/32 M; and the new Q.

        s = |alpha_old|, mu = sign(alpha_old) f(x_old), f with the new term. The root is written so that it serves
        either sign of the quadratic's leading coefficient; the usual form would give phi > 1 for a negative one.
        """
        cdef double s = self.f.scale * self.f.a[old], value, mu, qa, qb, qc, phi = 1
        self.f.stored_row(old, self.k)
        value = self.f.scale * OPS.dot(self.f.n, self.f.a, self.k) + self.alpha[0] * self.f.row()[old]
        mu = value if s > 0 else -value
        s = fabs(s)
        qa, qb, qc = s * s - 2 * s * mu, 2 * s, self.ledger[0] - ALLOWANCE * self.ledger[1]
        if qa + qb + qc > 0:
            phi = -2 * qc / (qb + sqrt(max(0.0, qb * qb - 4 * qa * qc)))
            phi = min(max(phi, 0.0), 1.0)
        self.ledger[0] += (s * phi) * (s * phi) + 2 * s * phi * (1 - phi * mu)
        self.ledger[2] = phi
        return phi
