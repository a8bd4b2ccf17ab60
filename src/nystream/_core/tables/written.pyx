# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Lines of separated numbers as rows, to the last bit as Python's float has them; anything else is left alone."""
import numpy as np

cimport numpy as cnp
from libc.math cimport NAN, isinf
from libc.stdint cimport uint64_t
from libc.string cimport memchr, memcpy

cnp.import_array()

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
