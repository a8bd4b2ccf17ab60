# Stored points in double or single precision, and the kernel rows of an open block of inputs against them.
cimport numpy as cnp

from nystream._core.kernel_rows cimport KernelRows


cdef class Points:
    cdef readonly object kernel
    cdef readonly bint single           # points are float32, and kernel values are calculated in it
    cdef readonly Py_ssize_t n          # stored points
    cdef readonly Py_ssize_t d          # columns of a point
    cdef readonly Py_ssize_t capacity   # points that fit before memory grows
    cdef Py_ssize_t stride              # bytes of a point
    cdef char* xs                       # point i is at xs + i*stride
    cdef KernelRows form                # None: the kernel is a Python function
    cdef object _points
    # the open block: rows[j*ld + i] = k(block row j, x_i) for the rows from `at` on
    cdef readonly Py_ssize_t b
    cdef Py_ssize_t at, ld, held, tall, wide    # numbers that `rows`, `column` and `narrowed` have room for
    cdef const double* given            # the rows as they came
    cdef const char* block              # and as points are
    cdef double* rows
    cdef const double* gram             # b x b, Python kernels only
    cdef double* column
    cdef object _block, _rows, _gram, _column, _narrowed

    cdef int reserve(self, Py_ssize_t n) except -1
    cdef void fill(self, const void* X, Py_ssize_t n, const void* Y, Py_ssize_t m, double* out,
                   Py_ssize_t ldo) noexcept nogil
    cdef int open(self, cnp.ndarray X, Py_ssize_t start, Py_ssize_t b, Py_ssize_t limit) except -1
    cdef int open_rows(self, const double* x, Py_ssize_t b, Py_ssize_t limit) except -1
    cdef int take(self, const double* x, Py_ssize_t b) except -1
    cdef int make_room(self, Py_ssize_t b, Py_ssize_t limit) except -1
    cdef void close(self) noexcept
    cdef const double* row(self) noexcept nogil
    cdef const void* x(self) noexcept nogil
    cdef double k_own(self) noexcept nogil
    cdef int stored_row(self, Py_ssize_t i, double* k) except -1 nogil
    cdef int refresh(self, Py_ssize_t i, const void* x) except -1 nogil
    cdef int ask_kernel(self, cnp.ndarray X) except -1
    cdef int ask_column(self, const double* x, Py_ssize_t m) except -1
