# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Features z(x) = R k(x) of the kernel row against m landmarks, and the landmark nearest to x, for rows and blocks."""
import numpy as np

cimport numpy as cnp
from libc.stdint cimport uintptr_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from nystream._core.kernel_rows cimport KernelRows
from nystream._core.linalg.linear_kernel cimport clean
from nystream._core.one_row cimport RowMap

cnp.import_array()

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
