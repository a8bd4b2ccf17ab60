# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rounds of the learners whose function is a kernel expansion."""
import numpy as np
cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.math cimport INFINITY, exp, fabs, sqrt
from numpy.random cimport bitgen_t

from nystream._core.inputs cimport RowMap
from nystream._core.linear_kernel cimport clean, linear_ops, linear_pick
from nystream._core.losses cimport OutputLoss
from nystream._core.scalar_losses cimport LOSS_EPSILON, MULTI_RUNNER_UP, multi_pair, multi_rival
from nystream._core.terms cimport Eviction, Inverse, Span, Terms

cnp.import_array()

# ----------------------------------------------------------------------------------------------------------------------
# What a round asks of the model (a correction), and the loop over blocks that mistake-driven learners share.
# ----------------------------------------------------------------------------------------------------------------------
cdef enum: GRADIENT, PERCEPTRON, CAPPED, SOFT
cdef enum: BLOCK = 64   # rows whose kernel rows are computed together: 16 to 64 cost the same, more is slower
RULES = {"gradient": GRADIENT, "perceptron": PERCEPTRON, "capped": CAPPED, "soft": SOFT}


cdef class Correction:
    """The coefficients alpha (K) that a round asks for, given the label, the scores p and s = k(x, x).

    gradient    -weight l'(p), any loss
    perceptron  y if y p <= 0; for classes, +1 at the label and -1 at its strongest rival unless it leads
    capped      argmin s/2 |alpha|^2 + C l(p + s alpha): PA-I, and PA for C infinite
    soft        argmin s/2 |alpha|^2 + C l(p + s alpha)^2: PA-II
    The last two know the hinges and the tube; "runner_up" moves only the label and its strongest rival.
    A loss with label similarities M has the joint kernel k(x, x') M[y, y']: coefficients alpha move the scores by
    k(x, x') M alpha, see `loss.mix`, and a pair of labels that M cannot tell apart is left alone. There the last two
    have only "runner_up".
    """

    def __init__(self, object loss, str rule, Py_ssize_t K, double C=1.0, str multiclass="exact"):
        self.loss, self.rule, self.K, self.C = OutputLoss(loss, K, multiclass), RULES[rule], K, C

    cdef int ask(self, const double* y, const double* p, double s, double weight, double* alpha) except -1 nogil:
        """Fill alpha; 1 if any of it is not 0, else 0."""
        cdef Py_ssize_t c
        cdef int active = 0
        if self.rule == GRADIENT:
            self.gradient(y, p, weight, alpha)
        elif self.rule == PERCEPTRON:
            self.perceptron(y, p, alpha)
        elif self.rule == CAPPED:
            self.loss.implicit(y, p, p, s, self.C * weight, alpha)
        else:
            self.soft(y, p, s, 1 / (2 * self.C * weight), alpha)
        for c in range(self.K):
            active |= alpha[c] != 0
        return active

    cdef int gradient(self, const double* y, const double* p, double weight, double* alpha) except -1 nogil:
        cdef Py_ssize_t c
        self.loss.gradient(y, p, alpha)
        for c in range(self.K):
            alpha[c] *= -weight
        return 0

    cdef void perceptron(self, const double* y, const double* p, double* alpha) noexcept nogil:
        cdef Py_ssize_t c
        cdef int rival, label
        if not self.loss.multiclass:
            for c in range(self.K):
                alpha[c] = y[c] if y[c] * p[c] <= 0 else 0
            return
        label = <int> y[0]
        rival = multi_rival(NULL, <int> self.K, label, p)
        for c in range(self.K):
            alpha[c] = 0
        if rival >= 0 and p[label] <= p[rival] and multi_pair(self.loss.similarity, <int> self.K, label, rival) > 0:
            alpha[label], alpha[rival] = 1, -1

    cdef void soft(self, const double* y, const double* p, double s, double slack, double* alpha) noexcept nogil:
        """With xi the loss that is left, C xi^2 has the slope that alpha pays for: s becomes s + slack, 1/(2C)."""
        cdef Py_ssize_t i
        cdef double excess
        if not (s > 0 and slack < INFINITY):
            for i in range(self.K):
                alpha[i] = 0
        elif self.loss.multiclass:
            if self.loss.rule == MULTI_RUNNER_UP:
                soft_pair(self.loss.margins, self.loss.similarity, self.K, <Py_ssize_t> y[0], p, s, slack, alpha)
            else:
                soft_classes(self.loss.margins, self.K, <Py_ssize_t> y[0], p, s, slack, alpha)
        elif self.loss.code == LOSS_EPSILON:
            for i in range(self.K):
                excess = fabs(y[i] - p[i]) - self.loss.constant
                alpha[i] = 0 if excess <= 0 else excess / (s + slack) if y[i] > p[i] else -excess / (s + slack)
        else:
            for i in range(self.K):
                excess = self.loss.constant - y[i] * p[i]
                alpha[i] = y[i] * excess / (s + slack) if excess > 0 else 0


cdef void soft_pair(const double* D, const double* M, Py_ssize_t K, Py_ssize_t y, const double* p, double s,
                    double slack, double* alpha) noexcept nogil:
    """The same argmin where only y and its strongest rival move."""
    cdef Py_ssize_t j, rival = multi_rival(D, <int> K, <int> y, p)
    cdef double a, both
    for j in range(K):
        alpha[j] = 0
    if rival < 0:
        return
    a, both = (1 if D == NULL else D[y * K + rival]) + p[rival] - p[y], multi_pair(M, <int> K, <int> y, <int> rival)
    if a > 0 and both > 0:
        alpha[y] = a / (s * both + slack)
        alpha[rival] = -alpha[y]


cdef void soft_classes(const double* D, Py_ssize_t K, Py_ssize_t y, const double* p, double s, double slack,
                       double* alpha) noexcept nogil:
    """argmin s/2 |alpha|^2 + C L(p + s alpha)^2 for the multi-class hinge L.

    With a_j = (D[y,j] + p_j - p_y)/s and beta = 1 + slack/s the minimiser is alpha_j = -max(0, a_j - thr),
    thr = beta total, total = alpha_y = sum of max(0, a_j - thr). For the active set A that gives
    thr = beta sum_A a / (1 + beta |A|), a mean of the a_j and 0: a set with members too many has a lower one, so
    dropping what lies below it, again and again, ends at the active set.
    """
    cdef Py_ssize_t j, count = K, before = K + 1
    cdef double a, sum, total = 0, thr = 0, beta = 1 + slack / s
    for j in range(K):
        alpha[j] = 0
    while count < before and count > 0:
        before, count, sum = count, 0, 0
        for j in range(K):
            a = ((1 if D == NULL else D[y * K + j]) + p[j] - p[y]) / s
            if j != y and a > thr:
                count, sum = count + 1, sum + a
        thr = beta * sum / (1 + beta * count)
    for j in range(K):
        a = ((1 if D == NULL else D[y * K + j]) + p[j] - p[y]) / s
        if j != y and a > thr:
            alpha[j] = thr - a
            total -= alpha[j]
    alpha[y] = total


cdef class Blocks(OneRow):
    """Rounds on the terms of an expansion, a block after the other, whose kernel rows come from one product.

    Subclasses set f, K and loss, and write `round`; `room` and `prepare` where blocks need more. A round begins
    with f.begin(j) and fills p (K) before it looks at y.
    """

    cdef Py_ssize_t room(self) noexcept:
        """Points that are stored at most, within a round too."""
        return (<size_t> -1) >> 1

    cdef int prepare(self, const double* X, Py_ssize_t b) except -1:
        """The b rows of X are about to be learnt; their kernel rows are there."""
        return 0

    cdef int round(self, Py_ssize_t j, const double* y, double weight, long long t, double* p) except -1 nogil:
        return 0

    cdef Py_ssize_t accepts(self) noexcept:
        self.signs = self.loss.signs
        return self.f.d if self.K == 1 and not self.loss.multiclass and self.f.form is not None else -1

    cdef int one(self, const void* x, double y, long long t, double* p) except -1:
        self.f.open_rows(<const double*> x, 1, self.room())
        self.prepare(<const double*> x, 1)
        self.round(0, &y, 1.0, t, p)
        self.f.close()
        return 0

    def step(self, cnp.ndarray x, cnp.ndarray y, double weight, long long t):
        """Round t (the first is 1) on x (d,) with label y (K,), or (1,) for a class number -> prediction (K,)."""
        cdef cnp.npy_intp K = self.K
        cdef cnp.ndarray p = cnp.PyArray_EMPTY(1, &K, cnp.NPY_FLOAT64, 0)
        cdef const double* label = clean(y, -1, self.loss.columns)
        self.loss.check(label, 1)
        self.f.open(x, 0, 1, self.room())
        self.prepare(self.f.given, 1)
        self.round(0, label, weight, t, <double*> cnp.PyArray_DATA(p))
        self.f.close()
        return p

    def run(self, cnp.ndarray X, cnp.ndarray Y, object weights, long long t):
        """Rounds t, t + 1, ... on the rows of X -> predictions (n, K), each made before its label was read."""
        cdef Py_ssize_t i, j, b, n = cnp.PyArray_DIM(X, 0), columns = self.loss.columns
        cdef const double* y = clean(Y, n, columns)
        cdef const double* weight = clean(weights, -1, n) if weights is not None else NULL
        cdef cnp.ndarray P = np.empty((n, self.K))
        cdef double* p = <double*> cnp.PyArray_DATA(P)
        self.loss.check(y, n)
        for i in range(0, n, BLOCK):
            b = min(<Py_ssize_t> BLOCK, n - i)
            self.f.open(X, i, b, self.room())
            self.prepare(self.f.given, b)
            with nogil:
                for j in range(b):
                    self.round(j, y + (i + j) * columns, weight[i + j] if weight else 1.0, t + i + j,
                               p + (i + j) * self.K)
        self.f.close()
        return P


cdef class Loop(Blocks):
    """Blocks whose rounds ask a `Correction`; p comes from `scores` and the loss's `mix`."""

    def __init__(self, Terms terms, Correction rule, object limit=None):
        self.f, self.rule, self.loss, self.K = terms, rule, rule.loss, terms.K
        self.limit = Blocks.room(self) if limit is None else limit
        self._alpha = np.zeros(self.K)
        self.alpha = <double*> clean(self._alpha, -1, self.K)

    cdef Py_ssize_t room(self) noexcept:
        return self.limit

    cdef void scores(self, Py_ssize_t j, double* p) noexcept nogil:
        """Raw outputs (K) of block row j."""
        self.f.scores(self.f.row(), p)


# ----------------------------------------------------------------------------------------------------------------------
# The rounds of learners that store what they got wrong: all of it, a random choice, or what is not yet forgotten.
# ----------------------------------------------------------------------------------------------------------------------
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


# ----------------------------------------------------------------------------------------------------------------------
# The rounds of kernel expansions: predict, ask the loss, shrink, store; explicit and implicit steps, K outputs.
# ----------------------------------------------------------------------------------------------------------------------
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


# ----------------------------------------------------------------------------------------------------------------------
# The rounds of SVMD: gradient descent in the kernel's space whose step size follows its own gradient.
# ----------------------------------------------------------------------------------------------------------------------
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


# ----------------------------------------------------------------------------------------------------------------------
# The rounds of stochastic gradient descent with steps 1/(lam t) on a bounded expansion, or on that and features.
# ----------------------------------------------------------------------------------------------------------------------
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


# ----------------------------------------------------------------------------------------------------------------------
# The rounds of Projectron and Projectron++: a mistake that the stored points can nearly express is not stored.
# ----------------------------------------------------------------------------------------------------------------------
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


# ----------------------------------------------------------------------------------------------------------------------
# The rounds of budget passive-aggressive learning: who leaves, and who takes over its share, at once.
# ----------------------------------------------------------------------------------------------------------------------
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
