# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The rounds of the online Newton step: one row by BLAS-2, blocks of rows exactly, with BLAS-3."""
import numpy as np

cimport numpy as cnp
from libc.math cimport fabs, fmax, fmin, log, sqrt
from libc.string cimport memset
from scipy.linalg.cython_blas cimport dgemm, dgemv, dsymm, dsymv, dsyr, dsyrk

from nystream._core.linear_kernel cimport clean, linear_ops, linear_pick
from nystream._core.scalar_losses cimport loss_grad

cnp.import_array()

cdef linear_ops OPS = linear_pick()
cdef enum:
    MOST = 32    # rows of a block: longer ones gain nothing in BLAS-3 and cost O(m r) more per row
    LEAST = 4    # fewer rows than this go one by one

cdef int ONE_STEP = 1
cdef double ONE = 1.0, ZERO = 0.0, MINUS = -1.0


cdef struct Round:
    double p      # the clipped prediction
    double kap    # u moves by -kap v
    double rho    # P moves by -rho v v'
    double gain   # A moves by +gain z z'


cdef struct Meter:
    double gradients    # sum of g' A_t^-1 g
    double log_det      # log det(A_t) - log det(A_0)
    double excess       # sum of (eta_t - sigma)_+ dl^2 (|p| + clip)^2


cdef struct Work:
    double* V       # (m, r)   Z P
    double* W       # (m, r)   the directions by which P moves
    double* G       # (m, m)   Z P Z'
    double* T       # (m, m)   v_j = sum_i T[j, i] V_i
    double* f       # (m,)     u.z_j as the rounds go on
    double* kap
    double* rho
    double* other


cdef class Newton:
    """Works on the solver's own arrays: u (r,), P (r, r), its upper triangle (by rows) only, meter (3,).

    eta > 0 is the step size; eta = 0 asks for scale / sqrt(t). A loss whose `compiled` is None is asked in Python.
    """
    cdef object loss
    cdef tuple arrays
    cdef double *u
    cdef double *P
    cdef double *v
    cdef double *meter
    cdef int r, kind
    cdef double a, b, clip, eta, scale, sigma
    cdef readonly double gain

    def __init__(self, object loss, cnp.ndarray u, cnp.ndarray P, cnp.ndarray meter, double clip, double eta,
                 double scale, double sigma):
        cdef cnp.ndarray v = np.zeros_like(u)
        self.r = u.shape[0]
        self.arrays = (u, P, meter, v)
        self.u, self.v = <double*> clean(u, -1, self.r), <double*> clean(v, -1, self.r)
        self.P, self.meter = <double*> clean(P, self.r, self.r), <double*> clean(meter, -1, 3)
        self.loss = loss
        self.kind, self.a, self.b = loss.compiled or (-1, 0.0, 0.0)
        self.clip, self.eta, self.scale, self.sigma = clip, eta, scale, sigma

    def step(self, cnp.ndarray z, cnp.ndarray y, long long t):
        """Round t (the first is 1), label y (1,) -> prediction (1,) made before; then `gain` is that of z z' in A."""
        cdef double* row = <double*> clean(z, -1, self.r)
        cdef Meter meter = Meter(0, 0, 0)
        cdef Round q
        cdef cnp.npy_intp one = 1
        cdef cnp.ndarray p = cnp.PyArray_EMPTY(1, &one, cnp.NPY_FLOAT64, 0)
        self._row(row, clean(y, -1, 1)[0], t, &q, &meter)
        self._count(&meter)
        (<double*> cnp.PyArray_DATA(p))[0], self.gain = q.p, q.gain
        return p

    def run(self, cnp.ndarray Z, cnp.ndarray Y, long long t, object gains=None):
        """Rounds t, t + 1, ... on the rows of Z, labels Y (n, 1) -> predictions (n, 1). Fills `gains` (n,) if given."""
        cdef Py_ssize_t i = 0, n = cnp.PyArray_DIM(Z, 0)
        cdef double* z = <double*> clean(Z, n, self.r)
        cdef const double* y = clean(Y, n, 1)
        cdef double* gain = <double*> clean(gains, -1, n) if gains is not None else NULL
        cdef cnp.ndarray out = np.empty((n, 1))
        cdef double* p = <double*> cnp.PyArray_DATA(out)
        cdef int m = min(n, MOST)
        cdef cnp.ndarray memory = np.empty(2 * m * (self.r + m + 2))
        cdef Work work = self._layout(<double*> cnp.PyArray_DATA(memory), m)
        cdef Meter meter = Meter(0, 0, 0)
        cdef Round q
        with nogil:
            while i < n:
                if n - i >= LEAST and self.r > 0:
                    m = min(n - i, MOST)
                    self._block(m, z + i * self.r, y + i, t + i, p + i, gain + i if gain else NULL, work, &meter)
                else:
                    m = 1
                    self._row(z + i * self.r, y[i], t + i, &q, &meter)
                    p[i] = q.p
                    if gain:
                        gain[i] = q.gain
                i += m
                self._count(&meter)
        return out

    cdef void _count(self, Meter* meter) noexcept nogil:
        """What a finished row or block adds; a loss that raises in between leaves nothing behind."""
        self.meter[0] += meter.gradients
        self.meter[1] += meter.log_det
        self.meter[2] += meter.excess
        meter[0] = Meter(0, 0, 0)

    cdef int _scalars(self, double ybar, double s, double y, long long t, Round* q, Meter* meter) except -1 nogil:
        """One round seen from the scalars ybar = u.z and s = z'Pz: projection on |w.z| <= clip, then Newton step."""
        cdef double dl, e, den, h
        q[0] = Round(fmin(fmax(ybar, -self.clip), self.clip), 0, 0, 0)
        if not s > 0:
            return 0
        h = ybar - q.p
        if self.kind < 0:
            with gil:
                dl = self.loss.grad(y, q.p)
        else:
            dl = loss_grad(self.kind, self.a, self.b, y, q.p)
        e = self.eta if self.eta > 0 else self.scale / sqrt(<double> t)
        q.gain = e * dl * dl
        den = 1 + q.gain * s
        q.kap = dl / den
        if h != 0:
            q.kap += h / s
        q.rho = q.gain / den
        meter.gradients += dl * dl * s / den
        meter.log_det += log(den)
        meter.excess += fmax(e - self.sigma, 0) * (dl * (fabs(q.p) + self.clip)) ** 2
        return 0

    cdef int _row(self, double* z, double y, long long t, Round* q, Meter* meter) except -1 nogil:
        cdef double ybar = OPS.dot(self.r, self.u, z), s, minus
        if self.r > 0:  # a map may start without features, and BLAS refuses empty matrices
            dsymv(b"L", &self.r, &ONE, self.P, &self.r, z, &ONE_STEP, &ZERO, self.v, &ONE_STEP)
        s = OPS.dot(self.r, z, self.v)
        self._scalars(ybar, s, y, t, q, meter)
        if q.kap != 0:
            OPS.mix(self.r, 1.0, self.u, -q.kap, self.v)
        if q.rho != 0:
            minus = -q.rho
            dsyr(b"L", &self.r, &minus, self.v, &ONE_STEP, self.P, &self.r)
        return 0

    cdef int _block(self, int m, double* Z, const double* y, long long t, double* p, double* gain, Work work,
                    Meter* meter) except -1 nogil:
        """m rounds as scalars in G = Z P Z'; u and P are touched once, at the end, when nothing can fail any more.

        BLAS is column-major: the rows of Z, V, W here are its columns.
        """
        cdef int j
        cdef Round q
        dsymm(b"L", b"L", &self.r, &m, &ONE, self.P, &self.r, Z, &self.r, &ZERO, work.V, &self.r)
        dgemm(b"T", b"N", &m, &m, &self.r, &ONE, Z, &self.r, work.V, &self.r, &ZERO, work.G, &m)
        dgemv(b"T", &self.r, &m, &ONE, Z, &self.r, self.u, &ONE_STEP, &ZERO, work.f, &ONE_STEP)
        memset(work.T, 0, m * m * sizeof(double))
        for j in range(m):
            work.T[j * m + j] = 1
        for j in range(m):
            self._scalars(work.f[j], work.G[j * m + j], y[j], t + j, &q, meter)
            p[j], work.kap[j], work.rho[j] = q.p, q.kap, q.rho
            if gain:
                gain[j] = q.gain
            if q.kap != 0:
                OPS.downdate(m, m, j, q.kap, q.rho, work.f, work.G, work.T, work.other)
        self._commit(m, work)
        return 0

    cdef void _commit(self, int m, Work work) noexcept nogil:
        """u -= (T V)' kap;  P -= (T V)' diag(rho) (T V), over the rows with rho > 0 only."""
        cdef int j, i, active = 0
        cdef double root
        memset(work.other, 0, m * sizeof(double))
        for j in range(m):
            OPS.mix(j + 1, 1.0, work.other, work.kap[j], work.T + j * m)
            if work.rho[j] > 0:
                root = sqrt(work.rho[j])
                for i in range(m):
                    work.G[active * m + i] = root * work.T[j * m + i]
                active += 1
        dgemv(b"N", &self.r, &m, &MINUS, work.V, &self.r, work.other, &ONE_STEP, &ONE, self.u, &ONE_STEP)
        if active:
            dgemm(b"N", b"N", &self.r, &active, &m, &ONE, work.V, &self.r, work.G, &m, &ZERO, work.W, &self.r)
            dsyrk(b"L", b"N", &self.r, &active, &MINUS, work.W, &self.r, &ONE, self.P, &self.r)

    cdef Work _layout(self, double* memory, int m) noexcept nogil:
        cdef Work work
        work.V = memory
        work.W = work.V + m * self.r
        work.G = work.W + m * self.r
        work.T = work.G + m * m
        work.f = work.T + m * m
        work.kap, work.rho, work.other = work.f + m, work.f + 2 * m, work.f + 3 * m
        return work
