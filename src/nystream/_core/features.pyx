# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Random Fourier, Taylor and Fastfood features, and losses of many cosines."""
import numpy as np
cimport numpy as cnp
from math import comb
from libc.math cimport fabs, lgamma, sqrt
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from nystream._core.fourier_kernel cimport (
    FOURIER_FAR, FOURIER_LANES, FOURIER_NEAR, FOURIER_SLACK, fourier_far, fourier_ops, fourier_pick,
    fourier_single_far, fourier_single_pick, fourier_square,
)
from nystream._core.inputs cimport RowMap, clean_number, clean_row
from nystream._core.linear_kernel cimport clean, linear_ops, linear_pick
from nystream._core.losses cimport OutputLoss

cnp.import_array()

# ----------------------------------------------------------------------------------------------------------------------
# Taylor, Fourier and Fastfood features of blocks and of single rows: the same bits either way, the GIL released.
# ----------------------------------------------------------------------------------------------------------------------
cdef extern from "taylor_kernel.h" nogil:
    enum:
        TAYLOR_TILE
        TAYLOR_PAD
    ctypedef struct taylor_op:
        int32_t target, source, variable
    ctypedef struct taylor_plan:
        Py_ssize_t d, r
        double inverse, root
        const double* centre
        const double* coef
        const taylor_op* ops
        Py_ssize_t n_vector, n_single
    ctypedef struct taylor_isa:
        int width
        void (*map)(const taylor_plan*, Py_ssize_t, const double*, double*, double*) noexcept nogil
    taylor_isa taylor_pick() noexcept
    double taylor_tail(double q, int M, double log_factorial) noexcept

cdef enum:
    ROWS = 64  # a block is cut into tiles of this many rows
    SHORT = 512  # angles that are made in less time than the GIL is worth giving up for, and scratch that is at hand
    STRIP = 96  # and directions: the strip of W stays in the cache while the rows pass, and so do the angles

cdef taylor_isa taylor = taylor_pick()
cdef fourier_ops fourier = fourier_pick()
cdef fourier_ops single = fourier_single_pick()


cdef double* _data(object array, Py_ssize_t columns, Py_ssize_t* rows, int size=8) except NULL:
    """The numbers of a C-ordered float64 (float32 for size 4) block (n, columns), or of one row (columns,)."""
    if not isinstance(array, cnp.ndarray):
        raise TypeError("expected a NumPy array")
    cdef cnp.ndarray a = <cnp.ndarray> array
    cdef int ndim = cnp.PyArray_NDIM(a)
    if (cnp.PyArray_TYPE(a) != (cnp.NPY_FLOAT64 if size == 8 else cnp.NPY_FLOAT32)
            or not cnp.PyArray_IS_C_CONTIGUOUS(a)
            or not cnp.PyArray_ISBEHAVED_RO(a) or ndim < 1 or ndim > 2 or cnp.PyArray_DIM(a, ndim - 1) != columns):
        raise ValueError(f"expected C-ordered float{8*size} rows of {columns} numbers")
    rows[0] = cnp.PyArray_DIM(a, 0) if ndim == 2 else 1
    return <double*> cnp.PyArray_DATA(a)


cdef void* _target(object array, Py_ssize_t rows, Py_ssize_t columns, int size=8) except NULL:
    cdef Py_ssize_t n = 0
    cdef void* z = _data(array, columns, &n, size)
    if n != rows or not cnp.PyArray_ISWRITEABLE(<cnp.ndarray> array):
        raise ValueError(f"out must be a writable array of shape ({rows}, {columns})")
    return z


cdef double* _scratch(Py_ssize_t size) except NULL:
    cdef double* memory = <double*> malloc(size*sizeof(double))
    if memory == NULL:
        raise MemoryError()
    return memory


cdef cnp.ndarray _empty(Py_ssize_t size):
    cdef cnp.npy_intp shape = size
    return cnp.PyArray_EMPTY(1, &shape, cnp.NPY_FLOAT64, 0)


cdef class TaylorFeatures(RowMap):
    """The plan of taylor_kernel.h for d columns and one degree; dim = C(d + degree, degree)."""
    cdef readonly Py_ssize_t dim
    cdef readonly int degree
    cdef readonly object centre, coef, ops
    cdef taylor_plan plan
    cdef double log_factorial

    def __init__(self, Py_ssize_t d, int degree, double sigma, double factor, cnp.ndarray centre):
        cdef Py_ssize_t rows = 0
        self.d, self.degree, self.dim = d, degree, comb(d + degree, degree)
        self.centre = centre.copy()
        self.plan.d, self.plan.r = d, self.dim
        self.plan.inverse, self.plan.root = 1/sigma, sqrt(factor)
        self.plan.centre = _data(self.centre, d, &rows)
        self.log_factorial = lgamma(degree + 2.0)
        self._cut()

    cdef int _cut(self) except -1:
        """Runs of monomials into pieces of one vector; coefficients from the exponents of the first variables."""
        cdef int width = taylor.width
        cdef Py_ssize_t d = self.d, r = self.dim, position = 1 + d, used = 0, end, m, own, i, j
        cdef int32_t[::1] lead = np.ones(r, np.int32)
        cdef double[::1] coef = np.ones(r + TAYLOR_PAD)
        cdef int32_t[:, ::1] ops = np.empty((r, 3), np.int32)
        cdef Py_ssize_t[::1] count = np.arange(d, 0, -1, dtype=np.intp)  # of degree n - 1, first variable >= j
        self.plan.n_vector = self.plan.n_single = 0
        for _ in range(2, self.degree + 1):
            end = position
            for j in range(d):
                m = count[j]
                own = m - (count[j + 1] if j + 1 < d else 0)  # those that hold variable j already
                for i in range(m):
                    if i < own:
                        lead[position + i] = lead[end - m + i] + 1
                    coef[position + i] = 1/sqrt(<double> lead[position + i])
                i = 0
                while i < m:
                    ops[used, 0], ops[used, 1], ops[used, 2] = position + i, end - m + i, j
                    used += 1
                    if position + i + width <= r:
                        self.plan.n_vector += 1
                        i += width
                    else:
                        self.plan.n_single += 1
                        i += 1
                position += m
            for j in range(d - 2, -1, -1):
                count[j] += count[j + 1]
        self.coef, self.ops = np.asarray(coef), np.asarray(ops[:used]).copy()
        self.plan.coef = <const double*> cnp.PyArray_DATA(self.coef)
        self.plan.ops = <const taylor_op*> cnp.PyArray_DATA(self.ops)
        return 0

    cdef Py_ssize_t features(self) noexcept:
        return self.dim

    cdef int fill(self, Py_ssize_t n, const double* x, void* z) except -1:
        cdef Py_ssize_t width = (self.d + TAYLOR_PAD - 1)//TAYLOR_PAD*TAYLOR_PAD
        cdef double* scratch = _scratch(min(n, <Py_ssize_t> TAYLOR_TILE)*width + 1)
        if n == 1:  # shorter than taking the GIL back
            taylor.map(&self.plan, 1, x, scratch, <double*> z)
        else:
            with nogil:
                taylor.map(&self.plan, n, x, scratch, <double*> z)
        free(scratch)
        return 0

    def map(self, X, out):
        """Features of X (n, d) into out (n, dim)."""
        cdef Py_ssize_t n = 0
        cdef const double* x = _data(X, self.d, &n)
        self.fill(n, x, _target(out, n, self.dim))

    def row(self, x):
        """Features of one row, (dim,)."""
        cdef Py_ssize_t n = 0
        cdef const double* data = _data(x, self.d, &n)
        cdef cnp.ndarray z = _empty(self.dim)
        if n != 1:
            raise ValueError("row takes one row")
        self.fill(1, data, <double*> cnp.PyArray_DATA(z))
        return z

    def tail(self, X, double total):
        """total + sum over rows of k(x, x) - |z(x)|^2, added one by one: blocks of any size give the same bits."""
        cdef Py_ssize_t n = 0, t, i
        cdef const double* x = _data(X, self.d, &n)
        cdef double q, u
        with nogil:
            for t in range(n):
                q = 0
                for i in range(self.d):
                    u = (x[t*self.d + i] - self.plan.centre[i])*self.plan.inverse
                    q += u*u
                total += self.plan.root*self.plan.root*taylor_tail(q, self.degree, self.log_factorial)
        return total

    @property
    def nbytes(self):
        return self.centre.nbytes + self.coef.nbytes + self.ops.nbytes


cdef class _Angles(RowMap):
    """What Fourier and Fastfood share: angles u (m directions) -> gain [cos u, sin u]."""
    cdef readonly Py_ssize_t m
    cdef readonly double gain
    cdef int size  # bytes of a feature
    cdef double far  # a row with |x|^2 above this may have an angle too large for the vector sine

    cdef void _limit(self, double longest):
        self.far = ((FOURIER_FAR if self.size == 8 else FOURIER_NEAR)/longest)**2 if longest > 0 else 0

    cdef int bytes(self) noexcept:
        return self.size

    cdef void _wave(self, Py_ssize_t n, Py_ssize_t m, const double* square, const double* u, Py_ssize_t ld,
                    double* z) noexcept nogil:
        """m angles of n rows whose squared lengths are known; the cosine of the first goes to z."""
        cdef Py_ssize_t t
        cdef double* c = z
        for t in range(n):
            if square[t] <= self.far:
                fourier.sincos(m, u + t*ld, self.gain, c, c + self.m)
            else:
                fourier_far(m, u + t*ld, self.gain, c, c + self.m)
            c += 2*self.m

    cdef void _short_wave(self, Py_ssize_t n, Py_ssize_t m, const double* square, const float* u, Py_ssize_t ld,
                          float* c) noexcept nogil:
        """`_wave` in single precision."""
        cdef Py_ssize_t t
        for t in range(n):
            if square[t] <= self.far:
                single.sincos(m, u + t*ld, self.gain, c, c + self.m)
            else:
                fourier_single_far(m, u + t*ld, self.gain, c, c + self.m)
            c += 2*self.m

    cdef Py_ssize_t _need(self, Py_ssize_t n) noexcept nogil:
        """Doubles of scratch that _block asks for."""
        return 0

    cdef void _block(self, Py_ssize_t n, const double* x, double* scratch, void* z) noexcept nogil:
        pass

    cdef Py_ssize_t features(self) noexcept:
        return 2*self.m

    cdef int fill(self, Py_ssize_t n, const double* x, void* z) except -1:
        cdef double[SHORT] few
        cdef double* scratch
        if self._need(n) <= SHORT and n*self.m < SHORT:
            self._block(n, x, few, z)
            return 0
        scratch = _scratch(self._need(n))
        with nogil:
            self._block(n, x, scratch, z)
        free(scratch)
        return 0

    def map(self, X, out):
        """Features of X (n, d) into out (n, 2 m)."""
        cdef Py_ssize_t n = 0
        cdef const double* x = _data(X, self.d, &n)
        self.fill(n, x, _target(out, n, 2*self.m, self.bytes()))

    def row(self, x):
        """Features of one row, (2 m,)."""
        cdef Py_ssize_t n = 0
        cdef const double* data = _data(x, self.d, &n)
        cdef cnp.npy_intp wide = 2*self.m
        cdef cnp.ndarray z = cnp.PyArray_EMPTY(1, &wide, cnp.NPY_FLOAT64 if self.bytes() == 8 else cnp.NPY_FLOAT32, 0)
        if n != 1:
            raise ValueError("row takes one row")
        self.fill(1, data, cnp.PyArray_DATA(z))
        return z


cdef class FourierFeatures(_Angles):
    """Angles u = x W for directions W (d, m), the columns of W; in single precision, features too, where W is."""
    cdef readonly object W
    cdef const char* w
    cdef Py_ssize_t ld  # rows of W are an odd number of cache lines apart: no two of them compete for one place

    def __init__(self, cnp.ndarray W, double gain):
        cdef Py_ssize_t d = W.shape[0], m = W.shape[1]
        self.size = 4 if cnp.PyArray_TYPE(W) == cnp.NPY_FLOAT32 else 8
        cdef Py_ssize_t slack = FOURIER_SLACK(self.size)
        self.ld = ((m + slack - 1)//slack | 1)*slack
        self.W = np.zeros((d, self.ld), np.float32 if self.size == 4 else np.float64)[:, :m]
        self.W[:] = W
        self.w = <const char*> cnp.PyArray_DATA(self.W)
        self.d, self.m, self.gain = d, m, gain
        self._limit(float(np.sqrt((self.W.astype(np.float64)**2).sum(axis=0).max())))

    cdef Py_ssize_t _need(self, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t rows = min(n, <Py_ssize_t> ROWS)
        return rows*(STRIP + FOURIER_SLACK(self.size)) + 1 + (rows*self.d if self.size == 4 else 0)

    cdef void _block(self, Py_ssize_t n, const double* x, double* u, void* z) noexcept nogil:
        cdef Py_ssize_t t = 0, i, j, rows, columns, slack = FOURIER_SLACK(self.size)
        cdef double square[ROWS]
        cdef float* short_rows = <float*> (u + min(n, <Py_ssize_t> ROWS)*(STRIP + slack) + 1)
        while t < n:
            rows = min(n - t, <Py_ssize_t> ROWS)
            for i in range(rows):
                square[i] = fourier_square(self.d, x + (t + i)*self.d)
            if self.size == 4:
                for i in range(rows*self.d):
                    short_rows[i] = <float> x[t*self.d + i]
            j = 0
            while j < self.m:
                columns = min(self.m - j, <Py_ssize_t> STRIP)
                if self.size == 4:
                    single.project(rows, self.d, columns, self.ld, short_rows, self.w + 4*j, u)
                    self._short_wave(rows, columns, square, <float*> u, columns + slack, <float*> z + 2*t*self.m + j)
                else:
                    fourier.project(rows, self.d, columns, self.ld, x + t*self.d, self.w + 8*j, u)
                    self._wave(rows, columns, square, u, columns + slack, <double*> z + 2*t*self.m + j)
                j += columns
            t += rows


cdef class FastfoodFeatures(_Angles):
    """Angles u = scale * H (gauss * (H (signs * x))[order]) in blocks of `width` directions, the first m of them.

    `short`: all of this in single precision.
    """
    cdef tuple arrays
    cdef const char* signs
    cdef const char* gauss
    cdef const char* scale
    cdef const int32_t* order
    cdef Py_ssize_t blocks, width

    def __init__(self, Py_ssize_t d, Py_ssize_t m, double gain, signs, order, gauss, scale, bint short=False):
        self.blocks, self.width = signs.shape
        if (order.shape != signs.shape or gauss.shape != signs.shape or scale.shape != signs.shape or d > self.width
                or self.width & (self.width - 1) or not 0 < m <= self.blocks*self.width or order.min() < 0
                or order.max() >= self.width):
            raise ValueError("signs, order, gauss and scale must be blocks of one shape, a power of two wide")
        self.d, self.m, self.gain, self.size = d, m, gain, 4 if short else 8
        dtype = np.float32 if short else np.float64
        parts = [np.ascontiguousarray(part, dtype=dtype) for part in (signs, gauss, scale)]
        self.arrays = (*parts, np.ascontiguousarray(order, dtype=np.int32))
        self.signs, self.gauss, self.scale = (<const char*> cnp.PyArray_DATA(<cnp.ndarray> self.arrays[0]),
                                              <const char*> cnp.PyArray_DATA(<cnp.ndarray> self.arrays[1]),
                                              <const char*> cnp.PyArray_DATA(<cnp.ndarray> self.arrays[2]))
        self.order = <const int32_t*> cnp.PyArray_DATA(<cnp.ndarray> self.arrays[3])
        # the direction of row i is as long as scale_i |gauss| sqrt(width)
        self._limit(float((scale.max(axis=1)*np.linalg.norm(gauss, axis=1)).max())*self.width**0.5)

    cdef Py_ssize_t _need(self, Py_ssize_t n) noexcept nogil:
        return FOURIER_LANES*(3*self.width + self.m)

    cdef void _block(self, Py_ssize_t n, const double* x, double* scratch, void* z) noexcept nogil:
        cdef Py_ssize_t whole = FOURIER_LANES*self.width, t = 0, rows, lane, b, i, at
        cdef double square[FOURIER_LANES]
        cdef char* u = <char*> (scratch + 3*whole)
        cdef fourier_ops ops = single if self.size == 4 else fourier
        for i in range(whole):      # (width, lanes): the rows of x, side by side, filled up with zeros
            scratch[i] = 0
        while t < n:
            rows = min(n - t, <Py_ssize_t> FOURIER_LANES)
            for lane in range(rows):
                square[lane] = fourier_square(self.d, x + (t + lane)*self.d)
                for i in range(self.d):
                    if self.size == 4:
                        (<float*> scratch)[i*FOURIER_LANES + lane] = <float> x[(t + lane)*self.d + i]
                    else:
                        scratch[i*FOURIER_LANES + lane] = x[(t + lane)*self.d + i]
            for b in range(self.blocks):
                at = self.size*b*self.width
                ops.directions(self.width, min(self.width, self.m - b*self.width), rows, self.m, self.signs + at,
                               self.order + b*self.width, self.gauss + at, self.scale + at, scratch, scratch + whole,
                               u + at)
            if self.size == 4:
                self._short_wave(rows, self.m, square, <float*> u, self.m, <float*> z + 2*t*self.m)
            else:
                self._wave(rows, self.m, square, <double*> u, self.m, <double*> z + 2*t*self.m)
            t += rows


def hadamard(double[:, ::1] A):
    """A <- H A in place; the number of rows of A must be a power of two."""
    cdef Py_ssize_t size = A.shape[0], lanes = A.shape[1]
    if size < 1 or size & (size - 1) or lanes < 1:
        raise ValueError(f"the number of rows must be a power of two, got {size}")
    with nogil:
        fourier.hadamard(size, lanes, &A[0, 0])


def sincos(const double[::1] u):
    """(cos u, sin u) by the vector routine, for |u| <= 1e6."""
    c, s = np.empty(u.shape[0]), np.empty(u.shape[0])
    cdef double[::1] cosine = c, sine = s
    if u.shape[0]:
        fourier.sincos(u.shape[0], &u[0], 1.0, &cosine[0], &sine[0])
    return c, s


# ----------------------------------------------------------------------------------------------------------------------
# Sums of many cosines with coefficients, for one row or a block: the same bits either way, the GIL released.
# ----------------------------------------------------------------------------------------------------------------------
cdef extern from "cosine_kernel.h" nogil:
    ctypedef struct cosine_ops:
        void (*cosines)(Py_ssize_t, const double*, double, double*) noexcept nogil
        void (*scaled)(Py_ssize_t, Py_ssize_t, Py_ssize_t, const double*, const double*, double*) noexcept nogil
    cosine_ops cosine_pick() noexcept

cdef cosine_ops cosine = cosine_pick()
cdef linear_ops OPS = linear_pick()
cdef enum:
    COSINE_ROWS = 64            # that share a pass over the directions
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
    return min(n, COSINE_ROWS)*(C + FOURIER_SLACK(8)) + (2 + K)*C


cdef void add_sums(Py_ssize_t n, Py_ssize_t d, const double* x, const double* w, Py_ssize_t C, Py_ssize_t block,
                   Py_ssize_t rounds, Py_ssize_t K, const double* a, const double* f, Py_ssize_t apart, double gain,
                   double* out, double* u) noexcept nogil:
    """`cosine_sums` on plain memory; factors are `apart` numbers apart."""
    cdef Py_ssize_t first = 0, together = C//block, here, m, r, i, k, t, row, tile
    cdef double* c = u + min(n, COSINE_ROWS)*(C + FOURIER_SLACK(8))
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
            tile = min(COSINE_ROWS, n - t)
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


# ----------------------------------------------------------------------------------------------------------------------
# Weighted sums of absolute differences, column by column: what the scales of a Laplacian kernel have as gradients.
# ----------------------------------------------------------------------------------------------------------------------
def absolute_sums(const double[:, ::1] W, const double[:, ::1] U, const double[:, ::1] V):
    """(d,) the sums over all pairs of rows of W_ik |u_ij - v_kj|, for U (n, d), V (m, d) and weights W (n, m)."""
    cdef Py_ssize_t n = U.shape[0], m = V.shape[0], d = U.shape[1], i, k, j
    if V.shape[1] != d or W.shape[0] != n or W.shape[1] != m:
        raise ValueError(f"weights ({W.shape[0]}, {W.shape[1]}) do not fit to rows ({n}, {d}) and ({m}, {V.shape[1]})")
    out = np.zeros(d)
    if not (n and m and d):
        return out
    cdef double[::1] total = out
    cdef double* t = &total[0]
    cdef const double* u
    cdef const double* v
    cdef double w
    with nogil:
        for i in range(n):
            u = &U[i, 0]
            for k in range(m):
                v = &V[k, 0]
                w = W[i, k]
                for j in range(d):
                    t[j] += w*fabs(u[j] - v[j])
    return out
