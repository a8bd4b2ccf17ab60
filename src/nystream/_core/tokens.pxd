# A sparse row as the records it meets in a hashed table: the first columns as they are, others hashed, of all of them
# as many bits as the table has; then the pairs of columns, where they are asked for; then the constant, which has the
# last record.
from libc.stdint cimport uint32_t
from libc.stdlib cimport realloc

from nystream._core.murmur cimport finished, murmur_pair

cdef enum: PAIR_SEED = 0x70616972   # "pair"


cdef struct Tokens:
    Py_ssize_t count
    Py_ssize_t room
    uint32_t* index
    double* value


cdef struct Work:
    # What one call needs for itself: predictions may be asked for by several threads at once.
    Tokens row
    double* scratch


cdef inline int make_room(Tokens* row, Py_ssize_t n) except -1 nogil:
    if n <= row.room:
        return 0
    cdef Py_ssize_t room = n if n > 2*row.room else 2*row.room
    cdef void* index = realloc(row.index, room*sizeof(uint32_t))
    if index == NULL:
        with gil:
            raise MemoryError
    row.index = <uint32_t*> index
    cdef void* value = realloc(row.value, room*sizeof(double))
    if value == NULL:
        with gil:
            raise MemoryError
    row.value = <double*> value
    row.room = room
    return 0


cdef inline int add_token(Tokens* row, uint32_t h, double value) except -1 nogil:
    make_room(row, row.count + 1)
    row.index[row.count] = h
    row.value[row.count] = value
    row.count += 1
    return 0


cdef inline int gather(Tokens* row, Py_ssize_t n, const uint32_t* columns, const double* values, uint32_t direct,
                       uint32_t buckets, bint pairs) except -1 nogil:
    """Columns from `direct` on are hashed; `buckets` is a power of 2."""
    cdef Py_ssize_t i, j, c
    make_room(row, n + (n*(n - 1)//2 if pairs else 0) + 1)
    for i in range(n):
        row.index[i] = (columns[i] if columns[i] < direct else finished(columns[i])) & (buckets - 1)
        row.value[i] = values[i]
    c = n
    if pairs:
        for i in range(n):
            for j in range(i):
                row.index[c] = murmur_pair(columns[j], columns[i], PAIR_SEED) & (buckets - 1)
                row.value[c] = values[i]*values[j]
                c += 1
    row.index[c] = buckets
    row.value[c] = 1
    row.count = c + 1
    return 0


cdef extern from *:
    """
    #if defined(__GNUC__)
    #define FETCH(address) __builtin_prefetch((const void *)(address), 1)
    #else
    #define FETCH(address) ((void)(address))
    #endif
    """
    void FETCH(const double* address) nogil


cdef inline void prefetch(const Tokens* row, const double* table, Py_ssize_t stride) noexcept nogil:
    """All records of a row at once, eight numbers at a time: they are far apart, and none waits for another."""
    cdef Py_ssize_t i, j
    for i in range(row.count):
        for j in range(0, stride, 8):
            FETCH(table + row.index[i]*stride + j)
