# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A lower triangular factor that grows: solves against a leading block, appends rows, never reallocates per row."""
import numpy as np
cimport numpy as cnp
from libc.math cimport sqrt
from libc.string cimport memcpy, memset
from scipy.linalg.cython_blas cimport dtrsm, dtrsv

cnp.import_array()

cdef int FIRST = 32


cdef class Triangle:
    """Lower triangular L, rows contiguous with leading dimension `capacity`, which doubles when it is full.

    A row-major lower triangle is a column-major upper one, U = L', so L^-1 b is a solve with U' and L^-T b one with U.
    """

    def __init__(self, L=None):
        self._n = 0
        self._reserve(FIRST)
        if L is not None:
            n = len(L)
            self._reserve(n)
            self._store[:n, :n] = np.tril(L)
            self._n = n

    cdef void _reserve(self, int n) except *:
        cdef int capacity = self._L.shape[0] if self._store is not None else 0
        if n <= capacity:
            return
        capacity = max(capacity, FIRST)
        while capacity < n:
            capacity *= 2
        store = np.zeros((capacity, capacity))
        if self._n:
            store[:self._n, :self._n] = self._store[:self._n, :self._n]
        self._store = store
        self._L = store

    @property
    def n(self):
        return self._n

    @property
    def nbytes(self):
        return self._store.nbytes

    @property
    def matrix(self):
        """A copy of the factor, (n, n)."""
        return self._store[:self._n, :self._n].copy()

    @property
    def diagonal(self):
        return self._store.diagonal()[:self._n].copy()

    def __deepcopy__(self, memo):
        return Triangle(self.matrix)

    def solve(self, cnp.ndarray B, bint transposed=False):
        """L^-1 b (or L^-T b) for every row b of B (m, n), in place; B must be C-ordered float64. Returns B."""
        cdef int n = self._n, m, ld = <int> self._L.shape[0], one = 1
        cdef double alpha = 1.0
        cdef char side = b"L", uplo = b"U", diag = b"N"
        cdef char trans = b"N" if transposed else b"T"
        if (cnp.PyArray_TYPE(B) != cnp.NPY_FLOAT64 or cnp.PyArray_NDIM(B) != 2 or cnp.PyArray_DIM(B, 1) != n
                or not cnp.PyArray_IS_C_CONTIGUOUS(B)):
            raise ValueError(f"right-hand sides must be rows of {n} float64 numbers, C-ordered")
        m = <int> cnp.PyArray_DIM(B, 0)
        if n == 0 or m == 0:
            return B
        cdef double* b = <double*> cnp.PyArray_DATA(B)
        cdef double* u = &self._L[0, 0]
        with nogil:
            if m == 1:
                dtrsv(&uplo, &trans, &diag, &n, u, &ld, b, &one)
            else:
                dtrsm(&side, &uplo, &trans, &diag, &n, &m, &alpha, u, &ld, b, &n)
        return B

    cdef void solve_one(self, double* b) noexcept nogil:
        """L^-1 b in place, n >= 1 numbers."""
        cdef int n = self._n, ld = <int> self._L.shape[0], one = 1
        cdef char uplo = b"U", trans = b"T", diag = b"N"
        dtrsv(&uplo, &trans, &diag, &n, &self._L[0, 0], &ld, b, &one)

    def append(self, const double[:, ::1] T, const double[:, ::1] C):
        """Border with m rows: [[L, 0], [T, C]], T (m, n), C (m, m) lower triangular."""
        cdef int m = <int> C.shape[0], n = self._n, i
        if T.shape[0] != m or T.shape[1] != n or C.shape[1] != m:
            raise ValueError("shapes do not border the factor")
        self._reserve(n + m)
        for i in range(m):
            if n:
                memcpy(&self._L[n + i, 0], &T[i, 0], n*sizeof(double))
            memcpy(&self._L[n + i, n], &C[i, 0], (i + 1)*sizeof(double))
            if i + 1 < m:
                memset(&self._L[n + i, n + i + 1], 0, (m - i - 1)*sizeof(double))
        self._n = n + m

    cdef int append_one(self, const double* t, double pivot) except -1:
        """Border with the row (t, pivot), t (n,)."""
        cdef int n = self._n
        self._reserve(n + 1)
        if n:
            memcpy(&self._L[n, 0], t, n*sizeof(double))
        self._L[n, n] = pivot
        self._n = n + 1
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
