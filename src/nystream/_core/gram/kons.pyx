# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The rounds of kernel online Newton steps, exact or sketched, for a block of rows in their residual Gram matrix."""
import numpy as np

cimport numpy as cnp
from libc.math cimport fmax, fmin, sqrt

from nystream._core.linalg.linear_kernel cimport clean
from nystream._core.gram.residual cimport Score, bounded, enter, scored
from nystream._core.losses cimport OutputLoss

cnp.import_array()

cdef double STEEPEST = 1e70    # of the derivative of the loss, for labels beyond all bounds: dl^2 k(x, x) is a number
cdef enum: OUTSIDE, GRAD, PREDICTION, GAIN, LEVERAGE, ROUND, WIDTH   # columns of a record; kons.py counts on the order


cdef class KernelNewton:
    """Constants of the recursion. eta > 0 is the step size; eta = 0 asks for scale / sqrt(t).

    If a loss that is asked in Python raises, nothing has changed.
    """
    cdef OutputLoss loss
    cdef double clip, lam, eta, scale, gamma, eps, beta

    def __init__(self, object loss, double clip, double lam, double eta, double scale, *, double gamma=1.0,
                 double eps=0.5, double beta=1.0):
        self.loss = OutputLoss(loss, 1)
        self.clip, self.lam, self.eta, self.scale = clip, lam, eta, scale
        self.gamma, self.eps, self.beta = gamma, eps, beta

    def rounds(self, cnp.ndarray f, cnp.ndarray G, cnp.ndarray own, cnp.ndarray y, long long t, double trace,
               object H=None, object u=None):
        """Rounds t, t + 1, ... -> (records (m, 6), loss, E (r, m), v, scales, pivots (r,), odds (m,)); r rows enter.

        f (m,) are the predictions before projection at the start of the block, G (m, m) its residual Gram matrix, own
        (m,) k(x, x), y (m, 1) the labels, trace the trace of the factor's Gram matrix. E[i] are the coordinates that
        later rows gain by the i-th row that enters (0 for the others), v its entry of L^-1 b. With H, the residual
        Gram matrix against KORS's dictionary, and uniforms u, a row enters only if u < max(p, gamma), and odds are the
        p of the rows that KORS keeps (0 elsewhere). f, G and H are used up.

        A gradient enters with scale dl sqrt(eta), or what the factor can bear of it (`bounded`); its own step is that
        of the whole. Then A_t is at most A_{t-1} + eta g g', and the bound on the regret holds all the same.
        """
        cdef Py_ssize_t m = cnp.PyArray_DIM(f, 0), j, i, r = 0
        cdef cnp.ndarray records = np.zeros((m, WIDTH)), E = np.zeros((m, m)), rest = np.zeros((5, m))
        cdef double* ybar = <double*> clean(f, -1, m)
        cdef double* g = <double*> clean(G, m, m)
        cdef double* hh = <double*> clean(H, m, m) if H is not None else NULL
        cdef const double* k = clean(own, -1, m)
        cdef const double* label = clean(y, m, 1)
        cdef const double* coin = clean(u, -1, m) if u is not None else NULL
        cdef double* q = <double*> cnp.PyArray_DATA(records)
        cdef double* e = <double*> cnp.PyArray_DATA(E)
        cdef double* v = <double*> cnp.PyArray_DATA(rest)
        cdef double* pivot = v + m
        cdef double* odds = v + 2*m
        cdef double* scale = v + 4*m
        cdef double move, root, loss = 0
        with nogil:
            for j in range(m):
                q[PREDICTION], q[ROUND] = fmin(fmax(ybar[j], -self.clip), self.clip), t + j
                if not k[j] > 0:   # no feature: predict 0, learn nothing
                    q[PREDICTION] = 0
                loss += self.loss.value(label[j], q[PREDICTION])
                if not k[j] > 0:
                    q += WIDTH
                    continue
                q[LEVERAGE] = fmax(g[j*m + j] / self.lam, k[j] / (self.lam + trace))
                self._ask(label[j], t + j, q)
                if hh != NULL and q[GAIN] > 0 and not self._sampled(hh, m, j, k[j], coin[j], q, odds + j, v + 3*m):
                    q[GAIN] = 0
                move = self._move(ybar[j], q)
                for i in range(j + 1, m):
                    ybar[i] -= move * g[j*m + i]
                if q[OUTSIDE] != 0:   # what is outside the factor is seen by it: v -= (c/lam) l
                    for i in range(r):
                        v[i] -= q[OUTSIDE] * e[i*m + j]
                if q[GAIN] > 0:
                    root = sqrt(bounded(q[GAIN], q[GRAD] * q[GRAD] * k[j], self.lam))
                    scale[r] = q[GRAD] * root
                    pivot[r] = sqrt(self.lam * (1 + scale[r] * scale[r] * q[LEVERAGE]))
                    v[r] = -pivot[r] / (root * self.lam * (1 + q[GAIN] * q[GRAD] * q[GRAD] * q[LEVERAGE]))
                    enter(g, m, j, scale[r] / pivot[r], e + r*m)
                    trace += scale[r] * scale[r] * k[j]
                    r += 1
                q += WIDTH
        return records, loss, E[:r], rest[0, :r], rest[4, :r], rest[1, :r], rest[2]

    cdef int _ask(self, double y, long long t, double* q) except -1 nogil:
        """Derivative of the loss and step size of the round; a step of 0 where there is no gradient."""
        q[GRAD] = self.loss.slope(y, q[PREDICTION])
        q[GAIN] = 0
        if q[GRAD] != 0:
            q[GRAD] = fmin(fmax(q[GRAD], -STEEPEST), STEEPEST)
            q[GAIN] = self.eta if self.eta > 0 else self.scale / sqrt(<double> t)
        return 0

    cdef bint _sampled(self, double* H, Py_ssize_t m, Py_ssize_t j, double own, double u, double* q, double* odds,
                       double* e) noexcept nogil:
        """KORS's round for psi = dl sqrt(eta) phi, and the sketch's coin: one uniform drives both."""
        cdef double weight = q[GAIN] * q[GRAD] * q[GRAD], squared = H[j*m + j]
        cdef Score score = scored(squared, own, weight, self.lam, self.eps, self.beta)
        if u < score.p:
            odds[0] = score.p
            weight = bounded(weight / score.p, own, self.lam)
            enter(H, m, j, sqrt(weight / (self.lam + weight * squared)), e)
        return u < fmax(score.p, self.gamma)

    cdef double _move(self, double ybar, double* q) noexcept nogil:
        """Sets c/lam, the coefficient outside the factor; returns kap/lam, by which u moves along -(A^-1 lam) phi."""
        cdef double h = ybar - q[PREDICTION], back = h / q[LEVERAGE] if h != 0 else 0
        q[OUTSIDE] = -(back if q[GAIN] > 0 else back + q[GRAD]) / self.lam
        return (back + q[GRAD] / (1 + q[GAIN] * q[GRAD] * q[GRAD] * q[LEVERAGE])) / self.lam
