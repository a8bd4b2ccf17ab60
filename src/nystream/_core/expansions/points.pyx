# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Stored points, in double or single precision, and kernel rows of a block of inputs, kept right while they change."""
import numpy as np

cimport numpy as cnp
from libc.string cimport memcpy

from nystream._core.kernel_rows cimport narrow
from nystream._core.linalg.linear_kernel cimport clean
from nystream._core.linalg.ldl import aligned_zeros

cnp.import_array()

cdef enum:
    FIRST = 16      # points reserved at the start
    WORTH_RELEASING = 1 << 14   # multiplications from which on it pays to give up the GIL


cdef class Points:
    """Rows of d numbers; memory doubles.

    A block of inputs may be open: its kernel rows against the stored points are computed by one product, and every
    change of a point rewrites that point's column for the rows to come. With `single` points are float32, and so are
    the rows of a block before they meet them; kernel values are calculated in it and widened.
    """

    def __init__(self, object kernel, Py_ssize_t d, bint single):
        self.kernel, self.form, self.single, self.d = kernel, kernel.compiled, single, d
        if single and self.form is None:
            raise TypeError(f"{kernel!r} has no compiled form, and so none in single precision")

    @property
    def points(self):
        """(n, d), a window on the stored rows."""
        return self._points[:self.n]

    cdef int reserve(self, Py_ssize_t n) except -1:
        cdef Py_ssize_t m = self.n, capacity = self.capacity
        if n <= capacity:
            return 0
        capacity = max(capacity, FIRST)
        while capacity < n:
            capacity *= 2
        points = aligned_zeros(capacity, self.d, dtype="float32" if self.single else "float64")
        if m:
            points[:m] = self._points[:m]
        self._points, self.xs, self.capacity = points, <char*> cnp.PyArray_DATA(points), capacity
        self.stride = self.d * (sizeof(float) if self.single else sizeof(double))
        return 0

    cdef void fill(self, const void* X, Py_ssize_t n, const void* Y, Py_ssize_t m, double* out,
                   Py_ssize_t ldo) noexcept nogil:
        """Values of a compiled kernel between rows that are as points are."""
        if self.single:
            self.form.fill_single(<const float*> X, n, <const float*> Y, m, self.d, out, ldo)
        else:
            self.form.fill(<const double*> X, n, <const double*> Y, m, self.d, out, ldo)

    # -- the open block ------------------------------------------------------------------------------------------------
    cdef int open(self, cnp.ndarray X, Py_ssize_t start, Py_ssize_t b, Py_ssize_t limit) except -1:
        """Kernel rows of X[start : start + b], or of one row X (d,) with start 0 and b 1.

        At most b points enter before `close`, and never are more than `limit` stored.
        """
        cdef bint one = cnp.PyArray_NDIM(X) == 1
        cdef const double* x = clean(X, -1 if one else cnp.PyArray_DIM(X, 0), self.d)
        if self.form is not None:
            self.open_rows(x + start * self.d, b, limit)
        else:
            self.make_room(b, limit)
            self.ask_kernel(X[None] if one else X[start:start + b])
            self.take(x + start * self.d, b)
        self._block = X
        return 0

    cdef int open_rows(self, const double* x, Py_ssize_t b, Py_ssize_t limit) except -1:
        """The same for b rows of a compiled kernel, which stay where they are until `close`."""
        self.make_room(b, limit)
        self.take(x, b)
        if b * self.n * self.d < WORTH_RELEASING:
            self.fill(self.block, b, self.xs, self.n, self.rows, self.ld)
        else:
            with nogil:
                self.fill(self.block, b, self.xs, self.n, self.rows, self.ld)
        return 0

    cdef int take(self, const double* x, Py_ssize_t b) except -1:
        """The rows of the block are these."""
        self.given, self.block, self.b, self.at = x, <const char*> x, b, 0
        if self.single:
            if self.wide < b * self.d:
                self.wide = b * self.d
                self._narrowed = aligned_zeros(self.wide, dtype="float32")
            self.block = <const char*> cnp.PyArray_DATA(<cnp.ndarray> self._narrowed)
            narrow(x, b * self.d, <float*> self.block)
        return 0

    cdef int make_room(self, Py_ssize_t b, Py_ssize_t limit) except -1:
        cdef Py_ssize_t n = self.n, most = n + b
        self.close()
        if most > limit:
            most = limit if limit > n else n
        self.reserve(most)
        self.ld = ((most + 7) // 8 | 1) * 8     # an odd number of cache lines: columns do not fall into one set
        if self.held < b * self.ld:
            self.held = max(b * self.ld, 2 * self.held)     # an unbounded expansion needs more soon
            self._rows = np.empty(self.held)
            self.rows = <double*> cnp.PyArray_DATA(self._rows)
        if self.tall < b:
            self._column, self.tall = np.empty(b), b
            self.column = <double*> cnp.PyArray_DATA(self._column)
        return 0

    cdef int ask_kernel(self, cnp.ndarray X) except -1:
        """The same rows from a kernel that is a Python function, and the block's own Gram matrix."""
        cdef Py_ssize_t b = cnp.PyArray_DIM(X, 0)
        if self.n:
            self._rows[:b * self.ld].reshape(b, self.ld)[:, :self.n] = self.kernel(X, self._points[:self.n])
        gram = np.ascontiguousarray(self.kernel(X, X), dtype=np.float64)
        self.gram = clean(gram, b, b)
        self._gram = gram
        return 0

    cdef void close(self) noexcept:
        self.b, self.at = 0, 0
        self._block, self._gram = None, None

    cdef const double* row(self) noexcept nogil:
        """k(x, x_i) of the present row, n numbers."""
        return self.rows + self.at * self.ld

    cdef const void* x(self) noexcept nogil:
        """The present row, as a point."""
        return self.block + self.at * self.stride

    cdef double k_own(self) noexcept nogil:
        """k(x, x) of the present row."""
        cdef double k
        if self.form is None:
            return self.gram[self.at * (self.b + 1)]
        self.fill(self.x(), 1, self.x(), 1, &k, 1)
        return k

    cdef int stored_row(self, Py_ssize_t i, double* k) except -1 nogil:
        """k(x_i, x_j) of stored point i with all n, to k."""
        if self.form is not None:
            self.fill(self.xs + i * self.stride, 1, self.xs, self.n, k, self.n)
        else:
            with gil:
                values = np.ascontiguousarray(self.kernel.row(self._points[:self.n], self._points[i]), dtype=np.float64)
                memcpy(k, clean(values, -1, self.n), self.n * sizeof(double))
        return 0

    cdef int refresh(self, Py_ssize_t i, const void* x) except -1 nogil:
        """Point i is now x: its column for the present row and those to come."""
        cdef Py_ssize_t j, m = self.b - self.at
        cdef const double* values = self.column
        if m <= 0:
            return 0
        if self.form is not None:
            self.fill(x, 1, self.x(), m, self.column, m)
        elif x == self.x():
            values = self.gram + self.at * (self.b + 1)
        else:
            with gil:
                self.ask_column(<const double*> x, m)
        for j in range(m):
            self.rows[(self.at + j) * self.ld + i] = values[j]
        return 0

    cdef int ask_column(self, const double* x, Py_ssize_t m) except -1:
        point = np.array([x[j] for j in range(self.d)])
        rows = np.array([(<const double*> self.x())[j] for j in range(m * self.d)]).reshape(m, self.d)
        self._column[:m] = self.kernel(rows, point[None])[:, 0]
        return 0
