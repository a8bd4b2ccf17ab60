# One round of exponential weights with a fixed share, for whoever mixes round by round.
from libc.math cimport exp


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
