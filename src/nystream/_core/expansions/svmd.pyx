# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The rounds of SVMD: gradient descent in the kernel's space whose step size follows its own gradient."""
import numpy as np

cimport numpy as cnp
from libc.math cimport exp

from nystream._core.expansions.expansion cimport Terms
from nystream._core.linalg.linear_kernel cimport clean
from nystream._core.expansions.loop cimport Blocks
from nystream._core.losses cimport OutputLoss

cnp.import_array()

cdef double SAFE = 0.9  # eta lam stays below this


cdef class MetaDescent(Blocks):
    """Works on terms with 2 K outputs, f_c and v_c side by side, and on the learner's array meta = (eta, <f,f>, <f,v>).

    Both sets of coefficients carry the scale of the terms, which is the decay of f; so only those of v are touched
    in every round. With label similarities M the scores are M times the outputs, and <f,v> counts coefficients by M.
    """
    cdef tuple arrays
    cdef double *meta
    cdef double *scratch
    cdef double *near
    cdef Py_ssize_t budget
    cdef double lam, mu, keep, clamp

    def __init__(self, Terms terms, object loss, cnp.ndarray meta, *, double lam, double mu, double decay, double clamp,
                 Py_ssize_t budget):
        K = self.K = terms.K // 2
        scratch, near = np.zeros((6, K)), np.zeros(budget + 1)
        self.arrays = (meta, scratch, near)
        self.f, self.loss = terms, OutputLoss(loss, K)
        self.lam, self.mu, self.keep, self.clamp, self.budget = lam, mu, decay, clamp, budget
        self.meta = <double*> clean(meta, -1, 3)
        self.scratch, self.near = <double*> clean(scratch, 6, K), <double*> clean(near, -1, budget + 1)

    cdef Py_ssize_t room(self) noexcept:
        return self.budget + 1 if self.budget else Blocks.room(self)

    cdef int round(self, Py_ssize_t j, const double* y, double weight, long long t, double* p) except -1 nogil:
        cdef Py_ssize_t c, K = self.K
        cdef double *both = self.scratch            # f_c(x), v_c(x) alternating, then the new coefficients
        cdef double *v = both + 2 * K
        cdef double *xi = v + K
        cdef double *Hv = xi + K
        cdef double *moved = Hv + K                 # what the new coefficients of f do to the scores, over k(x, x)
        cdef double lam = self.lam, ff = self.meta[1], fv = self.meta[2], grad, own, eta, a1, b1, b2, a2, b3
        cdef bint active = False
        self.f.begin(j)
        self.f.scores(self.f.row(), both)
        for c in range(K):
            p[c], v[c] = both[2 * c], both[2 * c + 1]
        self.loss.mix(p)
        self.loss.mix(v)
        self.loss.gradient(y, p, xi)
        self.loss.curved(y, p, xi, v, Hv)
        grad = lam * fv
        for c in range(K):
            xi[c] *= weight
            Hv[c] *= weight
            grad += xi[c] * v[c]
        eta = self.meta[0] * exp(min(max(-self.mu * grad, -self.clamp), self.clamp))
        if lam and eta > SAFE / lam:
            eta = SAFE / lam
        own = self.f.k_own()
        a1, b1, b2 = 1 - eta * lam, self.keep * (1 - eta * lam), -eta * lam
        self.meta[0], self.meta[1], self.meta[2] = eta, a1 * a1 * ff, a1 * b1 * fv + a1 * b2 * ff
        self._decay(a1, b2)
        for c in range(K):
            moved[c] = -eta * xi[c]
        self.loss.mix(moved)
        for c in range(K):
            a2, b3 = -eta * xi[c], -eta * (xi[c] + self.keep * Hv[c])
            self.meta[1] += 2 * a1 * a2 * p[c] + a2 * moved[c] * own
            self.meta[2] += a1 * b3 * p[c] + a2 * b1 * v[c] + a2 * b2 * p[c] + moved[c] * b3 * own
            both[2 * c], both[2 * c + 1] = a2 / self.f.scale, b3 / self.f.scale
            active |= a2 != 0 or b3 != 0
        if active and own > 0:
            self.f.append(self.f.x(), both, own, t)
            if self.budget and self.f.n > self.budget:
                self._drop_oldest()
        return 0

    cdef void _decay(self, double a1, double b2) noexcept nogil:
        """A <- a1 A, B <- b1 B + b2 A with b1 = keep a1; both are stored in units of the scale, which takes up a1."""
        cdef Py_ssize_t c, i
        cdef const double *A
        cdef double *B
        for c in range(self.K):
            A = self.f.a + 2 * c * self.f.capacity
            B = self.f.a + (2 * c + 1) * self.f.capacity
            for i in range(self.f.n):
                B[i] = self.keep * B[i] + b2 / a1 * A[i]
        if a1 != 1:
            self.f.decay(a1)

    cdef int _drop_oldest(self) except -1 nogil:
        """The oldest term leaves f, v and their inner products."""
        cdef Py_ssize_t c, p = self.f.oldest()
        cdef double *both = self.scratch
        cdef double *f = both + 2 * self.K          # f(x_p)
        cdef double *mine = f + self.K              # M A, or A
        cdef double A, B, k
        self.f.stored_row(p, self.near)
        self.f.scores(self.near, both)
        k = self.f.diag[p]
        for c in range(self.K):
            f[c], mine[c] = both[2 * c], self.f.scale * self.f.a[2 * c * self.f.capacity + p]
        self.loss.mix(f)
        self.loss.mix(mine)
        for c in range(self.K):
            A = self.f.scale * self.f.a[2 * c * self.f.capacity + p]
            B = self.f.scale * self.f.a[(2 * c + 1) * self.f.capacity + p]
            self.meta[1] -= 2 * A * f[c] - A * mine[c] * k
            self.meta[2] -= mine[c] * both[2 * c + 1] + B * f[c] - mine[c] * B * k
        self.f.drop(p)
        return 0
