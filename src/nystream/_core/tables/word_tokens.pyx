# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Tokens of a text: its distinct words, pairs of neighbours and the whole."""
from libc.math cimport sqrt
from libc.stdint cimport uint32_t
from libc.stdlib cimport free, realloc
from libc.string cimport memset

from nystream._core.tables.murmur cimport murmur, murmur_pair
from nystream._core.tables.names cimport Names
from nystream._core.tables.tokens cimport Tokens, add_token
from nystream._core.tables.words cimport next_word


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
