# cython: language_level=3
"""Uniform numbers one at a time."""
import numpy as np

from cpython.pycapsule cimport PyCapsule_GetPointer


cdef class Coins:
    """Those of a generator: `toss()` is `rng.random()` without most of what that call costs."""

    def __init__(self, object rng):
        self.rng = rng
        if type(rng) is np.random.Generator:
            self.bits = <bitgen_t*> PyCapsule_GetPointer(rng.bit_generator.capsule, "BitGenerator")

    cpdef double toss(self) except? -1:
        return self.bits.next_double(self.bits.state) if self.bits else self.rng.random()
