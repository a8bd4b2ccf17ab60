# From written cells to numbers: parsing, hashing of names and words, encoding of columns.
from libc.stdint cimport uint32_t

from nystream._core.tokens cimport Tokens


# ----------------------------------------------------------------------------------------------------------------------
#
# ----------------------------------------------------------------------------------------------------------------------
cdef int number_at(const char** at, const char* end, double* value) except -1 nogil


# ----------------------------------------------------------------------------------------------------------------------
#
# ----------------------------------------------------------------------------------------------------------------------
cdef class Names:
    cdef uint32_t[::1] hashes
    cdef double[::1] votes
    cdef list names
    cdef uint32_t mask
    cdef int vote(self, uint32_t h, const unsigned char* name, Py_ssize_t length, double weight) except -1


# ----------------------------------------------------------------------------------------------------------------------
#
# ----------------------------------------------------------------------------------------------------------------------
cdef class WordTokens:
    cdef unsigned char* word
    cdef Py_ssize_t longest
    cdef uint32_t* seen
    cdef Py_ssize_t places, most
    cdef int add(self, Tokens* tokens, const unsigned char* text, Py_ssize_t size, const uint32_t* seeds, Names names,
                 double weight) except -1
    cdef int _clear(self, Py_ssize_t size) except -1
    cdef int _once(self, Tokens* tokens, uint32_t h) except -1
