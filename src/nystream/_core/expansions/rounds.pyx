# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The rounds of kernel expansions: predict, ask the loss, shrink, store; explicit and implicit steps, K outputs."""
import numpy as np

cimport numpy as cnp
from libc.math cimport fabs, sqrt

from nystream._core.expansions.eviction cimport Eviction
from nystream._core.expansions.expansion cimport Terms
from nystream._core.linalg.linear_kernel cimport clean
from nystream._core.expansions.loop cimport Blocks
from nystream._core.losses cimport OutputLoss

cnp.import_array()

cdef enum: EXPLICIT, IMPLICIT
METHODS = {"explicit": EXPLICIT, "implicit": IMPLICIT}


cdef class Rounds(Blocks):
    """The loop of NORMA (explicit) and ILK (implicit) on the terms and the buffer of an expansion.

    offset (2, K) holds b and its sum over the rounds, level (1,) the adapted margin or tube of the nu-trick; both are
    the learner's own arrays, or None.
    """
    cdef Eviction keeper
    cdef tuple arrays
    cdef int method
    cdef bint sqrt_schedule, tube, signed_labels
    cdef double eta, lam, C, nu
    cdef double *offset
    cdef double *level
    cdef double *scratch

    def __init__(self, Terms terms, Eviction keeper, object loss, str method, *, double eta, bint sqrt_schedule,
                 double lam, double C=1.0, str multiclass="exact", object offset=None, double nu=0.0,
                 object level=None):
        K = self.K = terms.K
        scratch = np.zeros((2, K))
        self.arrays = (offset, level, scratch)
        self.f, self.keeper, self.loss = terms, keeper, OutputLoss(loss, K, multiclass)
        self.tube, self.signed_labels = loss.adaptable == "tube", loss.labels == "sign"
        self.method, self.eta, self.sqrt_schedule, self.lam, self.C = METHODS[method], eta, sqrt_schedule, lam, C
        self.offset = <double*> clean(offset, 2, K) if offset is not None else NULL
        self.level = <double*> clean(level, -1, 1) if level is not None else NULL
        self.nu = nu
        self.scratch = <double*> clean(scratch, 2, K)

    cdef Py_ssize_t room(self) noexcept:
        return self.keeper.limit()

    cdef int round(self, Py_ssize_t j, const double* y, double weight, long long t, double* p) except -1 nogil:
        cdef Py_ssize_t c
        cdef bint active = False
        cdef double own, eta = self.eta / sqrt(<double> t) if self.sqrt_schedule else self.eta
        cdef double *alpha = self.scratch
        self.f.begin(j)
        self._scores(p)
        own = self.f.k_own()
        if self.method == IMPLICIT:
            self._implicit(y, p, own, weight, eta, alpha)
        else:
            self._explicit(y, p, weight, eta, alpha)
        self.keeper.expire(t)
        for c in range(self.K):
            active |= alpha[c] != 0
        if active and own > 0:      # where k(x, x) = 0, k(x, .) is the zero function
            self.keeper.admit(alpha, own, t)
        return 0

    cdef void _scores(self, double* p) noexcept nogil:
        """Raw scores, mixed by the label similarity where the loss has one, plus the offset."""
        cdef Py_ssize_t c
        self.f.scores(self.f.row(), p)
        self.loss.mix(p)
        if self.offset:
            for c in range(self.K):
                p[c] += self.offset[c]
                self.offset[self.K + c] += self.offset[c]

    cdef int _implicit(self, const double* y, const double* p, double own, double weight, double eta,
                       double* alpha) except -1 nogil:
        """f <- kappa f + alpha k(x, .), alpha = argmin_a s/2 a^2 + c l(kappa p + s a)."""
        cdef Py_ssize_t c
        cdef double kappa = 1 / (1 + eta * self.lam)
        cdef double *q = self.scratch + self.K
        for c in range(self.K):
            q[c] = kappa * p[c]
        self.loss.implicit(y, q, p, own, kappa * eta * self.C * weight, alpha)
        if kappa != 1:
            self.f.decay(kappa)
        return 0

    cdef int _explicit(self, const double* y, const double* p, double weight, double eta,
                       double* alpha) except -1 nogil:
        """f <- (1 - eta lam) f - eta l'(p) k(x, .), and the same for the offset without its decay."""
        cdef Py_ssize_t c
        if self.level:
            self._ask_adaptive(y[0], p[0], weight, eta, alpha)
        else:
            self.loss.gradient(y, p, alpha)
        for c in range(self.K):
            alpha[c] *= -eta * weight
            if self.offset:
                self.offset[c] += alpha[c]
        if self.lam:
            self.f.decay(1 - eta * self.lam)
        return 0

    cdef void _ask_adaptive(self, double y, double p, double weight, double eta, double* g) noexcept nogil:
        """The gradient at the adapted margin rho or tube eps, which then moves so that a fraction nu violates it."""
        cdef double v
        if self.tube:
            v = 1 if fabs(y - p) > self.level[0] else 0
            g[0] = -v if y > p else v
            self.level[0] = max(0.0, self.level[0] + eta * weight * (v - self.nu))
            return
        if self.signed_labels:
            v = 1 if y * p <= self.level[0] else 0
            g[0] = -y * v
        else:
            v = 1 if p < self.level[0] else 0
            g[0] = -v
        self.level[0] += eta * weight * (self.nu - v)
