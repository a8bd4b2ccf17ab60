# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The rounds of kernel expansions: predict, ask the loss, shrink, store; explicit and implicit steps, K outputs."""
import numpy as np

cimport numpy as cnp
from libc.math cimport fabs, sqrt

from nystream._core.expansions.eviction cimport Eviction
from nystream._core.expansions.expansion cimport Terms
from nystream._core.linalg.linear_kernel cimport clean
from nystream._core.expansions.loop cimport Blocks
from nystream._core.scalar_losses cimport (LOSS_EPSILON, LOSS_HINGE, MULTI_EXACT, MULTI_RUNNER_UP, loss_grad,
                                           loss_implicit, multi_grad, multi_implicit, multi_mix)

cnp.import_array()

cdef enum: EXPLICIT, IMPLICIT
METHODS = {"explicit": EXPLICIT, "implicit": IMPLICIT}


cdef class Rounds(Blocks):
    """The loop of NORMA (explicit) and ILK (implicit) on the terms and the buffer of an expansion.

    offset (2, K) holds b and its sum over the rounds, level (1,) the adapted margin or tube of the nu-trick; both are
    the learner's own arrays, or None. A loss whose `compiled` is None is asked in Python, row by row.
    """
    cdef Eviction keeper
    cdef object loss
    cdef tuple arrays
    cdef int method, kind, multi_rule
    cdef bint sqrt_schedule
    cdef double a, b, eta, lam, C, nu
    cdef double *offset
    cdef double *level
    cdef double *scratch
    cdef const double *margins
    cdef const double *similarity

    def __init__(self, Terms terms, Eviction keeper, object loss, str method, *, double eta, bint sqrt_schedule,
                 double lam, double C=1.0, str multiclass="exact", object offset=None, double nu=0.0,
                 object level=None):
        K = self.K = terms.K
        margins, similarity = getattr(loss, "label_margins", None), getattr(loss, "label_similarity", None)
        scratch = np.zeros((5, K))
        self.arrays = (offset, level, scratch, margins, similarity)
        self.f, self.keeper, self.loss, self.multiclass = terms, keeper, loss, loss.multiclass
        self.kind, self.a, self.b = loss.compiled or (-1, 0.0, 0.0)
        self.method, self.eta, self.sqrt_schedule, self.lam, self.C = METHODS[method], eta, sqrt_schedule, lam, C
        self.multi_rule = MULTI_RUNNER_UP if multiclass == "runner_up" else MULTI_EXACT
        self.offset = <double*> clean(offset, 2, K) if offset is not None else NULL
        self.level = <double*> clean(level, -1, 1) if level is not None else NULL
        self.nu = nu
        self.scratch = <double*> clean(scratch, 5, K)
        self.margins = clean(margins, K, K) if margins is not None else NULL
        self.similarity = clean(similarity, K, K) if similarity is not None else NULL

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
        multi_mix(self.similarity, <int> self.K, p, self.scratch + self.K)
        if self.offset:
            for c in range(self.K):
                p[c] += self.offset[c]
                self.offset[self.K + c] += self.offset[c]

    cdef int _implicit(self, const double* y, const double* p, double own, double weight, double eta,
                       double* alpha) except -1 nogil:
        """f <- kappa f + alpha k(x, .), alpha = argmin_a s/2 a^2 + c l(kappa p + s a)."""
        cdef Py_ssize_t c
        cdef double kappa = 1 / (1 + eta * self.lam)
        cdef double *q = self.scratch + 2 * self.K
        for c in range(self.K):
            q[c] = kappa * p[c]
        self._ask_implicit(y, q, p, own, kappa * eta * self.C * weight, alpha)
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
            self._ask_gradient(y, p, alpha)
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
        if self.kind == LOSS_EPSILON:
            v = 1 if fabs(y - p) > self.level[0] else 0
            g[0] = -v if y > p else v
            self.level[0] = max(0.0, self.level[0] + eta * weight * (v - self.nu))
            return
        if self.kind == LOSS_HINGE:
            v = 1 if y * p <= self.level[0] else 0
            g[0] = -y * v
        else:
            v = 1 if p < self.level[0] else 0
            g[0] = -v
        self.level[0] += eta * weight * (self.nu - v)

    cdef int _ask_gradient(self, const double* y, const double* p, double* g) except -1 nogil:
        cdef Py_ssize_t c
        if self.kind < 0:
            with gil:
                self._fill(g, self.loss.grad(int(y[0]), self._vector(p)) if self.multiclass
                           else [self.loss.grad(y[c], p[c]) for c in range(self.K)])
        elif self.multiclass:
            multi_grad(self.kind, self.margins, <int> self.K, <int> y[0], p, g)
        else:
            for c in range(self.K):
                g[c] = loss_grad(self.kind, self.a, self.b, y[c], p[c])
        return 0

    cdef int _ask_implicit(self, const double* y, const double* q, const double* p, double s, double c,
                           double* alpha) except -1 nogil:
        cdef Py_ssize_t i
        if not (s > 0 and c > 0):
            for i in range(self.K):
                alpha[i] = 0
        elif self.kind < 0:
            with gil:
                self._fill(alpha, self.loss.implicit(int(y[0]), self._vector(q), s, c) if self.multiclass
                           else [self.loss.implicit(y[i], q[i], s, c) for i in range(self.K)])
        elif self.multiclass:
            multi_implicit(self.kind, self.multi_rule, self.margins, self.similarity, <int> self.K, <int> y[0], q, p, s,
                           c, self.scratch + 3 * self.K, alpha)
        else:
            for i in range(self.K):
                alpha[i] = loss_implicit(self.kind, self.a, self.b, y[i], q[i], s, c)
        return 0

    cdef object _vector(self, const double* p):
        return np.array([p[c] for c in range(self.K)])

    cdef int _fill(self, double* out, object values) except -1:
        cdef Py_ssize_t c
        for c in range(self.K):
            out[c] = values[c]
        return 0
