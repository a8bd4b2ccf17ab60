# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The rounds of random features with learnt scales: predict, ask the loss, move weights and scales, row after row."""
import numpy as np

cimport numpy as cnp
from libc.math cimport exp, fabs

from nystream._core.fourier_kernel cimport FOURIER_FAR, FOURIER_SLACK, fourier_far, fourier_ops, fourier_pick
from nystream._core.linalg.linear_kernel cimport clean, linear_ops, linear_pick
from nystream._core.expansions.loop cimport Correction
from nystream._core.linear.row_loop cimport RowLoop

cnp.import_array()

cdef fourier_ops FOURIER = fourier_pick()
cdef linear_ops OPS = linear_pick()


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
