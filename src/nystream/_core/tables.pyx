# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""From written cells to numbers: parsing, hashing of names and words, encoding of columns."""
import numpy as np
cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_Check
from libc.math cimport NAN, cos, fabs, floor, frexp, isinf, sin, sqrt
from libc.stdint cimport INT64_MIN, int64_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memchr, memcpy, memset

from nystream._core.murmur cimport finished, murmur, murmur_pair, murmur_word
from nystream._core.tokens cimport Tokens, add_token
from nystream._core.words cimport next_word

cnp.import_array()

# ----------------------------------------------------------------------------------------------------------------------
# Lines of separated numbers as rows, to the last bit as Python's float has them; anything else is left alone.
# ----------------------------------------------------------------------------------------------------------------------
cdef extern from "Python.h":
    double PyOS_string_to_double(const char*, char**, void*) except? -1.0

cdef extern from "decimal.h" nogil:
    int DECIMAL_LEAST
    int DECIMAL_MOST
    int DECIMAL_NONE
    int DECIMAL_DONE
    int DECIMAL_HARD
    uint64_t* decimal_powers
    int decimal_read(const char**, const char*, double*)

cdef enum:
    LONGEST = 400   # characters of a number; more are doubtful


def _fill_powers():
    """The leading 128 bits of 5^q; reciprocals rounded up."""
    for i, q in enumerate(range(DECIMAL_LEAST, DECIMAL_MOST + 1)):
        five = 5**abs(q)
        if q >= 0:
            bits = five << 128 >> five.bit_length()
        else:
            z = (five - 1).bit_length()
            bits = (1 << (z + 127 if q >= -27 else 2*z + 128))//five + 1
            bits >>= max(0, bits.bit_length() - 128)
        decimal_powers[2*i], decimal_powers[2*i + 1] = bits >> 64, bits & 0xFFFFFFFFFFFFFFFF


_fill_powers()


cdef int _hard(const char* start, const char* stop, double* value) except -1 with gil:
    """A number that needs all its digits, by Python's own parser; 0 for one that is infinite."""
    cdef char text[LONGEST + 1]
    if stop - start > LONGEST:
        return 0
    memcpy(text, start, stop - start)
    text[stop - start] = 0
    value[0] = PyOS_string_to_double(text, NULL, NULL)   # overflow is infinity
    return not isinf(value[0])


cdef int number_at(const char** at, const char* end, double* value) except -1 nogil:
    """The finite number at *at, which moves behind it; 0 where none begins there."""
    cdef const char* start = at[0]
    cdef int outcome = decimal_read(at, end, value)
    return outcome == DECIMAL_DONE or (outcome == DECIMAL_HARD and _hard(start, at[0], value))


cdef inline const char* _past_blanks(const char* p, const char* end, char mark) noexcept nogil:
    while p < end and p[0] == b" " and mark != b" ":
        p += 1
    return p


cdef Py_ssize_t _read(const char* p, const char* end, Py_ssize_t rows, Py_ssize_t width, char mark,
                      bint blanks, double* out) except -1 nogil:
    """Rows read: `rows`, or fewer where something else than numbers comes."""
    cdef Py_ssize_t i, j
    cdef const char* start
    cdef int outcome
    for i in range(rows):
        for j in range(width):
            p = _past_blanks(p, end, mark)
            start = p
            outcome = decimal_read(&p, end, out)
            if outcome == DECIMAL_NONE:
                if not blanks:
                    return i
                out[0] = NAN
                p = start
            elif outcome == DECIMAL_HARD and not _hard(start, p, out):
                return i
            out += 1
            p = _past_blanks(p, end, mark)
            if j + 1 < width:
                if p == end or p[0] != mark:
                    return i
                p += 1
        if p < end and p[0] == b"\r" and p + 1 < end:
            p += 1
        if p < end:
            if p[0] != b"\n":
                return i
            p += 1
        elif i + 1 < rows:
            return i
    return rows if p == end else 0


def rows_of_numbers(const unsigned char[::1] data not None, Py_ssize_t lines, Py_ssize_t width, str mark, bint blanks):
    """(lines, width) numbers of so many lines with `width` fields each, separated by `mark`; None where anything is
    doubtful.

    Spaces around a number are none of it. `blanks`: an empty field is nan; without it that is doubtful. Doubtful are
    also quotes, words, names for absent numbers, infinities, empty lines and lines of another length.
    """
    cdef Py_ssize_t read
    if lines == 0 or width == 0 or data.shape[0] == 0 or len(mark) != 1 or (blanks and width == 1):
        return None
    if mark in "+-.eE\r\n\"" or mark.isdigit() or not mark.isascii():
        return None
    cdef const char* p = <const char*> &data[0]
    cdef char sign = ord(mark)
    cdef cnp.ndarray out = np.empty((lines, width))
    cdef double* numbers = <double*> cnp.PyArray_DATA(out)
    with nogil:
        read = _read(p, p + data.shape[0], lines, width, sign, blanks, numbers)
    return out if read == lines else None


def end_of_lines(const unsigned char[::1] data not None, Py_ssize_t start, Py_ssize_t count):
    """Where the first `count` lines from `start` on end, and how many there are: what follows the last is no line."""
    cdef Py_ssize_t lines = 0, size = data.shape[0]
    cdef const char* begin
    cdef const char* p
    cdef const char* end
    cdef const char* at
    if start >= size:
        return start, 0
    begin = <const char*> &data[0]
    end = begin + size
    p = begin + start
    with nogil:
        while lines < count and p < end:
            at = <const char*> memchr(p, b"\n", end - p)
            if at == NULL:
                break
            p = at + 1
            lines += 1
    return p - begin, lines


# ----------------------------------------------------------------------------------------------------------------------
# Lines ``label index:value index:value ...``, numbers to the last bit as Python's float has them; else left alone.
# ----------------------------------------------------------------------------------------------------------------------
cdef enum:
    DIGITS = 10   # of an index; more are doubtful


cdef inline bint _blank(char c) noexcept nogil:
    return c == c" " or c == c"\t"


cdef inline bint _ends(const char* p, const char* end) noexcept nogil:
    """Whether a token may end here."""
    return p == end or _blank(p[0]) or p[0] == c"\n" or (p[0] == c"\r" and p + 1 < end and p[1] == c"\n")


cdef inline const char* _past_spaces(const char* p, const char* end) noexcept nogil:
    while p < end and _blank(p[0]):
        p += 1
    return p


cdef inline Py_ssize_t _index(const char** at, const char* end) noexcept nogil:
    """The index in front of a colon, and *at behind that; -1 where there is none."""
    cdef const char* p = at[0]
    cdef Py_ssize_t value = 0
    while p < end and p - at[0] <= DIGITS and c"0" <= p[0] <= c"9":
        value = 10*value + p[0] - c"0"
        p += 1
    if p == at[0] or p - at[0] > DIGITS or p == end or p[0] != c":":
        return -1
    at[0] = p + 1
    return value


cdef Py_ssize_t _read_pairs(const char* p, const char* end, Py_ssize_t lines, Py_ssize_t base, Py_ssize_t d,
                            Py_ssize_t* counts, Py_ssize_t* places, double* values, double* y) except -2 nogil:
    """Pairs read, or -1 where something is doubtful."""
    cdef Py_ssize_t i, index, last, m = 0, first
    for i in range(lines):
        p = _past_spaces(p, end)
        if not number_at(&p, end, y + i) or not _ends(p, end):
            return -1
        last, first = base - 1, m
        while True:
            p = _past_spaces(p, end)
            if p == end or p[0] == c"\n" or p[0] == c"\r":
                break
            index = _index(&p, end)
            if index <= last or index - base >= d or not number_at(&p, end, values + m) or not _ends(p, end):
                return -1
            places[m] = index - base
            last = index
            m += 1
        counts[i] = m - first
        if p < end and p[0] == c"\r":
            p += 1
        if p < end and p[0] == c"\n":
            p += 1
        elif p < end or i + 1 < lines:
            return -1
    return m if p == end else -1


def entries_of_pairs(const unsigned char[::1] data not None, Py_ssize_t lines, Py_ssize_t base, Py_ssize_t d):
    """Pairs of each of so many lines (lines,), their places from 0 on and their values one after the other, and labels
    (lines,); None where anything is doubtful.

    Places are indices less `base`, rise within a line and stay below d. Doubtful are also lines without a label,
    comments, and numbers that are not finite.
    """
    cdef Py_ssize_t i, most = 0, m, size = data.shape[0]
    if lines == 0 or size == 0:
        return None
    for i in range(size):
        most += data[i] == c":"
    cdef cnp.ndarray counts = np.empty(lines, np.intp), places = np.empty(most, np.intp)
    cdef cnp.ndarray values = np.empty(most), y = np.empty(lines)
    cdef const char* p = <const char*> &data[0]
    cdef Py_ssize_t* pc = <Py_ssize_t*> cnp.PyArray_DATA(counts)
    cdef Py_ssize_t* pp = <Py_ssize_t*> cnp.PyArray_DATA(places)
    cdef double* pv = <double*> cnp.PyArray_DATA(values)
    cdef double* py = <double*> cnp.PyArray_DATA(y)
    with nogil:
        m = _read_pairs(p, p + size, lines, base, d, pc, pp, pv, py)
    return (counts, places, values, y) if m == most else None


def extremes_of_pairs(const unsigned char[::1] data not None, Py_ssize_t lines):
    """The smallest first and the largest last index of so many lines, (-1, -1) without any; None where one of these is
    doubtful, or a line has a comment."""
    cdef Py_ssize_t size = data.shape[0], low = -1, high = -1, index, _i
    cdef const char* p
    cdef const char* end
    cdef const char* stop
    cdef const char* last
    cdef const char* back
    cdef double value
    cdef bint good = True
    if lines == 0 or size == 0:
        return None
    p = <const char*> &data[0]
    end = p + size
    with nogil:
        good = memchr(p, c"#", size) == NULL
        for _i in range(lines):
            if not good or p == end:
                good = False
                break
            stop = <const char*> memchr(p, c"\n", end - p)
            stop = end if stop == NULL else stop
            last = stop - 1 if stop > p and (stop - 1)[0] == c"\r" else stop
            p = _past_spaces(p, last)
            if not number_at(&p, last, &value) or not (p == last or _blank(p[0])):
                good = False
                break
            p = _past_spaces(p, last)
            if p < last:
                index = _index(&p, last)
                if index < 0:
                    good = False
                    break
                low = index if low < 0 or index < low else low
                while _blank((last - 1)[0]):
                    last -= 1
                back = last
                while not _blank((back - 1)[0]) and (back - 1)[0] != c":":
                    back -= 1   # the value, then the index before its colon
                back -= 1
                while c"0" <= (back - 1)[0] <= c"9":
                    back -= 1
                index = _index(&back, last) if _blank((back - 1)[0]) else -1
                if index < 0 or not number_at(&back, last, &value) or back != last:
                    good = False
                    break
                high = index if index > high else high
            p = stop + 1 if stop < end else end
    return (low, high) if good and p == end else None


# ----------------------------------------------------------------------------------------------------------------------
# The hash of names, levels and words, MurmurHash3 of 32 bits, and what is a word.
# ----------------------------------------------------------------------------------------------------------------------
def murmur3(const unsigned char[:] content not None, uint32_t seed=0):
    """MurmurHash3_x86_32 of bytes."""
    return murmur(&content[0] if content.shape[0] else NULL, content.shape[0], seed)


def murmur3_number(uint32_t number, uint32_t seed=0):
    """The same of the four bytes of a number, the lowest first."""
    return murmur_word(number, seed)


def murmur3_pair(uint32_t one, uint32_t two, uint32_t seed=0):
    """The same of the eight bytes of two numbers."""
    return murmur_pair(one, two, seed)


def mixed(uint32_t number):
    """The final mix of MurmurHash3: a bijection of 32 bits."""
    return finished(number)


def words(str text not None):
    """The words of a text, in small letters."""
    cdef bytes content = text.encode()
    cdef bytearray word = bytearray(len(content) + 1)
    cdef const unsigned char* s = content
    cdef unsigned char* out = word
    cdef Py_ssize_t at = 0, length, n = len(content)
    found = []
    while True:
        length = next_word(s, n, &at, out)
        if length == 0:
            return found
        found.append(bytes(word[:length]).decode())


# ----------------------------------------------------------------------------------------------------------------------
# Names of frequent levels, in fixed memory: a majority vote in every place that names are hashed to.
# ----------------------------------------------------------------------------------------------------------------------
cdef enum: LONGEST_NAME = 80    # bytes of a name that are kept


cdef class Names:
    """Each of 2^b places keeps one name (Boyer, Moore 1981): a vote for it counts up, one for another counts down, and
    below 0 the other takes the place. A name with more than half of the weight of its place is always kept.

    hashes : (places,) of the names; votes : (places,); names : list of str, "" where there is none.
    """

    def __init__(self, cnp.ndarray hashes, cnp.ndarray votes, list names):
        self.hashes, self.votes, self.names = hashes, votes, names
        cdef Py_ssize_t places = hashes.shape[0]
        if places & (places - 1) or votes.shape[0] != places or len(names) != places:
            raise ValueError("hashes, votes and names must have the same length, a power of 2")
        self.mask = <uint32_t> (places - 1)

    cdef int vote(self, uint32_t h, const unsigned char* name, Py_ssize_t length, double weight) except -1:
        cdef uint32_t place = (h >> 7) & self.mask    # other bits than those that places of weights are made of
        if self.hashes[place] == h and self.votes[place] > 0:
            self.votes[place] += weight
        elif self.votes[place] >= weight:
            self.votes[place] -= weight
        else:
            self.hashes[place], self.votes[place] = h, weight - self.votes[place]
            length = shortened(name, length)
            self.names[place] = name[:length].decode("utf-8")
        return 0


cdef Py_ssize_t shortened(const unsigned char* name, Py_ssize_t length) noexcept:
    """At most LONGEST_NAME bytes, cut between characters."""
    if length <= LONGEST_NAME:
        return length
    length = LONGEST_NAME
    while length > 0 and (name[length] & 0xC0) == 0x80:
        length -= 1
    return length


# ----------------------------------------------------------------------------------------------------------------------
# Tokens of a text: its distinct words, pairs of neighbours and the whole.
# ----------------------------------------------------------------------------------------------------------------------
cdef class WordTokens:
    """Room for the longest word, and a set of hashes, which are used again for every text."""

    def __cinit__(self):
        self.word, self.seen = NULL, NULL

    def __dealloc__(self):
        free(self.word)
        free(self.seen)

    cdef int add(self, Tokens* tokens, const unsigned char* text, Py_ssize_t size, const uint32_t* seeds, Names names,
                 double weight) except -1:
        """Each token counts 1 / sqrt(their number); words are voted for in `names`, unless it is None."""
        cdef Py_ssize_t first = tokens.count, at = 0, length, i, words = 0
        cdef uint32_t h, before = 0
        cdef double value
        self._clear(size)
        self._once(tokens, murmur(text, size, seeds[2]))
        while True:
            length = next_word(text, size, &at, self.word)
            if length == 0:
                break
            h = murmur(self.word, length, seeds[0])
            self._once(tokens, h)
            if names is not None:
                names.vote(h, self.word, length, weight)
            if words > 0:
                self._once(tokens, murmur_pair(before, h, seeds[1]))
            before = h
            words += 1
        value = 1/sqrt(<double> (tokens.count - first))
        for i in range(first, tokens.count):
            tokens.value[i] = value
        return 0

    cdef int _clear(self, Py_ssize_t size) except -1:
        """Room for a word of that length, and an empty set for twice as many tokens as there can be."""
        cdef Py_ssize_t places = 64
        cdef void* space
        if self.longest < size + 1:
            space = realloc(self.word, 2*size + 1)
            if space == NULL:
                raise MemoryError
            self.word, self.longest = <unsigned char*> space, 2*size + 1
        while places < 4*size + 4:
            places *= 2
        if places > self.most:
            space = realloc(self.seen, places*sizeof(uint32_t))
            if space == NULL:
                raise MemoryError
            self.seen, self.most = <uint32_t*> space, places
        self.places = places
        memset(self.seen, 0, places*sizeof(uint32_t))
        return 0

    cdef int _once(self, Tokens* tokens, uint32_t h) except -1:
        """A token, unless it is in the set; 0, which marks a free place there, counts as 1."""
        cdef uint32_t key = h if h else 1
        cdef Py_ssize_t place = key & (self.places - 1)
        while self.seen[place]:
            if self.seen[place] == key:
                return 0
            place = (place + 1) & (self.places - 1)
        self.seen[place] = key
        return add_token(tokens, h, 1)


# ----------------------------------------------------------------------------------------------------------------------
# Typed columns of a table become dense numbers and sparse tokens, row by row, each row before its label is learnt.
# ----------------------------------------------------------------------------------------------------------------------
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
