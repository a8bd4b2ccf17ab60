# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The terms of a kernel expansion: stored points and their coefficients, changed a round at a time."""
import numpy as np

cimport numpy as cnp
from libc.string cimport memcmp, memcpy

from nystream._core.expansions.points cimport Points
from nystream._core.kernel_rows cimport narrow
from nystream._core.linalg.linear_kernel cimport clean, linear_ops, linear_pick
from nystream._core.kernel_rows import rounded

cnp.import_array()

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
