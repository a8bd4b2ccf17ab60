# The passes of simd/ldl_kernel.h over A = L D L', and the memory that one of them works in.
from libc.stdlib cimport malloc


cdef extern from "ldl_kernel.h" nogil:
    enum:
        LDL_SAMPLES
    ctypedef void (*ldl_fn)(int samples, int blocks, int outputs, double* L, double* dinv, double* Q, const double* Y,
                            const double* s0, double* X, double* M, double* lev) noexcept
    ldl_fn ldl_choose(int learn) noexcept
    int ldl_together() noexcept
    const char* ldl_isa() noexcept
    unsigned ldl_flush() noexcept
    void ldl_unflush(unsigned mode) noexcept
    void ldl_gather(int S, int r, int blocks, const double* Z, double* X) noexcept
    double ldl_norm2(int r, const double* z) noexcept
    int ldl_plain_sample(int sign, int blocks, int outputs, double* L, double* dinv, double* Q, const double* y,
                         double s, double* x, size_t stride, double* m, double* lev) noexcept


cdef struct Scratch:
    double* X
    double* Y
    double* M
    double* s0
    double* lev
    char* memory


cdef inline bint reserve(Scratch* own, Py_ssize_t blocks, Py_ssize_t ld) noexcept nogil:
    """Scratch for one pass in one piece of memory, on cache lines; labels beyond the last output stay 0."""
    cdef Py_ssize_t k, n = LDL_SAMPLES*(8*blocks + 2*ld + 2)
    cdef double* p
    own.memory = <char*> malloc((n + 8)*sizeof(double))
    if own.memory == NULL:
        return False
    p = <double*> (own.memory + (64 - <size_t> own.memory % 64))
    for k in range(n):
        p[k] = 0
    own.X = p
    own.Y = own.X + LDL_SAMPLES*8*blocks
    own.M = own.Y + LDL_SAMPLES*ld
    own.s0 = own.M + LDL_SAMPLES*ld
    own.lev = own.s0 + LDL_SAMPLES
    return True
