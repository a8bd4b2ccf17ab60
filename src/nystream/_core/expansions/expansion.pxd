# Terms of a kernel expansion for compiled loops: f = scale sum_i a_i k(x_i, .), and the kernel rows of an open block.
cimport numpy as cnp

from nystream._core.kernel_rows cimport KernelRows


cdef class Terms:
    cdef readonly object kernel
    cdef readonly Py_ssize_t n          # stored points
    cdef readonly Py_ssize_t d          # columns of a point
    cdef readonly Py_ssize_t K          # outputs
    cdef readonly Py_ssize_t capacity   # points that fit before memory grows
    cdef readonly double scale          # S
    cdef readonly double cum            # sum of S over rounds since the last settlement
    cdef readonly long long rounds      # hypotheses in the average
    # entry i: xs[i*d ...], a[c*capacity + i], sums[c*capacity + i], diag[i] = k(x_i, x_i), born[i]
    cdef double* xs
    cdef double* a
    cdef double* sums
    cdef double* diag
    cdef long long* born
    cdef KernelRows form                # None: the kernel is a Python function
    cdef object _points, _coef, _past, _own, _birth
    # the open block: rows[j*ld + i] = k(block row j, x_i) for the rows from `at` on
    cdef readonly Py_ssize_t b
    cdef Py_ssize_t at, ld, held, tall      # numbers that `rows` and `column` have room for
    cdef const double* block
    cdef double* rows
    cdef const double* gram             # b x b, Python kernels only
    cdef double* column
    cdef object _block, _rows, _gram, _column

    cdef int reserve(self, Py_ssize_t n) except -1
    cdef int open(self, cnp.ndarray X, Py_ssize_t start, Py_ssize_t b, Py_ssize_t limit) except -1
    cdef int open_rows(self, const double* x, Py_ssize_t b, Py_ssize_t limit) except -1
    cdef int make_room(self, Py_ssize_t b, Py_ssize_t limit) except -1
    cdef void close(self) noexcept
    cdef void begin(self, Py_ssize_t j) noexcept nogil
    cdef const double* row(self) noexcept nogil
    cdef const double* x(self) noexcept nogil
    cdef double k_own(self) noexcept nogil
    cdef void scores(self, const double* k, double* f) noexcept nogil
    cdef void decay(self, double factor) noexcept nogil
    cdef void settle(self) noexcept nogil
    cdef int put(self, Py_ssize_t i, const double* x, const double* a, double own, long long birth) except -1 nogil
    cdef int append(self, const double* x, const double* a, double own, long long birth) except -1 nogil
    cdef void drop(self, Py_ssize_t i) noexcept nogil
    cdef Py_ssize_t oldest(self) noexcept nogil
    cdef int stored_row(self, Py_ssize_t i, double* k) except -1 nogil
    cdef int refresh(self, Py_ssize_t i, const double* x) except -1 nogil
    cdef int ask_kernel(self, cnp.ndarray X) except -1
    cdef int ask_column(self, const double* x, Py_ssize_t m) except -1
    cdef int check(self, Py_ssize_t i) except -1
