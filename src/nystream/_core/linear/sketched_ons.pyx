# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The rounds of the online Newton step whose metric is a Frequent-Directions sketch.

E (m, d) has orthonormal rows; all that moved since it was last turned lies in their span. In its coordinates the
sketch is S'S = U' diag(values) U with U (k, m) of orthonormal rows, and the weights are u + E'a. A round costs a few
passes over E and an eigenproblem of size k + 1; after ell + 1 rounds E becomes U E and u becomes u + E'a, by matrix
products.
"""
import numpy as np

cimport numpy as cnp
from libc.math cimport fabs, fmax, fmin, sqrt
from libc.string cimport memcpy, memmove, memset
from scipy.linalg.cython_blas cimport dgemm, dgemv, dsyrk

from nystream._core.linalg.linear_kernel cimport clean, linear_ops, linear_pick
from nystream._core.linalg.rank_one cimport rank_one
from nystream._core.losses cimport OutputLoss
from nystream._core.one_row cimport OneRow

cnp.import_array()

cdef linear_ops OPS = linear_pick()
cdef int STEP = 1
cdef double ONE = 1.0, ZERO = 0.0, MINUS = -1.0
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
