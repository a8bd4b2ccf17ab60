# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Typed columns of a table become dense numbers and sparse tokens, row by row, each row before its label is learnt."""
import numpy as np

cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_Check
from libc.math cimport NAN, cos, fabs, floor, frexp, sin, sqrt
from libc.stdint cimport INT64_MIN, int64_t, uint16_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy

from nystream._core.tables.murmur cimport murmur, murmur_pair, murmur_word
from nystream._core.tables.names cimport Names
from nystream._core.tables.tokens cimport Tokens, add_token
from nystream._core.tables.word_tokens cimport WordTokens

cnp.import_array()

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(object text, Py_ssize_t* size) except NULL

cdef enum: NUMBER = 0, CATEGORY = 1, TIME = 2, TEXT = 3
cdef enum: ENCODE = 1, OBSERVE = 2
cdef enum: DATE_NUMBERS = 8
KINDS = {"number": NUMBER, "boolean": NUMBER, "category": CATEGORY, "time": TIME, "text": TEXT}

cdef enum: NOT_A_NUMBER = 0x7FFFFFFF        # keys of bins that no value has
cdef const unsigned char* MISSING = b"\xff"     # bytes that are no text
cdef double CLIP = 3.0              # z-scores beyond count as this
cdef double WILD = 10.0             # deviations from the mean that a value may count for in moments
cdef double SOON = 10.0             # from so many rows on
cdef double PRIOR = 10.0            # rows that the mean of all labels counts for in that of a level
cdef double LARGEST = 1e100         # numbers beyond count as this in moments
cdef int64_t HOUR = 3600000000, DAY = 86400000000, WEEK = 604800000000      # microseconds
cdef int64_t YEAR = 31556952000000  # 365.2425 days
cdef double NOON = 12.0, MIDWEEK = 3.0      # hour and weekday of a missing time that is filled
cdef double TURN = 6.283185307179586


cdef struct Column:
    int kind
    uint32_t[3] seeds
    Py_ssize_t dense       # where its numbers begin in a dense row
    Py_ssize_t own         # which of the numbers it is
    Py_ssize_t slot        # which of the categories
    const void* content


cdef class TableEncoder:
    """Works on the encoder's own arrays, see `nystream.data.encoding.Encoder`.

    kinds : (c,) of the columns; seeds : (c, 3) of their hashes; names : for each a `Names` or None
    moments : (numbers, 3) weight, mean, sum of squares around it
    levels : (categories, buckets, 1 + k) weight and sums of labels; totals : (1 + k,)
    places : (c,) where the numbers of a column begin in a dense row; means : (k, categories) where their means are
    classes : whether label c > 0 counts for the sum c, instead of label k for the sum k
    fill : whether missing numbers are the mean so far, and missing times noon of a Thursday in no season
    """
    cdef Column* columns
    cdef Py_ssize_t count, slots, width, k, buckets
    cdef int shift
    cdef Py_ssize_t most_pairs
    cdef double[:, ::1] moments
    cdef double[:, :, ::1] levels
    cdef double[::1] totals
    cdef const int64_t[:, ::1] means
    cdef bint classes, fill
    cdef list names
    cdef list held
    cdef Tokens tokens
    cdef uint32_t* hashes            # of the categories of a row
    cdef WordTokens words

    def __cinit__(self):
        self.columns, self.hashes = NULL, NULL

    def __init__(self, const int64_t[::1] kinds, const uint32_t[:, ::1] seeds, list names, double[:, ::1] moments,
                 double[:, :, ::1] levels, double[::1] totals,
                 const int64_t[::1] places, const int64_t[:, ::1] means, bint classes, Py_ssize_t most_pairs,
                 bint fill):
        cdef Py_ssize_t c, i, numbers = 0, slots = 0, dense = 0
        self.count = kinds.shape[0]
        self.columns = <Column*> calloc(max(self.count, 1), sizeof(Column))
        if self.columns == NULL:
            raise MemoryError
        for c in range(self.count):
            self.columns[c].kind = <int> kinds[c]
            for i in range(3):
                self.columns[c].seeds[i] = seeds[c, i]
            self.columns[c].dense, self.columns[c].slot = places[c], slots
            if kinds[c] == NUMBER:
                self.columns[c].own = numbers
                numbers += 1
                dense += 1
            elif kinds[c] == TIME:
                dense += DATE_NUMBERS
                slots += 2
            elif kinds[c] == CATEGORY:
                slots += 1
        if (moments.shape[0] != numbers or moments.shape[1] != 3
                or levels.shape[0] != slots or totals.shape[0] != levels.shape[2] or len(names) != self.count
                or places.shape[0] != self.count or means.shape[0] != totals.shape[0] - 1 or means.shape[1] != slots):
            raise ValueError("the arrays do not fit the columns")
        if levels.shape[1] < 1 or levels.shape[1] & (levels.shape[1] - 1) or levels.shape[1] > 65536:
            raise ValueError(f"buckets must be a power of 2 up to 65536, got {levels.shape[1]}")
        self.slots, self.k, self.buckets = slots, totals.shape[0] - 1, levels.shape[1]
        self.width = dense + self.k*slots
        for c in range(self.count):
            i = 1 if kinds[c] == NUMBER else DATE_NUMBERS if kinds[c] == TIME else 0
            if places[c] < 0 or places[c] + i > self.width:
                raise ValueError("places are not within a dense row")
        if np.any(np.asarray(means) < 0) or np.any(np.asarray(means) >= self.width):
            raise ValueError("means are not within a dense row")
        self.shift = 32
        while (<Py_ssize_t> 1 << (32 - self.shift)) < self.buckets:
            self.shift -= 1
        self.hashes = <uint32_t*> malloc(max(slots, 1)*sizeof(uint32_t))
        if self.hashes == NULL:
            raise MemoryError
        self.moments, self.levels, self.totals, self.means = moments, levels, totals, means
        self.words = WordTokens()
        self.classes, self.names, self.most_pairs, self.fill = classes, names, most_pairs, fill

    def __dealloc__(self):
        free(self.columns)
        free(self.hashes)
        free(self.tokens.index)
        free(self.tokens.value)

    def encode(self, list columns, Py_ssize_t n):
        """Dense rows, levels of the categories, and tokens (begin, end without pairs, end, indices, values). Pure."""
        return self._rows(columns, n, ENCODE, None, None)

    def run(self, list columns, Py_ssize_t n, const double[:, ::1] Y not None, const double[::1] weights=None):
        """The same, every row observed and its label learnt before the next."""
        return self._rows(columns, n, ENCODE | OBSERVE, Y, weights)

    def observe(self, list columns, Py_ssize_t n, const double[::1] weights=None):
        """Learn the scales of numbers and the names of levels, for which labels are not needed."""
        self._rows(columns, n, OBSERVE, None, weights)

    def learn(self, const uint16_t[:, ::1] levels not None, const double[:, ::1] Y not None,
              const double[::1] weights=None):
        """Labels of rows that were encoded before."""
        cdef Py_ssize_t t, s, n = levels.shape[0]
        if levels.shape[1] != self.slots:
            raise ValueError(f"{self.slots} levels in every row are needed, got {levels.shape[1]}")
        self._check_labels(n, Y, weights)
        for t in range(n):
            for s in range(self.slots):
                if levels[t, s] >= self.buckets:
                    raise ValueError(f"level {levels[t, s]} is not below {self.buckets}")
            self._learn(&levels[t, 0] if self.slots else NULL, Y, t, 1.0 if weights is None else weights[t])

    cdef int _check_labels(self, Py_ssize_t n, const double[:, ::1] Y, const double[::1] weights) except -1:
        if Y is not None and (Y.shape[0] != n or Y.shape[1] < (1 if self.classes else self.k)):
            raise ValueError(f"labels ({Y.shape[0]}, {Y.shape[1]}) do not fit {n} rows")
        if weights is not None and weights.shape[0] != n:
            raise ValueError(f"{weights.shape[0]} weights do not fit {n} rows")
        return 0

    # -- rows --------------------------------------------------------------------------------------------------------
    cdef object _rows(self, list columns, Py_ssize_t n, int mode, const double[:, ::1] Y, const double[::1] weights):
        cdef Py_ssize_t t, width = self.width
        cdef bint learn = Y is not None
        cdef double weight = 1.0
        cdef cnp.ndarray dense = np.empty((n if mode & ENCODE else 1, width))
        cdef cnp.ndarray levels = np.empty((n if mode & ENCODE else 1, self.slots), dtype=np.uint16)
        cdef cnp.ndarray begin = np.empty(n, dtype=np.int64)
        cdef cnp.ndarray split = np.empty(n, dtype=np.int64)
        cdef cnp.ndarray end = np.empty(n, dtype=np.int64)
        cdef double* row = <double*> cnp.PyArray_DATA(dense)
        cdef uint16_t* level = <uint16_t*> cnp.PyArray_DATA(levels)
        cdef int64_t* starts = <int64_t*> cnp.PyArray_DATA(begin)
        cdef int64_t* splits = <int64_t*> cnp.PyArray_DATA(split)
        cdef int64_t* ends = <int64_t*> cnp.PyArray_DATA(end)
        self._check_labels(n, Y, weights)
        self._take(columns, n)
        self.tokens.count = 0
        for t in range(n):
            if weights is not None:
                weight = weights[t]
            if not mode & ENCODE:
                self.tokens.count = 0
            starts[t] = self.tokens.count
            self._row(t, mode if weight > 0 else mode & ENCODE, weight, row, level)
            splits[t] = self.tokens.count
            self._pairs()
            ends[t] = self.tokens.count
            if mode & ENCODE:
                self._statistics(level, row)
            if learn and weight > 0:
                self._learn(level, Y, t, weight)
            if mode & ENCODE:
                row += width
                level += self.slots
        self.held = None
        if not mode & ENCODE:
            return None
        cdef cnp.ndarray indices = np.empty(self.tokens.count, dtype=np.uint32)
        cdef cnp.ndarray values = np.empty(self.tokens.count)
        if self.tokens.count:
            memcpy(cnp.PyArray_DATA(indices), self.tokens.index, self.tokens.count*sizeof(uint32_t))
            memcpy(cnp.PyArray_DATA(values), self.tokens.value, self.tokens.count*sizeof(double))
        return dense, levels, begin, split, end, indices, values

    cdef int _take(self, list columns, Py_ssize_t n) except -1:
        """Hold the arrays of a block, whose types were checked before."""
        cdef Py_ssize_t c
        cdef int wanted
        cdef cnp.ndarray a
        if len(columns) != self.count:
            raise ValueError(f"{self.count} columns are needed, got {len(columns)}")
        for c in range(self.count):
            a = columns[c]
            wanted = (cnp.NPY_FLOAT64 if self.columns[c].kind == NUMBER
                      else cnp.NPY_INT64 if self.columns[c].kind == TIME else cnp.NPY_OBJECT)
            if cnp.PyArray_TYPE(a) != wanted or cnp.PyArray_NDIM(a) != 1 or cnp.PyArray_DIM(a, 0) != n \
                    or not cnp.PyArray_IS_C_CONTIGUOUS(a):
                raise ValueError(f"column {c} is not a contiguous array of {n} values of its kind")
            self.columns[c].content = cnp.PyArray_DATA(a)
        self.held = columns
        return 0

    cdef int _row(self, Py_ssize_t t, int mode, double weight, double* dense, uint16_t* level) except -1:
        cdef Py_ssize_t c, size
        cdef Column* column
        cdef const unsigned char* text
        cdef uint32_t h
        cdef object value
        cdef Names names
        for c in range(self.count):
            column = &self.columns[c]
            if column.kind == NUMBER:
                dense[column.dense] = (<const double*> column.content)[t]
                if self.fill and dense[column.dense] != dense[column.dense]:
                    dense[column.dense] = self.moments[column.own, 1]
                self._number(column, (<const double*> column.content)[t], mode, weight)
                continue
            if column.kind == TIME:
                self._time(column, (<const int64_t*> column.content)[t], dense + column.dense, level)
                continue
            value = <object> (<PyObject* const*> column.content)[t]
            text, size = NULL, 0
            if PyUnicode_Check(value):
                text = <const unsigned char*> PyUnicode_AsUTF8AndSize(value, &size)
            elif value is not None:
                raise TypeError(f"column {c}, row {t}: text or None is expected, got {value!r}")
            names = <Names> self.names[c] if mode & OBSERVE and self.names[c] is not None else None
            if column.kind == TEXT and text != NULL:
                self.words.add(&self.tokens, text, size, column.seeds, names, weight)
                continue
            h = murmur(text, size, column.seeds[0]) if text != NULL else murmur(MISSING, 1, column.seeds[0])
            add_token(&self.tokens, h, 1)
            if column.kind == CATEGORY:
                self._level(column.slot, h, level)
            if names is not None and text != NULL:
                names.vote(h, text, size, weight)
        return 0

    cdef void _level(self, Py_ssize_t slot, uint32_t h, uint16_t* level) noexcept:
        self.hashes[slot] = h
        level[slot] = <uint16_t> (h >> self.shift) if self.shift < 32 else 0

    cdef int _pairs(self) except -1:
        cdef Py_ssize_t i, j, made = 0
        for j in range(self.slots):
            for i in range(j):
                if made == self.most_pairs:
                    return 0
                add_token(&self.tokens, murmur_pair(self.hashes[i], self.hashes[j], 0), 1)
                made += 1
        return 0

    # -- numbers and times -------------------------------------------------------------------------------------------
    cdef int _number(self, Column* column, double x, int mode, double weight) except -1:
        cdef double* m = &self.moments[column.own, 0]
        cdef double sd = sqrt(m[2]/m[0]) if m[2] > 0 else 0.0, z, gap, far
        cdef int exponent
        if x != x:
            add_token(&self.tokens, murmur_word(NOT_A_NUMBER, column.seeds[1]), 1)
            return 0
        z = (x - m[1])/sd if sd > 0 else 0.0
        z = min(max(z, -CLIP), CLIP)
        if z != 0:
            add_token(&self.tokens, column.seeds[0], z)
        add_token(&self.tokens, murmur_word(<uint32_t> <int> floor(2*z), column.seeds[1]), 1)
        # floor(2 log2 |x|) from the binary exponent, the same on every machine; 4096 is beyond all of them
        exponent = 0
        if x != 0:
            z = frexp(fabs(x), &exponent)
            exponent = 2*exponent - (1 if z >= 0.7071067811865476 else 2) + 4096
            exponent = exponent if x > 0 else -exponent
        add_token(&self.tokens, murmur_word(<uint32_t> exponent, column.seeds[2]), 1)
        if mode & OBSERVE:
            x = min(max(x, -LARGEST), LARGEST)
            if m[0] >= SOON and sd > 0:
                far = WILD*sd
                x = min(max(x, m[1] - far), m[1] + far)
            gap = x - m[1]
            m[0] += weight
            m[1] += gap*weight/m[0]
            m[2] += weight*gap*(x - m[1])
        return 0

    cdef int _time(self, Column* column, int64_t now, double* dense, uint16_t* level) except -1:
        """Sine and cosine of day, week and year, hour and weekday; the last two are categories as well."""
        cdef Py_ssize_t i
        cdef int64_t days, weekday
        if now == INT64_MIN:
            for i in range(DATE_NUMBERS):
                dense[i] = 0 if self.fill else NAN
            if self.fill:
                dense[6], dense[7] = NOON, MIDWEEK
            self._part(column, 0, NOT_A_NUMBER, level)
            self._part(column, 1, NOT_A_NUMBER, level)
            return 0
        days = floored(now, DAY)
        weekday = modulo(days + 3, 7)  # 1 January 1970 was a Thursday: weekdays count from Monday = 0
        turn(now, DAY, dense)
        turn(now, WEEK, dense + 2)
        turn(now, YEAR, dense + 4)
        dense[6] = <double> (now - days*DAY)/<double> HOUR
        dense[7] = <double> weekday
        self._part(column, 0, <uint32_t> ((now - days*DAY)//HOUR), level)
        self._part(column, 1, <uint32_t> weekday, level)
        return 0

    cdef int _part(self, Column* column, int which, uint32_t key, uint16_t* level) except -1:
        """Hour or weekday, a category."""
        cdef uint32_t h = murmur_word(key, column.seeds[which])
        self._level(column.slot + which, h, level)
        return add_token(&self.tokens, h, 1)

    # -- labels ------------------------------------------------------------------------------------------------------
    cdef void _statistics(self, const uint16_t* level, double* row) noexcept:
        """Into a dense row: the mean label of every level, drawn to that of all by PRIOR rows."""
        cdef Py_ssize_t s, j
        cdef const double* record
        cdef double mean
        for j in range(self.k):
            mean = self.totals[1 + j]/self.totals[0] if self.totals[0] > 0 else 0.0
            for s in range(self.slots):
                record = &self.levels[s, level[s], 0]
                row[self.means[j, s]] = (record[1 + j] + PRIOR*mean)/(record[0] + PRIOR)

    cdef int _learn(self, const uint16_t* level, const double[:, ::1] Y, Py_ssize_t t, double weight) except -1:
        cdef Py_ssize_t s
        if not weight > 0:
            return 0
        self._count(&self.totals[0], Y, t, weight)
        for s in range(self.slots):
            self._count(&self.levels[s, level[s], 0], Y, t, weight)
        return 0

    cdef void _count(self, double* record, const double[:, ::1] Y, Py_ssize_t t, double weight) noexcept:
        cdef Py_ssize_t j
        record[0] += weight
        if self.classes:
            j = <Py_ssize_t> Y[t, 0]
            if 0 < j <= self.k:
                record[j] += weight
            return
        for j in range(self.k):
            record[1 + j] += weight*Y[t, j]


cdef inline void turn(int64_t now, int64_t period, double* out) noexcept:
    """Sine and cosine of the part of a period that has passed."""
    cdef double angle = TURN*(<double> modulo(now, period)/<double> period)
    out[0], out[1] = sin(angle), cos(angle)


cdef inline int64_t floored(int64_t a, int64_t b) noexcept:
    return a//b if a >= 0 or a % b == 0 else a//b - 1


cdef inline int64_t modulo(int64_t a, int64_t b) noexcept:
    return a - b*floored(a, b)
