# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Checks of inputs, and small loops over one row: running sums, standardised rows, ring buffers, coins."""
import numpy as np
cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.string cimport memcpy

from nystream._core.linear_kernel cimport clean

cnp.import_array()

# ----------------------------------------------------------------------------------------------------------------------
# One row and one label through compiled rounds in one call: what needs more than that is told by None.
# ----------------------------------------------------------------------------------------------------------------------
cdef class RowMap:
    """A map of rows x (d) to features z."""

    cdef Py_ssize_t features(self) noexcept:
        """How many there are; -1 where Python has to be asked for them."""
        return -1

    cdef int bytes(self) noexcept:
        """Of a feature: 8, or 4 in single precision."""
        return 8

    cdef int fill(self, Py_ssize_t n, const double* x, void* z) except -1:
        """Features of n rows; 1, and nothing done, where they need Python after all."""
        return 0

    cdef int passed(self) except -1:
        """The row that was filled in last has had its round."""
        return 0


cdef class OneRow:
    """Compiled rounds, of which one may be asked for with a row, a number for its label and a number for an answer.

    Subclasses write `accepts`, which also sets `signs`, and `one`, which fills p before it looks at y.
    """

    cdef Py_ssize_t accepts(self) noexcept:
        """Numbers in a row; -1 where labels or answers are more than a number."""
        return -1

    cdef int bytes(self) noexcept:
        """Of a number in a row."""
        return 8

    cdef int one(self, const void* x, double y, long long t, double* p) except -1:
        return 0

    cdef const void* mapped(self, RowMap map, object x) except? NULL:
        """Features of x; NULL where it needs the full checks."""
        cdef Py_ssize_t wide = self.accepts()
        cdef const double* row
        if wide < 1 or map.features() != wide or map.bytes() != self.bytes():
            return NULL
        row = clean_row(x, map.d)
        if row == NULL:
            return NULL
        if self._held_row is None or len(self._held_row) != wide:
            self._held_row = np.empty(wide)
            self._row_at = cnp.PyArray_DATA(self._held_row)
        return NULL if map.fill(1, row, self._row_at) else self._row_at

    def one_row(self, object x, object y, long long t):
        """Round t (the first is 1) on x with label y -> the prediction; None, and nothing done, where x or y is not a
        clean row or a plain number, or there are several outputs: what needs the full checks."""
        cdef double label = 0, p = 0
        cdef const double* row = clean_row(x, self.accepts() if self.bytes() == 8 else -1)
        if row == NULL or not clean_number(y, self.signs, &label):
            return None
        self.one(row, label, t, &p)
        return p

    def one_mapped(self, RowMap map, object x, object y, long long t):
        """The same, on the features that the map has for x."""
        cdef double label = 0, p = 0
        cdef const void* z = self.mapped(map, x)
        if z == NULL or not clean_number(y, self.signs, &label):   # in this order: `accepts` settles `signs`
            return None
        self.one(z, label, t, &p)
        map.passed()
        return p


# ----------------------------------------------------------------------------------------------------------------------
# The checks at the boundary, cheap enough for one row at a time.
# ----------------------------------------------------------------------------------------------------------------------
def is_clean_row(object x, Py_ssize_t d):
    """x is a contiguous, finite float64 vector of length d: nothing to convert, nothing to refuse."""
    return clean_row(x, d) != NULL


def clean_label(object y, bint sign):
    """(1,) float64 of a plain finite number (-1 or +1 with `sign`); None for anything that needs the full checks."""
    cdef double v = 0
    if not clean_number(y, sign, &v):
        return None
    cdef cnp.npy_intp one = 1
    cdef cnp.ndarray a = cnp.PyArray_SimpleNew(1, &one, cnp.NPY_FLOAT64)
    (<double*> cnp.PyArray_DATA(a))[0] = v
    return a


def all_finite(cnp.ndarray a):
    """Every element of a contiguous float64 array is finite (no temporary, any shape)."""
    if cnp.PyArray_TYPE(a) != cnp.NPY_FLOAT64 or not cnp.PyArray_ISCONTIGUOUS(a):
        raise TypeError("all_finite takes a contiguous float64 array")
    cdef const double* v = <const double*> cnp.PyArray_DATA(a)
    cdef Py_ssize_t n = cnp.PyArray_SIZE(a)
    cdef bint good
    with nogil:
        good = all_numbers(v, n)
    return good


# ----------------------------------------------------------------------------------------------------------------------
# Rows of columns scaled by running means and deviations, one after the other.
# ----------------------------------------------------------------------------------------------------------------------
cdef extern from "running.h" nogil:
    void running_scale(Py_ssize_t, Py_ssize_t, const double*, const double*, double*, double*, double*, double*)


def scale_rows(cnp.ndarray X, cnp.ndarray first, cnp.ndarray count, cnp.ndarray total, cnp.ndarray spread):
    """Z (n, d) of finite rows X (n, d); counts, all above 0, totals of x - first and spreads are moved on in place."""
    cdef Py_ssize_t n = cnp.PyArray_DIM(X, 0), d = cnp.PyArray_DIM(X, 1)
    cdef const double* x = clean(X, n, d)
    cdef const double* at = clean(first, -1, d)
    cdef double* counts = <double*> clean(count, -1, d)
    cdef double* totals = <double*> clean(total, -1, d)
    cdef double* spreads = <double*> clean(spread, -1, d)
    cdef cnp.ndarray Z = np.empty((n, d))
    cdef double* z = <double*> cnp.PyArray_DATA(Z)
    with nogil:
        running_scale(n, d, x, at, counts, totals, spreads, z)
    return Z


# ----------------------------------------------------------------------------------------------------------------------
# Features of one standardised row, and the constant 1, in one call.
# ----------------------------------------------------------------------------------------------------------------------
cdef class StandardRows(RowMap):
    """z(x) = (features(clip((x - mean) / scale)), 1), clipped to [-most, most]. Works on copies of mean and scale."""
    cdef RowMap inner
    cdef const double* mean
    cdef const double* scale
    cdef double* u
    cdef double most
    cdef object arrays

    def __init__(self, RowMap inner, object mean, object scale, double most):
        self.inner, self.d, self.most = inner, inner.d, most
        self.arrays = np.array([mean, scale, mean], dtype=np.float64)
        self.mean = clean(self.arrays, 3, self.d)
        self.scale, self.u = self.mean + self.d, <double*> self.mean + 2*self.d

    cdef Py_ssize_t features(self) noexcept:
        cdef Py_ssize_t n = self.inner.features()
        return -1 if n < 0 or self.inner.bytes() != 8 else n + 1

    cdef int fill(self, Py_ssize_t n, const double* x, void* z) except -1:
        cdef Py_ssize_t i, j, wide = self.inner.features()
        cdef double v
        cdef double* row
        for i in range(n):
            for j in range(self.d):
                v = (x[i*self.d + j] - self.mean[j])/self.scale[j]
                self.u[j] = -self.most if v < -self.most else self.most if v > self.most else v
            row = <double*> z + i*(wide + 1)
            if self.inner.fill(1, self.u, row):
                return 1
            row[wide] = 1.0
        return 0


# ----------------------------------------------------------------------------------------------------------------------
# One row into its place among others: what assigning to it does, without the generality of that.
# ----------------------------------------------------------------------------------------------------------------------
def put(cnp.ndarray store, Py_ssize_t place, cnp.ndarray row):
    """store[place] = row, of store (n, d), C-ordered float64, and a row (1, d)."""
    cdef Py_ssize_t d
    if (cnp.PyArray_TYPE(store) != cnp.NPY_FLOAT64 or cnp.PyArray_NDIM(store) != 2
            or not cnp.PyArray_IS_C_CONTIGUOUS(store) or not cnp.PyArray_ISWRITEABLE(store)
            or not 0 <= place < cnp.PyArray_DIM(store, 0)):
        raise ValueError(f"a C-ordered float64 array with a row {place} that can be written to is needed, got "
                         f"{store.dtype} of shape {(<object> store).shape}")
    d = cnp.PyArray_DIM(store, 1)
    if cnp.PyArray_NDIM(row) != 2 or cnp.PyArray_DIM(row, 0) != 1 or cnp.PyArray_DIM(row, 1) != d:
        raise ValueError(f"a row of shape (1, {d}) is needed, got shape {(<object> row).shape}")
    if cnp.PyArray_TYPE(row) == cnp.NPY_FLOAT64 and cnp.PyArray_IS_C_CONTIGUOUS(row):
        memcpy(<double*> cnp.PyArray_DATA(store) + place*d, cnp.PyArray_DATA(row), d*sizeof(double))
    else:
        store[place] = row[0]


# ----------------------------------------------------------------------------------------------------------------------
# Uniform numbers one at a time.
# ----------------------------------------------------------------------------------------------------------------------
cdef class Coins:
    """Those of a generator: `toss()` is `rng.random()` without most of what that call costs."""

    def __init__(self, object rng):
        self.rng = rng
        if type(rng) is np.random.Generator:
            self.bits = <bitgen_t*> PyCapsule_GetPointer(rng.bit_generator.capsule, "BitGenerator")

    cpdef double toss(self) except? -1:
        return self.bits.next_double(self.bits.state) if self.bits else self.rng.random()
