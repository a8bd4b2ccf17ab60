# A kernel expansion f = sum a_i k(x_i, .) in memory: its points, its coefficients, and the rules of its budget.
cimport numpy as cnp

from nystream._core.kernels cimport KernelRows


# ----------------------------------------------------------------------------------------------------------------------
# Stored points in double or single precision, and the kernel rows of an open block of inputs against them.
# ----------------------------------------------------------------------------------------------------------------------
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


# ----------------------------------------------------------------------------------------------------------------------
# Terms of a kernel expansion for compiled loops: f = scale sum_i a_i k(x_i, .).
# ----------------------------------------------------------------------------------------------------------------------
cdef class Terms(Points):
    cdef readonly Py_ssize_t K          # outputs
    cdef readonly double scale          # S
    cdef readonly double cum            # sum of S over rounds since the last settlement
    cdef readonly long long rounds      # hypotheses in the average
    # entry i: a point, a[c*capacity + i], sums[c*capacity + i], diag[i] = k(x_i, x_i), born[i]
    cdef double* a
    cdef double* sums
    cdef double* diag
    cdef long long* born
    cdef object _coef, _past, _own, _birth

    cdef void begin(self, Py_ssize_t j) noexcept nogil
    cdef void scores(self, const double* k, double* f) noexcept nogil
    cdef void decay(self, double factor) noexcept nogil
    cdef void settle(self) noexcept nogil
    cdef int put(self, Py_ssize_t i, const void* x, const double* a, double own, long long birth) except -1 nogil
    cdef int append(self, const void* x, const double* a, double own, long long birth) except -1 nogil
    cdef void drop(self, Py_ssize_t i) noexcept nogil
    cdef Py_ssize_t oldest(self) noexcept nogil
    cdef cnp.ndarray as_point(self, cnp.ndarray x)
    cdef int check(self, Py_ssize_t i) except -1


# ----------------------------------------------------------------------------------------------------------------------
# A bounded buffer of terms for compiled loops: keeper.admit(...) stores the present row and drops one entry if needed.
# ----------------------------------------------------------------------------------------------------------------------
cdef class Eviction:
    cdef readonly str rule
    cdef readonly Py_ssize_t budget     # 0: none
    cdef Terms f
    cdef int code
    cdef Py_ssize_t ld
    cdef double* factor                 # project: Cholesky factor of the Gram matrix, by columns
    cdef Py_ssize_t* order              # slot of each row of the factor
    cdef Py_ssize_t* place              # row of the factor of each slot
    cdef double* work
    cdef Py_ssize_t* partners
    cdef object _factor, _order, _place, _work, _partners

    cdef Py_ssize_t limit(self) noexcept nogil
    cdef int admit(self, const double* alpha, double own, long long t) except -1 nogil
    cdef void expire(self, long long t) noexcept nogil
    cdef Py_ssize_t smallest(self) noexcept nogil
    cdef int replace(self, const double* a, double own, long long t) except -1 nogil
    cdef void project(self) noexcept nogil
    cdef int merge(self, long long t) except -1 nogil
    cdef Py_ssize_t partner(self, Py_ssize_t i, double* h) noexcept nogil
    cdef int unite(self, Py_ssize_t i, Py_ssize_t j, double h, long long t) except -1 nogil


# ----------------------------------------------------------------------------------------------------------------------
# A Gram matrix and its inverse for compiled loops, kept right while points change places.
# ----------------------------------------------------------------------------------------------------------------------
cdef class Inverse:
    cdef readonly Py_ssize_t n          # points
    cdef readonly Py_ssize_t changes    # exchanges since the inverse was last computed
    cdef double* K                      # K + ridge, row i at K + i * n
    cdef double* G                      # its inverse, row i at G + i * n
    cdef double* k                      # n numbers: the kernel row of the last `solve`
    cdef double* d                      # n numbers: its coefficients
    cdef double* b                      # n numbers: the projection of the last `share`
    cdef double* c
    cdef double* rest
    cdef double own
    cdef object _K, _G, _work

    cdef int hold(self, object K, object G, Py_ssize_t changes) except -1
    cdef int compute(self, Terms f) except -1
    cdef int refresh(self) except -1
    cdef double solve(self, const double* k, double own) noexcept nogil
    cdef void share(self, Py_ssize_t r, double pivot) noexcept nogil
    cdef void exchange(self, Py_ssize_t r, double pivot) noexcept nogil


# ----------------------------------------------------------------------------------------------------------------------
# The span of stored points for compiled loops: projection on it, distance to it, one more point.
# ----------------------------------------------------------------------------------------------------------------------
cdef class Span:
    cdef readonly Py_ssize_t n          # points
    cdef Py_ssize_t capacity
    cdef double* L                      # row i of the factor at L + i * capacity
    cdef double* z                      # capacity numbers: L^-1 k of the last `reach`
    cdef double* d                      # capacity numbers: K^-1 k of the last `project`
    cdef double* over                   # capacity numbers: 1 over the diagonal of L
    cdef object _L, _work

    cdef int reserve(self, Py_ssize_t n) except -1
    cdef double reach(self, const double* k, double own) noexcept nogil
    cdef void project(self) noexcept nogil
    cdef void extend(self, double delta2) noexcept nogil
