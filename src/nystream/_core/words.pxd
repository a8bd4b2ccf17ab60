# Words of a text, in UTF-8. Part of the file format: what is a letter is decided here, not by a Unicode table that
# changes. Letters and digits in a row are a word, as is every other character but space; capital letters of Latin,
# Greek and Cyrillic count as small ones. Symbols, and scripts written without spaces, are words character by character.
from libc.stdint cimport uint32_t

cdef enum: SPACE = 0, LETTER = 1, ALONE = 2


cdef inline int sort_of(uint32_t c) noexcept nogil:
    if c < 0x80:
        if (0x61 <= c <= 0x7A) or (0x41 <= c <= 0x5A) or (0x30 <= c <= 0x39) or c == 0x5F:
            return LETTER
        return SPACE if c <= 0x20 or c == 0x7F else ALONE
    if c < 0xC0:
        return SPACE if c <= 0xA0 else ALONE
    if c < 0x2000:
        return ALONE if c == 0xD7 or c == 0xF7 else LETTER
    if c <= 0x200F or c == 0x2028 or c == 0x2029 or c == 0x202F or c == 0x205F or c == 0x3000 or c == 0xFE0F:
        return SPACE
    if 0x2C00 <= c < 0x2E00 or 0xA640 <= c < 0xAC00 or 0xAC00 <= c < 0xD7A4:
        return LETTER
    return ALONE


cdef inline uint32_t small(uint32_t c) noexcept nogil:
    if 0x41 <= c <= 0x5A or 0xC0 <= c <= 0xDE or 0x391 <= c <= 0x3A9 or 0x410 <= c <= 0x42F:
        return c + 0x20 if c != 0xD7 else c
    return c + 0x50 if 0x400 <= c <= 0x40F else c


cdef inline Py_ssize_t decoded(const unsigned char* s, Py_ssize_t n, uint32_t* c) noexcept nogil:
    """The character at s, of n bytes that are left, and how many bytes it takes. Input is valid UTF-8."""
    if s[0] < 0x80 or n < 2:
        c[0] = s[0]
        return 1
    if s[0] < 0xE0 or n < 3:
        c[0] = ((s[0] & 0x1F) << 6) | (s[1] & 0x3F)
        return 2
    if s[0] < 0xF0 or n < 4:
        c[0] = ((s[0] & 0x0F) << 12) | ((s[1] & 0x3F) << 6) | (s[2] & 0x3F)
        return 3
    c[0] = ((s[0] & 0x07) << 18) | ((s[1] & 0x3F) << 12) | ((s[2] & 0x3F) << 6) | (s[3] & 0x3F)
    return 4


cdef inline Py_ssize_t next_word(const unsigned char* s, Py_ssize_t n, Py_ssize_t* at,
                                 unsigned char* word) noexcept nogil:
    """The next word from s[at] on, in small letters into `word` (n bytes at least): its length, 0 at the end."""
    cdef Py_ssize_t length = 0, step, i
    cdef uint32_t c, d
    cdef int sort
    while at[0] < n:
        step = decoded(s + at[0], n - at[0], &c)
        sort = sort_of(c)
        if length > 0 and sort != LETTER:
            return length
        if sort != SPACE:
            d = small(c)
            if c == d or step > 2:
                for i in range(step):
                    word[length + i] = s[at[0] + i]
            elif step == 1:
                word[length] = <unsigned char> d
            else:
                word[length], word[length + 1] = <unsigned char> (0xC0 | (d >> 6)), <unsigned char> (0x80 | (d & 0x3F))
            length += step
        at[0] += step
        if sort == ALONE:
            return length
    return length
