# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A lower triangular factor that grows: solves against a leading block, appends rows, never reallocates per row."""
import numpy as np
cimport numpy as cnp
from libc.math cimport sqrt
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport dgemm, dtrsm

cnp.import_array()

cdef extern from "triangle_kernel.h" nogil:
    enum:
        TRIANGLE_PANEL
    ctypedef struct triangle_ops:
        void (*solve)(Py_ssize_t, const double*, double*) noexcept nogil
    triangle_ops triangle_pick() noexcept
    Py_ssize_t triangle_numbers(Py_ssize_t panels) noexcept
    const double* triangle_row(const double* L, Py_ssize_t i) noexcept

cdef triangle_ops OPS = triangle_pick()
cdef enum: LINE = 8     # numbers in a cache line


cdef class Triangle:
    """Lower triangular L in panels of rows (simd/triangle_kernel.h); memory doubles when it is full.

    A panel, whose rows are contiguous, is its transpose to BLAS, which counts by columns.
    """

    def __init__(self, L=None):
        self._n = 0
        self._reserve(1)
        if L is not None:
            L = np.ascontiguousarray(L, dtype=np.float64)
            self.append(np.empty((len(L), 0)), L)

    cdef int _reserve(self, Py_ssize_t n) except -1:
        """Room for n rows."""
        cdef Py_ssize_t held = max(self._held, 1), panels = (n + TRIANGLE_PANEL - 1)//TRIANGLE_PANEL
        if panels <= self._held:
            return 0
        while held < panels:
            held += max(held//2, 1)     # half as many panels again are twice the numbers
        raw = np.zeros(triangle_numbers(held) + LINE)
        start = -raw.ctypes.data//8 % LINE
        store = raw[start:start + triangle_numbers(held)]
        if self._held:
            used = triangle_numbers((self._n + TRIANGLE_PANEL - 1)//TRIANGLE_PANEL)
            store[:used] = self._store[:used]
        self._store, self._L, self._held = store, <double*> cnp.PyArray_DATA(<cnp.ndarray> store), held
        return 0

    cdef double* row(self, Py_ssize_t i) noexcept nogil:
        return <double*> triangle_row(self._L, i)

    @property
    def n(self):
        return self._n

    @property
    def nbytes(self):
        return self._store.nbytes

    @property
    def matrix(self):
        """A copy of the factor, (n, n)."""
        cdef Py_ssize_t i
        cdef cnp.ndarray out = np.zeros((self._n, self._n))
        cdef double* to = <double*> cnp.PyArray_DATA(out)
        for i in range(self._n):
            memcpy(to + i*self._n, self.row(i), (i + 1)*sizeof(double))
        return out

    @property
    def diagonal(self):
        return np.array([self.row(i)[i] for i in range(self._n)])

    def __deepcopy__(self, memo):
        return Triangle(self.matrix)

    def solve(self, cnp.ndarray B, bint transposed=False):
        """L^-1 b (or L^-T b) for every row b of B (m, n), in place; B must be C-ordered float64. Returns B."""
        cdef int n = self._n, m
        if (cnp.PyArray_TYPE(B) != cnp.NPY_FLOAT64 or cnp.PyArray_NDIM(B) != 2 or cnp.PyArray_DIM(B, 1) != n
                or not cnp.PyArray_IS_C_CONTIGUOUS(B)):
            raise ValueError(f"right-hand sides must be rows of {n} float64 numbers, C-ordered")
        m = <int> cnp.PyArray_DIM(B, 0)
        if n == 0 or m == 0:
            return B
        cdef double* b = <double*> cnp.PyArray_DATA(B)
        with nogil:
            if transposed:
                self._backward(b, m)
            elif m == 1:
                self.solve_one(b)
            else:
                self._forward(b, m)
        return B

    cdef void solve_one(self, double* b) noexcept nogil:
        """L^-1 b in place, n >= 1 numbers."""
        OPS.solve(self._n, self._L, b)

    cdef void _forward(self, double* b, int m) noexcept nogil:
        """Panel by panel: what earlier numbers say, then its own corner."""
        cdef int n = self._n, i = 0, ld = 0, rows
        cdef double one = 1.0, minus = -1.0
        cdef char left = b"L", upper = b"U", yes = b"T", no = b"N"
        cdef double* r
        while i < n:
            r, ld, rows = self.row(i), i + TRIANGLE_PANEL, min(TRIANGLE_PANEL, n - i)
            if i:
                dgemm(&yes, &no, &rows, &m, &i, &minus, r, &ld, b, &n, &one, b + i, &n)
            dtrsm(&left, &upper, &yes, &no, &rows, &m, &one, r + i, &ld, b + i, &n)
            i += TRIANGLE_PANEL

    cdef void _backward(self, double* b, int m) noexcept nogil:
        """From the last panel up: its own corner, then what that says to all earlier numbers."""
        cdef int n = self._n, i = (self._n - 1)//TRIANGLE_PANEL*TRIANGLE_PANEL, ld, rows
        cdef double one = 1.0, minus = -1.0
        cdef char left = b"L", upper = b"U", no = b"N"
        cdef double* r
        while i >= 0:
            r, ld, rows = self.row(i), i + TRIANGLE_PANEL, min(TRIANGLE_PANEL, n - i)
            dtrsm(&left, &upper, &no, &no, &rows, &m, &one, r + i, &ld, b + i, &n)
            if i:
                dgemm(&no, &no, &i, &m, &rows, &minus, r, &ld, b + i, &n, &one, b, &n)
            i -= TRIANGLE_PANEL

    def append(self, const double[:, ::1] T, const double[:, ::1] C):
        """Border with m rows: [[L, 0], [T, C]], T (m, n), C (m, m) lower triangular."""
        cdef Py_ssize_t m = C.shape[0], n = self._n, i
        cdef double* row
        if T.shape[0] != m or T.shape[1] != n or C.shape[1] != m:
            raise ValueError("shapes do not border the factor")
        self._reserve(n + m)
        for i in range(m):
            row = self.row(n + i)
            if n:
                memcpy(row, &T[i, 0], n*sizeof(double))
            memcpy(row + n, &C[i, 0], (i + 1)*sizeof(double))
        self._n = <int> (n + m)

    cdef int append_one(self, const double* t, double pivot) except -1:
        """Border with the row (t, pivot), t (n,)."""
        cdef Py_ssize_t n = self._n
        cdef double* row
        self._reserve(n + 1)
        row = self.row(n)
        if n:
            memcpy(row, t, n*sizeof(double))
        row[n] = pivot
        self._n += 1
        return 0

    def truncate(self, int n):
        """Forget all rows after the first n."""
        if not 0 <= n <= self._n:
            raise ValueError(f"the factor has {self._n} rows, not {n} or more")
        self._n = n


def floored_cholesky(double[:, ::1] S, double floor):
    """Lower Cholesky factor of S in place (upper part zeroed), every squared pivot at least `floor`.

    S = floor I + a positive semidefinite matrix in exact arithmetic; the floor only undoes cancellation.
    """
    cdef int m = <int> S.shape[0], i, j, k
    cdef double total
    if S.shape[1] != m:
        raise ValueError("S must be square")
    with nogil:
        for j in range(m):
            for i in range(j, m):
                total = S[i, j]
                for k in range(j):
                    total = total - S[i, k]*S[j, k]
                if i == j:
                    S[j, j] = sqrt(total if total > floor else floor)
                else:
                    S[i, j] = total/S[j, j]
            for i in range(j):
                S[i, j] = 0
