# The loop that stores every correction, for loops that refine it.
from nystream._core.expansions.loop cimport Loop


cdef class Mistakes(Loop):
    cdef int keep(self, double own, long long t) except -1 nogil
