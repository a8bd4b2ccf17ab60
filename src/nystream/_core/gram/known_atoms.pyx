# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Nested coordinates of one row whose dictionary stays as it is, in one call."""
import numpy as np

cimport numpy as cnp
from libc.math cimport fabs
from libc.string cimport memset

from nystream._core.coins cimport Coins
from nystream._core.kernel_rows cimport KernelRows
from nystream._core.linalg.cholesky cimport Triangle
from nystream._core.linalg.linear_kernel cimport clean
from nystream._core.linalg.nested cimport NestedFactor
from nystream._core.one_row cimport RowMap

cnp.import_array()

cdef enum: RELEASE = 256    # points from which a row is long enough to be worth giving up the GIL


cdef class KnownAtoms(RowMap):
    """Coordinates (width,) of a row that its dictionary does not want; a row that it may want is left to Python.

    Works on the memory of the dictionary: to be made anew when an atom has entered. form: the kernel. points (m, d):
    the atoms of `nested`, or more, then `places` (n,) says which of them these are. A row is wanted that has more than
    `far` k(x, x) outside of the span; with `sampled`, (triangle, scale (m,), ridge, odds, resolved), one whose coin is
    below odds s/(1 + s), s its leverage. `combined`: R^-T z in the place of z. state: the dictionary's, with `missed_`
    and, where there are coins, `u_`, that of the next row, and `rng_`.
    """
    cdef NestedFactor nested
    cdef Triangle triangle
    cdef KernelRows form
    cdef readonly Py_ssize_t m
    cdef const double* at
    cdef const double* scale
    cdef const Py_ssize_t* places
    cdef double far, ridge, odds, resolved, largest
    cdef bint combined
    cdef dict state
    cdef Coins coins
    cdef double outside                 # k(x, x) - |z|^2 of the last row, at least 0
    cdef double* k
    cdef double* t
    cdef tuple arrays

    def __init__(self, KernelRows form, cnp.ndarray points, NestedFactor nested, double largest, double far,
                 dict state, object places=None, tuple sampled=None, bint combined=False):
        self.m, self.d = points.shape[0], points.shape[1]
        self.form, self.nested, self.largest, self.far, self.combined = form, nested, largest, far, combined
        self.at, self.state = clean(points, self.m, self.d), state
        if "rng_" in state:
            self.coins = Coins(state["rng_"])
        if places is None and self.m != nested.n or places is not None and len(places) != nested.n:
            raise ValueError(f"{nested.n} atoms have coordinates; others were given")
        if places is not None:
            places = np.ascontiguousarray(places, dtype=np.intp)
            if len(places) and not 0 <= places.min() <= places.max() < self.m:
                raise ValueError(f"atoms are among {self.m} points")
            self.places = <const Py_ssize_t*> cnp.PyArray_DATA(<cnp.ndarray> places)
        scale, scratch = None, np.zeros((2, self.m + 8))
        if sampled is not None:
            triangle, scale, self.ridge, self.odds, self.resolved = sampled
            if triangle.n != self.m:
                raise ValueError(f"{triangle.n} points are weighed, {self.m} are given")
            self.triangle, scale = triangle, np.ascontiguousarray(scale)
            self.scale = clean(scale, -1, self.m)
        self.k = <double*> clean(scratch, 2, self.m + 8)
        self.t = self.k + self.m + 8
        self.arrays = (points, places, scale, scratch)

    cdef Py_ssize_t features(self) noexcept:
        return 8*(self.nested.n//8 + 1)

    cdef int fill(self, Py_ssize_t n, const double* x, void* z) except -1:
        """One row; 1 where it may be wanted."""
        cdef int wanted
        cdef double coin = self.state["u_"] if self.triangle is not None else 0
        if self.m < RELEASE:
            return self.place(x, coin, <double*> z)
        with nogil:
            wanted = self.place(x, coin, <double*> z)
        return wanted

    cdef int passed(self) except -1:
        self.state["missed_"] = <double> self.state["missed_"] + self.outside
        if self.coins is not None:
            self.state["u_"] = self.coins.toss()
        return 0

    cdef int place(self, const double* x, double coin, double* z) noexcept nogil:
        cdef Py_ssize_t i, n = self.nested.n
        cdef double own = 0, inside = 0, s
        self.form.fill(x, 1, x, 1, self.d, &own, 1)
        if not fabs(own) < self.largest:
            return 1
        self.form.fill(x, 1, self.at, self.m, self.d, self.k, self.m)
        if self.triangle is not None:
            for i in range(self.m):
                self.t[i] = self.k[i]*self.scale[i]
            inside = self.triangle.solve_one(self.t)
            s = (own - inside)/self.ridge
            if own - inside > self.resolved*own and s > 0 and coin*(1 + s) < self.odds*s:
                return 1
        memset(z + n//8*8, 0, 8*sizeof(double))
        for i in range(n):
            z[i] = self.k[self.places[i] if self.places else i]
        inside = self.nested.forward_one(z)
        if own - inside > self.far*own:
            return 1
        self.outside = own - inside if own > inside else 0.0
        if self.combined:
            self.nested.backward_one(z)
        return 0
