# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""A kernel expansion f = sum a_i k(x_i, .) in memory: its points, its coefficients, and the rules of its budget."""
import numpy as np
cimport numpy as cnp
from libc.math cimport exp, fabs, log, sqrt
from libc.string cimport memcmp, memcpy

from nystream._core.kernels import rounded
from nystream._core.linalg import aligned_zeros
from nystream._core.kernels cimport narrow
from nystream._core.linear_kernel cimport clean, linear_ops, linear_pick

cnp.import_array()

# ----------------------------------------------------------------------------------------------------------------------
# Stored points, in double or single precision, and kernel rows of a block of inputs, kept right while they change.
# ----------------------------------------------------------------------------------------------------------------------
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


# ----------------------------------------------------------------------------------------------------------------------
# The terms of a kernel expansion: stored points and their coefficients, changed a round at a time.
# ----------------------------------------------------------------------------------------------------------------------
cdef linear_ops OPS = linear_pick()
cdef enum: PIECE = 64           # rows of a prediction computed together
cdef double TINY = 1e-100       # a scale below this is multiplied into the coefficients
cdef double LONG = 1e4          # cum / scale above which the sums are settled: they lose 4 of 16 digits at most


cdef class Terms(Points):
    """Points, coefficients (K rows of them), births and running sums; memory doubles.

    The coefficient of point i is scale * a_i. The sum over rounds of its coefficient is a_i cum + past_i: `past` starts
    at -a_i cum, so that no round has to touch it. Whatever the precision of the points, all this is in double.
    """

    def __init__(self, object kernel, Py_ssize_t d, Py_ssize_t K, bint single=False):
        super().__init__(kernel, d, single)
        self.K, self.scale = K, 1.0
        self.reserve(1)

    # -- state ---------------------------------------------------------------------------------------------------------
    @property
    def coef(self):
        """(n, K), scale included; a copy."""
        return self.scale * self._coef[:, :self.n].T

    @property
    def birth(self):
        """(n,) round in which each point was stored; a window."""
        return self._birth[:self.n]

    @property
    def own(self):
        """(n,) k(x_i, x_i); a window."""
        return self._own[:self.n]

    @property
    def averaged_coef(self):
        """(n, K) mean over the rounds of the coefficients that made the predictions."""
        total = self._coef[:, :self.n] * self.cum + self._past[:, :self.n]
        return total.T / max(self.rounds, 1)

    @property
    def nbytes(self):
        return sum(a.nbytes for a in (self._points, self._coef, self._past, self._own, self._birth))

    def state(self):
        """Everything, as arrays and numbers."""
        n = self.n
        return {"points_": self._points[:n], "coef_": self._coef[:, :n], "past_": self._past[:, :n],
                "own_": self._own[:n], "birth_": self._birth[:n], "scale_": self.scale, "cum_": self.cum,
                "rounds_": self.rounds}

    def restore(self, state):
        cdef Py_ssize_t n = len(state["points_"])
        self.n = 0
        self.reserve(max(n, 1))  # arrays of the present width and outputs, also where nothing is stored
        for stored, name in ((self._points[:n], "points_"), (self._coef[:, :n], "coef_"), (self._past[:, :n], "past_"),
                             (self._own[:n], "own_"), (self._birth[:n], "birth_")):
            stored[...] = state[name]
        self.n, self.scale, self.cum, self.rounds = n, state["scale_"], state["cum_"], state["rounds_"]

    def reshape(self, Py_ssize_t d, Py_ssize_t K):
        """More columns (zeros in the stored points) or more outputs (zero coefficients)."""
        state = self.state()
        points = np.zeros((self.n, d), self._points.dtype)
        coef, past = np.zeros((K, self.n)), np.zeros((K, self.n))
        points[:, :self.d], coef[:self.K], past[:self.K] = state["points_"], state["coef_"], state["past_"]
        if d > self.d:
            state["own_"] = self.owns(points) if self.n else state["own_"]
        self.close()
        self.d, self.K, self.capacity = d, K, 0
        self.restore({**state, "points_": points, "coef_": coef, "past_": past})

    def owns(self, object X):
        """(n,) k(x, x) of the rows of X (n, d), in the precision of the points."""
        return self.form.diag(X, single=True) if self.single else self.kernel.diag(X)

    cdef int reserve(self, Py_ssize_t n) except -1:
        cdef Py_ssize_t m = self.n, before = self.capacity, capacity
        Points.reserve(self, n)
        capacity = self.capacity
        if capacity == before:
            return 0
        own, birth = np.empty(capacity), np.empty(capacity, np.int64)
        coef, past = np.empty((self.K, capacity)), np.empty((self.K, capacity))
        if m:
            own[:m], birth[:m] = self._own[:m], self._birth[:m]
            coef[:, :m], past[:, :m] = self._coef[:, :m], self._past[:, :m]
        self._own, self._birth, self._coef, self._past = own, birth, coef, past
        self.diag, self.born = <double*> cnp.PyArray_DATA(own), <long long*> cnp.PyArray_DATA(birth)
        self.a, self.sums = <double*> cnp.PyArray_DATA(coef), <double*> cnp.PyArray_DATA(past)
        return 0

    # -- values --------------------------------------------------------------------------------------------------------
    cdef void scores(self, const double* k, double* f) noexcept nogil:
        """f (K) from a kernel row k (n)."""
        cdef Py_ssize_t c
        for c in range(self.K):
            f[c] = self.scale * OPS.dot(self.n, self.a + c * self.capacity, k)

    def predict(self, cnp.ndarray X, object coef=None):
        """(b, d) -> (b, K) with the stored coefficients, or with others, (n, any K)."""
        cdef Py_ssize_t b = cnp.PyArray_DIM(X, 0), n = self.n, i, j, c, m
        cdef const double* x = clean(X, b, self.d)
        cdef cnp.ndarray A = np.ascontiguousarray(self._coef[:, :n] if coef is None else coef.T)
        cdef Py_ssize_t K = cnp.PyArray_DIM(A, 0)
        cdef double scale = self.scale if coef is None else 1.0
        cdef const double* a = clean(A, K, n)
        cdef cnp.ndarray P = np.zeros((b, K))
        if n == 0 or b == 0:
            return P
        cdef cnp.ndarray R = np.empty((min(b, PIECE), n)), Z
        cdef const void* z = x
        cdef float* narrowed = NULL
        if self.single:
            Z = np.empty((min(b, PIECE), self.d), np.float32)
            z = narrowed = <float*> cnp.PyArray_DATA(Z)
        cdef double* r = <double*> cnp.PyArray_DATA(R)
        cdef double* p = <double*> cnp.PyArray_DATA(P)
        for i in range(0, b, PIECE):
            m = min(<Py_ssize_t> PIECE, b - i)
            if self.form is None:
                R = np.ascontiguousarray(self.kernel(X[i:i + m], self.points), dtype=np.float64)
                r = <double*> clean(R, m, n)
            with nogil:
                if self.single:
                    narrow(x + i * self.d, m * self.d, narrowed)
                else:
                    z = x + i * self.d
                if self.form is not None:
                    self.fill(z, m, self.xs, n, r, n)
                for j in range(m):
                    for c in range(K):
                        p[(i + j) * K + c] = scale * OPS.dot(n, a + c * n, r + j * n)
        return P

    cdef void begin(self, Py_ssize_t j) noexcept nogil:
        """Round of block row j: its hypothesis enters the average."""
        self.at = j
        self.rounds += 1
        if self.cum > LONG * self.scale:
            self.settle()
        self.cum += self.scale

    cdef Py_ssize_t oldest(self) noexcept nogil:
        """The entry that was stored first."""
        cdef Py_ssize_t i, first = 0
        for i in range(1, self.n):
            if self.born[i] < self.born[first]:
                first = i
        return first

    # -- changes -------------------------------------------------------------------------------------------------------
    cdef void decay(self, double factor) noexcept nogil:
        """All coefficients times factor."""
        cdef Py_ssize_t i, c
        self.scale *= factor
        if self.scale < TINY:
            self.settle()
            for c in range(self.K):
                for i in range(self.n):
                    self.a[c * self.capacity + i] *= self.scale
            self.scale = 1.0

    cdef void settle(self) noexcept nogil:
        """Move a_i cum into the sums, so that cum starts at 0 again."""
        cdef Py_ssize_t i, c
        for c in range(self.K):
            for i in range(self.n):
                self.sums[c * self.capacity + i] += self.cum * self.a[c * self.capacity + i]
        self.cum = 0.0

    cdef int put(self, Py_ssize_t i, const void* x, const double* a, double own, long long birth) except -1 nogil:
        """Entry i becomes (x, a), a (K) in units of `scale`."""
        cdef Py_ssize_t c
        memcpy(self.xs + i * self.stride, x, self.stride)
        for c in range(self.K):
            self.a[c * self.capacity + i] = a[c]
            self.sums[c * self.capacity + i] = -self.cum * a[c]
        self.diag[i], self.born[i] = own, birth
        return self.refresh(i, x)

    cdef int append(self, const void* x, const double* a, double own, long long birth) except -1 nogil:
        """One more entry; there is room for it (`reserve`, `open`), unless the state came from a file that lies."""
        if self.n >= self.capacity or (self.b and self.n >= self.ld):
            with gil:
                raise IndexError(f"there is no room for more than {self.n} points")
        self.n += 1
        return self.put(self.n - 1, x, a, own, birth)

    cdef void drop(self, Py_ssize_t i) noexcept nogil:
        """Entry i goes; the last one takes its place."""
        cdef Py_ssize_t last = self.n - 1, j, c
        self.n = last
        if i == last:
            return
        memcpy(self.xs + i * self.stride, self.xs + last * self.stride, self.stride)
        for c in range(self.K):
            self.a[c * self.capacity + i] = self.a[c * self.capacity + last]
            self.sums[c * self.capacity + i] = self.sums[c * self.capacity + last]
        self.diag[i], self.born[i] = self.diag[last], self.born[last]
        for j in range(self.at, self.b):
            self.rows[j * self.ld + i] = self.rows[j * self.ld + last]

    # -- the same from Python, checked: what dictionary.Expansion calls ------------------------------------------------
    def open_block(self, cnp.ndarray X, Py_ssize_t limit):
        self.open(X, 0, cnp.PyArray_DIM(X, 0), limit)

    def close_block(self):
        self.close()

    def begin_round(self, Py_ssize_t j):
        """Round of block row j -> its kernel row (n,), a window that changes of points keep right."""
        if not self.at <= j < self.b:
            raise IndexError(f"row {j} is not one to come of the open block of {self.b} rows")
        self.begin(j)
        return self.kernel_row()

    def kernel_row(self):
        """(n,) k(x, x_i) of the present row."""
        return self._rows[self.at * self.ld:self.at * self.ld + self.n]

    def own_value(self):
        """k(x, x) of the present row."""
        return self.k_own()

    def values(self, cnp.ndarray k):
        """(K,) from a kernel row (n,)."""
        cdef cnp.npy_intp K = self.K
        cdef cnp.ndarray f = cnp.PyArray_EMPTY(1, &K, cnp.NPY_FLOAT64, 0)
        self.scores(clean(k, -1, self.n), <double*> cnp.PyArray_DATA(f))
        return f

    def store(self, cnp.ndarray x, cnp.ndarray alpha, double own, long long birth):
        cdef cnp.ndarray row = self.as_point(x), a = alpha / self.scale
        cdef const void* point = cnp.PyArray_DATA(row)
        cdef const double* values = clean(a, -1, self.K)
        if self.b and self.n == self.ld:
            raise IndexError(f"the open block has columns for {self.ld} points; close it first")
        if not self.b or self.n == self.capacity:
            self.reserve(self.n + 1)
        # a row of the block is passed on as such, so that Python kernels need no new call
        if self.b and memcmp(self.x(), point, self.stride) == 0:
            point = self.x()
        self.append(point, values, own, birth)

    def replace(self, Py_ssize_t i, cnp.ndarray x, cnp.ndarray alpha, double own, long long birth):
        cdef cnp.ndarray row = self.as_point(x), a = alpha / self.scale
        self.check(i)
        self.put(i, cnp.PyArray_DATA(row), clean(a, -1, self.K), own, birth)

    cdef cnp.ndarray as_point(self, cnp.ndarray x):
        clean(x, -1, self.d)
        return rounded(x) if self.single else x

    def forget(self, Py_ssize_t i):
        self.check(i)
        self.drop(i)

    def shrink(self, double factor):
        self.decay(factor)

    def add(self, cnp.ndarray alpha):
        """Add alpha (n, K) to the coefficients."""
        change = np.ascontiguousarray(alpha / self.scale)
        clean(change, self.n, self.K)
        self._coef[:, :self.n] += change.T
        self._past[:, :self.n] -= self.cum * change.T

    cdef int check(self, Py_ssize_t i) except -1:
        if not 0 <= i < self.n:
            raise IndexError(f"no point {i}: {self.n} are stored")
        return 0


# ----------------------------------------------------------------------------------------------------------------------
# The buffer of a budget learner: which point leaves when one enters, and what becomes of its share.
# ----------------------------------------------------------------------------------------------------------------------
cdef extern from "keep_kernel.h" nogil:
    ctypedef struct exp_ops:
        pass
    ctypedef struct keep_ops:
        Py_ssize_t (*smallest)(Py_ssize_t, Py_ssize_t, Py_ssize_t, const double*, const double*, const long long*,
                               double*) noexcept nogil
        void (*append)(Py_ssize_t, Py_ssize_t, double*, double*, double, double) noexcept nogil
        void (*inverse_column)(Py_ssize_t, Py_ssize_t, const double*, Py_ssize_t, double*) noexcept nogil
        void (*erase)(Py_ssize_t, Py_ssize_t, double*, Py_ssize_t, double*) noexcept nogil
        void (*golden)(const exp_ops*, Py_ssize_t, const double*, double, const double*, const double*, double*,
                       double*, double*) noexcept nogil
    exp_ops exp_pick()
    keep_ops keep_pick()

cdef exp_ops EXPS = exp_pick()
cdef keep_ops KEEP = keep_pick()
cdef enum: NONE, SMALLEST, OLDEST, CONTRIBUTION, PROJECT, MERGE, AGE
RULES = {"none": NONE, "smallest": SMALLEST, "oldest": OLDEST, "contribution": CONTRIBUTION, "project": PROJECT,
         "merge": MERGE, "age": AGE}
cdef double RIDGE = 1e-10       # of the projection's solve, relative to k(x, x)


cdef class Eviction:
    """At most `budget` terms. The rules and their reasons are told in nystream.dictionary.budget."""

    def __init__(self, Terms terms, str rule, Py_ssize_t budget):
        self.f, self.rule, self.code, self.budget = terms, rule, RULES[rule], budget
        self.ld = budget + 1
        if terms.single and (self.code == PROJECT or self.code == MERGE):
            raise TypeError(f"the rule {rule!r} needs points in double precision")
        if self.code == PROJECT:
            self._factor = np.zeros((self.ld, self.ld))
            self._order, self._place = np.zeros(self.ld, np.intp), np.zeros(self.ld, np.intp)
            self.factor = <double*> cnp.PyArray_DATA(self._factor)
            self.order = <Py_ssize_t*> cnp.PyArray_DATA(self._order)
            self.place = <Py_ssize_t*> cnp.PyArray_DATA(self._place)
        if self.code == MERGE:
            self._partners = np.zeros(self.ld, np.intp)
            self.partners = <Py_ssize_t*> cnp.PyArray_DATA(self._partners)
        # numbers for each entry: merging compares pairs, rules of size look at all, the others at none
        each = 14 if self.code == MERGE else 0 if self.code == NONE or self.code == AGE else 1
        if each and terms.n > budget:   # as only a forged file has it
            raise ValueError(f"{terms.n} points are more than the budget of {budget}")
        self._work = np.zeros(each * self.ld + 4 * terms.K + 2 * terms.d)
        self.work = <double*> cnp.PyArray_DATA(self._work)

    def refactor(self):
        """The factor of the points stored already, from the beginning, O(n^3)."""
        cdef Py_ssize_t n = self.f.n
        if self.code != PROJECT or n == 0:
            return
        own = self.f._own[:n]
        K = np.asarray(self.f.kernel(self.f._points[:n], self.f._points[:n])) + np.diag(RIDGE * own)
        for i in range(n):
            column = np.ascontiguousarray(K[i, :self.ld])
            KEEP.append(i, self.ld, self.factor, <double*> cnp.PyArray_DATA(<cnp.ndarray> column), K[i, i],
                        RIDGE * own[i])
        self._order[:n] = self._place[:n] = np.arange(n)

    def state(self):
        """What cannot be recomputed bit for bit from the terms."""
        n = self.f.n
        if self.code != PROJECT:
            return {}
        return {"factor_": self._factor[:n, :n].copy(), "order_": self._order[:n].copy()}

    def restore(self, state):
        cdef Py_ssize_t n = self.f.n
        if self.code == PROJECT:
            self._factor[:n, :n], self._order[:n] = state["factor_"], state["order_"]
            self._place[self._order[:n]] = np.arange(n)

    @property
    def nbytes(self):
        arrays = (self._factor, self._order, self._place, self._work, self._partners)
        return sum(a.nbytes for a in arrays if a is not None)

    def enter(self, cnp.ndarray alpha, double own, long long t):
        """`admit` from Python."""
        self.admit(clean(alpha, -1, self.f.K), own, t)

    cdef Py_ssize_t limit(self) noexcept nogil:
        """Points that may be stored for a moment."""
        return self.ld if self.code != NONE else (<size_t> -1) >> 1

    cdef int admit(self, const double* alpha, double own, long long t) except -1 nogil:
        """Store the present row of the open block with coefficients alpha (K), own = k(x, x) > 0, in round t."""
        cdef Py_ssize_t c, i, n = self.f.n, K = self.f.K
        cdef double* a = self.work
        for c in range(K):
            a[c] = alpha[c] / self.f.scale
        if n >= self.budget and (self.code == SMALLEST or self.code == OLDEST or self.code == CONTRIBUTION):
            return self.replace(a, own, t)
        if self.code == PROJECT:
            for i in range(n):
                self.work[K + i] = self.f.row()[self.order[i]]
            KEEP.append(n, self.ld, self.factor, self.work + K, own * (1 + RIDGE), own * RIDGE)
            self.order[n] = self.place[n] = n
        self.f.append(self.f.x(), a, own, t)
        if self.code == PROJECT and n >= self.budget:
            self.project()
        elif self.code == MERGE and n >= self.budget:
            self.merge(t)
        return 0

    cdef void expire(self, long long t) noexcept nogil:
        """At the end of round t nothing may be `budget` rounds old."""
        cdef Py_ssize_t i = self.f.n
        if self.code != AGE:
            return
        while i > 0:
            i -= 1
            if self.f.born[i] <= t - self.budget:
                self.f.drop(i)

    cdef Py_ssize_t smallest(self) noexcept nogil:
        """The entry whose largest coefficient is least (times |k(x_i, .)| for `contribution`); the oldest of equals."""
        cdef const double* diag = self.f.diag if self.code == CONTRIBUTION else NULL
        return KEEP.smallest(self.f.n, self.f.K, self.f.capacity, self.f.a, diag, self.f.born, self.work + self.f.K)

    cdef int replace(self, const double* a, double own, long long t) except -1 nogil:
        """The new entry takes the slot of the one to go, unless it is itself the smallest."""
        cdef Py_ssize_t c, i
        cdef double v = 0
        if self.code == OLDEST:
            return self.f.put(self.f.oldest(), self.f.x(), a, own, t)
        for c in range(self.f.K):
            v = max(v, fabs(a[c]))
        if self.code == CONTRIBUTION:
            v *= sqrt(own)
        i = self.smallest()
        if v < self.work[self.f.K + i]:      # among equals the old one goes
            return 0
        return self.f.put(i, self.f.x(), a, own, t)

    cdef void project(self) noexcept nogil:
        """Drop the smallest entry r and add a_r times its projection on the others.

        With G the inverse of the Gram matrix of all, the projection of k(x_r, .) on the others has coefficients
        -G_jr / G_rr; then the factor loses row r.
        """
        cdef Py_ssize_t n = self.f.n, last = n - 1, r = self.smallest(), q = self.place[r], p, slot, _
        cdef double *g = self.work + self.f.K
        cdef double *a = self.f.a
        cdef double *sums = self.f.sums
        cdef double step
        KEEP.inverse_column(n, self.ld, self.factor, q, g)
        for _ in range(self.f.K):
            for p in range(n):
                slot, step = self.order[p], -g[p] / g[q]
                if p != q:
                    a[slot] += step * a[r]
                    sums[slot] += step * sums[r]
            a, sums = a + self.f.capacity, sums + self.f.capacity
        KEEP.erase(n, self.ld, self.factor, q, g)
        for p in range(q, last):
            self.order[p] = self.order[p + 1]
            self.place[self.order[p]] = p
        self.f.drop(r)
        if r != last:
            self.place[r] = self.place[last]
            self.order[self.place[r]] = r

    cdef int merge(self, long long t) except -1 nogil:
        """Unite the smallest entry i with the partner whose union costs least; drop i if it has none."""
        cdef double h = 0
        cdef Py_ssize_t i = self.smallest(), j = self.partner(i, &h)
        if j >= 0:
            self.unite(i, j, h, t)
        self.f.drop(i)
        return 0

    cdef Py_ssize_t partner(self, Py_ssize_t i, double* place) noexcept nogil:
        """The entry j that loses least when i and j become one point; -1 when no coefficients agree in sign."""
        cdef Py_ssize_t n = self.f.n, j, c, m = 0, best = -1
        cdef const double* a
        cdef double *k = self.work
        cdef double *logk = k + self.ld
        cdef double *Q = logk + self.ld
        cdef double *C = Q + self.ld
        cdef double *h = C + self.ld
        cdef double *value = h + self.ld
        cdef double P = 0, inner, square, damage, least = 0
        self.f.fill(self.f.xs + i * self.f.stride, 1, self.f.xs, n, k, n)
        for j in range(n):
            inner = square = 0
            for c in range(self.f.K):
                a = self.f.a + c * self.f.capacity
                inner += a[i] * a[j]
                square += a[j] * a[j]
            if j == i:
                P = square
            elif inner >= 0 and k[j] > 0:
                self.partners[m], logk[m], Q[m], C[m] = j, log(k[j]), square, inner
                m += 1
        if m == 0:
            return -1
        KEEP.golden(&EXPS, m, logk, P, Q, C, h, value, value + self.ld)
        for j in range(m):
            damage = P + Q[j] + 2 * C[j] * k[self.partners[j]] - value[j]
            if best < 0 or damage < least:
                least, best, place[0] = damage, self.partners[j], h[j]
        return best

    cdef int unite(self, Py_ssize_t i, Py_ssize_t j, double h, long long t) except -1 nogil:
        """Entry j becomes z = h x_i + (1 - h) x_j with the coefficients of the projection on k(z, .)."""
        cdef Py_ssize_t c, K = self.f.K, d = self.f.d, ld = self.f.capacity
        cdef double logk = log(self.work[j]), u = exp((1 - h) * (1 - h) * logk), v = exp(h * h * logk)
        cdef double *a = self.work + self.ld
        cdef double *sums = a + K
        cdef double *z = sums + K
        cdef const double *xs = <const double*> self.f.xs
        for c in range(d):
            z[c] = h * xs[i * d + c] + (1 - h) * xs[j * d + c]
        for c in range(K):
            a[c] = u * self.f.a[c * ld + i] + v * self.f.a[c * ld + j]
            sums[c] = u * self.f.sums[c * ld + i] + v * self.f.sums[c * ld + j]
        self.f.put(j, z, a, self.f.diag[j], t)
        for c in range(K):
            self.f.sums[c * ld + j] = sums[c]
        return 0


# ----------------------------------------------------------------------------------------------------------------------
# A Gram matrix of a fixed number of points and its inverse: one point takes the place of another in O(n^2).
# ----------------------------------------------------------------------------------------------------------------------
cdef class Inverse:
    """K, with 1e-10 k(x, x) added to its diagonal, and G = K^-1.

    For a new point with kernel row k, d = G k are the coefficients of its projection on the span of the others and
    pivot = k(x, x) - k.d is its squared distance to it, up to the ridge.
    """

    @property
    def gram(self):
        """K, (n, n), a copy."""
        return self._K.copy() if self.n else np.zeros((0, 0))

    @property
    def matrix(self):
        """G, (n, n), a copy."""
        return self._G.copy() if self.n else np.zeros((0, 0))

    @property
    def nbytes(self):
        return self._K.nbytes + self._G.nbytes + self._work.nbytes if self.n else 0

    def restore(self, cnp.ndarray gram, cnp.ndarray matrix, Py_ssize_t changes):
        if len(gram):
            self.hold(np.array(gram), np.array(matrix), changes)

    cdef int hold(self, object K, object G, Py_ssize_t changes) except -1:
        cdef Py_ssize_t n = len(K)
        self._K, self._G, self._work, self.n, self.changes = K, G, np.zeros(5 * n), n, changes
        self.K, self.G = <double*> clean(K, n, n), <double*> clean(G, n, n)
        self.k = <double*> clean(self._work, -1, 5 * n)
        self.d, self.b, self.c, self.rest = self.k + n, self.k + 2 * n, self.k + 3 * n, self.k + 4 * n
        return 0

    cdef int compute(self, Terms f) except -1:
        """Both from the kernel of the stored points."""
        cdef Py_ssize_t n = f.n
        K = np.ascontiguousarray(f.kernel(f._points[:n], f._points[:n]), dtype=np.float64)
        K.flat[::n + 1] = f._own[:n] * (1 + RIDGE)
        self.hold(K, np.empty((n, n)), 0)
        return self.refresh()

    cdef int refresh(self) except -1:
        """G from K, O(n^3), on the scale where the diagonal is 1."""
        root = np.sqrt(self._K.diagonal())
        scale = np.outer(root, root)
        G = np.linalg.inv(self._K / scale)
        self._G[:] = 0.5 * (G + G.T) / scale
        self.changes = 0
        return 0

    cdef double solve(self, const double* k, double own) noexcept nogil:
        """d for a new point with kernel row k (n) and own = k(x, x); its pivot, never below its share of the ridge.

        G k is corrected by G (k - K G k). Where points are nearly dependent the pivot is a small difference, and
        without this step a single exchange could cost G four digits.
        """
        cdef Py_ssize_t i, n = self.n
        memcpy(self.k, k, n * sizeof(double))
        self.own = own * (1 + RIDGE)
        for i in range(n):
            self.d[i] = OPS.dot(n, self.G + i * n, k)
        for i in range(n):
            self.rest[i] = k[i] - OPS.dot(n, self.K + i * n, self.d)
        for i in range(n):
            self.d[i] += OPS.dot(n, self.G + i * n, self.rest)
        return max(self.own - OPS.dot(n, self.d, k), own * RIDGE)

    cdef void share(self, Py_ssize_t r, double pivot) noexcept nogil:
        """b: the projection of point r on the others (b_j) and the point of the last `solve` (b_r), its place taken.

        In the bordered inverse the coefficients are -G_rj / G_rr; written with q = pivot G_rr + d_r^2 nothing is
        divided by the pivot, which is next to nothing when the new point repeats a stored one.
        """
        cdef Py_ssize_t i, n = self.n
        cdef double q
        memcpy(self.c, self.G + r * n, n * sizeof(double))
        q = pivot * self.c[r] + self.d[r] * self.d[r]
        for i in range(n):
            self.b[i] = -(pivot * self.c[i] + self.d[r] * self.d[i]) / q
        self.b[r] = self.d[r] / q

    cdef void exchange(self, Py_ssize_t r, double pivot) noexcept nogil:
        """After `share(r)`: the point of the last `solve` takes the place of point r.

        Bordering by the one and deleting the other is, for rows other than r, G += A d' + B c' with c = G_r,
        A = (c_r d - d_r c)/q and B = b; row r becomes -A, its diagonal c_r/q. Row r of the sum is 0, as it must be.
        """
        cdef Py_ssize_t i, n = self.n
        cdef double a = self.c[r], dr = self.d[r], q = pivot * a + dr * dr, A
        for i in range(n):
            self.K[r * n + i] = self.K[i * n + r] = self.k[i]
            if i != r:
                A = (a * self.d[i] - dr * self.c[i]) / q
                OPS.mix(n, 1.0, self.G + i * n, A, self.d)
                OPS.mix(n, 1.0, self.G + i * n, self.b[i], self.c)
                self.G[r * n + i] = self.G[i * n + r] = -A
        self.G[r * n + r], self.K[r * n + r] = a / q, self.own
        self.changes += 1

    def replace(self, Py_ssize_t r, cnp.ndarray k, double own):
        """A new point in the place of point r -> r's projection (n,), the new point's coefficient at r; from Python."""
        cdef double pivot = self.solve(clean(k, -1, self.n), own)
        self.share(r, pivot)
        projection = self._work[2 * self.n:3 * self.n].copy()
        self.exchange(r, pivot)
        return projection


# ----------------------------------------------------------------------------------------------------------------------
# The span of stored points in the kernel's space: how far a new one is from it, and its projection, in O(n^2).
# ----------------------------------------------------------------------------------------------------------------------
cdef class Span:
    """L L' = K, the Gram matrix of the points, L lower triangular; memory doubles."""

    def __init__(self):
        self.reserve(16)

    @property
    def matrix(self):
        """L, (n, n), a copy."""
        return np.tril(self._L[:self.n, :self.n])

    @property
    def nbytes(self):
        return self._L.nbytes + self._work.nbytes

    def restore(self, cnp.ndarray matrix):
        cdef Py_ssize_t n = len(matrix), i
        self.n = 0
        self.reserve(n)
        self._L[:n, :n] = matrix
        self.n = n
        for i in range(n):
            self.over[i] = 1 / self.L[i * (self.capacity + 1)]

    cdef int reserve(self, Py_ssize_t n) except -1:
        cdef Py_ssize_t m = self.n, capacity = max(self.capacity, 16)
        if n <= self.capacity:
            return 0
        while capacity < n:
            capacity *= 2
        L, work = np.zeros((capacity, capacity)), np.zeros(3 * capacity)
        if m:
            L[:m, :m] = self._L[:m, :m]
            work[2 * capacity:2 * capacity + m] = self._work[2 * self.capacity:2 * self.capacity + m]
        self._L, self._work, self.capacity = L, work, capacity
        self.L, self.z = <double*> cnp.PyArray_DATA(<cnp.ndarray> L), <double*> cnp.PyArray_DATA(<cnp.ndarray> work)
        self.d, self.over = self.z + capacity, self.z + 2 * capacity
        return 0

    cdef double reach(self, const double* k, double own) noexcept nogil:
        """Squared distance to the span of a point with kernel row k (n) and own = k(x, x); rounding may make it < 0.

        z = L^-1 k: four rows at a time, whose products with what is known of z do not wait for one another.
        """
        cdef Py_ssize_t i = 0, j, c, ld = self.capacity
        cdef double[4] rest
        cdef const double* row
        while i < self.n:
            row = self.L + i * ld
            for j in range(min(4, self.n - i)):
                rest[j] = k[i + j] - OPS.dot(i, row + j * ld, self.z)
            row += i
            for j in range(min(4, self.n - i)):
                for c in range(j):
                    rest[j] -= row[j * ld + c] * self.z[i + c]
                self.z[i + j] = rest[j] * self.over[i + j]
            i += 4
        return own - OPS.dot(self.n, self.z, self.z)

    cdef void project(self) noexcept nogil:
        """d: the coefficients of the projection of the point of the last `reach`, L^-T z."""
        cdef Py_ssize_t i, ld = self.capacity
        memcpy(self.d, self.z, self.n * sizeof(double))
        for i in range(self.n - 1, -1, -1):
            self.d[i] *= self.over[i]
            OPS.mix(i, 1.0, self.d, -self.d[i], self.L + i * ld)

    cdef void extend(self, double delta2) noexcept nogil:
        """The point of the last `reach`, which said delta2 > 0, becomes point n; there is room (`reserve`)."""
        memcpy(self.L + self.n * self.capacity, self.z, self.n * sizeof(double))
        self.L[self.n * (self.capacity + 1)] = sqrt(delta2)
        self.over[self.n] = 1 / sqrt(delta2)
        self.n += 1

    def coefficients(self, cnp.ndarray k, double own):
        """(projection coefficients (n,), squared distance) of a point with kernel row k (n,), from Python."""
        cdef double delta2 = self.reach(clean(k, -1, self.n), own)
        self.project()
        return self._work[self.capacity:self.capacity + self.n].copy(), delta2

    def append(self, cnp.ndarray k, double own):
        """One more point with kernel row k (n,), from Python."""
        self.reserve(self.n + 1)
        self.extend(self.reach(clean(k, -1, self.n), own))
