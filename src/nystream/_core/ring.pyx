# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One row into its place among others: what assigning to it does, without the generality of that."""
cimport numpy as cnp
from libc.string cimport memcpy

cnp.import_array()


def put(cnp.ndarray store, Py_ssize_t place, cnp.ndarray row):
    """store[place] = row, of store (n, d), C-ordered float64, and a row (1, d)."""
    cdef Py_ssize_t d
    if (cnp.PyArray_TYPE(store) != cnp.NPY_FLOAT64 or cnp.PyArray_NDIM(store) != 2
            or not cnp.PyArray_IS_C_CONTIGUOUS(store) or not cnp.PyArray_ISWRITEABLE(store)
            or not 0 <= place < cnp.PyArray_DIM(store, 0)):
        raise ValueError(f"a C-ordered float64 array with a row {place} that can be written to is needed, got "
                         f"{store.dtype} of shape {(<object> store).shape}")
    d = cnp.PyArray_DIM(store, 1)
    if cnp.PyArray_NDIM(row) != 2 or cnp.PyArray_DIM(row, 0) != 1 or cnp.PyArray_DIM(row, 1) != d:
        raise ValueError(f"a row of shape (1, {d}) is needed, got shape {(<object> row).shape}")
    if cnp.PyArray_TYPE(row) == cnp.NPY_FLOAT64 and cnp.PyArray_IS_C_CONTIGUOUS(row):
        memcpy(<double*> cnp.PyArray_DATA(store) + place*d, cnp.PyArray_DATA(row), d*sizeof(double))
    else:
        store[place] = row[0]
