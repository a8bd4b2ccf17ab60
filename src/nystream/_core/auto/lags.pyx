# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Running means of labels and labels of before, as they stood before every row."""
import numpy as np

cimport numpy as cnp

cnp.import_array()


def lagged(const double[:, ::1] T, double[:, ::1] means, const double[::1] rates):
    """(n, R + D, C) means before each of n rows of targets T (n, C); means (R + D, C) are brought up to date in place.

    After a row, mean += rate (target - mean); a mean that is nan, before the first row, becomes the target itself. What
    the last D, 0 or more, become is what the first was before: where its rate is 1, the label before the last one, the
    one before that, ...
    """
    cdef Py_ssize_t n = T.shape[0], C = T.shape[1], R = rates.shape[0], D = means.shape[0] - R, t, r, c
    if D < 0 or means.shape[1] != C:
        raise ValueError(f"means must be at least ({R}, {C}), got ({means.shape[0]}, {means.shape[1]})")
    out = np.empty((n, R + D, C))
    cdef double[:, :, ::1] before = out
    with nogil:
        for t in range(n):
            for r in range(R + D - 1, R - 1, -1):
                for c in range(C):
                    before[t, r, c] = means[r, c]
                    means[r, c] = means[r - 1 if r > R else 0, c]
                    if means[r, c] != means[r, c]:
                        means[r, c] = T[t, c]
            for r in range(R):
                for c in range(C):
                    before[t, r, c] = means[r, c]
                    if means[r, c] != means[r, c]:
                        means[r, c] = T[t, c]
                    else:
                        means[r, c] += rates[r]*(T[t, c] - means[r, c])
    return out
