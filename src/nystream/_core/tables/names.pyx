# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Names of frequent levels, in fixed memory: a majority vote in every place that names are hashed to."""
cimport numpy as cnp
from libc.stdint cimport uint32_t

cnp.import_array()

cdef enum: LONGEST = 80    # bytes of a name that are kept


cdef class Names:
    """Each of 2^b places keeps one name (Boyer, Moore 1981): a vote for it counts up, one for another counts down, and
    below 0 the other takes the place. A name with more than half of the weight of its place is always kept.

    hashes : (places,) of the names; votes : (places,); names : list of str, "" where there is none.
    """

    def __init__(self, cnp.ndarray hashes, cnp.ndarray votes, list names):
        self.hashes, self.votes, self.names = hashes, votes, names
        cdef Py_ssize_t places = hashes.shape[0]
        if places & (places - 1) or votes.shape[0] != places or len(names) != places:
            raise ValueError("hashes, votes and names must have the same length, a power of 2")
        self.mask = <uint32_t> (places - 1)

    cdef int vote(self, uint32_t h, const unsigned char* name, Py_ssize_t length, double weight) except -1:
        cdef uint32_t place = (h >> 7) & self.mask    # other bits than those that places of weights are made of
        if self.hashes[place] == h and self.votes[place] > 0:
            self.votes[place] += weight
        elif self.votes[place] >= weight:
            self.votes[place] -= weight
        else:
            self.hashes[place], self.votes[place] = h, weight - self.votes[place]
            length = shortened(name, length)
            self.names[place] = name[:length].decode("utf-8")
        return 0


cdef Py_ssize_t shortened(const unsigned char* name, Py_ssize_t length) noexcept:
    """At most LONGEST bytes, cut between characters."""
    if length <= LONGEST:
        return length
    length = LONGEST
    while length > 0 and (name[length] & 0xC0) == 0x80:
        length -= 1
    return length
