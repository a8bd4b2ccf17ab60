# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Sums of many cosines with coefficients, for one row or a block: the same bits either way, the GIL released."""
import numpy as np

cimport numpy as cnp
from libc.stdlib cimport free, malloc

from nystream._core.fourier_kernel cimport FOURIER_FAR, FOURIER_SLACK, fourier_far, fourier_ops, fourier_pick
from nystream._core.linalg.linear_kernel cimport clean, linear_ops, linear_pick
from nystream._core.losses cimport OutputLoss

cnp.import_array()

cdef extern from "cosine_kernel.h" nogil:
    ctypedef struct cosine_ops:
        void (*cosines)(Py_ssize_t, const double*, double, double*) noexcept nogil
    cosine_ops cosine_pick() noexcept

cdef fourier_ops fourier = fourier_pick()
cdef cosine_ops cosine = cosine_pick()
cdef linear_ops OPS = linear_pick()
cdef enum: ROWS = 64     # that share a pass over the directions

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
    cdef Py_ssize_t rounds = cnp.PyArray_DIM(factors, 0), count = cnp.PyArray_DIM(chunks, 0), C, together
    if cnp.PyArray_NDIM(chunks) != 3 or not cnp.PyArray_IS_C_CONTIGUOUS(chunks) or (
            cnp.PyArray_TYPE(chunks) != cnp.NPY_FLOAT64 or cnp.PyArray_DIM(chunks, 1) != d):
        raise ValueError(f"directions of {d} numbers are needed, in chunks")
    C = cnp.PyArray_DIM(chunks, 2)
    together = C//block
    if C != together*block or rounds > count*together:
        raise ValueError(f"{count} chunks of {C} directions do not hold {rounds} rounds of {block}")
    cdef const double* x = clean(X, n, d)
    cdef const double* a = clean(coef, rounds, block*K)
    cdef const double* f = clean(factors, -1, rounds)
    cdef const double* w = <const double*> cnp.PyArray_DATA(chunks)
    cdef double* out = <double*> clean(F, n, K)
    cdef double* scratch = <double*> malloc(needed(n, C, K)*sizeof(double))
    if scratch == NULL:
        raise MemoryError
    with nogil:
        add_sums(n, d, x, w, C, block, rounds, K, a, f, gain, out, scratch)
    free(scratch)
    return F


cdef Py_ssize_t needed(Py_ssize_t n, Py_ssize_t C, Py_ssize_t K) noexcept:
    """Numbers of scratch for `add_sums`."""
    return min(n, ROWS)*(C + FOURIER_SLACK(8)) + (2 + K)*C


cdef void add_sums(Py_ssize_t n, Py_ssize_t d, const double* x, const double* w, Py_ssize_t C, Py_ssize_t block,
                   Py_ssize_t rounds, Py_ssize_t K, const double* a, const double* f, double gain, double* out,
                   double* u) noexcept nogil:
    """`cosine_sums` on plain memory."""
    cdef Py_ssize_t first = 0, together = C//block, here, m, r, i, k, t, row, tile
    cdef double* c = u + min(n, ROWS)*(C + FOURIER_SLACK(8))
    cdef double* mixed = c + 2*C         # (K, C) coefficients of a chunk, as they are now
    cdef const double* now
    while first < rounds:
        here = min(together, rounds - first)
        m = here*block
        for r in range(here):
            now = a + (first + r)*block*K
            if K == 1:
                for i in range(block):
                    mixed[r*block + i] = f[first + r]*now[i]
                continue
            for i in range(block):
                for k in range(K):
                    mixed[k*C + r*block + i] = f[first + r]*now[i*K + k]
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
    cdef object draw, own
    cdef readonly double scale, cum
    cdef readonly long long t

    def __init__(self, object loss, Py_ssize_t K, double step, double t0, double lam, double gain, cnp.ndarray own,
                 object draw, double long, double tiny):
        self.loss, self.step, self.t0, self.lam, self.gain = OutputLoss(loss, K), step, t0, lam, gain
        self.d, self.block, self.own, self.draw = cnp.PyArray_DIM(own, 0), cnp.PyArray_DIM(own, 1), own, draw
        self.long, self.tiny = long, tiny
        clean(own, self.d, self.block)

    def run(self, cnp.ndarray X, cnp.ndarray Y, object weights, cnp.ndarray F, cnp.ndarray P, Py_ssize_t first,
            double scale, double cum, long long t, Py_ssize_t room):
        """Rounds of the rows of X (n, d) from `first` on -> (the row up to which, what rounds left (m, 3), their
        coefficients (m, block K)); then `scale`, `cum` and `t` are those after them. Nothing is changed but P and F.

        F (n, K): the functions of the rounds before the block, over the scale; P (n, K) the predictions. `room`: rounds
        that may still leave coefficients. What a round leaves: its number, 1/scale and -cum/scale.
        """
        cdef Py_ssize_t n = cnp.PyArray_DIM(X, 0), K = self.loss.K, B = self.block, i = first, k, b, m = 0
        cdef const double* x = clean(X, n, self.d)
        cdef const double* y = clean(Y, n, self.loss.columns)
        cdef const double* w = clean(weights, -1, n) if weights is not None else NULL
        cdef double* f = <double*> clean(F, n, K)
        cdef double* p = <double*> clean(P, n, K)
        cdef const double* own = <const double*> cnp.PyArray_DATA(<cnp.ndarray> self.own)
        left, coef = np.empty((n - first, 3)), np.empty((n - first, B*K))
        scratch = np.empty(needed(n, B, K) + K + 3*B + 2*FOURIER_SLACK(8))
        cdef double* rounds = <double*> cnp.PyArray_DATA(<cnp.ndarray> left)
        cdef double* a = <double*> cnp.PyArray_DATA(<cnp.ndarray> coef)
        cdef double* g = <double*> cnp.PyArray_DATA(<cnp.ndarray> scratch)
        cdef double* phi = g + K
        cdef double rate, over
        cdef bint any
        self.loss.check(y, n)
        while i < n and cum <= self.long*scale and scale >= self.tiny:
            for k in range(K):
                p[i*K + k] = scale*f[i*K + k]
            cum += scale
            if m < room:
                t += 1
                rate = self.step/(self.t0 + t)
                self.loss.gradient(y + i*self.loss.columns, p + i*K, g)
                self.loss.mix(g)
                scale *= 1 - rate*self.lam
                any = False
                for k in range(K):
                    any |= g[k] != 0
                if any and (w == NULL or w[i] > 0):
                    rate *= (w[i] if w != NULL else 1.0)/B
                    self.draw(t, self.own)
                    fourier.project(1, self.d, B, B, x + i*self.d, own, phi + B)
                    cosines_of(B, phi + B, self.gain, phi, phi + 2*B + FOURIER_SLACK(8))
                    for b in range(B):
                        for k in range(K):
                            a[m*B*K + b*K + k] = -rate*(phi[b]*g[k])
                    over = 1/scale
                    rounds[3*m], rounds[3*m + 1], rounds[3*m + 2] = t, over, -cum/scale
                    add_sums(n - i - 1, self.d, x + (i + 1)*self.d, own, B, B, 1, K, a + m*B*K, &over, self.gain,
                             f + (i + 1)*K, phi + B)
                    m += 1
            i += 1
        self.scale, self.cum, self.t = scale, cum, t
        return i, left[:m], coef[:m]
