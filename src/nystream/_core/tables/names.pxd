from libc.stdint cimport uint32_t


cdef class Names:
    cdef uint32_t[::1] hashes
    cdef double[::1] votes
    cdef list names
    cdef uint32_t mask
    cdef int vote(self, uint32_t h, const unsigned char* name, Py_ssize_t length, double weight) except -1
