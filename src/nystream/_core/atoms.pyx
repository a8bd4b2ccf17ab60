# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rounds of KONS and KORS in the Gram matrix of their atoms."""
import numpy as np
cimport numpy as cnp
from libc.math cimport fabs, fmax, fmin, sqrt
from libc.string cimport memcpy, memset

from nystream._core.inputs cimport Coins, RowMap, clean_number, clean_row
from nystream._core.kernels cimport KernelRows
from nystream._core.landmarks cimport ROOM, WhitenedRow
from nystream._core.linalg cimport NestedFactor, Triangle
from nystream._core.linear_kernel cimport clean, linear_ops, linear_pick
from nystream._core.losses cimport OutputLoss
from nystream._core.residual cimport Score, bounded, enter, scored

cnp.import_array()

# ----------------------------------------------------------------------------------------------------------------------
# The rounds of kernel online Newton steps, exact or sketched, for a block of rows in their residual Gram matrix.
# ----------------------------------------------------------------------------------------------------------------------
cdef linear_ops OPS = linear_pick()
cdef enum: RELEASE = 64     # points from which a row is long enough to be worth giving up the GIL
cdef double STEEPEST = 1e70    # of the derivative of the loss, for labels beyond all bounds: dl^2 k(x, x) is a number
cdef enum: OUTSIDE, GRAD, PREDICTION, GAIN, LEVERAGE, ROUND, WIDTH   # columns of a record; kons.py counts on the order


cdef class KernelNewton:
    """Constants of the recursion. eta > 0 is the step size; eta = 0 asks for scale / sqrt(t).

    If a loss that is asked in Python raises, nothing has changed.
    """
    cdef OutputLoss loss
    cdef double clip, lam, eta, scale, gamma, eps, beta

    def __init__(self, object loss, double clip, double lam, double eta, double scale, *, double gamma=1.0,
                 double eps=0.5, double beta=1.0):
        self.loss = OutputLoss(loss, 1)
        self.clip, self.lam, self.eta, self.scale = clip, lam, eta, scale
        self.gamma, self.eps, self.beta = gamma, eps, beta

    def rounds(self, cnp.ndarray f, cnp.ndarray G, cnp.ndarray own, cnp.ndarray y, long long t, double trace,
               object H=None, object u=None):
        """Rounds t, t + 1, ... -> (records (m, 6), loss, E (r, m), v, scales, pivots (r,), odds (m,)); r rows enter.

        f (m,) are the predictions before projection at the start of the block, G (m, m) its residual Gram matrix, own
        (m,) k(x, x), y (m, 1) the labels, trace the trace of the factor's Gram matrix. E[i] are the coordinates that
        later rows gain by the i-th row that enters (0 for the others), v its entry of L^-1 b. With H, the residual
        Gram matrix against KORS's dictionary, and uniforms u, a row enters only if u < max(p, gamma), and odds are the
        p of the rows that KORS keeps (0 elsewhere). f, G and H are used up.

        A gradient enters with scale dl sqrt(eta), or what the factor can bear of it (`bounded`); its own step is that
        of the whole. Then A_t is at most A_{t-1} + eta g g', and the bound on the regret holds all the same.
        """
        cdef Py_ssize_t m = cnp.PyArray_DIM(f, 0), r
        cdef cnp.ndarray records = np.zeros((m, WIDTH)), E = np.zeros((m, m)), rest = np.zeros((5, m))
        cdef double* ybar = <double*> clean(f, -1, m)
        cdef double* g = <double*> clean(G, m, m)
        cdef double* h = <double*> clean(H, m, m) if H is not None else NULL
        cdef const double* k = clean(own, -1, m)
        cdef const double* label = clean(y, m, 1)
        cdef const double* coin = clean(u, -1, m) if u is not None else NULL
        cdef double* q = <double*> cnp.PyArray_DATA(records)
        cdef double* e = <double*> cnp.PyArray_DATA(E)
        cdef double* v = <double*> cnp.PyArray_DATA(rest)
        cdef double loss = 0
        with nogil:
            r = self.follow(m, ybar, g, k, label, t, trace, h, coin, q, e, v, &loss)
        return records, loss, E[:r], rest[0, :r], rest[4, :r], rest[1, :r], rest[2]

    cdef Py_ssize_t follow(self, Py_ssize_t m, double* ybar, double* g, const double* k, const double* label,
                           long long t, double trace, double* h, const double* coin, double* q, double* e, double* v,
                           double* loss) except -1 nogil:
        """`rounds` on plain memory: q (m, 6), e (m, m) and v (5, m), zeros, become records, E and v, pivots, odds,
        scratch, scales. Returns how many rows enter."""
        cdef Py_ssize_t j, i, r = 0
        cdef double* pivot = v + m
        cdef double* odds = v + 2*m
        cdef double* scale = v + 4*m
        cdef double move, root
        for j in range(m):
            q[PREDICTION], q[ROUND] = fmin(fmax(ybar[j], -self.clip), self.clip), t + j
            if not k[j] > 0:   # no feature: predict 0, learn nothing
                q[PREDICTION] = 0
            loss[0] += self.loss.value(label[j], q[PREDICTION])
            if not k[j] > 0:
                q += WIDTH
                continue
            q[LEVERAGE] = fmax(g[j*m + j] / self.lam, k[j] / (self.lam + trace))
            self._ask(label[j], t + j, q)
            if h != NULL and q[GAIN] > 0 and not self._sampled(h, m, j, k[j], coin[j], q, odds + j, v + 3*m):
                q[GAIN] = 0
            move = self._move(ybar[j], q)
            for i in range(j + 1, m):
                ybar[i] -= move * g[j*m + i]
            if q[OUTSIDE] != 0:   # what is outside the factor is seen by it: v -= (c/lam) l
                for i in range(r):
                    v[i] -= q[OUTSIDE] * e[i*m + j]
            if q[GAIN] > 0:
                root = sqrt(bounded(q[GAIN], q[GRAD] * q[GRAD] * k[j], self.lam))
                scale[r] = q[GRAD] * root
                pivot[r] = sqrt(self.lam * (1 + scale[r] * scale[r] * q[LEVERAGE]))
                v[r] = -pivot[r] / (root * self.lam * (1 + q[GAIN] * q[GRAD] * q[GRAD] * q[LEVERAGE]))
                enter(g, m, j, scale[r] / pivot[r], e + r*m)
                trace += scale[r] * scale[r] * k[j]
                r += 1
            q += WIDTH
        return r

    cdef int _ask(self, double y, long long t, double* q) except -1 nogil:
        """Derivative of the loss and step size of the round; a step of 0 where there is no gradient."""
        q[GRAD] = self.loss.slope(y, q[PREDICTION])
        q[GAIN] = 0
        if q[GRAD] != 0:
            q[GRAD] = fmin(fmax(q[GRAD], -STEEPEST), STEEPEST)
            q[GAIN] = self.eta if self.eta > 0 else self.scale / sqrt(<double> t)
        return 0

    cdef bint _sampled(self, double* H, Py_ssize_t m, Py_ssize_t j, double own, double u, double* q, double* odds,
                       double* e) noexcept nogil:
        """KORS's round for psi = dl sqrt(eta) phi, and the sketch's coin: one uniform drives both."""
        cdef double weight = q[GAIN] * q[GRAD] * q[GRAD], squared = H[j*m + j]
        cdef Score score = scored(squared, own, weight, self.lam, self.eps, self.beta)
        if u < score.p:
            odds[0] = score.p
            weight = bounded(weight / score.p, own, self.lam)
            enter(H, m, j, sqrt(weight / (self.lam + weight * squared)), e)
        return u < fmax(score.p, self.gamma)

    cdef double _move(self, double ybar, double* q) noexcept nogil:
        """Sets c/lam, the coefficient outside the factor; returns kap/lam, by which u moves along -(A^-1 lam) phi."""
        cdef double h = ybar - q[PREDICTION], back = h / q[LEVERAGE] if h != 0 else 0
        q[OUTSIDE] = -(back if q[GAIN] > 0 else back + q[GRAD]) / self.lam
        return (back + q[GRAD] / (1 + q[GAIN] * q[GRAD] * q[GRAD] * q[LEVERAGE])) / self.lam


cdef class NewtonRow:
    """The round of one row in one call; `learn` stores it, for the learner to count.

    Works on the memory of the learner, which is given anew (`hold`) where it is `full` or may have moved: points (n, d)
    and records (n, 6), of which only more come; scale (r,), v (r,) and `triangle` of those that entered the factor.
    kors: the whitened rows of KORS's dictionary, where there is one. No row beyond `largest`, and no label beyond
    `limit`, is taken.
    """
    cdef KernelNewton newton
    cdef KernelRows form
    cdef Triangle triangle
    cdef WhitenedRow kors
    cdef double largest, limit, pivot
    cdef Py_ssize_t n, r, d
    cdef Py_ssize_t most, widest        # points, and those in the factor, that there is memory for
    cdef double* at
    cdef double* records
    cdef double* scales
    cdef double* v
    cdef double* k                      # (n,) kernel row
    cdef double* t                      # (r,) whitened
    cdef double* outside                # (n,) coefficients outside the factor
    cdef Py_ssize_t* places             # (r,) of those in the factor among the points
    cdef tuple arrays
    cdef object scratch, entered_at
    cdef double* q
    cdef readonly object record         # (6,) of the last row,
    cdef readonly double own            # its k(x, x),
    cdef readonly double loss           # its loss,
    cdef readonly double odds           # above 0 if KORS keeps it,
    cdef readonly bint stored           # whether it is stored,
    cdef readonly bint entered          # and whether it enters the factor,
    cdef readonly double scale          # with this scale,
    cdef readonly double entry          # this part of v,
    cdef readonly double gained         # and what it adds to the trace

    def __init__(self, KernelNewton newton, KernelRows form, Triangle triangle, double largest, double limit,
                 WhitenedRow kors=None):
        self.newton, self.form, self.triangle, self.kors = newton, form, triangle, kors
        self.largest, self.limit = largest, limit
        self.scratch, self.entered_at, self.record = np.zeros((3, 0)), np.zeros(0, dtype=np.intp), np.zeros(WIDTH)
        self.q = <double*> cnp.PyArray_DATA(<cnp.ndarray> self.record)

    @property
    def full(self):
        """Whether there may be no memory for one more row."""
        return self.n >= self.most or self.r >= self.widest

    def hold(self, cnp.ndarray points, cnp.ndarray record, cnp.ndarray scale, cnp.ndarray v, Py_ssize_t n):
        """Where everything is, with memory for more than the n points that there are; scale and v have one column."""
        cdef Py_ssize_t d = cnp.PyArray_DIM(points, 1), r = self.triangle.n, i
        cdef Py_ssize_t known = self.n, entered = self.r, room = cnp.PyArray_DIM(self.entered_at, 0)
        cdef Py_ssize_t most = min(cnp.PyArray_DIM(points, 0), cnp.PyArray_DIM(record, 0))
        cdef Py_ssize_t widest = min(cnp.PyArray_DIM(scale, 0), cnp.PyArray_DIM(v, 0))
        cdef double* at = <double*> clean(points, cnp.PyArray_DIM(points, 0), d)
        cdef double* records = <double*> clean(record, cnp.PyArray_DIM(record, 0), WIDTH)
        cdef double* scales = <double*> clean(scale, cnp.PyArray_DIM(scale, 0), 1)
        cdef double* entries = <double*> clean(v, cnp.PyArray_DIM(v, 0), 1)
        if n >= most or r >= widest:
            raise ValueError(f"memory for more than {n} points is needed, {r} of them in the factor")
        if room < n + 2 + ROOM:
            room, known, entered = 2*n + 2 + ROOM, 0, 0
            self.scratch, self.entered_at = np.zeros((3, room)), np.zeros(room, dtype=np.intp)
            self.places = <Py_ssize_t*> cnp.PyArray_DATA(<cnp.ndarray> self.entered_at)
            self.k = <double*> cnp.PyArray_DATA(<cnp.ndarray> self.scratch)
            self.t, self.outside = self.k + room, self.k + 2*room
        for i in range(known, n):
            self.outside[i] = records[i*WIDTH + OUTSIDE]
            if records[i*WIDTH + GAIN] > 0:
                self.places[entered] = i
                entered += 1
        if entered != r:
            raise ValueError(f"{r} points are in the factor, {entered} are said to be")
        self.at, self.records, self.scales, self.v = at, records, scales, entries
        self.n, self.d, self.r = n, d, r
        self.most, self.widest = min(most, room - 1 - ROOM), widest
        self.arrays = (points, record, scale, v)

    def one(self, object x, object y, long long t, double trace, double coin):
        """The prediction for x in round t; None, and nothing done, where x or y is not a clean row or label. `trace`:
        that of the factor's Gram matrix; `coin`: the uniform of this round, where there is KORS."""
        cdef double own = 0, f = 0, square = 0, unseen = 0, label = 0, e = 0, loss = 0
        cdef double[5] rest
        cdef const double* row = clean_row(x, self.d)
        self.stored = self.entered = False
        if row == NULL or not clean_number(y, self.newton.loss.signs, &label) or not fabs(label) <= self.limit:
            return None
        self.form.fill(row, 1, row, 1, self.d, &own, 1)
        if not 0 < own <= self.largest:
            return None
        if self.n < RELEASE:
            f = self.ask(row, own, &square, &unseen)
        else:
            with nogil:
                f = self.ask(row, own, &square, &unseen)
        memset(self.q, 0, WIDTH*sizeof(double))
        memset(rest, 0, sizeof(rest))
        self.entered = self.newton.follow(1, &f, &square, &own, &label, t, trace, &unseen if self.kors else NULL,
                                          &coin, self.q, &e, rest, &loss)
        self.own, self.loss, self.odds = own, loss, rest[2]
        self.stored = self.entered or self.q[OUTSIDE] != 0
        if self.entered:
            self.entry, self.pivot, self.scale, self.gained = rest[0], rest[1], rest[4], rest[4]*rest[4]*own
        return self.q[PREDICTION]

    def learn(self, cnp.ndarray x):
        """What the last row, x, does to the factor and to v; then it is written behind the points, its numbers behind
        theirs."""
        cdef Py_ssize_t i
        cdef const double* row = clean(x, -1, self.d)
        if self.full:
            raise ValueError("there is no memory for a row more")
        if self.q[OUTSIDE] != 0:
            OPS.mix(self.r, 1.0, self.v, -self.q[OUTSIDE], self.t)
        if self.entered:
            for i in range(self.r):
                self.t[i] *= self.scale
            self.triangle.append_one(self.t, self.pivot)
            self.scales[self.r], self.v[self.r], self.places[self.r] = self.scale, self.entry, self.n
            self.r += 1
        memcpy(self.at + self.n*self.d, row, self.d*sizeof(double))
        memcpy(self.records + self.n*WIDTH, self.q, WIDTH*sizeof(double))
        self.outside[self.n] = self.q[OUTSIDE]
        self.n += 1

    cdef double ask(self, const double* x, double own, double* square, double* unseen) noexcept nogil:
        """u(x), what the factor does not see of k(x, x), and what KORS's dictionary does not."""
        cdef double total = 0
        cdef Py_ssize_t i
        square[0] = own
        if self.n:
            self.form.fill(x, 1, self.at, self.n, self.d, self.k, self.n)
        if self.r:
            for i in range(self.r):
                self.t[i] = self.k[self.places[i]]*self.scales[i]
            square[0] -= self.triangle.solve_one(self.t)
            total = OPS.dot(self.r, self.t, self.v)
        total += OPS.dot(self.n, self.k, self.outside)
        if self.kors is not None:
            unseen[0] = own - self.kors.whiten(x, self.kors.t)
        return total


# ----------------------------------------------------------------------------------------------------------------------
# The coins of kernel online row sampling for a block of rows, in their residual Gram matrix.
# ----------------------------------------------------------------------------------------------------------------------
def toss(cnp.ndarray G, cnp.ndarray own, cnp.ndarray c, cnp.ndarray u, double ridge, double eps, double beta,
         Py_ssize_t room):
    """One round per row: (tau, p, kept), each (m,).

    G (m, m) is the residual Gram matrix of the rows and is used up, own (m,) their k(x, x), c (m,) their scales, u (m,)
    their uniforms. Row j is kept if u_j < p_j, then weighs 1/p_j; after `room` rows none is kept any more.
    """
    cdef Py_ssize_t m = cnp.PyArray_DIM(G, 0), j
    cdef double* g = <double*> clean(G, m, m)
    cdef const double* k = clean(own, -1, m)
    cdef const double* scale = clean(c, -1, m)
    cdef const double* coin = clean(u, -1, m)
    cdef cnp.ndarray out = np.zeros((3, m)), kept = np.zeros(m, dtype=bool)
    cdef double* tau = <double*> cnp.PyArray_DATA(out)
    cdef double* p = tau + m
    cdef double* e = tau + 2*m
    cdef cnp.npy_bool* keep = <cnp.npy_bool*> cnp.PyArray_DATA(kept)
    cdef double weight
    cdef Score q
    with nogil:
        for j in range(m):
            q = scored(g[j*m + j], k[j], scale[j] * scale[j], ridge, eps, beta)
            tau[j] = q.tau
            if room <= 0:
                continue
            p[j] = q.p
            if coin[j] < q.p:
                keep[j] = True
                room -= 1
                weight = bounded(scale[j] * scale[j] / q.p, k[j], ridge)
                enter(g, m, j, sqrt(weight / (ridge + weight * g[j*m + j])), e)
    return out[0], out[1], kept


# ----------------------------------------------------------------------------------------------------------------------
# Nested coordinates of one row whose dictionary stays as it is, in one call.
# ----------------------------------------------------------------------------------------------------------------------
cdef enum: COORDINATES_RELEASE = 256    # points from which a row is long enough to be worth giving up the GIL


cdef class KnownAtoms(RowMap):
    """Coordinates (width,) of a row that its dictionary does not want; a row that it may want is left to Python.

    Works on the memory of the dictionary: to be made anew when an atom has entered. form: the kernel. points (m, d):
    the atoms of `nested`, or more, then `places` (n,) says which of them these are. A row is wanted that has more than
    `far` k(x, x) outside of the span; with `sampled`, (triangle, scale (m,), ridge, odds, resolved), one whose coin is
    below odds s/(1 + s), s its leverage. `combined`: R^-T z in the place of z. state: the dictionary's, with `missed_`
    and, where there are coins, `u_`, that of the next row, and `rng_`.
    """
    cdef NestedFactor nested
    cdef Triangle triangle
    cdef KernelRows form
    cdef readonly Py_ssize_t m
    cdef const double* at
    cdef const double* scale
    cdef const Py_ssize_t* places
    cdef double far, ridge, odds, resolved, largest
    cdef bint combined
    cdef dict state
    cdef Coins coins
    cdef double outside                 # k(x, x) - |z|^2 of the last row, at least 0
    cdef double* k
    cdef double* t
    cdef tuple arrays

    def __init__(self, KernelRows form, cnp.ndarray points, NestedFactor nested, double largest, double far,
                 dict state, object places=None, tuple sampled=None, bint combined=False):
        self.m, self.d = points.shape[0], points.shape[1]
        self.form, self.nested, self.largest, self.far, self.combined = form, nested, largest, far, combined
        self.at, self.state = clean(points, self.m, self.d), state
        if "rng_" in state:
            self.coins = Coins(state["rng_"])
        if places is None and self.m != nested.n or places is not None and len(places) != nested.n:
            raise ValueError(f"{nested.n} atoms have coordinates; others were given")
        if places is not None:
            places = np.ascontiguousarray(places, dtype=np.intp)
            if len(places) and not 0 <= places.min() <= places.max() < self.m:
                raise ValueError(f"atoms are among {self.m} points")
            self.places = <const Py_ssize_t*> cnp.PyArray_DATA(<cnp.ndarray> places)
        scale, scratch = None, np.zeros((2, self.m + 8))
        if sampled is not None:
            triangle, scale, self.ridge, self.odds, self.resolved = sampled
            if triangle.n != self.m:
                raise ValueError(f"{triangle.n} points are weighed, {self.m} are given")
            self.triangle, scale = triangle, np.ascontiguousarray(scale)
            self.scale = clean(scale, -1, self.m)
        self.k = <double*> clean(scratch, 2, self.m + 8)
        self.t = self.k + self.m + 8
        self.arrays = (points, places, scale, scratch)

    cdef Py_ssize_t features(self) noexcept:
        return 8*(self.nested.n//8 + 1)

    cdef int fill(self, Py_ssize_t n, const double* x, void* z) except -1:
        """One row; 1 where it may be wanted."""
        cdef int wanted
        cdef double coin = self.state["u_"] if self.triangle is not None else 0
        if self.m < COORDINATES_RELEASE:
            return self.place(x, coin, <double*> z)
        with nogil:
            wanted = self.place(x, coin, <double*> z)
        return wanted

    cdef int passed(self) except -1:
        self.state["missed_"] = <double> self.state["missed_"] + self.outside
        if self.coins is not None:
            self.state["u_"] = self.coins.toss()
        return 0

    cdef int place(self, const double* x, double coin, double* z) noexcept nogil:
        cdef Py_ssize_t i, n = self.nested.n
        cdef double own = 0, inside = 0, s
        self.form.fill(x, 1, x, 1, self.d, &own, 1)
        if not fabs(own) < self.largest:
            return 1
        self.form.fill(x, 1, self.at, self.m, self.d, self.k, self.m)
        if self.triangle is not None:
            for i in range(self.m):
                self.t[i] = self.k[i]*self.scale[i]
            inside = self.triangle.solve_one(self.t)
            s = (own - inside)/self.ridge
            if own - inside > self.resolved*own and s > 0 and coin*(1 + s) < self.odds*s:
                return 1
        memset(z + n//8*8, 0, 8*sizeof(double))
        for i in range(n):
            z[i] = self.k[self.places[i] if self.places else i]
        inside = self.nested.forward_one(z)
        if own - inside > self.far*own:
            return 1
        self.outside = own - inside if own > inside else 0.0
        if self.combined:
            self.nested.backward_one(z)
        return 0
