from libc.stdint cimport uint32_t

from nystream._core.tables.names cimport Names
from nystream._core.tables.tokens cimport Tokens


cdef class WordTokens:
    cdef unsigned char* word
    cdef Py_ssize_t longest
    cdef uint32_t* seen
    cdef Py_ssize_t places, most
    cdef int add(self, Tokens* tokens, const unsigned char* text, Py_ssize_t size, const uint32_t* seeds, Names names,
                 double weight) except -1
    cdef int _clear(self, Py_ssize_t size) except -1
    cdef int _once(self, Tokens* tokens, uint32_t h) except -1
