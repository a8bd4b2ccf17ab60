# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The hash of names, levels and words, MurmurHash3 of 32 bits, and what is a word."""
from libc.stdint cimport uint32_t

from nystream._core.tables.murmur cimport finished, murmur, murmur_pair, murmur_word
from nystream._core.tables.words cimport next_word


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
