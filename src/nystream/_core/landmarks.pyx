# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rounds of the learners on landmarks: whitened kernel rows, nearest landmarks, margins, ridge, Lanczos turns."""
import numpy as np
cimport numpy as cnp
from libc.math cimport atan2, copysign, cos, fabs, fmax, fmin, hypot, isfinite, sin, sqrt
from libc.stdint cimport uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from nystream._core.inputs cimport RowMap, clean_number, clean_row
from nystream._core.kernels cimport KernelRows
from nystream._core.linalg cimport Triangle
from nystream._core.linear_kernel cimport clean, linear_ops, linear_pick
from nystream._core.meter cimport count_round
from nystream._core.residual cimport bounded, enter

cnp.import_array()

# ----------------------------------------------------------------------------------------------------------------------
# One row against stored points and the factor of their Gram matrix.
# ----------------------------------------------------------------------------------------------------------------------
cdef class WhitenedRow:
    """L^-1 (s_i k(x_i, x)) of a row x, for points x_i (m, d), scales s_i (m, 1) and their factor L, `triangle`.

    Works on the memory of a model, which is given anew (`hold`) where it may have moved.
    """

    def __init__(self, KernelRows form, Triangle triangle):
        self.form, self.triangle, self.scratch = form, triangle, np.zeros(0)

    def hold_row(self, cnp.ndarray points, cnp.ndarray scale):
        """Where points and scales are, where there is nothing else to hold."""
        self.hold_points(points, scale)

    cdef int hold_points(self, cnp.ndarray points, cnp.ndarray scale) except -1:
        cdef Py_ssize_t m = cnp.PyArray_DIM(points, 0), d = cnp.PyArray_DIM(points, 1)
        if self.triangle.n != m:
            raise ValueError(f"the factor has {self.triangle.n} rows, {m} points are given")
        cdef const double* at = clean(points, m, d)
        cdef const double* scales = clean(scale, m, 1)
        if cnp.PyArray_DIM(self.scratch, 0) < m + ROOM:
            self.scratch = np.zeros(2*m + ROOM)
        self.t = <double*> cnp.PyArray_DATA(<cnp.ndarray> self.scratch)
        self.at, self.scales, self.m, self.d, self.arrays = at, scales, m, d, (points, scale)
        return 0

    def enter(self, double scale, double own, double ridge):
        """The row that was whitened last, of k(x, x) = own, enters the factor with this scale; then its point and scale
        are appended, and all is given anew."""
        cdef Py_ssize_t i
        cdef double square = 0
        for i in range(self.m):
            square += self.t[i]*self.t[i]
            self.t[i] *= scale
        self.triangle.append_one(self.t, sqrt(fmax(ridge + scale*scale*(own - square), ridge)))

    cdef double whiten(self, const double* x, double* t) noexcept nogil:
        """Into t, m numbers with room for 8 more: their squared length."""
        cdef Py_ssize_t i
        if not self.m:
            return 0
        self.form.fill(x, 1, self.at, self.m, self.d, t, self.m)
        for i in range(self.m):
            t[i] *= self.scales[i]
        return self.triangle.solve_one(t)


# ----------------------------------------------------------------------------------------------------------------------
# Features z(x) = R k(x) of the kernel row against m landmarks, and the landmark nearest to x, for rows and blocks.
# ----------------------------------------------------------------------------------------------------------------------
cdef enum:
    TILE = 64   # rows whose kernel values stay in the cache until they are rotated
    LINE = 8    # doubles in a cache line: rows of kernel values and of the rotation begin on one, zeros fill the last
cdef KernelRows SQUARED = KernelRows("squared"), PRODUCT = KernelRows("linear")


cdef Py_ssize_t _least(const double* v, Py_ssize_t n) noexcept nogil:
    """Index of the smallest, the first of equals."""
    cdef Py_ssize_t i, best = 0
    for i in range(1, n):
        if v[i] < v[best]:
            best = i
    return best


cdef object _lines(Py_ssize_t rows, Py_ssize_t columns):
    """(rows, columns) zeros whose rows begin on cache lines: one row times the rotation is 1.6 times as fast."""
    cdef Py_ssize_t wide = _wide(columns)
    store = np.zeros(rows*wide + LINE)
    start = -(<uintptr_t> cnp.PyArray_DATA(store))//8 % LINE
    return store[start:start + rows*wide].reshape(rows, wide)[:, :columns]


cdef inline Py_ssize_t _wide(Py_ssize_t columns) noexcept nogil:
    return (columns + LINE - 1)//LINE*LINE


cdef class LandmarkMap(RowMap):
    """Works on the points (m, d) of the feature map, and on a copy of the rotation R (r, m), `rotation`.

    Both may be written to in between. A row alone and in a block gives the same bits. A kernel whose `compiled` is None
    is asked in Python. The rotation may have more rows than the r that are features: they lie below.
    """
    cdef readonly object kernel, points, rotation
    cdef KernelRows form
    cdef const double* at
    cdef const double* R
    cdef double* k
    cdef object _k
    cdef readonly Py_ssize_t m, r
    cdef Py_ssize_t wide

    def __init__(self, kernel, cnp.ndarray points, rotation, rank=None):
        self.m, self.d, self.r = points.shape[0], points.shape[1], len(rotation) if rank is None else rank
        if not 0 <= self.r <= len(rotation):
            raise ValueError(f"{rank} features of a rotation with {len(rotation)} rows")
        self.at, self.wide = clean(points, self.m, self.d), _wide(points.shape[0])
        self.kernel, self.form, self.points = kernel, kernel.compiled, points
        self.rotation, self._k = _lines(len(rotation), self.m), _lines(1, self.m)[0]
        self.rotation[:] = rotation
        self.R, self.k = <const double*> cnp.PyArray_DATA(self.rotation), <double*> cnp.PyArray_DATA(self._k)

    cdef Py_ssize_t features(self) noexcept:
        return -1 if self.form is None else self.r

    cdef int fill(self, Py_ssize_t n, const double* x, void* z) except -1:
        cdef Py_ssize_t i
        for i in range(n):
            self.form.fill(x + i*self.d, 1, self.at, self.m, self.d, self.k, self.m)
            PRODUCT.fill(self.k, 1, self.R, self.r, self.wide, <double*> z + i*self.r, self.r)
        return 0

    def row(self, cnp.ndarray x):
        """Features of one row, (r,)."""
        cdef const double* row = clean(x, -1, self.d)
        if self.form is None:   # Python may change threads in the middle: no scratch of one's own
            values = _lines(1, self.m)
            values[0] = self.kernel.row(self.points, x)
            return self._rotated(<const double*> cnp.PyArray_DATA(<cnp.ndarray> values))
        self.form.fill(row, 1, self.at, self.m, self.d, self.k, self.m)
        return self._rotated(self.k)

    def meet(self, cnp.ndarray x):
        """(features (r,), index of the nearest landmark, squared distance to it) of one row."""
        cdef const double* row = clean(x, -1, self.d)
        cdef Py_ssize_t near
        cdef double gap
        SQUARED.fill(row, 1, self.at, self.m, self.d, self.k, self.m)
        near = _least(self.k, self.m)
        gap = self.k[near]
        if self.form is None:
            self._k[:] = self.kernel.row(self.points, x)
        elif self.form.of_distance():
            self.form.apply(self.k, self.m)
        else:
            self.form.fill(row, 1, self.at, self.m, self.d, self.k, self.m)
        return self._rotated(self.k), near, gap

    def map(self, cnp.ndarray X, cnp.ndarray out):
        """Features of X (n, d) into out (n, r)."""
        cdef Py_ssize_t i = 0, b, n = cnp.PyArray_DIM(X, 0)
        cdef const double* x = clean(X, n, self.d)
        cdef double* z = <double*> clean(out, n, self.r)
        cdef double* K
        cdef size_t size = (min(n, <Py_ssize_t> TILE)*self.wide + LINE)*sizeof(double)
        if self.form is None:
            values = _lines(n, self.m)
            values[:] = self.kernel(X, self.points)
            PRODUCT.fill(<const double*> cnp.PyArray_DATA(values), n, self.R, self.r, self.wide, z, self.r)
            return
        cdef char* memory = <char*> malloc(size)
        if memory == NULL:
            raise MemoryError()
        with nogil:
            memset(memory, 0, size)
            K = <double*> (memory + (-(<uintptr_t> memory)) % (LINE*sizeof(double)))
            while i < n:
                b = min(<Py_ssize_t> TILE, n - i)
                self.form.fill(x + i*self.d, b, self.at, self.m, self.d, K, self.wide)
                PRODUCT.fill(K, b, self.R, self.r, self.wide, z + i*self.r, self.r)
                i += b
        free(memory)

    cdef cnp.ndarray _rotated(self, const double* k):
        cdef cnp.npy_intp r = self.r
        cdef cnp.ndarray z = cnp.PyArray_EMPTY(1, &r, cnp.NPY_FLOAT64, 0)
        PRODUCT.fill(k, 1, self.R, self.r, self.wide, <double*> cnp.PyArray_DATA(z), self.r)
        return z


cdef class Sight:
    """Kernel values and nearest landmarks of a block of rows X (n, d), kept right while landmarks move.

    Neither depends on labels, so both are computed for the whole block by one product; features follow from the values
    and the rotation of the moment.
    """
    cdef LandmarkMap map
    cdef readonly object X, near, gap
    cdef object _K
    cdef const double* x
    cdef double* K
    cdef cnp.npy_intp* q
    cdef double* g
    cdef readonly Py_ssize_t n
    cdef Py_ssize_t wide

    def __init__(self, LandmarkMap map, cnp.ndarray X):
        cdef Py_ssize_t n = cnp.PyArray_DIM(X, 0), m = map.m
        self.map, self.X, self.n = map, X, n
        self.x = clean(X, n, map.d)
        self.wide = map.wide
        self._K, self.near, self.gap = _lines(n, m), np.empty(n, np.intp), np.empty(n)
        self.K = <double*> cnp.PyArray_DATA(self._K)
        self.q = <cnp.npy_intp*> cnp.PyArray_DATA(self.near)
        self.g = <double*> cnp.PyArray_DATA(self.gap)
        with nogil:
            self._look()
        if map.form is None:
            self._K[:] = map.kernel(X, map.points)

    cdef void _look(self) noexcept nogil:
        cdef Py_ssize_t i = 0, t, b, m = self.map.m, d = self.map.d
        cdef bint shared = self.map.form is not None and self.map.form.of_distance()
        cdef double* row
        while i < self.n:
            b = min(<Py_ssize_t> TILE, self.n - i)
            SQUARED.fill(self.x + i*d, b, self.map.at, m, d, self.K + i*self.wide, self.wide)
            for t in range(i, i + b):
                row = self.K + t*self.wide
                self.q[t] = _least(row, m)
                self.g[t] = row[self.q[t]]
                if shared:
                    self.map.form.apply(row, m)
            if self.map.form is not None and not shared:
                self.map.form.fill(self.x + i*d, b, self.map.at, m, d, self.K + i*self.wide, self.wide)
            i += b

    def far(self, Py_ssize_t start, double eps):
        """First row from `start` on that is at least eps (squared) from every landmark; n if none is."""
        cdef Py_ssize_t t
        for t in range(start, self.n):
            if self.g[t] >= eps:
                return t
        return self.n

    def features(self, Py_ssize_t start, Py_ssize_t stop):
        """(stop - start, r) features under the present rotation."""
        cdef LandmarkMap map = self.map
        cdef Py_ssize_t rows = stop - start
        if not 0 <= start <= stop <= self.n:
            raise IndexError(f"rows {start}..{stop} of a block of {self.n}")
        cdef cnp.ndarray Z = np.empty((rows, map.r))
        cdef double* z = <double*> cnp.PyArray_DATA(Z)
        with nogil:
            PRODUCT.fill(self.K + start*self.wide, rows, map.R, map.r, self.wide, z, map.r)
        return Z

    def moved(self, Py_ssize_t q, Py_ssize_t start):
        """Landmark q is elsewhere: its kernel values, and nearest landmarks, of the rows from `start` on."""
        cdef LandmarkMap map = self.map
        cdef Py_ssize_t t, rows = self.n - start, m = map.m, d = map.d
        if not (0 <= q < m and 0 <= start):
            raise IndexError(f"no landmark {q}, or no row {start}")
        if rows <= 0:
            return
        cdef cnp.ndarray work = np.empty(rows + m)
        cdef double* column = <double*> cnp.PyArray_DATA(work)
        with nogil:
            SQUARED.fill(self.x + start*d, rows, map.at + q*d, 1, d, column, 1)
            for t in range(rows):
                self._settle(start + t, q, column[t], column + rows)
            if map.form is not None and map.form.of_distance():
                map.form.apply(column, rows)
            elif map.form is not None:
                map.form.fill(self.x + start*d, rows, map.at + q*d, 1, d, column, 1)
        if map.form is None:
            work[:rows] = map.kernel.row(self.X[start:], map.points[q])
        for t in range(rows):
            self.K[(start + t)*self.wide + q] = column[t]

    cdef void _settle(self, Py_ssize_t t, Py_ssize_t q, double gap, double* row) noexcept nogil:
        """The nearest landmark of row t now that q is at squared distance `gap`."""
        cdef Py_ssize_t m = self.map.m, d = self.map.d
        if gap < self.g[t] or (gap == self.g[t] and q <= self.q[t]):
            self.q[t], self.g[t] = q, gap
        elif self.q[t] == q:   # it was the nearest and moved away: any other may be nearer
            SQUARED.fill(self.x + t*d, 1, self.map.at, m, d, row, m)
            self.q[t] = _least(row, m)
            self.g[t] = row[self.q[t]]


# ----------------------------------------------------------------------------------------------------------------------
# The rounds of binary learners with margin phi' A^-1 theta, for a block of rows in their residual Gram matrix.
# ----------------------------------------------------------------------------------------------------------------------
cdef linear_ops OPS = linear_pick()
cdef enum: MARGINS_RELEASE = 64     # points from which a row is long enough to be worth giving up the GIL
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
        if self.m + self.r < MARGINS_RELEASE:
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


# ----------------------------------------------------------------------------------------------------------------------
# The round of one row of exact kernel least squares, in one call.
# ----------------------------------------------------------------------------------------------------------------------
cdef enum: RIDGE_RELEASE = 64     # points from which a row is long enough to be worth giving up the GIL


cdef class RidgeRow(WhitenedRow):
    """l = L^-1 k, r = l.e, s = (k(x, x) - l.l)/ridge and what follows from them; `learn` is the rest of the round.

    Works on the memory of the learner, which is given anew (`hold`) where it may have moved: points (m, d), scale
    (m, 1) and e (m, 1) of one output, totals (3,) and columns (6, 1) of its meter. No row whose k(x, x) is below 0 or
    above `largest` is taken.
    """
    cdef double ridge, clip, largest, label, ridge_prediction, emitted, leverage, pivot
    cdef bint vovk
    cdef const double* e
    cdef double* totals
    cdef double* columns
    cdef tuple rest
    cdef readonly double entry          # of e, for the last row,
    cdef readonly double own            # and its k(x, x)

    def __init__(self, KernelRows form, Triangle triangle, double ridge, double largest, bint vovk, double clip):
        super().__init__(form, triangle)
        self.ridge, self.largest, self.vovk, self.clip = ridge, largest, vovk, clip

    cpdef hold(self, cnp.ndarray points, cnp.ndarray scale, cnp.ndarray e, cnp.ndarray totals, cnp.ndarray columns):
        """Where everything is."""
        self.hold_points(points, scale)
        self.e = clean(e, self.m, 1)
        self.totals, self.columns = <double*> clean(totals, -1, 3), <double*> clean(columns, 6, 1)
        self.rest = (e, totals, columns)

    def one(self, object x, object y):
        """The prediction for x; None where x or y is not a clean row or number. Nothing has changed yet."""
        cdef const double* row = clean_row(x, self.d)
        cdef double square
        if row == NULL or not clean_number(y, False, &self.label):
            return None
        self.form.fill(row, 1, row, 1, self.d, &self.own, 1)
        if not 0 <= self.own <= self.largest:
            return None
        if self.m < RIDGE_RELEASE:
            square = self.whiten(row, self.t)
        else:
            with nogil:
                square = self.whiten(row, self.t)
        self.ridge_prediction = OPS.dot(self.m, self.t, self.e)
        self.pivot = sqrt(fmax(self.own - square + self.ridge, self.ridge))
        if not isfinite(self.pivot) or not isfinite(square) or not isfinite(self.ridge_prediction):
            return None
        self.leverage = self.pivot*self.pivot/self.ridge - 1
        self.emitted = self.ridge_prediction/(1 + self.leverage) if self.vovk else self.ridge_prediction
        self.emitted = fmin(fmax(self.emitted, -self.clip), self.clip)
        self.entry = (self.label - self.ridge_prediction)/self.pivot
        return self.emitted

    def learn(self):
        """The last row enters the factor and the meter; its point, a scale of 1 and `entry` are for the learner to
        append, and then all is given anew."""
        self.triangle.append_one(self.t, self.pivot)
        count_round(self.totals, self.columns, 1, &self.label, &self.ridge_prediction, &self.emitted, self.leverage,
                    1.0)


# ----------------------------------------------------------------------------------------------------------------------
# Orthonormal coordinates of the span of m landmarks, of which one moves at a time, by reflections: O(m^2) a move.
# ----------------------------------------------------------------------------------------------------------------------
NOT_FINITE = "the kernel between landmarks is not finite; scale the inputs or use Normalized(kernel)"

cdef enum:
    SWEEPS = 2                  # directions exchanged between head and tail after a move
    LOGGED = SWEEPS + 1         # pairs of reflections in a move
    ROTATIONS = SWEEPS + 2      # plane rotations in a move
cdef double SMALL = 0.5         # a squared distance below this part of the ridge, which bounds it, has lost its digits
cdef double FACTOR = 4.0        # by which the trace may change before the ridge follows it


cdef double _mirror(Py_ssize_t n, double* v) noexcept nogil:
    """v becomes the unit vector whose reflection I - 2vv' puts v on the last axis; its coordinate there."""
    cdef double length = sqrt(OPS.dot(n, v, v)), sign, whole
    cdef Py_ssize_t i
    if length == 0:
        return 0
    sign = copysign(length, v[n - 1])
    v[n - 1] += sign
    whole = sqrt(OPS.dot(n, v, v))
    for i in range(n):
        v[i] /= whole
    return -sign


cdef void _reflect(Py_ssize_t n, const double* v, double* w) noexcept nogil:
    cdef double twice = -2*OPS.dot(n, v, w)
    if twice != 0:
        OPS.mix(n, 1.0, w, twice, v)


cdef class Turns:
    """Works on W (m, m), its rows in memory `W.strides[0]` apart, and on E = (k(u_i, u_j)) (m, m).

    Row j of W holds the coefficients of a function h_j = sum_i W_ji k(u_i, .); W M W' = I, M = E + ridge I.
    The first r functions are the features, the head; the others are the tail. `move` leaves in the object what it did,
    which `carry` does to weights. `trace` is that of E for which the ridge was chosen.
    """
    cdef object arrays
    cdef double* W
    cdef double* E
    cdef double* heads          # (LOGGED, r) mirrors of the head
    cdef double* tails          # (LOGGED, m - r) of the tail
    cdef double* work           # (2m,)
    cdef double shares[ROTATIONS][2]
    cdef double scale, ridge, trace
    cdef Py_ssize_t wide
    cdef readonly Py_ssize_t m, r

    def __init__(self, cnp.ndarray W, cnp.ndarray E, Py_ssize_t rank, double ridge, double trace):
        cdef Py_ssize_t m = cnp.PyArray_DIM(W, 0)
        if (cnp.PyArray_TYPE(W) != cnp.NPY_FLOAT64 or cnp.PyArray_NDIM(W) != 2 or cnp.PyArray_DIM(W, 1) != m
                or cnp.PyArray_STRIDE(W, 1) != sizeof(double) or cnp.PyArray_STRIDE(W, 0) % sizeof(double)
                or cnp.PyArray_STRIDE(W, 0) < <Py_ssize_t> (m*sizeof(double)) or not 0 < rank <= m):
            raise ValueError("a square matrix of float64 rows and a rank of at most its size are needed")
        self.m, self.r, self.ridge, self.trace = m, rank, ridge, trace
        self.wide = cnp.PyArray_STRIDE(W, 0)//<Py_ssize_t> sizeof(double)
        self.W, self.E = <double*> cnp.PyArray_DATA(W), <double*> clean(E, m, m)
        log = np.zeros(LOGGED*m + 2*m)
        self.heads = <double*> cnp.PyArray_DATA(log)
        self.tails = self.heads + LOGGED*rank
        self.work = self.heads + LOGGED*m
        self.arrays = (W, E, log)

    def move(self, Py_ssize_t q, cnp.ndarray row, double own):
        """Landmark q moves to where the kernel to the landmarks as they were is `row` (m,) and to itself is `own`.

        False: W has moved, but a new one is wanted, since the scale of the kernel changed or digits were lost.
        """
        cdef const double* k = clean(row, -1, self.m)
        cdef double squared, trace = 0
        cdef Py_ssize_t i
        if not 0 <= q < self.m:
            raise IndexError(f"no landmark {q}")
        for i in range(self.m):
            trace += fabs(k[i])
        if not isfinite(trace + fabs(own)):
            raise ValueError(NOT_FINITE)
        trace = 0
        with nogil:
            squared = self._move(q, k, own)
            for i in range(self.m):
                trace += self.E[i*self.m + i]
        return squared >= SMALL*self.ridge and self.trace <= FACTOR*trace and trace <= FACTOR*self.trace

    cdef double _move(self, Py_ssize_t q, const double* k, double own) noexcept nogil:
        cdef Py_ssize_t i, m = self.m, r = self.r, wide = self.wide
        cdef double* W = self.W
        cdef double* last = W + (r - 1)*wide
        cdef double* spare = W + (m - 1)*wide
        cdef double* work = self.work
        cdef double a, b, length, z, squared
        # 1. the other functions do without u_q: its coefficients gather in one function
        for i in range(r):
            self.heads[i] = W[i*wide + q]
        for i in range(r, m):
            self.tails[i - r] = W[i*wide + q]
        a = self._turn_head(0)
        if r < m:
            b = self._turn_tail(0)
            length = hypot(a, b)
            if length > 0:
                self._rotate(0, a/length, b/length)
            else:
                self._rotate(0, 1, 0)
        # 2. that function becomes what the new landmark adds to the span of the others
        z = OPS.dot(m, last, k)      # of k(u_new, .) along the old one
        for i in range(m):
            W[i*wide + q] = 0
            self.E[i*m + q] = self.E[q*m + i] = k[i]
        self.E[q*m + q] = own
        memset(last, 0, m*sizeof(double))
        last[q] = 1
        for i in range(m):
            work[i] = k[i]
        self._part(last)
        squared = self._clear(last)
        z /= sqrt(squared if squared > self.ridge else self.ridge)
        self.scale = z if fabs(z) <= 1 else copysign(1.0, z)   # a projection: it cannot be longer
        # 3. head and tail exchange what belongs to the other
        if r < m:
            self._settle(1, last, spare)
            for i in range(SWEEPS):
                self._sweep(i)
        return squared

    cdef void _part(self, double* last) noexcept nogil:
        """Take from `last` its part in the span of the others; `work` holds M times it, or k(u_i, .) of a new one."""
        cdef Py_ssize_t i, m = self.m, wide = self.wide
        cdef double b
        cdef double* work = self.work
        for i in range(m):
            if i != self.r - 1:
                b = OPS.dot(m, self.W + i*wide, work)
                OPS.mix(m, 1.0, last, -b, self.W + i*wide)

    cdef double _clear(self, double* last) noexcept nogil:
        """The same once more, for what the first time left, and make `last` a unit; its squared length before."""
        cdef Py_ssize_t i, m = self.m
        cdef double squared
        cdef double* work = self.work
        for i in range(m):
            work[i] = OPS.dot(m, self.E + i*m, last) + self.ridge*last[i]
        self._part(last)
        for i in range(m):
            work[i] = OPS.dot(m, self.E + i*m, last) + self.ridge*last[i]
        squared = OPS.dot(m, work, last)
        if squared > 0:
            OPS.mix(m, 0.0, work, 1/sqrt(squared), last)
            for i in range(m):
                last[i] = work[i]
        return squared

    cdef double _turn_head(self, int step) noexcept nogil:
        """Mirror the head so that the vector heads[step] comes on its last axis."""
        return self._turn(self.r, self.W, self.heads + step*self.r)

    cdef double _turn_tail(self, int step) noexcept nogil:
        return self._turn(self.m - self.r, self.W + self.r*self.wide, self.tails + step*(self.m - self.r))

    cdef double _turn(self, Py_ssize_t n, double* rows, double* v) noexcept nogil:
        cdef double at = _mirror(n, v)
        cdef double* y = self.work
        cdef Py_ssize_t i
        if at == 0:
            return 0
        memset(y, 0, self.m*sizeof(double))
        for i in range(n):
            OPS.mix(self.m, 1.0, y, v[i], rows + i*self.wide)
        for i in range(n):
            OPS.mix(self.m, 1.0, rows + i*self.wide, -2*v[i], y)
        return at

    cdef void _rotate(self, int step, double a, double b) noexcept nogil:
        """(last of the head, last of the tail) become (a, b; -b, a) times them."""
        cdef double* last = self.W + (self.r - 1)*self.wide
        cdef double* spare = self.W + (self.m - 1)*self.wide
        cdef Py_ssize_t i
        cdef double h
        self.shares[step][0], self.shares[step][1] = a, b
        for i in range(self.m):
            h = last[i]
            last[i] = a*h + b*spare[i]
            spare[i] = a*spare[i] - b*h

    cdef void _settle(self, int step, const double* last, const double* spare) noexcept nogil:
        """Rotate the two so that their coefficients are orthogonal and those of the head the shorter ones.

        Eigenvectors over the roots of their eigenvalues are orthogonal; the longest belong to the least eigenvalues.
        """
        cdef Py_ssize_t m = self.m
        cdef double angle = 0.5*atan2(2*OPS.dot(m, last, spare), OPS.dot(m, last, last) - OPS.dot(m, spare, spare))
        self._rotate(step, fabs(sin(angle)), cos(angle) if sin(angle) < 0 else -cos(angle))

    cdef void _sweep(self, int i) noexcept nogil:
        """One direction of the head and one of the tail whose coefficients are not orthogonal yet are made so."""
        cdef Py_ssize_t j, m = self.m, r = self.r, wide = self.wide
        cdef double* y = self.work
        cdef double* W = self.W
        cdef double* g = self.heads + (i + 1)*r
        cdef double* x = self.tails + (i + 1)*(m - r)
        for j in range(r, m):
            x[j - r] = OPS.dot(m, W + j*wide, W + (r - 1)*wide)   # the last of the head is what moved
        memset(y, 0, m*sizeof(double))
        for j in range(r, m):
            OPS.mix(m, 1.0, y, x[j - r], W + j*wide)
        for j in range(r):
            g[j] = OPS.dot(m, W + j*wide, y)
        self._turn_head(i + 1)
        self._turn_tail(i + 1)
        self._settle(i + 2, W + (r - 1)*wide, W + (m - 1)*wide)

    def carry(self, cnp.ndarray A):
        """The functions with weights A (K, r) after the last move, in place: projected on the span of the new head."""
        cdef Py_ssize_t k, K = cnp.PyArray_DIM(A, 0)
        cdef double* w = <double*> clean(A, K, self.r)
        with nogil:
            for k in range(K):
                self._carry(w + k*self.r)

    cdef void _carry(self, double* w) noexcept nogil:
        cdef Py_ssize_t r = self.r, s = self.m - self.r
        cdef double* tail = self.work
        cdef int i
        _reflect(r, self.heads, w)
        if s == 0:
            w[r - 1] *= self.scale
            return
        memset(tail, 0, s*sizeof(double))
        self._share(0, w + r - 1, tail + s - 1)
        w[r - 1] *= self.scale
        self._share(1, w + r - 1, tail + s - 1)
        for i in range(1, LOGGED):
            _reflect(r, self.heads + i*r, w)
            _reflect(s, self.tails + i*s, tail)
            self._share(i + 1, w + r - 1, tail + s - 1)

    cdef void _share(self, int step, double* head, double* tail) noexcept nogil:
        cdef double a = self.shares[step][0], b = self.shares[step][1], h = head[0]
        head[0] = a*h + b*tail[0]
        tail[0] = a*tail[0] - b*h

    @property
    def matrix(self):
        """T (r, r): weights w become T w."""
        T = np.eye(self.r)
        self.carry(T)
        return np.ascontiguousarray(T.T)
