# MurmurHash3_x86_32 (Austin Appleby, public domain), written from its definition: bytes are read in little-endian order
# one by one, so that every machine gives the same number. Part of the file format.
from libc.stdint cimport uint32_t


cdef inline uint32_t rotated(uint32_t x, int by) noexcept nogil:
    return (x << by) | (x >> (32 - by))


cdef inline uint32_t scrambled(uint32_t k) noexcept nogil:
    return rotated(k*<uint32_t> 0xcc9e2d51, 15)*<uint32_t> 0x1b873593


cdef inline uint32_t finished(uint32_t h) noexcept nogil:
    """The final mix, a bijection of 32 bits."""
    h ^= h >> 16
    h *= <uint32_t> 0x85ebca6b
    h ^= h >> 13
    h *= <uint32_t> 0xc2b2ae35
    return h ^ (h >> 16)


cdef inline uint32_t absorbed(uint32_t h, uint32_t word) noexcept nogil:
    """One more block of four bytes."""
    return rotated(h ^ scrambled(word), 13)*5 + <uint32_t> 0xe6546b64


cdef inline uint32_t murmur(const unsigned char* s, Py_ssize_t n, uint32_t seed) noexcept nogil:
    cdef uint32_t h = seed, k = 0
    cdef Py_ssize_t i, blocks = n // 4
    for i in range(blocks):
        h = absorbed(h, <uint32_t> s[4*i] | (<uint32_t> s[4*i + 1] << 8) | (<uint32_t> s[4*i + 2] << 16)
                     | (<uint32_t> s[4*i + 3] << 24))
    for i in range(n - 1, 4*blocks - 1, -1):
        k = (k << 8) | s[i]
    if n > 4*blocks:
        h ^= scrambled(k)
    return finished(h ^ <uint32_t> n)


cdef inline uint32_t murmur_word(uint32_t word, uint32_t seed) noexcept nogil:
    """Of the four bytes of a number, the lowest first."""
    return finished(absorbed(seed, word) ^ 4)


cdef inline uint32_t murmur_pair(uint32_t one, uint32_t two, uint32_t seed) noexcept nogil:
    """Of the eight bytes of two numbers."""
    return finished(absorbed(absorbed(seed, one), two) ^ 8)
