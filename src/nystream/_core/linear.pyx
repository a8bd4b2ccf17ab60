# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rounds of the learners whose function is linear in features."""
import numpy as np
cimport numpy as cnp
from libc.math cimport exp, fabs, fmax, fmin, log1p, pow, sqrt
from libc.stdlib cimport free
from libc.string cimport memcpy, memmove, memset
from scipy.linalg.cython_blas cimport dgemm, dgemv, dsyrk

from nystream._core.expansions cimport Correction
from nystream._core.fourier_kernel cimport FOURIER_FAR, FOURIER_SLACK, fourier_far, fourier_ops, fourier_pick
from nystream._core.inputs cimport OneRow
from nystream._core.ldl_kernel cimport (
    LDL_SAMPLES, Scratch, ldl_choose, ldl_flush, ldl_fn, ldl_gather, ldl_together, ldl_unflush, reserve,
)
from nystream._core.linear_kernel cimport LINEAR_BETA1, LINEAR_BETA2, clean, clean_numbers, linear_ops, linear_pick
from nystream._core.losses cimport OutputLoss
from nystream._core.rank_one cimport rank_one

cnp.import_array()

# ----------------------------------------------------------------------------------------------------------------------
# The loop over rows that learners of fixed size share: predict, then learn, one row after the other.
# ----------------------------------------------------------------------------------------------------------------------
cdef class RowLoop(OneRow):
    """Subclasses set loss, K and width, and write `round`, which fills p (K) before it looks at y; and `bytes`, where
    the numbers of a row are not double."""

    cdef int round(self, const void* x, const double* y, double weight, long long t, double* p) except -1 nogil:
        return 0

    cdef Py_ssize_t accepts(self) noexcept:
        self.signs = self.loss.signs
        return self.width if self.K == 1 and not self.loss.multiclass else -1

    cdef int one(self, const void* x, double y, long long t, double* p) except -1:
        return self.round(x, &y, 1.0, t, p)

    def step(self, cnp.ndarray x, cnp.ndarray y, double weight, long long t):
        """Round t (the first is 1) on x (width,) with label y (K,), or (1,) for a class number -> prediction (K,)."""
        cdef cnp.npy_intp K = self.K
        cdef const void* row = clean_numbers(x, -1, self.width, self.bytes())
        cdef const double* label = clean(y, -1, self.loss.columns)
        cdef cnp.ndarray p = cnp.PyArray_EMPTY(1, &K, cnp.NPY_FLOAT64, 0)
        self.loss.check(label, 1)
        self.round(row, label, weight, t, <double*> cnp.PyArray_DATA(p))
        return p

    def run(self, cnp.ndarray X, cnp.ndarray Y, object weights, long long t):
        """Rounds t, t + 1, ... on the rows of X -> predictions (n, K), each made before its label was read."""
        cdef Py_ssize_t i, n = cnp.PyArray_DIM(X, 0), columns = self.loss.columns
        cdef const char* x = <const char*> clean_numbers(X, n, self.width, self.bytes())
        cdef Py_ssize_t apart = self.width * self.bytes()
        cdef const double* y = clean(Y, n, columns)
        cdef const double* weight = clean(weights, -1, n) if weights is not None else NULL
        cdef cnp.ndarray P = np.empty((n, self.K))
        cdef double* p = <double*> cnp.PyArray_DATA(P)
        self.loss.check(y, n)
        with nogil:
            for i in range(n):
                self.round(x + i * apart, y + i * columns, weight[i] if weight else 1.0, t + i, p + i * self.K)
        return P


# ----------------------------------------------------------------------------------------------------------------------
# The rounds of mistake-driven learners with the linear kernel: d weights per output instead of stored points.
# ----------------------------------------------------------------------------------------------------------------------
cdef linear_ops OPS = linear_pick()


cdef class LinearRounds(RowLoop):
    """p = W x, then W += alpha x'. Weights W (K, d) and past (K, d) are the caller's arrays.

    Where labels have similarities M, M alpha stands for alpha.

    The sum of the weights over the rounds 1..T is T W + past: a change alpha x' in round t subtracts t alpha x'.
    """
    cdef Correction rule
    cdef double* W
    cdef double* past
    cdef double* alpha
    cdef tuple arrays

    def __init__(self, cnp.ndarray W, cnp.ndarray past, Correction rule):
        self.K, self.width, self.rule, self.loss = rule.K, cnp.PyArray_DIM(W, 1), rule, rule.loss
        alpha = np.zeros(self.K)
        self.arrays = (W, past, alpha)
        self.W, self.past = <double*> clean(W, self.K, self.width), <double*> clean(past, self.K, self.width)
        self.alpha = <double*> clean(alpha, -1, self.K)

    cdef int round(self, const void* row, const double* y, double weight, long long t, double* p) except -1 nogil:
        cdef Py_ssize_t c
        cdef double own
        cdef const double* x = <const double*> row
        for c in range(self.K):
            p[c] = OPS.dot(self.width, self.W + c * self.width, x)
        own = OPS.dot(self.width, x, x)
        if own > 0 and self.rule.ask(y, p, own, weight, self.alpha):
            self.loss.mix(self.alpha)
            for c in range(self.K):
                if self.alpha[c] != 0:
                    OPS.mix(self.width, 1.0, self.W + c * self.width, self.alpha[c], x)
                    OPS.mix(self.width, 1.0, self.past + c * self.width, -<double> t * self.alpha[c], x)
        return 0


# ----------------------------------------------------------------------------------------------------------------------
# The rounds of online gradient descent on K outputs: predict, ask the loss, update, one row after the other.
# ----------------------------------------------------------------------------------------------------------------------
cdef extern from "descent_kernel.h" nogil:
    ctypedef struct descent_ops:
        double (*dot)(Py_ssize_t, const void*, const void*) noexcept nogil
        void (*add)(Py_ssize_t, double*, const void*) noexcept nogil
        void (*mix)(Py_ssize_t, double, void*, double, const void*) noexcept nogil
        void (*adagrad)(Py_ssize_t, double, double, double, const void*, void*, void*) noexcept nogil
        void (*adam)(Py_ssize_t, double, double, double, double, double, const void*, void*, void*,
                     void*) noexcept nogil
    descent_ops descent_pick(int single)

cdef descent_ops DOUBLE = descent_pick(0), SINGLE = descent_pick(1)
cdef int SGD = 0, ADAGRAD = 1, ADAM = 2, IMPLICIT = 3
METHODS = {"sgd": SGD, "adagrad": ADAGRAD, "adam": ADAM, "implicit": IMPLICIT}


cdef class Descent(RowLoop):
    """Works on the solver's own arrays, all (K, dim): weights, moments of the gradient, sum of the iterates.

    Arrays that the method does not need are None. All are float64, or but for the sum all float32, and so are features.
    """
    cdef tuple arrays
    cdef descent_ops ops
    cdef int size           # bytes of a weight
    cdef Py_ssize_t apart   # bytes from a row of weights to the next
    cdef char *W
    cdef char *first
    cdef char *second
    cdef double *total
    cdef double *scratch
    cdef int method
    cdef bint sqrt_schedule
    cdef double eta, lam

    def __init__(self, object loss, cnp.ndarray W, object first, object second, object total, str method, double eta,
                 bint sqrt_schedule, double lam):
        self.K, self.width = W.shape[0], W.shape[1]
        scratch = np.zeros((2, self.K))
        self.arrays = (W, first, second, total, scratch)
        self.size = 4 if cnp.PyArray_TYPE(W) == cnp.NPY_FLOAT32 else 8
        self.apart, self.ops = self.width * self.size, SINGLE if self.size == 4 else DOUBLE
        self.W = self._weights_like(W)
        self.first, self.second = self._weights_like(first), self._weights_like(second)
        self.total = <double*> clean(total, self.K, self.width) if total is not None else NULL
        self.scratch = <double*> clean(scratch, 2, self.K)
        self.loss = OutputLoss(loss, self.K)
        self.method = METHODS[method]
        if (self.method == ADAM and not self.first) or (self.method in (ADAM, ADAGRAD) and not self.second):
            raise ValueError(f"the moments that method={method!r} needs are missing")
        self.eta, self.sqrt_schedule, self.lam = eta, sqrt_schedule, lam

    cdef char* _weights_like(self, object a) except? NULL:
        return <char*> clean_numbers(a, self.K, self.width, self.size) if a is not None else NULL

    cdef int bytes(self) noexcept:
        return self.size

    def predict(self, cnp.ndarray Z):
        """(n, dim) -> (n, K), by the same dot products as `run`."""
        cdef Py_ssize_t i, n = cnp.PyArray_DIM(Z, 0)
        cdef const char* z = <const char*> clean_numbers(Z, n, self.width, self.size)
        cdef cnp.ndarray P = np.empty((n, self.K))
        cdef double* p = <double*> cnp.PyArray_DATA(P)
        with nogil:
            for i in range(n):
                self._scores(z + i * self.apart, p + i * self.K)
        return P

    @staticmethod
    def carried(cnp.ndarray A, cnp.ndarray T):
        """A T' for A (K, dim) and T (n, dim), by one dot product for each entry: K outputs give the bits of K alone."""
        cdef Py_ssize_t i, k, K = cnp.PyArray_DIM(A, 0), n = cnp.PyArray_DIM(T, 0), dim = cnp.PyArray_DIM(A, 1)
        cdef const double* a = clean(A, K, dim)
        cdef const double* rows = clean(T, n, dim)
        cdef cnp.ndarray B = np.empty((K, n))
        cdef double* b = <double*> cnp.PyArray_DATA(B)
        with nogil:
            for i in range(n):
                for k in range(K):
                    b[k * n + i] = DOUBLE.dot(dim, a + k * dim, rows + i * dim)
        return B

    cdef void _scores(self, const void* z, double* p) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.K):
            p[k] = self.ops.dot(self.width, self.W + k * self.apart, z)

    cdef int round(self, const void* z, const double* y, double weight, long long t, double* p) except -1 nogil:
        cdef double eta = self.eta / sqrt(<double> t) if self.sqrt_schedule else self.eta
        self._scores(z, p)
        if self.total:
            self.ops.add(self.K * self.width, self.total, self.W)
        if self.method == IMPLICIT:
            return self._proximal(z, y, weight, eta, p)
        return self._gradient(z, y, weight, eta, t, p)

    cdef int _gradient(self, const void* z, const double* y, double weight, double eta, long long t,
                       const double* p) except -1 nogil:
        cdef Py_ssize_t k
        cdef double *g = self.scratch
        cdef char *w
        cdef double decay = 1 - eta * self.lam, bias1 = 0, bias2 = 0
        self.loss.gradient(y, p, g)
        self.loss.mix(g)
        if self.method == ADAM:
            bias1, bias2 = 1 - pow(LINEAR_BETA1, <double> t), 1 - pow(LINEAR_BETA2, <double> t)
        for k in range(self.K):
            w = self.W + k * self.apart
            if self.method == ADAM:
                self.ops.adam(self.width, eta, self.lam, weight * g[k], bias1, bias2, z, w,
                              self.first + k * self.apart, self.second + k * self.apart)
            elif g[k] * weight == 0 and self.lam == 0:
                continue
            elif self.method == ADAGRAD:
                self.ops.adagrad(self.width, eta, self.lam, weight * g[k], z, w, self.second + k * self.apart)
            else:
                self.ops.mix(self.width, decay, w, -eta * weight * g[k], z)
        return 0

    cdef int _proximal(self, const void* z, const double* y, double weight, double eta,
                       const double* p) except -1 nogil:
        """w <- kappa w + alpha z, alpha = argmin_a s/2 a^2 + c l(kappa p + s a), s = |z|^2, c = kappa eta weight."""
        cdef Py_ssize_t k
        cdef double kappa = 1 / (1 + eta * self.lam), s = self.ops.dot(self.width, z, z)
        cdef double *alpha = self.scratch
        cdef double *q = self.scratch + self.K
        for k in range(self.K):
            q[k] = kappa * p[k]
        self.loss.implicit(y, q, NULL, s, kappa * eta * weight, alpha)
        self.loss.mix(alpha)
        for k in range(self.K):
            if alpha[k] != 0 or kappa != 1:
                self.ops.mix(self.width, kappa, self.W + k * self.apart, alpha[k], z)
        return 0


# ----------------------------------------------------------------------------------------------------------------------
# The rounds of the online Newton step on A = L D L': two passes over L for a row, or for a whole block of rows.
# ----------------------------------------------------------------------------------------------------------------------
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


# ----------------------------------------------------------------------------------------------------------------------
# The rounds of the online Newton step whose metric is a Frequent-Directions sketch.
#
# E (m, d) has orthonormal rows; all that moved since it was last turned lies in their span. In its coordinates the
# sketch is S'S = U' diag(values) U with U (k, m) of orthonormal rows, and the weights are u + E'a. A round costs a few
# passes over E and an eigenproblem of size k + 1; after ell + 1 rounds E becomes U E and u becomes u + E'a, by matrix
# products.
# ----------------------------------------------------------------------------------------------------------------------
cdef int STEP = 1
cdef double MINUS = -1.0
cdef double INSIDE = 1e-14   # a part of z outside a span that is shorter than this share of |z| is rounding
cdef double MOST = 0.7       # what is left of z after one projection is accurate if it is longer than this share of |z|
cdef double LONGEST = 1e150  # of |z|
cdef double HUGE = 1e290     # of eta dl^2 |z|^2: labels beyond all bounds count as if they reached it
cdef enum: GRADIENTS, EXCESS, LOST, METER   # entries of the meter: sketched_ons.py counts on the order
cdef enum: WIDTH, RANK, ROUNDS, COUNTS      # entries of counts: m, k, rounds since E was turned


cdef class Sketch(OneRow):
    """Works on the solver's own arrays: u (d,), E (cap, d), U (ell, cap), values (ell,), a (cap,), meter, counts.

    cap = min(2 ell, d) is enough for E. eta > 0 is the step size; eta = 0 asks for scale / sqrt(t). If a
    loss that is asked in Python raises, nothing has changed.
    """
    cdef OutputLoss loss
    cdef tuple arrays
    cdef double *u
    cdef double *E
    cdef double *U
    cdef double *values
    cdef double *a
    cdef double *meter
    cdef double *r       # (d,)        the part of z outside the span
    cdef double *turned  # (ell, d)    U E
    cdef double *y       # (cap,)      z in the coordinates of E
    cdef double *c       # (cap,)
    cdef double *v       # (cap,)
    cdef double *b       # (ell,)      U y
    cdef double *W       # (ell, ell)
    cdef double *work    # of rank_one
    cdef int *mark
    cdef cnp.int64_t *counts
    cdef int d, ell, cap
    cdef double clip, lam, eta, scale, sigma

    def __init__(self, object loss, cnp.ndarray u, cnp.ndarray E, cnp.ndarray U, cnp.ndarray values, cnp.ndarray a,
                 cnp.ndarray meter, cnp.ndarray counts, double clip, double lam, double eta, double scale,
                 double sigma):
        self.d, self.ell, self.cap = u.shape[0], values.shape[0], a.shape[0]
        cdef Py_ssize_t small = 3*self.cap + self.ell*(3*self.ell + 2*self.cap + 4)
        cdef cnp.ndarray memory = np.zeros(self.d * (self.ell + 1) + small), marks = np.zeros(self.ell, dtype=np.intc)
        self.arrays = (u, E, U, values, a, meter, counts, memory, marks)
        self.u, self.E = <double*> clean(u, -1, self.d), <double*> clean(E, self.cap, self.d)
        self.U, self.values = <double*> clean(U, self.ell, self.cap), <double*> clean(values, -1, self.ell)
        self.a, self.meter = <double*> clean(a, -1, self.cap), <double*> clean(meter, -1, METER)
        if cnp.PyArray_TYPE(counts) != cnp.NPY_INT64 or cnp.PyArray_SIZE(counts) != COUNTS:
            raise ValueError(f"{COUNTS} counts of type int64 are needed, got {counts!r}")
        self.counts = <cnp.int64_t*> cnp.PyArray_DATA(counts)
        self.r = <double*> cnp.PyArray_DATA(memory)
        self.turned = self.r + self.d
        self.y = self.turned + self.ell*self.d
        self.c, self.v, self.b = self.y + self.cap, self.y + 2*self.cap, self.y + 3*self.cap
        self.W = self.b + self.ell
        self.work = self.W + self.ell*self.ell
        self.mark = <int*> cnp.PyArray_DATA(marks)
        self.loss = OutputLoss(loss, 1)
        self.signs = self.loss.signs
        self.clip, self.lam, self.eta, self.scale, self.sigma = clip, lam, eta, scale, sigma

    cdef Py_ssize_t accepts(self) noexcept:
        return self.d

    cdef int one(self, const void* x, double y, long long t, double* p) except -1:
        p[0] = self._round(<double*> x, y, t)
        return 0

    def run(self, cnp.ndarray Z, cnp.ndarray Y, long long t):
        """Rounds t, t + 1, ... (the first is 1) on the rows of Z, labels Y (n, 1) -> predictions (n, 1)."""
        cdef Py_ssize_t i, n = cnp.PyArray_DIM(Z, 0)
        cdef double* z = <double*> clean(Z, n, self.d)
        cdef const double* y = clean(Y, n, 1)
        cdef cnp.ndarray out = np.empty((n, 1))
        cdef double* p = <double*> cnp.PyArray_DATA(out)
        with nogil:
            for i in range(n):
                p[i] = self._round(z + i*self.d, y[i], t + i)
        return out

    def turn(self):
        """Make the directions of the sketch the rows of E."""
        with nogil:
            self._turn()

    cdef double _round(self, double* z, double label, long long t) except? -1e300 nogil:
        cdef int m = self.counts[WIDTH], k = self.counts[RANK]
        cdef double ybar = OPS.dot(self.d, self.u, z), length = sqrt(OPS.dot(self.d, z, z)), p, s, h, dl, e, most, rest
        self._into(m, self.E, self.d, z, self.y)
        ybar += OPS.dot(m, self.a, self.y)
        p = fmin(fmax(ybar, -self.clip), self.clip)
        if length == 0:
            return p
        if not length < LONGEST:
            with gil:
                raise FloatingPointError("the squared features overflow; scale the features down")
        m = self._contain(z, m, length)   # what is written beyond the counts is not there yet
        rest = self._split(m, k, length)
        s = self._inverse_form(k, rest)
        h = ybar - p
        dl = self.loss.slope(label, p)
        if h == 0 and dl == 0:
            return p
        e = self.eta if self.eta > 0 else self.scale / sqrt(<double> t)
        most = sqrt(HUGE / e) / fmax(length, 1)
        dl = fmin(fmax(dl, -most), most)
        if h != 0:   # w = u - (h/s) A^-1 z, with the metric before this round
            self._move(m, k, h/s, rest)
        if dl != 0:
            k = self._absorb(m, k, e*dl*dl, rest)
            rest = self._split(m, k, length)
            self._move(m, k, dl, rest)
            self.meter[GRADIENTS] += dl*dl*self._inverse_form(k, rest)
            self.meter[EXCESS] += fmax(e - self.sigma, 0) * (dl*(fabs(p) + self.clip))**2
        self.counts[WIDTH], self.counts[RANK] = m, k
        self.counts[ROUNDS] += 1
        if self.counts[ROUNDS] > self.ell:
            self._turn()
        return p

    cdef void _into(self, int rows, double* M, int width, double* x, double* out, int used=-1) noexcept nogil:
        """out = M x for `rows` rows of M (`width` apart), of which the first `used` columns count."""
        cdef int columns = width if used < 0 else used
        if rows and columns:
            dgemv(b"T", &columns, &rows, &ONE, M, &width, x, &STEP, &ZERO, out, &STEP)
        elif rows:
            memset(out, 0, rows*sizeof(double))

    cdef void _out_of(self, int rows, double* M, int width, double* c, double* x, int used=-1) noexcept nogil:
        """x -= M' c."""
        cdef int columns = width if used < 0 else used
        if rows and columns:
            dgemv(b"N", &columns, &rows, &MINUS, M, &width, c, &STEP, &ONE, x, &STEP)

    cdef double _split(self, int m, int k, double length) noexcept nogil:
        """y = U'b + v, by Gram-Schmidt done twice; |v|, or 0 where that is rounding and v counts for nothing.

        With v apart, A^-1 y = U' (b / (lam + values)) + v / lam has no difference of large numbers in it.
        """
        cdef double rest
        self._into(k, self.U, self.cap, self.y, self.b, m)
        if k == m:
            return 0
        memcpy(self.v, self.y, m*sizeof(double))
        self._out_of(k, self.U, self.cap, self.b, self.v, m)
        self._into(k, self.U, self.cap, self.v, self.c, m)
        self._out_of(k, self.U, self.cap, self.c, self.v, m)
        rest = sqrt(OPS.dot(m, self.v, self.v))
        return rest if rest > INSIDE*length else 0

    cdef double _inverse_form(self, int k, double rest) noexcept nogil:
        """y'A^-1 y after `_split`."""
        cdef double form = rest*rest / self.lam
        cdef int i
        for i in range(k):
            form += self.b[i]*self.b[i] / (self.lam + self.values[i])
        return form

    cdef int _contain(self, double* z, int m, double length) noexcept nogil:
        """Make z part of the span of E, and y its coordinates; y holds E z. Returns the rows of E.

        Gram-Schmidt; once more where most of z went, so that what is left is orthogonal to E however short it is.
        """
        cdef int i
        cdef double rest
        if m == self.d:
            return m
        memcpy(self.r, z, self.d*sizeof(double))
        self._out_of(m, self.E, self.d, self.y, self.r)
        rest = sqrt(OPS.dot(self.d, self.r, self.r))
        if rest < MOST*length:
            self._into(m, self.E, self.d, self.r, self.c)
            self._out_of(m, self.E, self.d, self.c, self.r)
            OPS.add(m, self.y, self.c)
            rest = sqrt(OPS.dot(self.d, self.r, self.r))
        if not rest > INSIDE*length:
            return m
        self.y[m], self.a[m] = rest, 0
        for i in range(self.d):
            self.E[m*self.d + i] = self.r[i] / rest
        for i in range(self.counts[RANK]):
            self.U[i*self.cap + m] = 0
        return m + 1

    cdef void _move(self, int m, int k, double by, double rest) noexcept nogil:
        """a -= by A^-1 y after `_split`."""
        cdef int i
        for i in range(k):
            self.c[i] = by * self.b[i] / (self.lam + self.values[i])
        self._out_of(k, self.U, self.cap, self.c, self.a, m)
        if rest > 0:
            OPS.mix(m, 1.0, self.a, -by / self.lam, self.v)

    cdef int _absorb(self, int m, int k, double gain, double rest) except -1 nogil:
        """S'S + gain y y', shrunk by its ell-th eigenvalue, after `_split`. Returns its rank."""
        cdef int i, n = k
        cdef double least = 0
        if rest > 0:   # a new direction, whose eigenvalue 0 comes first
            memmove(self.U + self.cap, self.U, k*self.cap*sizeof(double))
            memmove(self.values + 1, self.values, k*sizeof(double))
            memmove(self.b + 1, self.b, k*sizeof(double))
            self.b[0], self.values[0] = rest, 0
            for i in range(m):
                self.U[i] = self.v[i] / rest
            n = k + 1
        if rank_one(n, m, self.values, self.b, gain, self.U, self.cap, self.work, self.mark):
            with gil:
                raise FloatingPointError("the eigenvalues of the sketch did not converge")
        k = n
        if n == self.ell:   # Frequent Directions: all lose what the last one holds, and that one goes
            k = n - 1
            least = self.values[0]
            memmove(self.U, self.U + self.cap, k*self.cap*sizeof(double))
            for i in range(k):
                self.values[i] = fmax(self.values[i + 1] - least, 0)
            self.values[k] = 0
            memset(self.U + k*self.cap, 0, self.cap*sizeof(double))
        self.meter[LOST] += least
        return k

    cdef void _turn(self) noexcept nogil:
        """E <- U E, U <- I, u <- u + E'a, a <- 0; E is made orthonormal again to first order: E <- (3I - EE')E/2."""
        cdef int m = self.counts[WIDTH], k = self.counts[RANK], i, j
        cdef double half = -0.5
        if m:
            dgemv(b"N", &self.d, &m, &ONE, self.E, &self.d, self.a, &STEP, &ONE, self.u, &STEP)
        memset(self.a, 0, self.cap*sizeof(double))
        if k:
            dgemm(b"N", b"N", &self.d, &k, &m, &ONE, self.E, &self.d, self.U, &self.cap, &ZERO, self.turned, &self.d)
            dsyrk(b"L", b"T", &k, &self.d, &half, self.turned, &self.d, &ZERO, self.W, &k)
            for i in range(k):
                for j in range(i):
                    self.W[i*k + j] = self.W[j*k + i]
                self.W[i*k + i] += 1.5
            dgemm(b"N", b"N", &self.d, &k, &k, &ONE, self.turned, &self.d, self.W, &k, &ZERO, self.E, &self.d)
        memset(self.E + k*self.d, 0, (self.cap - k)*self.d*sizeof(double))
        memset(self.U, 0, self.ell*self.cap*sizeof(double))
        for i in range(k):
            self.U[i*self.cap + i] = 1
        self.counts[WIDTH], self.counts[ROUNDS] = k, 0


# ----------------------------------------------------------------------------------------------------------------------
# The rounds of random features with learnt scales: predict, ask the loss, move weights and scales, row after row.
# ----------------------------------------------------------------------------------------------------------------------
cdef fourier_ops FOURIER = fourier_pick()


cdef class Rescaled(RowLoop):
    """Works on the learner's own arrays: E (d, D) normals, a (d,) log-scales, W (K, 2 D) weights of cosines and sines.

    `total` (K, 2 D) is the sum of the weights that predicted, or None. The angles are E'(e^a x): the directions
    themselves are never formed. `limit` bounds |a|.
    """
    cdef Correction rule
    cdef tuple arrays
    cdef const double *E
    cdef double *a
    cdef double *W
    cdef double *total
    cdef double *scale      # d: e^a
    cdef double *x          # d: e^a x
    cdef double *u          # D: angles, then the gradient in them
    cdef double *c          # D: gain cos u
    cdef double *s          # D: gain sin u
    cdef double *alpha      # K: -l'
    cdef Py_ssize_t D
    cdef double gain, eta, eta_scale, lam, limit

    def __init__(self, object loss, cnp.ndarray E, cnp.ndarray a, cnp.ndarray W, object total, double gain, double eta,
                 double eta_scale, double lam, double limit):
        self.width, self.D, self.K = E.shape[0], E.shape[1], W.shape[0]
        cdef Py_ssize_t wide = self.D + FOURIER_SLACK(sizeof(double))
        scratch = np.zeros(2 * self.width + 3 * wide + self.K)
        self.rule = Correction(loss, "gradient", self.K)
        self.loss = self.rule.loss
        self.arrays = (E, a, W, total, scratch)
        self.E, self.a = clean(E, self.width, self.D), <double*> clean(a, -1, self.width)
        self.W = <double*> clean(W, self.K, 2 * self.D)
        self.total = <double*> clean(total, self.K, 2 * self.D) if total is not None else NULL
        self.scale = <double*> cnp.PyArray_DATA(scratch)
        self.x, self.u = self.scale + self.width, self.scale + 2 * self.width
        self.c, self.s, self.alpha = self.u + wide, self.u + 2 * wide, self.u + 3 * wide
        self.gain, self.eta, self.eta_scale, self.lam, self.limit = gain, eta, eta_scale, lam, limit
        self._rescale()

    cdef void _rescale(self) noexcept nogil:
        cdef Py_ssize_t n
        for n in range(self.width):
            self.scale[n] = exp(self.a[n])

    cdef int round(self, const void* row, const double* y, double weight, long long t, double* p) except -1 nogil:
        cdef Py_ssize_t k, D = self.D
        cdef double decay = 1 - self.eta * self.lam
        cdef bint active
        self._features(<const double*> row)
        for k in range(self.K):
            p[k] = OPS.dot(D, self.W + 2 * k * D, self.c) + OPS.dot(D, self.W + (2 * k + 1) * D, self.s)
        if self.total:
            OPS.add(2 * self.K * D, self.total, self.W)
        active = self.rule.ask(y, p, 1.0, weight, self.alpha)
        if active and self.eta_scale:
            self._slope()      # of the old weights
        self.loss.mix(self.alpha)
        if active or self.lam:
            for k in range(self.K):
                OPS.mix(D, decay, self.W + 2 * k * D, self.eta * self.alpha[k], self.c)
                OPS.mix(D, decay, self.W + (2 * k + 1) * D, self.eta * self.alpha[k], self.s)
        if active and self.eta_scale:
            self._adapt()
        return 0

    cdef void _features(self, const double* x) noexcept nogil:
        cdef Py_ssize_t j, n
        cdef bint near = True
        for n in range(self.width):
            self.x[n] = self.scale[n] * x[n]
        FOURIER.project(1, self.width, self.D, self.D, self.x, self.E, self.u)
        for j in range(self.D):
            near &= fabs(self.u[j]) <= FOURIER_FAR      # false for an angle that overflowed
        if near:
            FOURIER.sincos(self.D, self.u, self.gain, self.c, self.s)
        else:
            fourier_far(self.D, self.u, self.gain, self.c, self.s)

    cdef void _slope(self) noexcept nogil:
        """u_j <- derivative of the loss in angle j: sum_k g_k gain (-w_cos,kj sin u_j + w_sin,kj cos u_j)."""
        cdef Py_ssize_t j, k
        cdef double g
        cdef const double* w
        for j in range(self.D):
            self.u[j] = 0
        for k in range(self.K):
            g, w = -self.alpha[k], self.W + 2 * k * self.D
            if g != 0:
                for j in range(self.D):
                    self.u[j] += g * (w[self.D + j] * self.c[j] - w[j] * self.s[j])

    cdef void _adapt(self) noexcept nogil:
        """a_n -= eta_scale clip(x_n e^a_n sum_j E_nj du_j, -1, 1)."""
        cdef Py_ssize_t n
        cdef double slope
        for n in range(self.width):
            slope = self.x[n] * OPS.dot(self.D, self.E + n * self.D, self.u)
            if slope != slope:      # e^a x overflowed: its angles count as 0, whatever the scale
                continue
            slope = min(max(slope, -1.0), 1.0)
            self.a[n] = min(max(self.a[n] - self.eta_scale * slope, -self.limit), self.limit)
        self._rescale()
