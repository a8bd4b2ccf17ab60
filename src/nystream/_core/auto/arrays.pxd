# Numbers of arrays. For one row a view of the memory of every array would take longer than what is done with them.
cimport numpy as cnp
from libc.stdint cimport int64_t


cdef inline const double* numbers(cnp.ndarray a, int dims, Py_ssize_t i, Py_ssize_t j, Py_ssize_t k) except NULL:
    """Of a C-ordered float64 array of shape (i,), (i, j), (i, j, k) or (i, j, k, k), as `dims` says."""
    if (cnp.PyArray_TYPE(a) != cnp.NPY_FLOAT64 or cnp.PyArray_NDIM(a) != dims or not cnp.PyArray_IS_C_CONTIGUOUS(a)
            or cnp.PyArray_DIM(a, 0) != i or (dims > 1 and cnp.PyArray_DIM(a, 1) != j)
            or (dims > 2 and cnp.PyArray_DIM(a, 2) != k) or (dims > 3 and cnp.PyArray_DIM(a, 3) != k)):
        raise ValueError(f"a C-ordered float64 array of shape {(i, j, k, k)[:dims]} is needed, got {a.dtype} of shape "
                         f"{(<object> a).shape} and strides {(<object> a).strides}")
    return <const double*> cnp.PyArray_DATA(a)


cdef inline cnp.ndarray array(object a):
    """What has to be one; in what was read from a file it may be missing."""
    if not isinstance(a, cnp.ndarray):
        raise TypeError(f"an array is needed, got {type(a).__name__}")
    return <cnp.ndarray> a


cdef inline cnp.ndarray blank(int dims, Py_ssize_t i, Py_ssize_t j, Py_ssize_t k):
    """A float64 array of shape (i,), (i, j) or (i, j, k), as `dims` says, for numbers to come."""
    cdef cnp.npy_intp[3] shape
    shape[0], shape[1], shape[2] = i, j, k
    return cnp.PyArray_EMPTY(dims, shape, cnp.NPY_FLOAT64, 0)


cdef inline double* state(cnp.ndarray a, int dims, Py_ssize_t i, Py_ssize_t j, Py_ssize_t k) except NULL:
    """The same of an array that is written to."""
    if not cnp.PyArray_ISWRITEABLE(a):
        raise ValueError("an array that can be written to is needed")
    return <double*> numbers(a, dims, i, j, k)


cdef inline const double* spread_out(cnp.ndarray a, Py_ssize_t n, Py_ssize_t m, Py_ssize_t* down,
                                     Py_ssize_t* right) except NULL:
    """Numbers of a C-ordered float64 array of shape (n, m), (1, m) or (1, 1), and the steps to the next row and column
    as if it were (n, m)."""
    cdef Py_ssize_t rows = cnp.PyArray_DIM(a, 0) if cnp.PyArray_NDIM(a) == 2 else 0
    cdef Py_ssize_t columns = cnp.PyArray_DIM(a, 1) if cnp.PyArray_NDIM(a) == 2 else 0
    if (cnp.PyArray_TYPE(a) != cnp.NPY_FLOAT64 or not cnp.PyArray_IS_C_CONTIGUOUS(a) or (rows != n and rows != 1)
            or (columns != m and columns != 1)):
        raise ValueError(f"a C-ordered float64 array that fits shape {(n, m)} is needed, got {a.dtype} of shape "
                         f"{(<object> a).shape}")
    down[0], right[0] = columns if rows == n else 0, 1 if columns == m else 0
    return <const double*> cnp.PyArray_DATA(a)


cdef inline const double* for_columns(cnp.ndarray a, Py_ssize_t m, Py_ssize_t* right) except NULL:
    """Numbers of a float64 array of shape (m,) or (1,), and the step to the next column as if it were (m,)."""
    right[0] = 0 if m != 1 and cnp.PyArray_NDIM(a) == 1 and cnp.PyArray_DIM(a, 0) == 1 else 1
    return numbers(a, 1, m if right[0] else 1, 0, 0)


cdef inline int64_t* whole(cnp.ndarray a, Py_ssize_t i) except NULL:
    """Whole numbers of an int64 array of shape (i,) that is written to."""
    if (cnp.PyArray_TYPE(a) != cnp.NPY_INT64 or cnp.PyArray_NDIM(a) != 1 or not cnp.PyArray_IS_C_CONTIGUOUS(a)
            or cnp.PyArray_DIM(a, 0) != i or not cnp.PyArray_ISWRITEABLE(a)):
        raise ValueError(f"an int64 array of shape {(i,)} that can be written to is needed, got {a.dtype} of shape "
                         f"{(<object> a).shape}")
    return <int64_t*> cnp.PyArray_DATA(a)


cdef inline double within(double x, double low, double high) noexcept nogil:
    """The number nearest to x that is."""
    x = low if x < low else x
    return high if x > high else x
