# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Exponential weights with a fixed share: from losses to the weights that held in every round."""
import numpy as np

cimport numpy as cnp

cnp.import_array()


def fixed_share(const double[:, :, ::1] losses, double[:, ::1] weights, double eta, double share):
    """The weights (n, K, N) in force before each of n rounds with losses (n, K, N) of N experts for K outputs.

    weights (K, N), each row summing to 1, are brought up to date in place.
    """
    cdef Py_ssize_t n = losses.shape[0], K = losses.shape[1], N = losses.shape[2], t, k, i
    if weights.shape[0] != K or weights.shape[1] != N:
        raise ValueError(f"weights must be ({K}, {N}), got ({weights.shape[0]}, {weights.shape[1]})")
    out = np.empty((n, K, N))
    cdef double[:, :, ::1] used = out
    with nogil:
        for t in range(n):
            for k in range(K):
                for i in range(N):
                    used[t, k, i] = weights[k, i]
                follow(N, &losses[t, k, 0], &weights[k, 0], eta, share)
    return out
