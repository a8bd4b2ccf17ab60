# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One row and one label through compiled rounds in one call: what needs more than that is told by None."""
import numpy as np

cimport numpy as cnp

cnp.import_array()


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
