# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Exact streaming least squares on A = L D L': the shell around simd/ldl_kernel.h, which explains the arithmetic."""
import numpy as np
cimport numpy as cnp
from libc.math cimport INFINITY
from libc.stdlib cimport free
from libc.string cimport memcpy

from nystream._core.linalg.ldl_kernel cimport (
    LDL_SAMPLES, Scratch, ldl_choose, ldl_flush, ldl_fn, ldl_gather, ldl_isa,
    ldl_norm2, ldl_plain_sample, ldl_together, ldl_unflush, reserve)
from nystream._core.linalg.meter cimport count_round
from nystream._core.one_row cimport OneRow, RowMap, clean_number

cnp.import_array()

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
