# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Running means of labels, as they stood before every row."""
import numpy as np

cimport numpy as cnp

cnp.import_array()


def lagged(const double[:, ::1] T, double[:, ::1] means, const double[::1] rates):
    """(n, R, C) means before each of n rows of targets T (n, C); means (R, C) are brought up to date in place.

    After a row, mean += rate (target - mean); a mean that is nan, before the first row, becomes the target itself.
    """
    cdef Py_ssize_t n = T.shape[0], C = T.shape[1], R = rates.shape[0], t, r, c
    if means.shape[0] != R or means.shape[1] != C:
        raise ValueError(f"means must be ({R}, {C}), got ({means.shape[0]}, {means.shape[1]})")
    out = np.empty((n, R, C))
    cdef double[:, :, ::1] before = out
    with nogil:
        for t in range(n):
            for r in range(R):
                for c in range(C):
                    before[t, r, c] = means[r, c]
                    if means[r, c] != means[r, c]:
                        means[r, c] = T[t, c]
                    else:
                        means[r, c] += rates[r]*(T[t, c] - means[r, c])
    return out
