# Mixtures of predictions: exponential weights, fixed share, members of the ensemble, persistence, recalibration.
cimport numpy as cnp
from libc.math cimport exp


# ----------------------------------------------------------------------------------------------------------------------
# One round of exponential weights with a fixed share, for whoever mixes round by round.
# ----------------------------------------------------------------------------------------------------------------------
cdef inline void follow(Py_ssize_t N, const double* losses, double* weights, double eta, double share) noexcept nogil:
    """weights (N,), summing to 1, after losses (N,)."""
    cdef Py_ssize_t i
    cdef double least = losses[0], total = 0
    for i in range(1, N):
        least = losses[i] if losses[i] < least else least
    for i in range(N):
        weights[i] *= exp(-eta*(losses[i] - least))
        total += weights[i]
    for i in range(N):
        weights[i] = (1 - share)*weights[i]/total + share/N


# ----------------------------------------------------------------------------------------------------------------------
# The mixture of stackers and experts, for compiled rounds.
# ----------------------------------------------------------------------------------------------------------------------
cpdef tuple mix_targets(cnp.ndarray G, cnp.ndarray stacked, cnp.ndarray experts, cnp.ndarray members, Py_ssize_t last,
                        Py_ssize_t aside, cnp.ndarray steady, cnp.ndarray low, cnp.ndarray high, cnp.ndarray shift,
                        cnp.ndarray scale, double eta, double share, cnp.ndarray T=*, cnp.ndarray given=*,
                        cnp.ndarray recent=*, double rate=*, double reach=*, Py_ssize_t early=*)
