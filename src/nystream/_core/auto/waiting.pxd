# Rows that wait to be learnt together, for compiled loops.
from nystream._core.kernel_rows cimport KernelRows


cdef void keep(KernelRows kernel, const double* u, const double* y, const double* w, Py_ssize_t n, const double* points,
               const double* weights, Py_ssize_t m, Py_ssize_t d, Py_ssize_t K, double* z, double* p) noexcept nogil
