# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Sums of many cosines with coefficients, for one row or a block: the same bits either way, the GIL released."""
from libc.stdlib cimport free, malloc

cimport numpy as cnp

from nystream._core.linalg.linear_kernel cimport clean, linear_ops, linear_pick

cnp.import_array()

cdef extern from "fourier_kernel.h" nogil:
    Py_ssize_t FOURIER_SLACK(Py_ssize_t size) noexcept
    const double FOURIER_FAR
    ctypedef struct fourier_ops:
        void (*project)(Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t,
                        const void*, const void*, void*) noexcept nogil
        void (*sincos)(Py_ssize_t, const void*, double, void*, void*) noexcept nogil
    fourier_ops fourier_pick() noexcept
    void fourier_far(Py_ssize_t, const double*, double, double*, double*) noexcept

cdef fourier_ops fourier = fourier_pick()
cdef linear_ops OPS = linear_pick()
cdef enum: ROWS = 64     # that share a pass over the directions

SLACK = FOURIER_SLACK(8)


cdef void cosines_of(Py_ssize_t m, const double* u, double gain, double* c, double* s) noexcept nogil:
    """The vector cosine where all angles are numbers small enough for it, which their squares tell."""
    if OPS.dot(m, u, u) <= FOURIER_FAR*FOURIER_FAR:
        fourier.sincos(m, u, gain, c, s)
    else:
        fourier_far(m, u, gain, c, s)


def cosines(cnp.ndarray X, cnp.ndarray W, Py_ssize_t m, double gain, cnp.ndarray out):
    """out (n, m): gain cos(x'w_j) for the rows x of X (n, d) and the first m columns of W (d, C), j = 0, ...

    W is the beginning of memory that goes on for SLACK numbers.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(X, 0), d = cnp.PyArray_DIM(X, 1), C = cnp.PyArray_DIM(W, 1), t
    cdef const double* x = clean(X, n, d)
    cdef const double* w = clean(W, d, C)
    cdef double* c = <double*> clean(out, n, m)
    if m > C:
        raise ValueError(f"there are {C} directions, not {m}")
    cdef Py_ssize_t ld = m + FOURIER_SLACK(8)
    cdef double* u = <double*> malloc((n*ld + m)*sizeof(double))
    if u == NULL:
        raise MemoryError
    with nogil:
        fourier.project(n, d, m, C, x, w, u)
        for t in range(n):
            cosines_of(m, u + t*ld, gain, c + t*m, u + n*ld)
    free(u)
    return out


def cosine_sums(cnp.ndarray X, cnp.ndarray chunks, Py_ssize_t block, cnp.ndarray coef, cnp.ndarray factors,
                double gain, cnp.ndarray F):
    """F (n, K) += sum_r factors_r sum_b coef_rb gain cos(x'w_rb) for the rows x of X (n, d).

    chunks (c, d, C): directions of rounds r one after the other, `block` of them each, C / block rounds to a chunk;
    memory that goes on for SLACK numbers. coef (rounds, block K), factors (rounds,).
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(X, 0), d = cnp.PyArray_DIM(X, 1), K = cnp.PyArray_DIM(F, 1)
    cdef Py_ssize_t rounds = cnp.PyArray_DIM(factors, 0), count = cnp.PyArray_DIM(chunks, 0), C, together
    if cnp.PyArray_NDIM(chunks) != 3 or not cnp.PyArray_IS_C_CONTIGUOUS(chunks) or (
            cnp.PyArray_TYPE(chunks) != cnp.NPY_FLOAT64 or cnp.PyArray_DIM(chunks, 1) != d):
        raise ValueError(f"directions of {d} numbers are needed, in chunks")
    C = cnp.PyArray_DIM(chunks, 2)
    together = C//block
    if C != together*block or rounds > count*together:
        raise ValueError(f"{count} chunks of {C} directions do not hold {rounds} rounds of {block}")
    cdef const double* x = clean(X, n, d)
    cdef const double* a = clean(coef, rounds, block*K)
    cdef const double* f = clean(factors, -1, rounds)
    cdef const double* w = <const double*> cnp.PyArray_DATA(chunks)
    cdef double* out = <double*> clean(F, n, K)
    cdef Py_ssize_t tile = min(n, ROWS), ld = C + FOURIER_SLACK(8)
    cdef double* u = <double*> malloc((tile*ld + (2 + K)*C)*sizeof(double))
    if u == NULL:
        raise MemoryError
    cdef double* c = u + tile*ld
    cdef double* mixed = c + 2*C         # (K, C) coefficients of a chunk, as they are now
    cdef Py_ssize_t first, here, m, r, i, k, t, row
    cdef const double* now
    with nogil:
        first = 0
        while first < rounds:
            here = min(together, rounds - first)
            m = here*block
            for r in range(here):
                now = a + (first + r)*block*K
                if K == 1:
                    for i in range(block):
                        mixed[r*block + i] = f[first + r]*now[i]
                    continue
                for i in range(block):
                    for k in range(K):
                        mixed[k*C + r*block + i] = f[first + r]*now[i*K + k]
            t = 0
            while t < n:
                tile = min(ROWS, n - t)
                fourier.project(tile, d, m, C, x + t*d, w, u)
                for row in range(tile):
                    cosines_of(m, u + row*(m + FOURIER_SLACK(8)), gain, c, c + C)
                    for k in range(K):
                        out[(t + row)*K + k] += OPS.dot(m, c, mixed + k*C)
                t += tile
            first += here
            w += d*C
    free(u)
    return F
