cdef int number_at(const char** at, const char* end, double* value) except -1 nogil
