# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The round of one row of exact kernel least squares, in one call."""
cimport numpy as cnp
from libc.math cimport fmax, fmin, isfinite, sqrt

from nystream._core.gram.whitened cimport WhitenedRow
from nystream._core.kernel_rows cimport KernelRows
from nystream._core.linalg.cholesky cimport Triangle
from nystream._core.linalg.linear_kernel cimport clean, linear_ops, linear_pick
from nystream._core.linalg.meter cimport count_round
from nystream._core.one_row cimport clean_number, clean_row

cnp.import_array()

cdef linear_ops OPS = linear_pick()
cdef enum: RELEASE = 64     # points from which a row is long enough to be worth giving up the GIL


cdef class RidgeRow(WhitenedRow):
    """l = L^-1 k, r = l.e, s = (k(x, x) - l.l)/ridge and what follows from them; `learn` is the rest of the round.

    Works on the memory of the learner, which is given anew (`hold`) where it may have moved: points (m, d), scale
    (m, 1) and e (m, 1) of one output, totals (3,) and columns (6, 1) of its meter. No row whose k(x, x) is below 0 or
    above `largest` is taken.
    """
    cdef double ridge, clip, largest, label, ridge_prediction, emitted, leverage, pivot
    cdef bint vovk
    cdef const double* e
    cdef double* totals
    cdef double* columns
    cdef tuple rest
    cdef readonly double entry          # of e, for the last row,
    cdef readonly double own            # and its k(x, x)

    def __init__(self, KernelRows form, Triangle triangle, double ridge, double largest, bint vovk, double clip):
        super().__init__(form, triangle)
        self.ridge, self.largest, self.vovk, self.clip = ridge, largest, vovk, clip

    cpdef hold(self, cnp.ndarray points, cnp.ndarray scale, cnp.ndarray e, cnp.ndarray totals, cnp.ndarray columns):
        """Where everything is."""
        self.hold_points(points, scale)
        self.e = clean(e, self.m, 1)
        self.totals, self.columns = <double*> clean(totals, -1, 3), <double*> clean(columns, 6, 1)
        self.rest = (e, totals, columns)

    def one(self, object x, object y):
        """The prediction for x; None where x or y is not a clean row or number. Nothing has changed yet."""
        cdef const double* row = clean_row(x, self.d)
        cdef double square
        if row == NULL or not clean_number(y, False, &self.label):
            return None
        self.form.fill(row, 1, row, 1, self.d, &self.own, 1)
        if not 0 <= self.own <= self.largest:
            return None
        if self.m < RELEASE:
            square = self.whiten(row, self.t)
        else:
            with nogil:
                square = self.whiten(row, self.t)
        self.ridge_prediction = OPS.dot(self.m, self.t, self.e)
        self.pivot = sqrt(fmax(self.own - square + self.ridge, self.ridge))
        if not isfinite(self.pivot) or not isfinite(square) or not isfinite(self.ridge_prediction):
            return None
        self.leverage = self.pivot*self.pivot/self.ridge - 1
        self.emitted = self.ridge_prediction/(1 + self.leverage) if self.vovk else self.ridge_prediction
        self.emitted = fmin(fmax(self.emitted, -self.clip), self.clip)
        self.entry = (self.label - self.ridge_prediction)/self.pivot
        return self.emitted

    def learn(self):
        """The last row enters the factor and the meter; its point, a scale of 1 and `entry` are for the learner to
        append, and then all is given anew."""
        self.triangle.append_one(self.t, self.pivot)
        count_round(self.totals, self.columns, 1, &self.label, &self.ridge_prediction, &self.emitted, self.leverage,
                    1.0)
