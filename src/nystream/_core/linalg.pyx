# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Factors of positive definite matrices: LDL of least squares, nested Nystrom coordinates, Cholesky that grows."""
import numpy as np
cimport numpy as cnp
from libc.math cimport INFINITY, pow, sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset
from scipy.linalg.cython_blas cimport dgemm, dgemv, dsyrk, dtrsm
from scipy.linalg.cython_lapack cimport dpotrf

from nystream._core.inputs cimport OneRow, RowMap, clean_number
from nystream._core.ldl_kernel cimport (
    LDL_SAMPLES, Scratch, ldl_choose, ldl_flush, ldl_fn, ldl_gather, ldl_isa, ldl_norm2, ldl_plain_sample,
    ldl_together, ldl_unflush, reserve,
)
from nystream._core.meter cimport count_round

cnp.import_array()

# ----------------------------------------------------------------------------------------------------------------------
# The growing triangular factor of nested Nystrom coordinates: the shell around simd/nested_kernel.h.
# ----------------------------------------------------------------------------------------------------------------------
cdef extern from "nested_kernel.h" nogil:
    ctypedef struct nested_ops:
        int lanes
        void (*forward)(int groups, int panels, const double* R, double* X, double* Q) noexcept nogil
        void (*backward)(int groups, int panels, const double* R, double* X) noexcept nogil
        void (*forward_one)(int panels, const double* R, double* x, double* q) noexcept nogil
        void (*backward_one)(int panels, const double* R, double* x) noexcept nogil
    nested_ops nested_pick() noexcept
    double nested_tree(const double* q, int lanes) noexcept
    void nested_gather(int lanes, int n, int panels, int m, const double* K, size_t ld, double* X) noexcept
    void nested_scatter(int lanes, int n, int panels, int columns, const double* X, double* Z, size_t ld) noexcept

cdef nested_ops OPS = nested_pick()
cdef enum:
    FEW = 3                # fewer rows than a group / FEW go one by one
    TOGETHER = 16          # rows that share one pass over R while it is in the cache
    CACHED = 1 << 16       # numbers of R, or of the rows that share a pass over a larger one, that stay in the cache
    NESTED_RELEASE = 64           # rows of R from which one solve is long enough to be worth giving up the GIL


cdef class NestedFactor:
    """Lower triangular R (n, n) in panels of 8 rows, which grows by rows.

    Solves give as many columns as are asked for; beyond n they are 0. The result for a row does not depend on the rows
    that are solved with it, to the last bit.
    """

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
        cdef Py_ssize_t i
        return np.array([self._R[32*(i//8)*(i//8 + 1) + 8*i + i % 8] for i in range(self.n)])

    def __deepcopy__(self, memo):
        return NestedFactor(self.matrix)

    def append(self, const double[::1] row, double last):
        """One more row: (row, last), row (n,)."""
        cdef Py_ssize_t i, p = self.n//8, lane = self.n % 8
        if row.shape[0] != self.n:
            raise ValueError(f"the new row must have {self.n} numbers before its last one, got {row.shape[0]}")
        if not last > 0:
            raise ValueError(f"the last number of a row must be greater than 0, got {last}")
        if lane == 7:
            self._reserve(p + 2)
        cdef double* panel = self._R + 32*p*(p + 1)
        for i in range(self.n):
            panel[8*i + lane] = row[i]
        panel[8*self.n + lane] = last
        self.n += 1

    def forward(self, cnp.ndarray K, cnp.ndarray out=None):
        """R^-1 k for every row k of K (rows, n): (Z, squares), Z (rows, `width`) or `out`, squares |z|^2 (rows,)."""
        cdef Py_ssize_t rows, columns
        rows, columns = self._check(K, self.n, out)
        cdef cnp.ndarray Z = out if out is not None else np.empty((rows, columns))
        cdef cnp.ndarray squares = np.empty(rows)
        self._solve(True, rows, <const double*> cnp.PyArray_DATA(K), self.n, <double*> cnp.PyArray_DATA(Z), columns,
                    <double*> cnp.PyArray_DATA(squares))
        return Z, squares

    def forward_row(self, cnp.ndarray k):
        """R^-1 k for one row k (n,): (z (width,), |z|^2)."""
        cdef cnp.npy_intp width = 8*(self.n//8 + 1)
        cdef int panels = self.n//8 + 1
        if (cnp.PyArray_TYPE(k) != cnp.NPY_FLOAT64 or cnp.PyArray_NDIM(k) != 1 or cnp.PyArray_DIM(k, 0) != self.n
                or not cnp.PyArray_IS_C_CONTIGUOUS(k)):
            raise ValueError(f"k must be {self.n} float64 numbers, contiguous")
        cdef cnp.ndarray z = cnp.PyArray_EMPTY(1, &width, cnp.NPY_FLOAT64, 0)
        cdef double* x = <double*> cnp.PyArray_DATA(z)
        cdef double square
        nested_gather(1, 1, panels, self.n, <const double*> cnp.PyArray_DATA(k), self.n, x)
        if self.n < NESTED_RELEASE:
            square = self.forward_one(x)
        else:
            with nogil:
                square = self.forward_one(x)
        return z, square

    cdef double forward_one(self, double* z) noexcept nogil:
        """R^-1 z in place, z (width,) with 0 from n on: |z|^2 of the result."""
        cdef double[8] q
        OPS.forward_one(self.n//8 + 1, self._R, z, q)
        return nested_tree(q, 1)

    cdef void backward_one(self, double* z) noexcept nogil:
        """R^-T z in place, z (width,) with 0 from n on."""
        OPS.backward_one(self.n//8 + 1, self._R, z)

    def backward(self, cnp.ndarray Z, cnp.ndarray out=None):
        """R^-T z for every row z (rows, at least n; what is beyond n is not read): (rows, `width`) or `out`."""
        cdef Py_ssize_t rows, columns, given = cnp.PyArray_DIM(Z, 1)
        if given < self.n:
            raise ValueError(f"rows must have at least {self.n} numbers, got {given}")
        rows, columns = self._check(Z, given, out)
        cdef cnp.ndarray A = out if out is not None else np.empty((rows, columns))
        self._solve(False, rows, <const double*> cnp.PyArray_DATA(Z), given, <double*> cnp.PyArray_DATA(A), columns,
                    NULL)
        return A

    cdef int _solve(self, bint forward, Py_ssize_t rows, const double* K, Py_ssize_t ld, double* Z, Py_ssize_t columns,
                    double* squares) except -1:
        """Groups of rows; the last few of them one by one."""
        cdef int panels = self.n//8 + 1, lanes = OPS.lanes, most, S, step, i
        cdef int ready = <int> min(columns, 8*panels)
        cdef Py_ssize_t t = 0, j
        most = TOGETHER if 32*panels*(panels + 1) <= CACHED else max(TOGETHER, CACHED//(8*panels))
        most = <int> min(most, rows + lanes - 1)//lanes*lanes
        cdef double* X = <double*> malloc((<size_t> 8*panels + 8)*max(most, 1)*sizeof(double))
        if X == NULL:
            raise MemoryError
        cdef double* q = X + <size_t> 8*panels*most
        with nogil:
            while t < rows:
                S = <int> min(rows - t, most)
                if S >= lanes:
                    S -= S % lanes
                step = 1 if S*FEW < lanes else lanes
                if step == 1:
                    S = 1
                nested_gather(step, S, panels, self.n, K + t*ld, ld, X)
                if not forward:
                    if step == 1:
                        OPS.backward_one(panels, self._R, X)
                    else:
                        OPS.backward((S + lanes - 1)//lanes, panels, self._R, X)
                elif step == 1:
                    OPS.forward_one(panels, self._R, X, q)
                else:
                    OPS.forward((S + lanes - 1)//lanes, panels, self._R, X, q)
                nested_scatter(step, S, panels, ready, X, Z + t*columns, columns)
                for i in range(S):
                    if squares != NULL:
                        squares[t + i] = nested_tree(q + 8*step*(i//step) + i % step, step)
                    for j in range(ready, columns):
                        Z[(t + i)*columns + j] = 0
                t += S
        free(X)
        return 0

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


# ----------------------------------------------------------------------------------------------------------------------
# Exact streaming least squares on A = L D L': the shell around simd/ldl_kernel.h, which explains the arithmetic.
# ----------------------------------------------------------------------------------------------------------------------
cdef ldl_fn learn_pass = ldl_choose(1)
cdef ldl_fn query_pass = ldl_choose(0)

ISA = ldl_isa().decode()

cdef double LARGEST = 1e200            # of |z|^2: beyond, the factor would overflow


def aligned_zeros(*shape, object dtype="float64"):
    """Zeros whose first element starts a cache line, as 512-bit loads want it."""
    cdef Py_ssize_t n = 1
    for k in shape:
        n *= k
    raw = np.zeros(n + 64 // np.dtype(dtype).itemsize, dtype)
    start = -raw.ctypes.data % 64 // raw.itemsize
    return raw[start:start + n].reshape(shape)


def record(double[::1] totals, double[:, ::1] columns, const double[:, ::1] Y, const double[:, ::1] R,
           const double[:, ::1] P, const double[::1] s, const double[::1] weights):
    """Count rounds in a meter: labels, ridge and emitted predictions (n, K), leverage times weight and weight (n,)."""
    cdef Py_ssize_t t, n = s.shape[0], K = columns.shape[1]
    if (Y.shape[0] != n or R.shape[0] != n or P.shape[0] != n or weights.shape[0] != n
            or Y.shape[1] != K or R.shape[1] != K or P.shape[1] != K):
        raise ValueError(f"a meter of {K} outputs takes three arrays ({n}, {K}) with {n} leverages and {n} weights")
    if totals.shape[0] != 3 or columns.shape[0] != 6:
        raise ValueError("these are not the arrays of a meter")
    with nogil:
        for t in range(n):
            count_round(&totals[0], &columns[0, 0], K, &Y[t, 0], &R[t, 0], &P[t, 0], s[t], weights[t])


cdef class LDL(OneRow):
    """Works on the arrays of a model, which it neither owns nor replaces; checks shapes once, here.

    tiles (blocks (blocks + 1)/2, 8, 8), dinv (8 blocks,), q (8 blocks, outputs rounded up to 8), and a meter's totals
    (3,) and columns (6, outputs). `samples` rows share one pass over the factor: a matter of speed alone.
    """
    def __cinit__(self, int dim, int outputs, double[:, :, ::1] tiles, double[::1] dinv, double[:, ::1] q,
                  double[::1] totals, double[:, ::1] columns, bint vovk, clip):
        cdef int blocks = (dim + 7)//8, ld = (outputs + 7)//8*8
        if (dim < 1 or outputs < 1 or tiles.shape[0] != blocks*(blocks + 1)//2 or tiles.shape[1] != 8
                or tiles.shape[2] != 8 or dinv.shape[0] != 8*blocks or q.shape[0] != 8*blocks or q.shape[1] != ld
                or totals.shape[0] != 3 or columns.shape[0] != 6 or columns.shape[1] != outputs):
            raise ValueError("the arrays do not fit together")
        self.dim, self.outputs, self.blocks, self.ld = dim, outputs, blocks, ld
        self.vovk, self.clip = vovk, INFINITY if clip is None else clip
        self.arrays = (tiles, dinv, q, totals, columns)
        self.L, self.dinv, self.Q = &tiles[0, 0, 0], &dinv[0], &q[0, 0]
        self.totals, self.columns = &totals[0], &columns[0, 0]
        self.together = ldl_together()
        if not reserve(&self.own, blocks, ld):
            raise MemoryError

    def __dealloc__(self):
        free(self.own.memory)

    @property
    def samples(self):
        return self.together

    @samples.setter
    def samples(self, int samples):
        if not 1 <= samples <= LDL_SAMPLES:
            raise ValueError(f"samples must be from 1 to {LDL_SAMPLES}, got {samples}")
        self.together = samples

    def step(self, cnp.ndarray z, cnp.ndarray y, double weight=1.0):
        """Predictions (K,) for z (dim,), made before y (K,) is used; then learn."""
        self._check(z, 1)
        if not _is_vector(y, self.outputs):
            raise ValueError(f"y must be a contiguous float64 array of {self.outputs} labels")
        cdef cnp.npy_intp K = self.outputs
        cdef cnp.ndarray p = cnp.PyArray_EMPTY(1, &K, cnp.NPY_FLOAT64, 0)
        self.rows(1, <const double*> cnp.PyArray_DATA(z), <const double*> cnp.PyArray_DATA(y), &weight,
                  <double*> cnp.PyArray_DATA(p), self.dim >= RELEASE)
        return p

    cdef Py_ssize_t accepts(self) noexcept:
        return self.dim if self.outputs == 1 else -1

    cdef int one(self, const void* x, double y, long long t, double* p) except -1:
        return self.rows(1, <const double*> x, &y, NULL, p, self.dim >= RELEASE)

    def one_kept(self, RowMap map, object x, object y, double weight, cnp.ndarray kept, Py_ssize_t at):
        """`one_mapped` of a row of that weight, whose features, label and the weight 1 go to row `at` of kept."""
        cdef double label = 0, p = 0
        cdef const double* z
        cdef double* row
        if not clean_number(y, False, &label):
            return None
        z = <const double*> self.mapped(map, x)
        if z == NULL:
            return None
        self._check_kept(kept, at)
        self.rows(1, z, &label, &weight, &p, self.dim >= RELEASE)
        row = <double*> cnp.PyArray_DATA(kept) + at*(self.dim + 2)
        memcpy(row, z, self.dim*sizeof(double))
        row[self.dim], row[self.dim + 1] = label, 1.0
        map.passed()
        return p

    cdef int _check_kept(self, cnp.ndarray kept, Py_ssize_t at) except -1:
        if (cnp.PyArray_TYPE(kept) != cnp.NPY_FLOAT64 or cnp.PyArray_NDIM(kept) != 2 or not 0 <= at < kept.shape[0]
                or kept.shape[1] != self.dim + 2 or not cnp.PyArray_IS_C_CONTIGUOUS(kept)
                or not cnp.PyArray_ISWRITEABLE(kept)):
            raise ValueError(f"kept must have a row {at} of {self.dim + 2} numbers, contiguous")
        return 0

    def step_one(self, cnp.ndarray z, double y):
        """`step` for one output and weight 1, in plain numbers."""
        cdef double p
        self._check(z, 1)
        if self.outputs != 1:
            raise ValueError(f"step_one is for one output, this model has {self.outputs}")
        self.rows(1, <const double*> cnp.PyArray_DATA(z), &y, NULL, &p, self.dim >= RELEASE)
        return p

    def run(self, cnp.ndarray Z, cnp.ndarray Y, cnp.ndarray weights=None):
        """Predictions (n, K) of n rounds, each made before its labels were used."""
        self._check(Z, 2)
        cdef Py_ssize_t n = cnp.PyArray_DIM(Z, 0)
        if not (_is_table(Y, n, self.outputs) and (weights is None or _is_vector(weights, n))):
            raise ValueError(f"Y must be ({n}, {self.outputs}) and weights ({n},), contiguous float64")
        cdef cnp.npy_intp[2] shape
        shape[0], shape[1] = n, self.outputs
        cdef cnp.ndarray P = cnp.PyArray_EMPTY(2, shape, cnp.NPY_FLOAT64, 0)
        cdef const double* w = NULL if weights is None else <const double*> cnp.PyArray_DATA(weights)
        self.rows(n, <const double*> cnp.PyArray_DATA(Z), <const double*> cnp.PyArray_DATA(Y), w,
                  <double*> cnp.PyArray_DATA(P), n > 1 or self.dim >= RELEASE)
        return P

    def query(self, cnp.ndarray Z, bint emit=False):
        """Ridge (`emit`: emitted) predictions (n, K) and leverages z'A^-1 z (n,). Changes nothing, in any thread."""
        self._check(Z, 2)
        cdef Py_ssize_t t, k, n = cnp.PyArray_DIM(Z, 0)
        cdef int S
        cdef const double* rows = <const double*> cnp.PyArray_DATA(Z)
        M, lev = np.empty((n, self.outputs)), np.empty(n)
        cdef double[:, ::1] m = M
        cdef double[::1] s = lev
        cdef Scratch own
        if not reserve(&own, self.blocks, self.ld):
            raise MemoryError
        with nogil:
            t = 0
            while t < n:
                S = <int> min(n - t, self.together)
                self._ask(&own, S, rows + t*self.dim)
                for k in range(S):
                    s[t + k] = own.lev[k]
                    if emit:
                        self._emit(own.M + k*self.ld, own.lev[k], &m[t + k, 0])
                    else:
                        memcpy(&m[t + k, 0], own.M + k*self.ld, self.outputs*sizeof(double))
                t += S
        free(own.memory)
        return M, lev

    def remove(self, cnp.ndarray Z, const double[:, ::1] Y, const double[::1] weights):
        """Take rows out: A -= w z z', b -= w y z. Before each, ridge predictions (n, K) and leverages (n,).

        Returns (how many came out, M, lev): fewer than n if the next would leave A indefinite; the arrays are then
        spoilt. The meter is not touched.
        """
        self._check(Z, 2)
        cdef Py_ssize_t t, n = cnp.PyArray_DIM(Z, 0)
        if Y.shape[0] != n or Y.shape[1] != self.outputs or weights.shape[0] != n:
            raise ValueError(f"Y must be ({n}, {self.outputs}) and weights ({n},)")
        M, lev = np.zeros((n, self.outputs)), np.zeros(n)
        cdef double[:, ::1] m = M
        cdef double[::1] s = lev
        cdef const double* rows = <const double*> cnp.PyArray_DATA(Z)
        with nogil:
            for t in range(n):
                if weights[t] > 0:
                    ldl_gather(1, self.dim, self.blocks, rows + t*self.dim, self.own.X)
                    if ldl_plain_sample(-1, self.blocks, self.outputs, self.L, self.dinv, self.Q, &Y[t, 0],
                                        1/weights[t], self.own.X, 1, &m[t, 0], &s[t]):
                        n = t
                        break
        return n, M, lev

    cdef int _check(self, cnp.ndarray Z, int ndim) except -1:
        if (cnp.PyArray_TYPE(Z) != cnp.NPY_FLOAT64 or cnp.PyArray_NDIM(Z) != ndim
                or cnp.PyArray_DIM(Z, ndim - 1) != self.dim or not cnp.PyArray_IS_C_CONTIGUOUS(Z)):
            raise ValueError(f"features must be a contiguous float64 array with {self.dim} columns")
        return 0

    cdef int rows(self, Py_ssize_t n, const double* Z, const double* Y, const double* w, double* P,
                  bint release) except -1:
        """n rounds: features (n, dim), labels (n, K), weights (n,) or NULL, to predictions (n, K)."""
        cdef Py_ssize_t bad = _first_too_large(n, self.dim, Z, w)
        if bad >= 0:
            raise ValueError(f"the features of row {bad} are too large (|z|^2 > {LARGEST:g}); scale the inputs")
        if release:
            with nogil:
                self._learn(n, Z, Y, w, P)
        else:
            self._learn(n, Z, Y, w, P)
        return 0

    cdef void _learn(self, Py_ssize_t n, const double* Z, const double* Y, const double* w, double* P) noexcept nogil:
        """Runs of rows with weight go through the factor together; a row of weight 0 is only asked."""
        cdef Py_ssize_t t = 0, K = self.outputs
        cdef int S, k, most
        cdef Scratch* own = &self.own
        cdef double ws
        cdef unsigned mode
        while t < n:
            most = <int> min(n - t, self.together)
            S = 0
            while S < most and (w == NULL or 1/w[t + S] < INFINITY):
                own.s0[S] = 1.0 if w == NULL else 1/w[t + S]
                for k in range(K):
                    own.Y[S*self.ld + k] = Y[(t + S)*K + k]
                S += 1
            if S:
                ldl_gather(S, self.dim, self.blocks, Z + t*self.dim, own.X)
                mode = ldl_flush()
                learn_pass(S, self.blocks, self.outputs, self.L, self.dinv, self.Q, own.Y, own.s0, own.X, own.M,
                           own.lev)
                ldl_unflush(mode)
                for k in range(S):
                    ws = own.lev[k] if w == NULL else w[t + k]*own.lev[k]
                    self._emit(own.M + k*self.ld, ws, P + (t + k)*K)
                    count_round(self.totals, self.columns, K, Y + (t + k)*K, own.M + k*self.ld, P + (t + k)*K, ws,
                                1.0 if w == NULL else w[t + k])
            else:
                S = 1
                self._ask(own, 1, Z + t*self.dim)
                self._emit(own.M, own.lev[0], P + t*K)
            t += S

    cdef void _ask(self, Scratch* own, int S, const double* Z) noexcept nogil:
        ldl_gather(S, self.dim, self.blocks, Z, own.X)
        cdef unsigned mode = ldl_flush()
        query_pass(S, self.blocks, self.outputs, self.L, self.dinv, self.Q, own.Y, own.s0, own.X, own.M, own.lev)
        ldl_unflush(mode)

    cdef void _emit(self, const double* m, double s, double* p) noexcept nogil:
        """Ridge predictions m and the leverage, times the weight of the round, give what the model says."""
        cdef int k
        for k in range(self.outputs):
            p[k] = m[k]/(1 + s) if self.vovk else m[k]
            if p[k] > self.clip:
                p[k] = self.clip
            elif p[k] < -self.clip:
                p[k] = -self.clip


cdef bint _is_vector(cnp.ndarray y, Py_ssize_t n) noexcept:
    return (cnp.PyArray_TYPE(y) == cnp.NPY_FLOAT64 and cnp.PyArray_NDIM(y) == 1 and cnp.PyArray_DIM(y, 0) == n
            and cnp.PyArray_IS_C_CONTIGUOUS(y))


cdef bint _is_table(cnp.ndarray Y, Py_ssize_t n, Py_ssize_t columns) noexcept:
    return (cnp.PyArray_TYPE(Y) == cnp.NPY_FLOAT64 and cnp.PyArray_NDIM(Y) == 2 and cnp.PyArray_DIM(Y, 0) == n
            and cnp.PyArray_DIM(Y, 1) == columns and cnp.PyArray_IS_C_CONTIGUOUS(Y))


cdef Py_ssize_t _first_too_large(Py_ssize_t n, int r, const double* Z, const double* w) noexcept nogil:
    """The first row with |z|^2 or w |z|^2 beyond LARGEST (or not a number), -1 if there is none."""
    cdef Py_ssize_t t
    cdef double size
    for t in range(n):
        size = ldl_norm2(r, Z + t*r)
        if not (size <= LARGEST) or (w != NULL and not (w[t]*size <= LARGEST)):
            return t
    return -1


# ----------------------------------------------------------------------------------------------------------------------
# A lower triangular factor that grows: solves against a leading block, appends rows, never reallocates per row.
# ----------------------------------------------------------------------------------------------------------------------
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


# ----------------------------------------------------------------------------------------------------------------------
# A = L D L' from scratch, into the tiles that the LDL pass works on; and the Gram matrix that fades.
# ----------------------------------------------------------------------------------------------------------------------
def factor_columns(double[:, ::1] A, Py_ssize_t begin, Py_ssize_t end):
    """Columns `begin` to `end` of the Cholesky factor of A, in place; those before are there already.

    Of A (dim, dim) the lower triangle is read and written. Called for all columns in turn, it becomes C with A = C C'.
    Returns 0, or the number (from 1) of the column at which A is found not to be positive definite.
    """
    cdef int dim = <int> A.shape[0], width = <int> (end - begin), rest = <int> (dim - end), failed = 0
    cdef double one = 1.0, less = -1.0
    cdef char left = b"L", upper = b"U", plain = b"N", turned = b"T"
    if A.shape[1] != dim or not 0 <= begin < end <= dim:
        raise ValueError("the columns are not those of a square matrix")
    with nogil:  # a row-major lower triangle is a column-major upper one
        dpotrf(&upper, &width, &A[begin, begin], &dim, &failed)
        if failed == 0 and rest > 0:
            dtrsm(&left, &upper, &turned, &plain, &width, &rest, &one, &A[begin, begin], &dim, &A[end, begin], &dim)
            dsyrk(&upper, &turned, &rest, &width, &less, &A[end, begin], &dim, &one, &A[end, end], &dim)
    return failed + begin if failed > 0 else 0


def pivot_columns(double[:, ::1] A, int[::1] order, Py_ssize_t begin, Py_ssize_t end, double least):
    """Columns `begin` to `end` of the Cholesky factor with pivoting: the column with the most left comes next.

    Of A (dim, dim) the upper triangle is read and written, in place; `order` says which column came where. Returns the
    columns that were found: `end`, or the first number of them at which nothing above `least` is left.
    """
    cdef int dim = <int> A.shape[0], width, rest, one = 1, before
    cdef Py_ssize_t i, j, best
    cdef double most, scale, plus = 1.0, less = -1.0
    cdef char lower = b"L", plain = b"N"
    if A.shape[1] != dim or order.shape[0] != dim or not 0 <= begin < end <= dim:
        raise ValueError("the columns are not those of a square matrix")
    cdef double* taken = <double*> malloc(dim*sizeof(double))   # from the diagonal, by the columns of this call
    if taken == NULL:
        raise MemoryError
    with nogil:
        for i in range(begin, dim):
            taken[i] = 0.0
        j = begin
        while j < end:
            best, most = j, -1.0
            for i in range(j, dim):
                if j > begin:
                    taken[i] += A[j - 1, i]*A[j - 1, i]
                if A[i, i] - taken[i] > most:
                    best, most = i, A[i, i] - taken[i]
            if not most > least:
                break
            if best != j:
                exchange(A, dim, j, best)
                taken[best] = taken[j]
                order[j], order[best] = order[best], order[j]
            A[j, j] = sqrt(most)
            rest, before = <int> (dim - j - 1), <int> (j - begin)
            if rest > 0:
                if before > 0:
                    dgemv(&plain, &rest, &before, &less, &A[begin, j + 1], &dim, &A[begin, j], &dim, &plus,
                          &A[j, j + 1], &one)
                scale = 1/A[j, j]
                for i in range(j + 1, dim):
                    A[j, i] *= scale
            j += 1
        if j == end and end < dim:
            rest, width = <int> (dim - end), <int> (end - begin)
            dsyrk(&lower, &plain, &rest, &width, &less, &A[begin, end], &dim, &plus, &A[end, end], &dim)
    free(taken)
    return j


cdef void exchange(double[:, ::1] A, Py_ssize_t dim, Py_ssize_t j, Py_ssize_t p) noexcept nogil:
    """Rows and columns j < p of the upper triangle, and of the rows above that are part of the factor already."""
    cdef Py_ssize_t i
    for i in range(j):
        A[i, j], A[i, p] = A[i, p], A[i, j]
    for i in range(j + 1, p):
        A[j, i], A[i, p] = A[i, p], A[j, i]
    for i in range(p + 1, dim):
        A[j, i], A[p, i] = A[p, i], A[j, i]
    A[j, j], A[p, p] = A[p, p], A[j, j]


def pack_columns(const double[:, ::1] C, Py_ssize_t begin, Py_ssize_t end, double[:, :, ::1] tiles, double[::1] dinv):
    """Columns `begin` to `end`, multiples of 8 or the last, of the factor C: C_ij / C_jj below the diagonal into the
    8 x 8 tiles of `LDL`, each column by column, the rest of which is 0 already, and 1/C_jj^2.
    """
    cdef Py_ssize_t dim = C.shape[0], blocks = (dim + 7)//8, i, j, k, tile, last
    cdef double scale[8]
    if (C.shape[1] != dim or not 0 <= begin < end <= dim or begin % 8 or (end % 8 and end != dim)
            or tiles.shape[0] != blocks*(blocks + 1)//2 or tiles.shape[1] != 8 or tiles.shape[2] != 8
            or dinv.shape[0] != 8*blocks):
        raise ValueError("the arrays do not fit together")
    with nogil:
        for k in range(begin//8, (end + 7)//8):
            last = min(8*k + 8, dim)
            for j in range(8*k, last):
                scale[j - 8*k] = 1/C[j, j]
                dinv[j] = 1/(C[j, j]*C[j, j])
            tile = k*blocks - k*(k - 1)//2 - k   # of row block i//8 in this column of tiles: + i//8
            for i in range(8*k + 1, dim):
                for j in range(8*k, min(last, i)):
                    tiles[tile + i//8, j - 8*k, i % 8] = C[i, j]*scale[j - 8*k]


def right_side(const double[:, ::1] C, double[:, ::1] b, double[:, ::1] q):
    """q = D^-1 L^-1 b for the factor C (dim, dim), its lower triangle, and b (dim, K), which is used up."""
    cdef int dim = <int> C.shape[0], K = <int> b.shape[1]
    cdef Py_ssize_t i, j
    cdef double one = 1.0
    cdef char right = b"R", upper = b"U", plain = b"N"
    if dim < 1 or K < 1 or C.shape[1] != dim or b.shape[0] != dim or q.shape[0] < dim or q.shape[1] < K:
        raise ValueError("the arrays do not fit together")
    with nogil:
        dtrsm(&right, &upper, &plain, &plain, &K, &dim, &one, <double*> &C[0, 0], &dim, &b[0, 0], &K)
        for i in range(dim):
            for j in range(K):
                q[i, j] = b[i, j]/C[i, i]


def fade(const double[:, ::1] rows, double decay, double[:, ::1] gram, double[:, ::1] right):
    """n rows (z, y, w) of dim + K + 1 numbers, the last the latest, enter sums in which a row fades by `decay` a row.

    gram (dim, dim) <- decay^n gram + sum of decay^age w z z', its lower triangle alone; right (dim, K) likewise, z y'.
    """
    cdef int n = <int> rows.shape[0], dim = <int> gram.shape[0], K = <int> right.shape[1], width = dim + K
    cdef Py_ssize_t i, j
    cdef double one = 1.0, kept = pow(decay, n), scale
    cdef char upper = b"U", plain = b"N", turned = b"T"
    if n < 1 or dim < 1 or K < 1 or gram.shape[1] != dim or right.shape[0] != dim or rows.shape[1] != width + 1:
        raise ValueError("the arrays do not fit together")
    cdef double* S = <double*> malloc(n*width*sizeof(double))
    if S == NULL:
        raise MemoryError
    with nogil:
        for i in range(n):
            scale = sqrt(pow(decay, n - 1 - i)*rows[i, width])
            for j in range(width):
                S[i*width + j] = scale*rows[i, j]
        dsyrk(&upper, &plain, &dim, &n, &one, S, &width, &kept, &gram[0, 0], &dim)
        dgemm(&plain, &turned, &K, &dim, &n, &one, S + dim, &width, S, &width, &kept, &right[0, 0], &K)
    free(S)


def add_gram(const double[:, ::1] Z not None, double[:, ::1] G not None):
    """G (dim, dim) <- G + Z'Z for Z (n, dim), its lower triangle alone."""
    cdef int n = <int> Z.shape[0], dim = <int> Z.shape[1]
    cdef double one = 1.0
    cdef char upper = b"U", plain = b"N"
    if dim < 1 or G.shape[0] != dim or G.shape[1] != dim:
        raise ValueError("the arrays do not fit together")
    if n == 0:
        return
    with nogil:   # a row-major lower triangle is a column-major upper one, and Z' is Z as it is stored
        dsyrk(&upper, &plain, &dim, &n, &one, <double*> &Z[0, 0], &dim, &one, &G[0, 0], &dim)


# ----------------------------------------------------------------------------------------------------------------------
# From the factor of least squares to its weights: the shell around simd/back_kernel.h.
# ----------------------------------------------------------------------------------------------------------------------
cdef extern from "back_kernel.h" nogil:
    ctypedef void (*back_fn)(Py_ssize_t blocks, Py_ssize_t outputs, const double* L, const double* Q, Py_ssize_t ld,
                             double* W, double* scratch) noexcept
    back_fn back_pick() noexcept

cdef back_fn solve = back_pick()


def solution(const double[:, :, ::1] tiles, const double[:, ::1] q, Py_ssize_t dim, Py_ssize_t outputs):
    """(outputs, dim) w with L' w = q, L unit lower triangular in 8 x 8 tiles as simd/ldl_kernel.h keeps it."""
    cdef Py_ssize_t blocks = (dim + 7)//8
    if dim < 1 or outputs < 1 or tiles.shape[0] != blocks*(blocks + 1)//2 or tiles.shape[1] != 8 or tiles.shape[2] != 8:
        raise ValueError(f"{tiles.shape[0]} tiles are not the factor of {dim} features")
    if q.shape[0] < 8*blocks or q.shape[1] < outputs:
        raise ValueError(f"q must be at least ({8*blocks}, {outputs}), got ({q.shape[0]}, {q.shape[1]})")
    out = aligned_zeros(outputs, 8*blocks)
    cdef double[:, ::1] W = out
    cdef double[::1] scratch = np.empty(64*outputs)
    with nogil:
        solve(blocks, outputs, &tiles[0, 0, 0], &q[0, 0], q.shape[1], &W[0, 0], &scratch[0])
    return np.ascontiguousarray(out[:, :dim])
