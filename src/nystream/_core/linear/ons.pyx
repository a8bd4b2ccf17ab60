# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The rounds of the online Newton step on A = L D L': two passes over L for a row, or for a whole block of rows."""
import numpy as np

cimport numpy as cnp
from libc.math cimport fabs, fmax, fmin, log1p, sqrt
from libc.stdlib cimport free
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport dgemm

from nystream._core.linalg.ldl_kernel cimport (
    LDL_SAMPLES, Scratch, ldl_choose, ldl_flush, ldl_fn, ldl_gather, ldl_together, ldl_unflush, reserve)
from nystream._core.linalg.linear_kernel cimport clean, linear_ops, linear_pick
from nystream._core.losses cimport OutputLoss
from nystream._core.one_row cimport OneRow

cnp.import_array()

cdef linear_ops OPS = linear_pick()
cdef ldl_fn learn_pass = ldl_choose(1)
cdef ldl_fn query_pass = ldl_choose(0)
cdef int TOGETHER = ldl_together()

cdef enum:
    LEAST = 4                  # fewer rows than this go one by one
    LD = 8                     # one output, padded

cdef double KEPT = 1e-6        # of a leverage: where less is left of it inside a block, rounding shows, and it is cut
cdef double FAR = 1e6          # times the clip: by how much a prediction may move inside a block, for the same reason
cdef double UNSEEN = 8e-25     # 2^-80: A + w z z' with w s at most this is A
cdef double SMALLEST = 1e-200  # of a leverage: a row that is all but 0 teaches nothing
cdef double STEEPEST = 1e140   # of the derivative of the loss, for labels beyond all bounds: its square is a number ...
cdef double LARGEST = 1e250    # ... and so is w s
cdef double ONE = 1.0, ZERO = 0.0


cdef struct Round:
    double p         # the clipped prediction
    double kap       # u moves by -kap A^-1 z
    double rho       # z_i'A^-1 z_j moves by -rho (z_i'A^-1 z)(z'A^-1 z_j)
    double w         # A moves by w z z' ...
    double target    # ... and b = A u by w target z;  w = 0: nothing is learnt


cdef struct Meter:
    double gradients    # sum of g' A_t^-1 g
    double log_det      # log det(A_t) - log det(A_0)
    double excess       # sum of (eta_t - sigma)_+ dl^2 (|p| + clip)^2


cdef class Newton(OneRow):
    """Works on the arrays of a `Factored` metric, of dim features and one output, and on the solver's meter (3,).

    With b = A u a round is one of weighted least squares: A += w z z', b += w target z, where w = eta dl^2 and
    w target = w p - dl - h/s. Both need the prediction and s = z'A^-1 z, so the pass that learns comes after one that
    asks. eta > 0 is the step size; eta = 0 asks for scale / sqrt(t). At most `samples` rows share a pass: of 1, each
    has its own.
    """
    cdef public int samples
    cdef OutputLoss loss
    cdef tuple arrays
    cdef double *L
    cdef double *dinv
    cdef double *Q
    cdef double *meter
    cdef int r, blocks
    cdef double clip, eta, scale, sigma
    cdef Scratch own
    cdef double *rows      # (LDL_SAMPLES, 8 blocks) twice: p and p/d by rows
    cdef double[LDL_SAMPLES * LDL_SAMPLES] G
    cdef double[LDL_SAMPLES] f, col
    cdef Round[LDL_SAMPLES] rounds

    def __cinit__(self, object loss, int dim, cnp.ndarray tiles, cnp.ndarray dinv, cnp.ndarray q, cnp.ndarray meter,
                  double clip, double eta, double scale, double sigma):
        cdef int blocks = (dim + 7)//8
        cdef cnp.ndarray rows = np.empty(2*LDL_SAMPLES*8*blocks)
        self.r, self.blocks = dim, blocks
        self.arrays = (tiles, dinv, q, meter, rows)
        self.L = <double*> clean(tiles.reshape(-1), -1, 32*blocks*(blocks + 1))
        self.dinv, self.Q = <double*> clean(dinv, -1, 8*blocks), <double*> clean(q, 8*blocks, LD)
        self.meter, self.rows = <double*> clean(meter, -1, 3), <double*> cnp.PyArray_DATA(rows)
        self.loss = OutputLoss(loss, 1)
        self.signs = self.loss.signs
        self.clip, self.eta, self.scale, self.sigma = clip, eta, scale, sigma
        self.samples = TOGETHER
        if not reserve(&self.own, blocks, LD):
            raise MemoryError

    def __dealloc__(self):
        free(self.own.memory)

    cdef Py_ssize_t accepts(self) noexcept:
        return self.r

    cdef int one(self, const void* x, double y, long long t, double* p) except -1:
        cdef Meter meter = Meter(0, 0, 0)
        self._row(<double*> x, y, t, &meter)
        self._count(&meter)
        p[0] = self.rounds[0].p
        return 0

    def step(self, cnp.ndarray z, cnp.ndarray y, long long t):
        """Round t (the first is 1), label y (1,) -> prediction (1,) made before."""
        cdef cnp.npy_intp one = 1
        cdef cnp.ndarray p = cnp.PyArray_EMPTY(1, &one, cnp.NPY_FLOAT64, 0)
        self.one(clean(z, -1, self.r), clean(y, -1, 1)[0], t, <double*> cnp.PyArray_DATA(p))
        return p

    def run(self, cnp.ndarray Z, cnp.ndarray Y, long long t):
        """Rounds t, t + 1, ... on the rows of Z, labels Y (n, 1) -> predictions (n, 1)."""
        cdef Py_ssize_t i = 0, n = cnp.PyArray_DIM(Z, 0)
        cdef double* z = <double*> clean(Z, n, self.r)
        cdef const double* y = clean(Y, n, 1)
        cdef cnp.ndarray out = np.empty((n, 1))
        cdef double* p = <double*> cnp.PyArray_DATA(out)
        cdef int m, done, j, limit = max(1, min(self.samples, TOGETHER)), most = limit
        cdef Meter meter = Meter(0, 0, 0)
        with nogil:
            while i < n:
                m = <int> min(n - i, most)
                if m < LEAST or self.blocks == 0:
                    m = done = 1
                    self._row(z + i * self.r, y[i], t + i, &meter)
                else:
                    done = self._block(m, z + i * self.r, y + i, t + i, &meter)
                for j in range(done):
                    p[i + j] = self.rounds[j].p
                i += done
                most = min(2 * most, limit) if done == m else done   # blocks that are cut cost twice
                self._count(&meter)
        return out

    def weights(self):
        """u = L^-T q, (dim,)."""
        cdef cnp.ndarray out = self.arrays[2][:, 0].copy()
        cdef double* u = <double*> cnp.PyArray_DATA(out)
        cdef double* tile
        cdef double[64] sums
        cdef Py_ssize_t k, j, c, i, blocks = self.blocks
        with nogil:
            for k in range(blocks - 1, -1, -1):
                for i in range(64):
                    sums[i] = 0
                tile = self.L + 64 * (k * blocks - k * (k - 1) // 2)
                for j in range(1, blocks - k):
                    for c in range(8):
                        for i in range(8):
                            sums[8 * c + i] += tile[64 * j + 8 * c + i] * u[8 * (k + j) + i]
                for c in range(7, -1, -1):
                    for i in range(8):
                        u[8 * k + c] -= sums[8 * c + i]
                    for i in range(c + 1, 8):
                        u[8 * k + c] -= tile[8 * c + i] * u[8 * k + i]
        return out[:self.r]

    cdef void _count(self, Meter* meter) noexcept nogil:
        """What a finished row or block adds; a loss that raises in between leaves nothing behind."""
        self.meter[0] += meter.gradients
        self.meter[1] += meter.log_det
        self.meter[2] += meter.excess
        meter[0] = Meter(0, 0, 0)

    cdef int _scalars(self, double ybar, double s, double y, long long t, Round* q, Meter* meter) except -1 nogil:
        """One round seen from the scalars ybar = u.z and s = z'A^-1 z: projection on |w.z| <= clip, then Newton step.

        A round without a gradient moves u alone, if it is projected. It goes through the same pass with a weight that
        A does not notice.
        """
        cdef double dl, e, den, h, gain, right
        q[0] = Round(fmin(fmax(ybar, -self.clip), self.clip), 0, 0, 0, 0)
        if not s > SMALLEST:
            return 0
        h = ybar - q.p
        dl = fmin(fmax(self.loss.slope(y, q.p), -STEEPEST), STEEPEST)
        e = self.eta if self.eta > 0 else self.scale / sqrt(<double> t)
        gain = fmin(e * dl * dl, LARGEST / fmax(s, 1))
        den = 1 + gain * s
        q.kap = dl / den
        right = gain * q.p - dl
        if h != 0:
            q.kap += h / s
            right -= h / s
        q.rho = gain / den
        if gain != 0 or right != 0:
            q.w = fmax(gain, UNSEEN / s)
            q.target = right / q.w
        meter.gradients += gain * s / den / e
        meter.log_det += log1p(gain * s)
        meter.excess += fmax(e - self.sigma, 0) * (dl * (fabs(q.p) + self.clip)) ** 2
        return 0

    cdef int _row(self, double* z, double y, long long t, Meter* meter) except -1 nogil:
        self._ask(1, z)
        self._scalars(self.own.M[0], self.own.lev[0], y, t, self.rounds, meter)
        self._learn(1, z)
        return 0

    cdef int _block(self, int m, double* Z, const double* y, long long t, Meter* meter) except -1 nogil:
        """Up to m rounds as scalars in G = Z A^-1 Z', then one pass that learns them; how many there were.

        G is downdated. Where that leaves a row less than KEPT of its leverage the block ends before it.
        """
        cdef int j, done = m
        cdef Round* q
        self._ask(m, Z)
        self._products(m)
        for j in range(m):
            self.f[j] = self.own.M[LD * j]
        for j in range(m):
            if (self.G[j * m + j] < KEPT * self.own.lev[j]
                    or fabs(self.f[j] - self.own.M[LD * j]) > FAR * self.clip):
                done = j
                break
            q = self.rounds + j
            self._scalars(self.f[j], self.G[j * m + j], y[j], t + j, q, meter)
            if q.kap != 0:
                OPS.downdate(m, j, q.kap, q.rho, self.f, self.G, self.col)
        self._learn(done, Z)
        return done

    cdef void _ask(self, int m, const double* Z) noexcept nogil:
        """u.z and z'A^-1 z of m rows into M and lev, p = L^-1 z into X."""
        cdef unsigned mode
        ldl_gather(m, self.r, self.blocks, Z, self.own.X)
        mode = ldl_flush()
        query_pass(m, self.blocks, 1, self.L, self.dinv, self.Q, self.own.Y, self.own.s0, self.own.X, self.own.M,
                   self.own.lev)
        ldl_unflush(mode)

    cdef void _products(self, int m) noexcept nogil:
        """G = (p_i' D^-1 p_j) of the rows just asked for."""
        cdef int k, j, i, wide = 8 * self.blocks
        cdef double *p
        cdef double *plain
        cdef double *scaled
        for k in range(self.blocks):
            for j in range(m):
                p = self.own.X + 8 * (k * m + j)
                plain = self.rows + j * wide + 8 * k
                scaled = plain + m * wide
                for i in range(8):
                    plain[i] = p[i]
                    scaled[i] = p[i] * self.dinv[8 * k + i]
        dgemm(b"T", b"N", &m, &m, &wide, &ONE, self.rows, &wide, self.rows + m * wide, &wide, &ZERO, self.G, &m)

    cdef void _learn(self, int m, const double* Z) noexcept nogil:
        """A += w z z' and b += w target z for those of m rows that teach anything, in one pass."""
        cdef int j, active = 0
        cdef unsigned mode
        cdef const double* rows = Z
        for j in range(m):
            if self.rounds[j].w != 0:
                self.own.s0[active] = 1 / self.rounds[j].w
                self.own.Y[LD * active] = self.rounds[j].target
                active += 1
        if active == 0:
            return
        if active < m:
            rows = self.rows
            active = 0
            for j in range(m):
                if self.rounds[j].w != 0:
                    memcpy(self.rows + active * self.r, Z + j * self.r, self.r * sizeof(double))
                    active += 1
        ldl_gather(active, self.r, self.blocks, rows, self.own.X)
        mode = ldl_flush()
        learn_pass(active, self.blocks, 1, self.L, self.dinv, self.Q, self.own.Y, self.own.s0, self.own.X, self.own.M,
                   self.own.lev)
        ldl_unflush(mode)
