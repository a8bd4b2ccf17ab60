# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Orthonormal coordinates of the span of m landmarks, of which one moves at a time, by reflections: O(m^2) a move."""
import numpy as np

cimport numpy as cnp
from libc.math cimport atan2, copysign, cos, fabs, hypot, isfinite, sin, sqrt
from libc.string cimport memset

from nystream._core.linalg.linear_kernel cimport clean, linear_ops, linear_pick

cnp.import_array()

NOT_FINITE = "the kernel between landmarks is not finite; scale the inputs or use Normalized(kernel)"

cdef linear_ops OPS = linear_pick()
cdef enum:
    SWEEPS = 2                  # directions exchanged between head and tail after a move
    LOGGED = SWEEPS + 1         # pairs of reflections in a move
    ROTATIONS = SWEEPS + 2      # plane rotations in a move
cdef double SMALL = 0.5         # a squared distance below this part of the ridge, which bounds it, has lost its digits
cdef double FACTOR = 4.0        # by which the trace may change before the ridge follows it


cdef double _mirror(Py_ssize_t n, double* v) noexcept nogil:
    """v becomes the unit vector whose reflection I - 2vv' puts v on the last axis; its coordinate there."""
    cdef double length = sqrt(OPS.dot(n, v, v)), sign, whole
    cdef Py_ssize_t i
    if length == 0:
        return 0
    sign = copysign(length, v[n - 1])
    v[n - 1] += sign
    whole = sqrt(OPS.dot(n, v, v))
    for i in range(n):
        v[i] /= whole
    return -sign


cdef void _reflect(Py_ssize_t n, const double* v, double* w) noexcept nogil:
    cdef double twice = -2*OPS.dot(n, v, w)
    if twice != 0:
        OPS.mix(n, 1.0, w, twice, v)


cdef class Turns:
    """Works on W (m, m), its rows in memory `W.strides[0]` apart, and on E = (k(u_i, u_j)) (m, m).

    Row j of W holds the coefficients of a function h_j = sum_i W_ji k(u_i, .); W M W' = I, M = E + ridge I.
    The first r functions are the features, the head; the others are the tail. `move` leaves in the object what it did,
    which `carry` does to weights. `trace` is that of E for which the ridge was chosen.
    """
    cdef object arrays
    cdef double* W
    cdef double* E
    cdef double* heads          # (LOGGED, r) mirrors of the head
    cdef double* tails          # (LOGGED, m - r) of the tail
    cdef double* work           # (2m,)
    cdef double shares[ROTATIONS][2]
    cdef double scale, ridge, trace
    cdef Py_ssize_t wide
    cdef readonly Py_ssize_t m, r

    def __init__(self, cnp.ndarray W, cnp.ndarray E, Py_ssize_t rank, double ridge, double trace):
        cdef Py_ssize_t m = cnp.PyArray_DIM(W, 0)
        if (cnp.PyArray_TYPE(W) != cnp.NPY_FLOAT64 or cnp.PyArray_NDIM(W) != 2 or cnp.PyArray_DIM(W, 1) != m
                or cnp.PyArray_STRIDE(W, 1) != sizeof(double) or cnp.PyArray_STRIDE(W, 0) % sizeof(double)
                or cnp.PyArray_STRIDE(W, 0) < <Py_ssize_t> (m*sizeof(double)) or not 0 < rank <= m):
            raise ValueError("a square matrix of float64 rows and a rank of at most its size are needed")
        self.m, self.r, self.ridge, self.trace = m, rank, ridge, trace
        self.wide = cnp.PyArray_STRIDE(W, 0)//<Py_ssize_t> sizeof(double)
        self.W, self.E = <double*> cnp.PyArray_DATA(W), <double*> clean(E, m, m)
        log = np.zeros(LOGGED*m + 2*m)
        self.heads = <double*> cnp.PyArray_DATA(log)
        self.tails = self.heads + LOGGED*rank
        self.work = self.heads + LOGGED*m
        self.arrays = (W, E, log)

    def move(self, Py_ssize_t q, cnp.ndarray row, double own):
        """Landmark q moves to where the kernel to the landmarks as they were is `row` (m,) and to itself is `own`.

        False: W has moved, but a new one is wanted, since the scale of the kernel changed or digits were lost.
        """
        cdef const double* k = clean(row, -1, self.m)
        cdef double squared, trace = 0
        cdef Py_ssize_t i
        if not 0 <= q < self.m:
            raise IndexError(f"no landmark {q}")
        for i in range(self.m):
            trace += fabs(k[i])
        if not isfinite(trace + fabs(own)):
            raise ValueError(NOT_FINITE)
        trace = 0
        with nogil:
            squared = self._move(q, k, own)
            for i in range(self.m):
                trace += self.E[i*self.m + i]
        return squared >= SMALL*self.ridge and self.trace <= FACTOR*trace and trace <= FACTOR*self.trace

    cdef double _move(self, Py_ssize_t q, const double* k, double own) noexcept nogil:
        cdef Py_ssize_t i, m = self.m, r = self.r, wide = self.wide
        cdef double* W = self.W
        cdef double* last = W + (r - 1)*wide
        cdef double* spare = W + (m - 1)*wide
        cdef double* work = self.work
        cdef double a, b, length, z, squared
        # 1. the other functions do without u_q: its coefficients gather in one function
        for i in range(r):
            self.heads[i] = W[i*wide + q]
        for i in range(r, m):
            self.tails[i - r] = W[i*wide + q]
        a = self._turn_head(0)
        if r < m:
            b = self._turn_tail(0)
            length = hypot(a, b)
            if length > 0:
                self._rotate(0, a/length, b/length)
            else:
                self._rotate(0, 1, 0)
        # 2. that function becomes what the new landmark adds to the span of the others
        z = OPS.dot(m, last, k)      # of k(u_new, .) along the old one
        for i in range(m):
            W[i*wide + q] = 0
            self.E[i*m + q] = self.E[q*m + i] = k[i]
        self.E[q*m + q] = own
        memset(last, 0, m*sizeof(double))
        last[q] = 1
        for i in range(m):
            work[i] = k[i]
        self._part(last)
        squared = self._clear(last)
        z /= sqrt(squared if squared > self.ridge else self.ridge)
        self.scale = z if fabs(z) <= 1 else copysign(1.0, z)   # a projection: it cannot be longer
        # 3. head and tail exchange what belongs to the other
        if r < m:
            self._settle(1, last, spare)
            for i in range(SWEEPS):
                self._sweep(i)
        return squared

    cdef void _part(self, double* last) noexcept nogil:
        """Take from `last` its part in the span of the others; `work` holds M times it, or k(u_i, .) of a new one."""
        cdef Py_ssize_t i, m = self.m, wide = self.wide
        cdef double b
        cdef double* work = self.work
        for i in range(m):
            if i != self.r - 1:
                b = OPS.dot(m, self.W + i*wide, work)
                OPS.mix(m, 1.0, last, -b, self.W + i*wide)

    cdef double _clear(self, double* last) noexcept nogil:
        """The same once more, for what the first time left, and make `last` a unit; its squared length before."""
        cdef Py_ssize_t i, m = self.m
        cdef double squared
        cdef double* work = self.work
        for i in range(m):
            work[i] = OPS.dot(m, self.E + i*m, last) + self.ridge*last[i]
        self._part(last)
        for i in range(m):
            work[i] = OPS.dot(m, self.E + i*m, last) + self.ridge*last[i]
        squared = OPS.dot(m, work, last)
        if squared > 0:
            OPS.mix(m, 0.0, work, 1/sqrt(squared), last)
            for i in range(m):
                last[i] = work[i]
        return squared

    cdef double _turn_head(self, int step) noexcept nogil:
        """Mirror the head so that the vector heads[step] comes on its last axis."""
        return self._turn(self.r, self.W, self.heads + step*self.r)

    cdef double _turn_tail(self, int step) noexcept nogil:
        return self._turn(self.m - self.r, self.W + self.r*self.wide, self.tails + step*(self.m - self.r))

    cdef double _turn(self, Py_ssize_t n, double* rows, double* v) noexcept nogil:
        cdef double at = _mirror(n, v)
        cdef double* y = self.work
        cdef Py_ssize_t i
        if at == 0:
            return 0
        memset(y, 0, self.m*sizeof(double))
        for i in range(n):
            OPS.mix(self.m, 1.0, y, v[i], rows + i*self.wide)
        for i in range(n):
            OPS.mix(self.m, 1.0, rows + i*self.wide, -2*v[i], y)
        return at

    cdef void _rotate(self, int step, double a, double b) noexcept nogil:
        """(last of the head, last of the tail) become (a, b; -b, a) times them."""
        cdef double* last = self.W + (self.r - 1)*self.wide
        cdef double* spare = self.W + (self.m - 1)*self.wide
        cdef Py_ssize_t i
        cdef double h
        self.shares[step][0], self.shares[step][1] = a, b
        for i in range(self.m):
            h = last[i]
            last[i] = a*h + b*spare[i]
            spare[i] = a*spare[i] - b*h

    cdef void _settle(self, int step, const double* last, const double* spare) noexcept nogil:
        """Rotate the two so that their coefficients are orthogonal and those of the head the shorter ones.

        Eigenvectors over the roots of their eigenvalues are orthogonal; the longest belong to the least eigenvalues.
        """
        cdef Py_ssize_t m = self.m
        cdef double angle = 0.5*atan2(2*OPS.dot(m, last, spare), OPS.dot(m, last, last) - OPS.dot(m, spare, spare))
        self._rotate(step, fabs(sin(angle)), cos(angle) if sin(angle) < 0 else -cos(angle))

    cdef void _sweep(self, int i) noexcept nogil:
        """One direction of the head and one of the tail whose coefficients are not orthogonal yet are made so."""
        cdef Py_ssize_t j, m = self.m, r = self.r, wide = self.wide
        cdef double* y = self.work
        cdef double* W = self.W
        cdef double* g = self.heads + (i + 1)*r
        cdef double* x = self.tails + (i + 1)*(m - r)
        for j in range(r, m):
            x[j - r] = OPS.dot(m, W + j*wide, W + (r - 1)*wide)   # the last of the head is what moved
        memset(y, 0, m*sizeof(double))
        for j in range(r, m):
            OPS.mix(m, 1.0, y, x[j - r], W + j*wide)
        for j in range(r):
            g[j] = OPS.dot(m, W + j*wide, y)
        self._turn_head(i + 1)
        self._turn_tail(i + 1)
        self._settle(i + 2, W + (r - 1)*wide, W + (m - 1)*wide)

    def carry(self, cnp.ndarray A):
        """The functions with weights A (K, r) after the last move, in place: projected on the span of the new head."""
        cdef Py_ssize_t k, K = cnp.PyArray_DIM(A, 0)
        cdef double* w = <double*> clean(A, K, self.r)
        with nogil:
            for k in range(K):
                self._carry(w + k*self.r)

    cdef void _carry(self, double* w) noexcept nogil:
        cdef Py_ssize_t r = self.r, s = self.m - self.r
        cdef double* tail = self.work
        cdef int i
        _reflect(r, self.heads, w)
        if s == 0:
            w[r - 1] *= self.scale
            return
        memset(tail, 0, s*sizeof(double))
        self._share(0, w + r - 1, tail + s - 1)
        w[r - 1] *= self.scale
        self._share(1, w + r - 1, tail + s - 1)
        for i in range(1, LOGGED):
            _reflect(r, self.heads + i*r, w)
            _reflect(s, self.tails + i*s, tail)
            self._share(i + 1, w + r - 1, tail + s - 1)

    cdef void _share(self, int step, double* head, double* tail) noexcept nogil:
        cdef double a = self.shares[step][0], b = self.shares[step][1], h = head[0]
        head[0] = a*h + b*tail[0]
        tail[0] = a*tail[0] - b*h

    @property
    def matrix(self):
        """T (r, r): weights w become T w."""
        T = np.eye(self.r)
        self.carry(T)
        return np.ascontiguousarray(T.T)
