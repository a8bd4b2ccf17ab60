# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A lower triangular factor that grows: solves against a leading block, appends rows, never reallocates per row."""
from libc.math cimport sqrt
from libc.string cimport memset

cimport numpy as cnp

from nystream._core.linalg.nested cimport NestedFactor

cnp.import_array()


cdef class Triangle(NestedFactor):
    """Lower triangular L, the factor of a Gram matrix, which is solved with in place, grows by blocks and is cut short.

    What is solved for one right-hand side does not depend on the others, to the last bit.
    """

    def __deepcopy__(self, memo):
        return Triangle(self.matrix)

    def solve(self, cnp.ndarray B, bint transposed=False):
        """L^-1 b (or L^-T b) for every row b of B (m, n), in place; B must be C-ordered float64. Returns B."""
        if (cnp.PyArray_TYPE(B) != cnp.NPY_FLOAT64 or cnp.PyArray_NDIM(B) != 2 or cnp.PyArray_DIM(B, 1) != self.n
                or not cnp.PyArray_IS_C_CONTIGUOUS(B)):
            raise ValueError(f"right-hand sides must be rows of {self.n} float64 numbers, C-ordered")
        cdef double* b = <double*> cnp.PyArray_DATA(B)
        if self.n:
            self._solve(not transposed, cnp.PyArray_DIM(B, 0), b, self.n, b, self.n, NULL)
        return B

    cdef double solve_one(self, double* b) noexcept nogil:
        """L^-1 b in place, n numbers with room for 8 more, which become 0: |L^-1 b|^2."""
        memset(b + self.n, 0, (8*(self.n//8 + 1) - self.n)*sizeof(double))
        return self.forward_one(b)

    def border(self, const double[:, ::1] T, const double[:, ::1] C):
        """Border with m rows: [[L, 0], [T, C]], T (m, n), C (m, m) lower triangular."""
        cdef Py_ssize_t m = C.shape[0], n = self.n, i, j
        cdef double* panel
        if T.shape[0] != m or T.shape[1] != n or C.shape[1] != m:
            raise ValueError("shapes do not border the factor")
        self._reserve((n + m)//8 + 1)
        for i in range(m):
            panel = self._place(n + i)
            for j in range(n):
                panel[8*j] = T[i, j]
            for j in range(i + 1):
                panel[8*(n + j)] = C[i, j]
        self.n = n + m

    cdef int append_one(self, const double* t, double pivot) except -1:
        """Border with the row (t, pivot), t (n,)."""
        cdef Py_ssize_t j, n = self.n
        self._reserve((n + 1)//8 + 1)
        cdef double* panel = self._place(n)
        for j in range(n):
            panel[8*j] = t[j]
        panel[8*n] = pivot
        self.n = n + 1
        return 0

    cdef double* _place(self, Py_ssize_t i) noexcept nogil:
        """Where row i begins; its numbers are 8 apart."""
        return self._R + 32*(i//8)*(i//8 + 1) + i % 8

    def truncate(self, Py_ssize_t n):
        """Forget all rows after the first n."""
        cdef Py_ssize_t i, j
        cdef double* row
        if not 0 <= n <= self.n:
            raise ValueError(f"the factor has {self.n} rows, not {n} or more")
        for i in range(n, self.n):      # rows of the identity from there on
            row = self._place(i)
            for j in range(8*(i//8 + 1)):
                row[8*j] = i == j
        self.n = n


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
