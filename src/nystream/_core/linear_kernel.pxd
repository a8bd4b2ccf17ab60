# The vector kernels of simd/linear_kernel.h, for the compiled loops of the linear solvers.
cimport numpy as cnp


cdef extern from "linear_kernel.h" nogil:
    double LINEAR_BETA1
    double LINEAR_BETA2
    ctypedef struct linear_ops:
        double (*dot)(Py_ssize_t, const double*, const double*) noexcept nogil
        void (*add)(Py_ssize_t, double*, const double*) noexcept nogil
        void (*mix)(Py_ssize_t, double, double*, double, const double*) noexcept nogil
        void (*adagrad)(Py_ssize_t, double, double, double, const double*, double*, double*) noexcept nogil
        void (*adam)(Py_ssize_t, double, double, double, double, double, const double*, double*, double*,
                     double*) noexcept nogil
        void (*downdate)(int, int, double, double, double*, double*, double*) noexcept nogil
    linear_ops linear_pick()


cdef inline const double* clean(cnp.ndarray a, Py_ssize_t rows, Py_ssize_t columns) except NULL:
    """Data of a C-ordered float64 array of shape (rows, columns), or (columns,) when rows is -1."""
    return <const double*> clean_numbers(a, rows, columns, 8)


cdef inline const void* clean_numbers(cnp.ndarray a, Py_ssize_t rows, Py_ssize_t columns, int size) except NULL:
    """The same for float64 or, where a number has 4 bytes, float32."""
    cdef int last = 0 if rows < 0 else 1
    if (cnp.PyArray_TYPE(a) != (cnp.NPY_FLOAT64 if size == 8 else cnp.NPY_FLOAT32) or cnp.PyArray_NDIM(a) != last + 1
            or not cnp.PyArray_IS_C_CONTIGUOUS(a) or cnp.PyArray_DIM(a, last) != columns
            or (last and cnp.PyArray_DIM(a, 0) != rows)):
        wanted = f"({rows}, {columns})" if last else f"({columns},)"
        raise ValueError(f"a C-ordered float{8 * size} array of shape {wanted} is needed, got {a.dtype} of shape "
                         f"{(<object> a).shape} and strides {(<object> a).strides}")
    return cnp.PyArray_DATA(a)
