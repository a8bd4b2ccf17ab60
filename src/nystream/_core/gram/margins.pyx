# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The rounds of binary learners with margin phi' A^-1 theta, for a block of rows in their residual Gram matrix."""
import numpy as np

cimport numpy as cnp
from libc.math cimport fmax, isfinite, sqrt

from nystream._core.gram.residual cimport bounded, enter
from nystream._core.gram.whitened cimport ROOM, WhitenedRow
from nystream._core.kernel_rows cimport KernelRows
from nystream._core.linalg.cholesky cimport Triangle
from nystream._core.linalg.linear_kernel cimport clean, linear_ops, linear_pick
from nystream._core.one_row cimport clean_number, clean_row

cnp.import_array()

cdef linear_ops OPS = linear_pick()
cdef enum: RELEASE = 64     # points from which a row is long enough to be worth giving up the GIL
cdef enum: NOTHING, ENTERED, OUTSIDE   # what a round did; margin_learner.py counts on the order


cdef inline double gain(double label, double margin, double chi, double b) noexcept nogil:
    """Multiple of phi phi' that A gains by this round: below 0 if theta stays as it is too."""
    if b == 0:   # the second-order perceptron: mistakes, with 0 read as +1
        return 1.0 if (margin >= 0) != (label > 0) else -1.0
    return fmax(b - 1/chi, 0) if label*margin < 1 else -1.0


def margin_rounds(cnp.ndarray margins, cnp.ndarray G, cnp.ndarray own, cnp.ndarray y, double ridge, double trace,
                  double b):
    """One round per row -> (what each did (m,), scales (r,), entries (r,)) where r rows entered the factor.

    margins (m,) are those at the start of the block and become those before each round; G (m, m) is the block's
    residual Gram matrix, of which the upper triangle counts and is used up; own (m,) k(x, x); y (m, 1) labels; trace
    the trace of the factor's Gram matrix. b = 0: on a mistake theta += y phi, A += phi phi'. b > 0: where y margin < 1,
    theta += y phi and A += max(0, b - 1/chi) phi phi', chi = phi' A^-1 phi; rows that leave A alone stay OUTSIDE.

    With the whitened kernel row l(x) a margin is l(x).f + sum over rows outside y k(x, .)/ridge. `entries` are the part
    of f that belongs to the rows that entered; the older part loses y l / ridge for each row outside, which the caller
    does.
    """
    cdef Py_ssize_t m = cnp.PyArray_DIM(margins, 0), i, j, r = 0
    cdef cnp.ndarray did = np.zeros(m, dtype=np.int8), E = np.zeros((m, m)), rest = np.zeros((2, m))
    cdef double* f = <double*> clean(margins, -1, m)
    cdef double* g = <double*> clean(G, m, m)
    cdef const double* k = clean(own, -1, m)
    cdef const double* label = clean(y, m, 1)
    cdef double* e = <double*> cnp.PyArray_DATA(E)
    cdef double* scale = <double*> cnp.PyArray_DATA(rest)
    cdef double* entry = scale + m
    cdef signed char* act = <signed char*> cnp.PyArray_DATA(did)
    cdef double chi, rise, pivot
    with nogil:
        for j in range(m):
            if not k[j] > 0:   # no feature: nothing can be learnt
                continue
            chi = fmax(g[j*m + j] / ridge, k[j] / (ridge + trace))
            rise = gain(label[j], f[j], chi, b)
            if rise > 0:
                rise = bounded(rise, k[j], ridge)
                act[j], scale[r], pivot = ENTERED, sqrt(rise), sqrt(ridge * (1 + rise*chi))
                entry[r] = (label[j] / scale[r] - scale[r]*f[j]) / pivot
                trace += rise*k[j]
                enter(g, m, j, scale[r] / pivot, e + r*m)
                for i in range(j + 1, m):
                    f[i] += entry[r] * e[r*m + i]
                r += 1
            elif rise == 0:
                act[j] = OUTSIDE
                for i in range(j + 1, m):
                    f[i] += label[j] * g[j*m + i] / ridge
                for i in range(r):
                    entry[i] -= label[j] * e[i*m + j] / ridge
    return did, rest[0, :r].copy(), rest[1, :r].copy()


cdef class MarginRow(WhitenedRow):
    """The round of one row: its margin, and what it does, in one call; `learn` is the rest of a round that learns.

    Works on the memory of the learner, which is given anew (`hold`) where it may have moved: points (m, d), scale (m,),
    f (m,) and `triangle` are of the rows that entered the factor, outside (r, d) and signs (r,) of those that did not.
    """
    cdef Py_ssize_t r
    cdef double* f
    cdef const double* outside
    cdef const double* signs
    cdef double ridge, b, largest, label, pivot
    cdef double* k                      # (r,) kernel row of those outside
    cdef object room
    cdef tuple rest
    cdef readonly int did               # what the last round does: NOTHING, ENTERED, OUTSIDE
    cdef readonly double scale          # of a row that enters,
    cdef readonly double entry          # its part of f
    cdef readonly double gained         # and what it adds to the trace

    def __init__(self, KernelRows form, Triangle triangle, double ridge, double b, double largest):
        super().__init__(form, triangle)
        self.ridge, self.b, self.largest, self.room = ridge, b, largest, np.zeros(0)

    cpdef hold(self, cnp.ndarray points, cnp.ndarray scale, cnp.ndarray f, cnp.ndarray outside, cnp.ndarray signs):
        """Where everything is; scale, f and signs are (m, 1), (m, 1) and (r, 1)."""
        cdef Py_ssize_t r = cnp.PyArray_DIM(outside, 0)
        self.hold_points(points, scale)
        cdef const double* beside = clean(outside, r, self.d)
        cdef const double* mine = clean(f, self.m, 1)
        cdef const double* theirs = clean(signs, r, 1)
        if cnp.PyArray_DIM(self.room, 0) < r + 1:
            self.room = np.zeros(2*r + 1)
        self.k = <double*> cnp.PyArray_DATA(<cnp.ndarray> self.room)
        self.outside, self.f, self.signs, self.r = beside, <double*> mine, theirs, r
        self.rest = (f, outside, signs)

    def one(self, object x, object y, double trace):
        """The margin of x, which does not depend on y; None where x or y is not a clean row or sign. `trace`: that of
        the factor's Gram matrix."""
        cdef double own = 0, margin, chi, rise, square
        cdef const double* row = clean_row(x, self.d)
        self.did = NOTHING
        if row == NULL or not clean_number(y, True, &self.label):
            return None
        self.form.fill(row, 1, row, 1, self.d, &own, 1)
        if not 0 < own <= self.largest:
            return None
        if self.m + self.r < RELEASE:
            margin = self.margin(row, self.k, self.t)
        else:
            with nogil:
                margin = self.margin(row, self.k, self.t)
        if gain(self.label, margin, 1.0, self.b) < 0:
            return margin
        square = own - OPS.dot(self.m, self.t, self.t)
        chi = fmax(square/self.ridge, own/(self.ridge + trace))
        rise = gain(self.label, margin, chi, self.b)
        if not isfinite(margin) or not isfinite(chi):   # no positive definite kernel
            return None
        self.did = OUTSIDE
        if rise > 0:
            rise = bounded(rise, own, self.ridge)
            self.did, self.scale, self.gained = ENTERED, sqrt(rise), rise*own
            self.entry = (self.label/self.scale - self.scale*margin) / sqrt(self.ridge*(1 + rise*chi))
            self.pivot = sqrt(self.ridge + fmax(rise*square, 0))
        return margin

    def learn(self, cnp.ndarray points, cnp.ndarray scale, cnp.ndarray f, cnp.ndarray outside, cnp.ndarray signs):
        """What the last row does to the factor and to f; its point, scale and entry, or point and sign, have been
        appended to these arrays, as of `hold`."""
        cdef Py_ssize_t i
        if self.did == ENTERED:
            for i in range(self.m):
                self.t[i] *= self.scale
            self.triangle.append_one(self.t, self.pivot)
        elif self.did == OUTSIDE:
            OPS.mix(self.m, 1.0, self.f, -self.label/self.ridge, self.t)
        self.did = NOTHING
        self.hold(points, scale, f, outside, signs)

    def alone(self, cnp.ndarray x):
        """(1,) the margin of a row (d,), the same bits; several threads may ask."""
        cdef cnp.ndarray out = np.empty(1), scratch = np.empty(self.m + ROOM + self.r)
        cdef double* k = <double*> cnp.PyArray_DATA(scratch)
        cdef const double* row = clean(x, -1, self.d)
        (<double*> cnp.PyArray_DATA(out))[0] = self.margin(row, k + self.m + ROOM, k)
        return out

    cdef double margin(self, const double* x, double* k, double* t) noexcept nogil:
        self.whiten(x, t)
        cdef double total = OPS.dot(self.m, t, self.f)
        if self.r:
            self.form.fill(x, 1, self.outside, self.r, self.d, k, self.r)
            total += OPS.dot(self.r, k, self.signs)/self.ridge
        return total
