# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Lines ``label index:value index:value ...``, numbers to the last bit as Python's float has them; else left alone."""
import numpy as np

cimport numpy as cnp
from libc.string cimport memchr

from nystream._core.tables.written cimport number_at

cnp.import_array()

cdef enum:
    DIGITS = 10   # of an index; more are doubtful


cdef inline bint _blank(char c) noexcept nogil:
    return c == c" " or c == c"\t"


cdef inline bint _ends(const char* p, const char* end) noexcept nogil:
    """Whether a token may end here."""
    return p == end or _blank(p[0]) or p[0] == c"\n" or (p[0] == c"\r" and p + 1 < end and p[1] == c"\n")


cdef inline const char* _past_blanks(const char* p, const char* end) noexcept nogil:
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


cdef Py_ssize_t _read(const char* p, const char* end, Py_ssize_t lines, Py_ssize_t base, Py_ssize_t d,
                      Py_ssize_t* counts, Py_ssize_t* places, double* values, double* y) except -2 nogil:
    """Pairs read, or -1 where something is doubtful."""
    cdef Py_ssize_t i, index, last, m = 0, first
    for i in range(lines):
        p = _past_blanks(p, end)
        if not number_at(&p, end, y + i) or not _ends(p, end):
            return -1
        last, first = base - 1, m
        while True:
            p = _past_blanks(p, end)
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
        m = _read(p, p + size, lines, base, d, pc, pp, pv, py)
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
            p = _past_blanks(p, last)
            if not number_at(&p, last, &value) or not (p == last or _blank(p[0])):
                good = False
                break
            p = _past_blanks(p, last)
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
