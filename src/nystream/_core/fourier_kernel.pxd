# The vector kernels of simd/fourier_kernel.h: angles, sines and cosines, structured directions.
from libc.stdint cimport int32_t


cdef extern from "fourier_kernel.h" nogil:
    enum:
        FOURIER_LANES
    Py_ssize_t FOURIER_SLACK(Py_ssize_t size) noexcept
    const double FOURIER_FAR, FOURIER_NEAR
    ctypedef struct fourier_ops:
        void (*project)(Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t,
                        const void*, const void*, void*) noexcept nogil
        void (*sincos)(Py_ssize_t, const void*, double, void*, void*) noexcept nogil
        void (*hadamard)(Py_ssize_t, Py_ssize_t, void*) noexcept nogil
        void (*directions)(Py_ssize_t, Py_ssize_t, Py_ssize_t, Py_ssize_t, const void*, const int32_t*, const void*,
                           const void*, const void*, void*, void*) noexcept nogil
    fourier_ops fourier_pick() noexcept
    fourier_ops fourier_single_pick() noexcept
    void fourier_far(Py_ssize_t, const double*, double, double*, double*) noexcept
    void fourier_single_far(Py_ssize_t, const float*, double, float*, float*) noexcept
    double fourier_square(Py_ssize_t, const double*) noexcept
