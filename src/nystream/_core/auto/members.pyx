# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Predictions of stackers and the plain aggregation of experts, mixed by fixed shares round by round."""
import numpy as np

cimport numpy as cnp
from libc.math cimport log, sqrt

from nystream._core.auto.fixed_share cimport follow

cnp.import_array()

cdef const double[::1] NONE = np.ones(1)    # in place of what was not given

cdef double SURE = 0.99      # the aggregation is never surer than that
cdef double LEAST = 1e-12    # no probability falls below this


def mix_targets(const double[:, :, ::1] F, const double[:, :, ::1] stacked, double[:, ::1] experts,
                double[:, ::1] members, double eta, double share, const double[:, ::1] T=None, given=None,
                double[:, ::1] recent=None, double rate=0.0):
    """Predictions (n, K) and the experts' deviation (n, K) from outputs F (n, E, K) and stacked (n, S, K).

    experts (K, E) and members (K, S + 1), the last of them the aggregation, are weights; with targets T (n, K) both
    move by squared losses, times the rows' weights `given`, and recent (1, E) follows the experts' losses.
    """
    cdef Py_ssize_t n = F.shape[0], E = F.shape[1], K = F.shape[2], S = stacked.shape[1], t, k, i
    check(stacked.shape[0] == n and stacked.shape[2] == K and experts.shape[0] == K and experts.shape[1] == E
          and members.shape[0] == K and members.shape[1] == S + 1)
    cdef bint learn = T is not None, weighted = given is not None
    cdef const double[::1] w = given if weighted else NONE
    check(not learn or (T.shape[0] == n and T.shape[1] == K and recent.shape[0] == 1
                        and recent.shape[1] == E
                        and (not weighted or w.shape[0] == n)))
    out, deviation = np.empty((n, K)), np.empty((n, K))
    cdef double[:, ::1] P = out, D = deviation
    cdef double[::1] q = np.empty(S + 1), losses = np.empty(max(E, S + 1)), all_losses = np.empty(E)
    cdef double p, mean, u
    with nogil:
        for t in range(n):
            all_losses[:] = 0
            u = w[t] if weighted else 1.0
            for k in range(K):
                q[S], mean = 0, 0
                for i in range(E):
                    q[S] += experts[k, i]*F[t, i, k]
                    mean += F[t, i, k]/E
                p = 0
                for i in range(S + 1):
                    if i < S:
                        q[i] = stacked[t, i, k]
                    p += members[k, i]*q[i]
                P[t, k] = p
                p = 0
                for i in range(E):
                    p += (F[t, i, k] - mean)*(F[t, i, k] - mean)/E
                D[t, k] = sqrt(p)
                if learn:
                    for i in range(E):
                        losses[i] = (F[t, i, k] - T[t, k])*(F[t, i, k] - T[t, k])
                        all_losses[i] += losses[i]/K
                    follow(E, &losses[0], &experts[k, 0], eta*u, share)
                    for i in range(S + 1):
                        losses[i] = (q[i] - T[t, k])*(q[i] - T[t, k])
                    follow(S + 1, &losses[0], &members[k, 0], eta*u, share)
            if learn:
                remember(E, &all_losses[0], &recent[0, 0], rate)
    return out, deviation


def mix_classes(const double[:, :, ::1] F, const double[:, :, ::1] stacked, double[:, ::1] experts,
                double[:, ::1] members, double eta, double share, const double[:, ::1] T=None, labels=None, given=None,
                double[:, ::1] recent=None, double rate=0.0):
    """Probabilities (n, K) from scores F (n, E, C), C = 1 for K = 2, and stacked probabilities (n, S, K).

    experts (1, E) and members (1, S + 1) are weights as in `mix_targets`; with codes T (n, C) and labels (n,) the first
    move by mean squared losses and rate eta, the second by log losses and rate 1.
    """
    cdef Py_ssize_t n = F.shape[0], E = F.shape[1], C = F.shape[2], S = stacked.shape[1], K = stacked.shape[2], t, i, c
    check(stacked.shape[0] == n and K == (2 if C == 1 else C) and experts.shape[0] == 1 and experts.shape[1] == E
          and members.shape[0] == 1 and members.shape[1] == S + 1)
    cdef bint learn = labels is not None, weighted = given is not None
    cdef const double[::1] w = given if weighted else NONE
    cdef const double[::1] y = labels if learn else NONE
    check(not learn or (T.shape[0] == n and T.shape[1] == C and y.shape[0] == n and recent.shape[0] == 1
                        and recent.shape[1] == E
                        and (not weighted or w.shape[0] == n)))
    out = np.empty((n, K))
    cdef double[:, ::1] P = out
    cdef double[::1] q = np.empty(K), losses = np.empty(max(E, S + 1))
    cdef double total, u, loss
    with nogil:
        for t in range(n):
            u = w[t] if weighted else 1.0
            aggregated(&F[t, 0, 0], &experts[0, 0], E, C, &q[0])
            total = 0
            for c in range(K):
                P[t, c] = members[0, S]*q[c]
                for i in range(S):
                    P[t, c] += members[0, i]*(stacked[t, i, c] if stacked[t, i, c] > LEAST else LEAST)
                total += P[t, c]
            for c in range(K):
                P[t, c] /= total
            if not learn:
                continue
            for i in range(E):
                loss = 0
                for c in range(C):
                    loss += (F[t, i, c] - T[t, c])*(F[t, i, c] - T[t, c])
                losses[i] = loss/C
            remember(E, &losses[0], &recent[0, 0], rate)
            follow(E, &losses[0], &experts[0, 0], eta*u, share)
            c = <Py_ssize_t> y[t]
            for i in range(S + 1):
                loss = q[c] if i == S else stacked[t, i, c]
                losses[i] = -log(loss if loss > LEAST else LEAST)
            follow(S + 1, &losses[0], &members[0, 0], u, share)
    return out


cdef void aggregated(const double* F, const double* experts, Py_ssize_t E, Py_ssize_t C, double* q) noexcept nogil:
    """Probabilities from the experts' mean score, between -1 and 1."""
    cdef Py_ssize_t i, c, first = 1 if C == 1 else 0
    cdef double total = 0, p
    for c in range(C):
        p = 0
        for i in range(E):
            p += experts[i]*F[i*C + c]
        p = 0.5*(p + 1)
        q[first + c] = SURE if p > SURE else (1 - SURE if p < 1 - SURE else p)
    if C == 1:
        q[0] = 1 - q[1]
    for c in range(first + C):
        total += q[c]
    for c in range(first + C):
        q[c] = q[c]/total if q[c]/total > LEAST else LEAST


cdef void remember(Py_ssize_t N, const double* losses, double* recent, double rate) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(N):
        if recent[i] != recent[i]:
            recent[i] = losses[i]
        else:
            recent[i] += rate*(losses[i] - recent[i])


cdef int check(bint fit) except -1:
    if not fit:
        raise ValueError("the arrays of experts, stackers, weights and labels do not fit together")
    return 0
