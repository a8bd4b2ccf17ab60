# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Taylor, Fourier and Fastfood features of blocks and of single rows: the same bits either way, the GIL released."""
from libc.math cimport lgamma, sqrt
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc
from math import comb

cimport numpy as cnp
import numpy as np

from nystream._core.fourier_kernel cimport (
    FOURIER_FAR, FOURIER_LANES, FOURIER_NEAR, FOURIER_SLACK, fourier_far, fourier_ops, fourier_pick, fourier_single_far,
    fourier_single_pick, fourier_square)
from nystream._core.one_row cimport RowMap

cnp.import_array()

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
