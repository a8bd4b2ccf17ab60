# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What a round asks of the model (a correction), and the loop over blocks that mistake-driven learners share."""
import numpy as np

cimport numpy as cnp
from libc.math cimport INFINITY, fabs

from nystream._core.expansions.expansion cimport Terms
from nystream._core.linalg.linear_kernel cimport clean
from nystream._core.losses cimport OutputLoss
from nystream._core.scalar_losses cimport LOSS_EPSILON, MULTI_RUNNER_UP, multi_pair, multi_rival

cnp.import_array()

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
