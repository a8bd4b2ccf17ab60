# Uniform numbers one at a time, for compiled rounds.
from numpy.random cimport bitgen_t


cdef class Coins:
    cdef object rng
    cdef bitgen_t* bits

    cpdef double toss(self) except? -1
