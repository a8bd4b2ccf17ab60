# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The growing triangular factor of nested Nystrom coordinates: the shell around kernels/nested_kernel.h."""
import numpy as np
cimport numpy as cnp
from libc.stdlib cimport free, malloc

cnp.import_array()

cdef extern from "nested_kernel.h" nogil:
    enum:
        NESTED_LANES
    ctypedef struct nested_ops:
        int lanes
        void (*forward)(int panels, const double* R, double* X, double* squares) noexcept nogil
        void (*backward)(int panels, const double* R, double* X) noexcept nogil
        void (*forward_one)(int panels, const double* R, double* x, double* square) noexcept nogil
    nested_ops nested_pick() noexcept
    void nested_gather(int lanes, int n, int panels, int m, const double* K, size_t ld, double* X) noexcept
    void nested_scatter(int lanes, int n, int columns, const double* X, double* Z, size_t ld) noexcept

cdef nested_ops OPS = nested_pick()
cdef enum:
    FEW = 4          # fewer rows than lanes / FEW go one by one
    RELEASE = 64     # rows of R from which one solve is long enough to be worth giving up the GIL


cdef class NestedFactor:
    """Lower triangular R (n, n) in panels of 8 rows, which grows by rows.

    Solves give as many columns as are asked for; beyond n they are 0. The result for a row does not depend on the rows
    that are solved with it, to the last bit.
    """
    cdef object _store
    cdef double* _R
    cdef Py_ssize_t _held      # panels that fit
    cdef readonly int n

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
        return self.matrix.diagonal().copy()

    def __deepcopy__(self, memo):
        return NestedFactor(self.matrix)

    def append(self, const double[::1] row, double last):
        """One more row: (row, last), row (n,)."""
        cdef Py_ssize_t i, p = self.n//8, l = self.n % 8
        if row.shape[0] != self.n:
            raise ValueError(f"the new row must have {self.n} numbers before its last one, got {row.shape[0]}")
        if not last > 0:
            raise ValueError(f"the last number of a row must be greater than 0, got {last}")
        if l == 7:
            self._reserve(p + 2)
        cdef double* panel = self._R + 32*p*(p + 1)
        for i in range(self.n):
            panel[8*i + l] = row[i]
        panel[8*self.n + l] = last
        self.n += 1

    def forward(self, cnp.ndarray K, cnp.ndarray out=None):
        """R^-1 k for every row k of K (rows, n): (Z, squares), Z (rows, `width`) or `out`, squares |z|^2 (rows,)."""
        cdef Py_ssize_t t = 0, rows, columns
        cdef int m = self.n, panels = self.n//8 + 1, lanes = OPS.lanes, S
        rows, columns = self._check(K, self.n, out)
        cdef cnp.ndarray Z = out if out is not None else np.empty((rows, columns))
        cdef cnp.ndarray sums = np.empty(rows)
        cdef double* X = <double*> malloc((<size_t> 8*panels*lanes + lanes)*sizeof(double))
        if X == NULL:
            raise MemoryError
        cdef double* q = X + <size_t> 8*panels*lanes
        cdef const double* k = <const double*> cnp.PyArray_DATA(K)
        cdef double* z = <double*> cnp.PyArray_DATA(Z)
        cdef double* s = <double*> cnp.PyArray_DATA(sums)
        cdef Py_ssize_t i
        cdef int ready = <int> min(columns, 8*panels)
        with nogil:
            while t < rows:
                S = <int> min(rows - t, lanes)
                if S*FEW < lanes:
                    S = 1
                    nested_gather(1, 1, panels, m, k + t*m, m, X)
                    OPS.forward_one(panels, self._R, X, s + t)
                    nested_scatter(1, 1, ready, X, z + t*columns, columns)
                else:
                    nested_gather(lanes, S, panels, m, k + t*m, m, X)
                    OPS.forward(panels, self._R, X, q)
                    nested_scatter(lanes, S, ready, X, z + t*columns, columns)
                    for i in range(S):
                        s[t + i] = q[i]
                t += S
        free(X)
        if columns > ready:
            Z[:, ready:] = 0.0
        return Z, sums

    def forward_row(self, cnp.ndarray k):
        """R^-1 k for one row k (n,): (z (width,), |z|^2)."""
        cdef cnp.npy_intp width = 8*(self.n//8 + 1)
        cdef int i, panels = self.n//8 + 1
        cdef double square
        if (cnp.PyArray_TYPE(k) != cnp.NPY_FLOAT64 or cnp.PyArray_NDIM(k) != 1 or cnp.PyArray_DIM(k, 0) != self.n
                or not cnp.PyArray_IS_C_CONTIGUOUS(k)):
            raise ValueError(f"k must be {self.n} float64 numbers, contiguous")
        cdef cnp.ndarray z = cnp.PyArray_EMPTY(1, &width, cnp.NPY_FLOAT64, 0)
        cdef double* x = <double*> cnp.PyArray_DATA(z)
        nested_gather(1, 1, panels, self.n, <const double*> cnp.PyArray_DATA(k), self.n, x)
        if self.n < RELEASE:
            OPS.forward_one(panels, self._R, x, &square)
        else:
            with nogil:
                OPS.forward_one(panels, self._R, x, &square)
        return z, square

    def backward(self, cnp.ndarray Z, cnp.ndarray out=None):
        """R^-T z for every row z (rows, at least n; what is beyond n is not read): (rows, `width`) or `out`."""
        cdef Py_ssize_t t = 0, rows, columns, given = cnp.PyArray_DIM(Z, 1)
        cdef int m = self.n, panels = self.n//8 + 1, lanes = OPS.lanes, S
        if given < m:
            raise ValueError(f"rows must have at least {m} numbers, got {given}")
        rows, columns = self._check(Z, given, out)
        cdef cnp.ndarray A = out if out is not None else np.empty((rows, columns))
        cdef double* X = <double*> malloc(<size_t> 8*panels*lanes*sizeof(double))
        if X == NULL:
            raise MemoryError
        cdef const double* z = <const double*> cnp.PyArray_DATA(Z)
        cdef double* a = <double*> cnp.PyArray_DATA(A)
        cdef int ready = <int> min(columns, 8*panels)
        with nogil:
            while t < rows:
                S = <int> min(rows - t, lanes)
                nested_gather(lanes, S, panels, m, z + t*given, given, X)
                OPS.backward(panels, self._R, X)
                nested_scatter(lanes, S, ready, X, a + t*columns, columns)
                t += S
        free(X)
        if columns > ready:
            A[:, ready:] = 0.0
        return A

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
