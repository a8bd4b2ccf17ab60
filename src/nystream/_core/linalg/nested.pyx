# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The growing triangular factor of nested Nystrom coordinates: the shell around simd/nested_kernel.h."""
import numpy as np
cimport numpy as cnp
from libc.stdlib cimport free, malloc

cnp.import_array()

cdef extern from "nested_kernel.h" nogil:
    ctypedef struct nested_ops:
        int lanes
        void (*forward)(int groups, int panels, const double* R, double* X, double* Q) noexcept nogil
        void (*backward)(int groups, int panels, const double* R, double* X) noexcept nogil
        void (*forward_one)(int panels, const double* R, double* x, double* q) noexcept nogil
        void (*backward_one)(int panels, const double* R, double* x) noexcept nogil
    nested_ops nested_pick() noexcept
    double nested_tree(const double* q, int lanes) noexcept
    void nested_gather(int lanes, int n, int panels, int m, const double* K, size_t ld, double* X) noexcept
    void nested_scatter(int lanes, int n, int panels, int columns, const double* X, double* Z, size_t ld) noexcept

cdef nested_ops OPS = nested_pick()
cdef enum:
    FEW = 3                # fewer rows than a group / FEW go one by one
    TOGETHER = 16          # rows that share one pass over R while it is in the cache
    CACHED = 1 << 16       # numbers of R, or of the rows that share a pass over a larger one, that stay in the cache
    RELEASE = 64           # rows of R from which one solve is long enough to be worth giving up the GIL


cdef class NestedFactor:
    """Lower triangular R (n, n) in panels of 8 rows, which grows by rows.

    Solves give as many columns as are asked for; beyond n they are 0. The result for a row does not depend on the rows
    that are solved with it, to the last bit.
    """

    def __init__(self, matrix=None):
        self.n = 0
        self._held = 0
        self._reserve(4)
        if matrix is not None:
            for i, row in enumerate(np.ascontiguousarray(matrix, dtype=np.float64)):
                self.append(row[:i], row[i])

    @property
    def width(self):
        """Columns of the panels: a multiple of 8, more than n."""
        return 8*(self.n//8 + 1)

    @property
    def nbytes(self):
        return self._store.nbytes

    @property
    def matrix(self):
        """A copy of R, (n, n)."""
        cdef int p, size = self.n//8 + 1
        R = np.zeros((8*size, 8*size))
        for p in range(size):
            start = 32*p*(p + 1)
            R[8*p:8*p + 8, :8*p + 8] = self._store[start:start + 64*(p + 1)].reshape(-1, 8).T
        return np.ascontiguousarray(R[:self.n, :self.n])

    @property
    def diagonal(self):
        cdef Py_ssize_t i
        return np.array([self._R[32*(i//8)*(i//8 + 1) + 8*i + i % 8] for i in range(self.n)])

    def __deepcopy__(self, memo):
        return NestedFactor(self.matrix)

    def append(self, const double[::1] row, double last):
        """One more row: (row, last), row (n,)."""
        cdef Py_ssize_t i, p = self.n//8, lane = self.n % 8
        if row.shape[0] != self.n:
            raise ValueError(f"the new row must have {self.n} numbers before its last one, got {row.shape[0]}")
        if not last > 0:
            raise ValueError(f"the last number of a row must be greater than 0, got {last}")
        if lane == 7:
            self._reserve(p + 2)
        cdef double* panel = self._R + 32*p*(p + 1)
        for i in range(self.n):
            panel[8*i + lane] = row[i]
        panel[8*self.n + lane] = last
        self.n += 1

    def forward(self, cnp.ndarray K, cnp.ndarray out=None):
        """R^-1 k for every row k of K (rows, n): (Z, squares), Z (rows, `width`) or `out`, squares |z|^2 (rows,)."""
        cdef Py_ssize_t rows, columns
        rows, columns = self._check(K, self.n, out)
        cdef cnp.ndarray Z = out if out is not None else np.empty((rows, columns))
        cdef cnp.ndarray squares = np.empty(rows)
        self._solve(True, rows, <const double*> cnp.PyArray_DATA(K), self.n, <double*> cnp.PyArray_DATA(Z), columns,
                    <double*> cnp.PyArray_DATA(squares))
        return Z, squares

    def forward_row(self, cnp.ndarray k):
        """R^-1 k for one row k (n,): (z (width,), |z|^2)."""
        cdef cnp.npy_intp width = 8*(self.n//8 + 1)
        cdef int panels = self.n//8 + 1
        if (cnp.PyArray_TYPE(k) != cnp.NPY_FLOAT64 or cnp.PyArray_NDIM(k) != 1 or cnp.PyArray_DIM(k, 0) != self.n
                or not cnp.PyArray_IS_C_CONTIGUOUS(k)):
            raise ValueError(f"k must be {self.n} float64 numbers, contiguous")
        cdef cnp.ndarray z = cnp.PyArray_EMPTY(1, &width, cnp.NPY_FLOAT64, 0)
        cdef double* x = <double*> cnp.PyArray_DATA(z)
        cdef double square
        nested_gather(1, 1, panels, self.n, <const double*> cnp.PyArray_DATA(k), self.n, x)
        if self.n < RELEASE:
            square = self.forward_one(x)
        else:
            with nogil:
                square = self.forward_one(x)
        return z, square

    cdef double forward_one(self, double* z) noexcept nogil:
        """R^-1 z in place, z (width,) with 0 from n on: |z|^2 of the result."""
        cdef double[8] q
        OPS.forward_one(self.n//8 + 1, self._R, z, q)
        return nested_tree(q, 1)

    cdef void backward_one(self, double* z) noexcept nogil:
        """R^-T z in place, z (width,) with 0 from n on."""
        OPS.backward_one(self.n//8 + 1, self._R, z)

    def backward(self, cnp.ndarray Z, cnp.ndarray out=None):
        """R^-T z for every row z (rows, at least n; what is beyond n is not read): (rows, `width`) or `out`."""
        cdef Py_ssize_t rows, columns, given = cnp.PyArray_DIM(Z, 1)
        if given < self.n:
            raise ValueError(f"rows must have at least {self.n} numbers, got {given}")
        rows, columns = self._check(Z, given, out)
        cdef cnp.ndarray A = out if out is not None else np.empty((rows, columns))
        self._solve(False, rows, <const double*> cnp.PyArray_DATA(Z), given, <double*> cnp.PyArray_DATA(A), columns,
                    NULL)
        return A

    cdef int _solve(self, bint forward, Py_ssize_t rows, const double* K, Py_ssize_t ld, double* Z, Py_ssize_t columns,
                    double* squares) except -1:
        """Groups of rows; the last few of them one by one."""
        cdef int panels = self.n//8 + 1, lanes = OPS.lanes, most, S, step, i
        cdef int ready = <int> min(columns, 8*panels)
        cdef Py_ssize_t t = 0, j
        most = TOGETHER if 32*panels*(panels + 1) <= CACHED else max(TOGETHER, CACHED//(8*panels))
        most = <int> min(most, rows + lanes - 1)//lanes*lanes
        cdef double* X = <double*> malloc((<size_t> 8*panels + 8)*max(most, 1)*sizeof(double))
        if X == NULL:
            raise MemoryError
        cdef double* q = X + <size_t> 8*panels*most
        with nogil:
            while t < rows:
                S = <int> min(rows - t, most)
                if S >= lanes:
                    S -= S % lanes
                step = 1 if S*FEW < lanes else lanes
                if step == 1:
                    S = 1
                nested_gather(step, S, panels, self.n, K + t*ld, ld, X)
                if not forward:
                    if step == 1:
                        OPS.backward_one(panels, self._R, X)
                    else:
                        OPS.backward((S + lanes - 1)//lanes, panels, self._R, X)
                elif step == 1:
                    OPS.forward_one(panels, self._R, X, q)
                else:
                    OPS.forward((S + lanes - 1)//lanes, panels, self._R, X, q)
                nested_scatter(step, S, panels, ready, X, Z + t*columns, columns)
                for i in range(S):
                    if squares != NULL:
                        squares[t + i] = nested_tree(q + 8*step*(i//step) + i % step, step)
                    for j in range(ready, columns):
                        Z[(t + i)*columns + j] = 0
                t += S
        free(X)
        return 0

    cdef tuple _check(self, cnp.ndarray rows, Py_ssize_t columns, cnp.ndarray out):
        """(rows, columns of the result), for clean arrays."""
        for a in (rows,) if out is None else (rows, out):
            if a.dtype != np.float64 or a.ndim != 2 or not a.flags.c_contiguous:
                raise ValueError("rows must be a two-dimensional C-ordered float64 array")
        if rows.shape[1] != columns:
            raise ValueError(f"rows must have {columns} numbers, got {rows.shape[1]}")
        if out is None:
            return rows.shape[0], 8*(self.n//8 + 1)
        if out.shape[0] != rows.shape[0] or out.shape[1] < self.n:
            raise ValueError(f"out must be ({rows.shape[0]}, at least {self.n}), got {(<object> out).shape}")
        return out.shape[0], out.shape[1]

    cdef int _reserve(self, Py_ssize_t panels) except -1:
        """Room for so many panels, the new ones with rows of the identity; memory doubles."""
        cdef Py_ssize_t p, held = max(self._held, 1)
        if panels <= self._held:
            return 0
        while held*(held + 1) < panels*(panels + 1):
            held = held + max(held//2, 1)    # half as many panels again are twice the numbers
        raw = np.zeros(32*held*(held + 1) + 8)
        start = -raw.ctypes.data//8 % 8
        store = raw[start:start + 32*held*(held + 1)]
        if self._held:
            store[:len(self._store)] = self._store
        for p in range(self._held, held):
            store[32*p*(p + 1) + 64*p:32*(p + 1)*(p + 2)].reshape(8, 8)[...] = np.eye(8)
        cdef double[::1] view = store
        self._store, self._R, self._held = store, &view[0], held
        return 0


def lanes():
    """Rows that are solved together: 16 with AVX-512, 4 with AVX2, 2 otherwise."""
    return OPS.lanes
