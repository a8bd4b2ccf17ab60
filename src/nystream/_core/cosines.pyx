# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Sums of many cosines with coefficients, for one row or a block: the same bits either way, the GIL released."""
import numpy as np

cimport numpy as cnp
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from nystream._core.fourier_kernel cimport FOURIER_FAR, FOURIER_SLACK, fourier_far, fourier_ops, fourier_pick
from nystream._core.linalg.linear_kernel cimport clean, linear_ops, linear_pick
from nystream._core.losses cimport OutputLoss
from nystream._core.one_row cimport clean_number, clean_row

cnp.import_array()

cdef extern from "cosine_kernel.h" nogil:
    ctypedef struct cosine_ops:
        void (*cosines)(Py_ssize_t, const double*, double, double*) noexcept nogil
        void (*scaled)(Py_ssize_t, Py_ssize_t, Py_ssize_t, const double*, const double*, double*) noexcept nogil
    cosine_ops cosine_pick() noexcept

cdef fourier_ops fourier = fourier_pick()
cdef cosine_ops cosine = cosine_pick()
cdef linear_ops OPS = linear_pick()
cdef enum:
    ROWS = 64            # that share a pass over the directions
    RELEASE = 512        # directions from which a pass is long enough to be worth giving up the GIL

SLACK = FOURIER_SLACK(8)


cdef void cosines_of(Py_ssize_t m, const double* u, double gain, double* c, double* s) noexcept nogil:
    """The vector cosine where all angles are numbers small enough for it, which their squares tell; s is scratch."""
    if OPS.dot(m, u, u) <= FOURIER_FAR*FOURIER_FAR:
        cosine.cosines(m, u, gain, c)
    else:
        fourier_far(m, u, gain, c, s)


def cosines(cnp.ndarray X, cnp.ndarray W, Py_ssize_t m, double gain, cnp.ndarray out):
    """out (n, m): gain cos(x'w_j) for the rows x of X (n, d) and the first m columns of W (d, C), j = 0, ...

    W is the beginning of memory that goes on for SLACK numbers.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(X, 0), d = cnp.PyArray_DIM(X, 1), C = cnp.PyArray_DIM(W, 1), t
    cdef const double* x = clean(X, n, d)
    cdef const double* w = clean(W, d, C)
    cdef double* c = <double*> clean(out, n, m)
    if m > C:
        raise ValueError(f"there are {C} directions, not {m}")
    cdef Py_ssize_t ld = m + FOURIER_SLACK(8)
    cdef double* u = <double*> malloc((n*ld + m)*sizeof(double))
    if u == NULL:
        raise MemoryError
    with nogil:
        fourier.project(n, d, m, C, x, w, u)
        for t in range(n):
            cosines_of(m, u + t*ld, gain, c + t*m, u + n*ld)
    free(u)
    return out


def cosine_sums(cnp.ndarray X, cnp.ndarray chunks, Py_ssize_t block, cnp.ndarray coef, cnp.ndarray factors,
                double gain, cnp.ndarray F):
    """F (n, K) += sum_r factors_r sum_b coef_rb gain cos(x'w_rb) for the rows x of X (n, d).

    chunks (c, d, C): directions of rounds r one after the other, `block` of them each, C / block rounds to a chunk;
    memory that goes on for SLACK numbers. coef (rounds, block K), factors (rounds,).
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(X, 0), d = cnp.PyArray_DIM(X, 1), K = cnp.PyArray_DIM(F, 1)
    cdef Py_ssize_t rounds = cnp.PyArray_DIM(factors, 0)
    cdef const double* w = directions(chunks, d, block, rounds)
    cdef Py_ssize_t C = cnp.PyArray_DIM(chunks, 2)
    cdef const double* x = clean(X, n, d)
    cdef const double* a = clean(coef, rounds, block*K)
    cdef const double* f = clean(factors, -1, rounds)
    cdef double* out = <double*> clean(F, n, K)
    cdef double* scratch = <double*> malloc(needed(n, C, K)*sizeof(double))
    if scratch == NULL:
        raise MemoryError
    with nogil:
        add_sums(n, d, x, w, C, block, rounds, K, a, f, 1, gain, out, scratch)
    free(scratch)
    return F


cdef const double* directions(cnp.ndarray chunks, Py_ssize_t d, Py_ssize_t block, Py_ssize_t rounds) except NULL:
    """Those of so many rounds."""
    cdef Py_ssize_t count, C
    if cnp.PyArray_NDIM(chunks) != 3 or not cnp.PyArray_IS_C_CONTIGUOUS(chunks) or (
            cnp.PyArray_TYPE(chunks) != cnp.NPY_FLOAT64 or cnp.PyArray_DIM(chunks, 1) != d):
        raise ValueError(f"directions of {d} numbers are needed, in chunks")
    count, C = cnp.PyArray_DIM(chunks, 0), cnp.PyArray_DIM(chunks, 2)
    if C % block or rounds > count*(C//block):
        raise ValueError(f"{count} chunks of {C} directions do not hold {rounds} rounds of {block}")
    return <const double*> cnp.PyArray_DATA(chunks)


cdef Py_ssize_t needed(Py_ssize_t n, Py_ssize_t C, Py_ssize_t K) noexcept:
    """Numbers of scratch for `add_sums`."""
    return min(n, ROWS)*(C + FOURIER_SLACK(8)) + (2 + K)*C


cdef void add_sums(Py_ssize_t n, Py_ssize_t d, const double* x, const double* w, Py_ssize_t C, Py_ssize_t block,
                   Py_ssize_t rounds, Py_ssize_t K, const double* a, const double* f, Py_ssize_t apart, double gain,
                   double* out, double* u) noexcept nogil:
    """`cosine_sums` on plain memory; factors are `apart` numbers apart."""
    cdef Py_ssize_t first = 0, together = C//block, here, m, r, i, k, t, row, tile
    cdef double* c = u + min(n, ROWS)*(C + FOURIER_SLACK(8))
    cdef double* mixed = c + 2*C         # (K, C) coefficients of a chunk, as they are now
    cdef const double* now
    while first < rounds:
        here = min(together, rounds - first)
        m = here*block
        if K == 1:
            cosine.scaled(here, block, apart, f + first*apart, a + first*block, mixed)
        else:
            for r in range(here):
                now = a + (first + r)*block*K
                for i in range(block):
                    for k in range(K):
                        mixed[k*C + r*block + i] = f[(first + r)*apart]*now[i*K + k]
        t = 0
        while t < n:
            tile = min(ROWS, n - t)
            fourier.project(tile, d, m, C, x + t*d, w, u)
            for row in range(tile):
                cosines_of(m, u + row*(m + FOURIER_SLACK(8)), gain, c, c + C)
                for k in range(K):
                    out[(t + row)*K + k] += OPS.dot(m, c, mixed + k*C)
            t += tile
        first += here
        w += d*C


cdef class DirectionRounds:
    """Gradient steps of which each has directions of its own: the recursion of DoublySGD, for some rows.

    loss, of K outputs; step, t0, lam: s_t = step / (t0 + t); `block` directions a round, which draw(t, own) writes into
    `own` (d, block). A sum of the scale above `long` times it, or a scale below `tiny`, is left to Python.
    """
    cdef OutputLoss loss
    cdef Py_ssize_t d, block
    cdef double step, t0, lam, gain, long, tiny
    cdef object draw, own, memory
    cdef readonly double scale, cum
    cdef readonly long long t
    cdef readonly bint stored           # whether the last row of `one` left anything:
    cdef readonly object left, coef     # its numbers (3,) and coefficients (block,)

    def __init__(self, object loss, Py_ssize_t K, double step, double t0, double lam, double gain, cnp.ndarray own,
                 object draw, double long, double tiny):
        self.loss, self.step, self.t0, self.lam, self.gain = OutputLoss(loss, K), step, t0, lam, gain
        self.d, self.block, self.own, self.draw = cnp.PyArray_DIM(own, 0), cnp.PyArray_DIM(own, 1), own, draw
        self.long, self.tiny = long, tiny
        self.left, self.coef, self.memory = np.zeros(3), np.zeros(self.block), np.zeros(0)
        clean(own, self.d, self.block)

    def run(self, cnp.ndarray X, cnp.ndarray Y, object weights, cnp.ndarray F, cnp.ndarray P, Py_ssize_t first,
            double scale, double cum, long long t, Py_ssize_t room):
        """Rounds of the rows of X (n, d) from `first` on -> (the row up to which, what rounds left (m, 3), their
        coefficients (m, block K)); then `scale`, `cum` and `t` are those after them. Nothing is changed but P and F.

        F (n, K): the functions of the rounds before the block, over the scale; P (n, K) the predictions. `room`: rounds
        that may still leave coefficients. What a round leaves: its number, 1/scale and -cum/scale.
        """
        cdef Py_ssize_t n = cnp.PyArray_DIM(X, 0), K = self.loss.K, B = self.block, i = first, k, m = 0
        cdef const double* x = clean(X, n, self.d)
        cdef const double* y = clean(Y, n, self.loss.columns)
        cdef const double* w = clean(weights, -1, n) if weights is not None else NULL
        cdef double* f = <double*> clean(F, n, K)
        cdef double* p = <double*> clean(P, n, K)
        cdef const double* own = <const double*> cnp.PyArray_DATA(<cnp.ndarray> self.own)
        left, coef, scratch = np.empty((n - first, 3)), np.empty((n - first, B*K)), np.empty(self.asked(n, B))
        cdef double* rounds = <double*> cnp.PyArray_DATA(<cnp.ndarray> left)
        cdef double* a = <double*> cnp.PyArray_DATA(<cnp.ndarray> coef)
        cdef double* u = <double*> cnp.PyArray_DATA(<cnp.ndarray> scratch)
        self.loss.check(y, n)
        self.scale, self.cum, self.t = scale, cum, t
        while i < n and self.at_ease():
            for k in range(K):
                p[i*K + k] = self.scale*f[i*K + k]
            self.cum += self.scale
            if m < room and self.learn(x + i*self.d, y + i*self.loss.columns, w[i] if w != NULL else 1.0, p + i*K,
                                       rounds + 3*m, a + m*B*K, u):
                add_sums(n - i - 1, self.d, x + (i + 1)*self.d, own, B, B, 1, K, a + m*B*K, rounds + 3*m + 1, 1,
                         self.gain, f + (i + 1)*K, u)
                m += 1
            i += 1
        return i, left[:m], coef[:m]

    def one(self, object x, object y, cnp.ndarray chunks, cnp.ndarray rounds, cnp.ndarray coef, double scale,
            double cum, long long t):
        """`run` of a row x (d - 1,), its phase not among its numbers, with one number for a label, where there is room
        -> the prediction; None, and nothing done, where x or y is not clean or Python has to settle the scale.

        rounds (n, 3), coef (n, block): what rounds before it left; chunks: all their directions, as `cosine_sums` has
        them.
        """
        cdef Py_ssize_t n = cnp.PyArray_DIM(rounds, 0)
        cdef const double* row = clean_row(x, self.d - 1)
        cdef const double* w = directions(chunks, self.d, self.block, n)
        cdef Py_ssize_t C = cnp.PyArray_DIM(chunks, 2), need = self.asked(1, C)
        cdef const double* factors = clean(rounds, n, 3)
        cdef const double* a = clean(coef, n, self.block*self.loss.K)
        cdef double label = 0, f = 0, p
        cdef double* at
        self.scale, self.cum, self.t = scale, cum, t
        if (self.loss.K != 1 or self.loss.multiclass or row == NULL or not clean_number(y, self.loss.signs, &label)
                or not self.at_ease()):
            return None
        if cnp.PyArray_DIM(self.memory, 0) < self.d + need:
            self.memory = np.empty(self.d + need)
        at = <double*> cnp.PyArray_DATA(<cnp.ndarray> self.memory)
        memcpy(at, row, (self.d - 1)*sizeof(double))
        at[self.d - 1] = 1.0
        if n*self.block < RELEASE:
            add_sums(1, self.d, at, w, C, self.block, n, 1, a, factors + 1, 3, self.gain, &f, at + self.d)
        else:
            with nogil:
                add_sums(1, self.d, at, w, C, self.block, n, 1, a, factors + 1, 3, self.gain, &f, at + self.d)
        p = scale*f
        self.cum += scale
        self.stored = self.learn(at, &label, 1.0, &p, <double*> cnp.PyArray_DATA(<cnp.ndarray> self.left),
                                 <double*> cnp.PyArray_DATA(<cnp.ndarray> self.coef), at + self.d)
        return p

    cdef bint at_ease(self) noexcept:
        return self.cum <= self.long*self.scale and self.scale >= self.tiny

    cdef Py_ssize_t asked(self, Py_ssize_t n, Py_ssize_t C) noexcept:
        """Numbers of scratch for a round, or for sums of n rows over chunks of C directions."""
        return max(needed(n, C, self.loss.K), self.loss.K + 3*self.block + 2*FOURIER_SLACK(8))

    cdef bint learn(self, const double* x, const double* y, double weight, const double* p, double* left, double* a,
                    double* g) except -1:
        """The next round, on a row x (d,) predicted p (K,): whether it left anything, see `run`. g is scratch."""
        cdef Py_ssize_t K = self.loss.K, B = self.block, b, k
        cdef double* phi = g + K
        cdef bint any = False
        self.t += 1
        cdef double rate = self.step/(self.t0 + self.t)
        self.loss.gradient(y, p, g)
        self.loss.mix(g)
        self.scale *= 1 - rate*self.lam
        for k in range(K):
            any |= g[k] != 0
        if not any or not weight > 0:
            return False
        rate *= weight/B
        self.draw(self.t, self.own)
        fourier.project(1, self.d, B, B, x, cnp.PyArray_DATA(<cnp.ndarray> self.own), phi + B)
        cosines_of(B, phi + B, self.gain, phi, phi + 2*B + FOURIER_SLACK(8))
        for b in range(B):
            for k in range(K):
                a[b*K + k] = -rate*(phi[b]*g[k])
        left[0], left[1], left[2] = self.t, 1/self.scale, -self.cum/self.scale
        return True
