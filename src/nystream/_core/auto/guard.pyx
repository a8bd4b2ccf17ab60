# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Predictions and the last label, mixed where labels hardly ever change; row by row, rows after a change apart."""
import numpy as np

cimport numpy as cnp
from libc.math cimport exp, fabs, log
from libc.stdint cimport int64_t

from nystream._core.auto.fixed_share cimport follow

cnp.import_array()

cdef double PACE = 0.005            # rate of the means of steps, which are plain means before
cdef double RARE = 0.05             # labels hardly ever change: the mean size of steps, squared, over the mean square
cdef double LARGE = 9               # a step is a change: its square is so many times the mean square
cdef double[2] KEEP = [0.9999, 0.98]        # of the sums, a row: after no step and after a change
cdef double RECENT = 3              # rows after a change of class that are counted apart
cdef double WILD = 1000             # an error counts at most so many times the distance of the last label
cdef double STAYS = 1.5, LEAVES = 0.5       # rows after a change with the last class and without, to begin with
cdef double SHARE = 0.01            # of the mixture of classes
cdef double LEAST = 1e-12           # no probability counts less in a loss

cdef const double[::1] NONE = np.ones(1)            # in place of what was not given
cdef const double[:, ::1] NO_LABELS = np.ones((1, 1))


cdef inline bint rare(double size, double square) noexcept nogil:
    return size*size < RARE*square


cdef inline double part_of(double size, double square, double product, double length) noexcept nogil:
    """s: what the last label counts for."""
    if not rare(size, square):
        return 0.0
    if length <= 0 or product >= length:
        return 1.0
    return product/length if product > 0 else 0.0


cdef inline double moved(double step, double rate, double* size, double* square) noexcept nogil:
    """The means of steps after one more; and what it was: 1 a change, 0 none at all, else -1."""
    size[0] += rate*(step - size[0])
    square[0] += rate*(step*step - square[0])
    if step == 0:
        return 0.0
    return 1.0 if step*step > LARGE*square[0] else -1.0


cdef inline double rate_of(int64_t* steps) noexcept nogil:
    steps[0] += 1
    return 1.0/steps[0] if PACE*steps[0] < 1 else PACE


def guarded_targets(const double[:, ::1] P, labels, given, double[::1] last, double[::1] after,
                    double[:, ::1] steps, double[:, :, ::1] sums, int64_t[::1] count):
    """Predictions (n, K) from such, P (n, K), and the last labels, each before its label is learnt.

    last (K,), nan before the first row; after (K,) what the last step was (`moved`); steps (2, K) means of sizes
    and squares of `count` (1,) steps; sums (2, 2, K) of (y - p)(last - p) and (last - p)^2, over rows after no
    step, then over rows after a change. labels (n, K) or None, then nothing is learnt; `given` are weights of rows.
    """
    cdef Py_ssize_t n = P.shape[0], K = P.shape[1], t, k, c
    cdef bint learn = labels is not None, weighted = given is not None
    cdef const double[:, ::1] Y = labels if learn else NO_LABELS
    cdef const double[::1] w = given if weighted else NONE
    check(last.shape[0] == K and after.shape[0] == K and steps.shape[0] == 2 and steps.shape[1] == K
          and sums.shape[0] == 2 and sums.shape[1] == 2 and sums.shape[2] == K and count.shape[0] == 1)
    check(not learn or (Y.shape[0] == n and Y.shape[1] == K and (not weighted or w.shape[0] == n)))
    out = np.empty((n, K))
    cdef double[:, ::1] Q = out
    cdef double rate = 0, part, d, error, u
    with nogil:
        for t in range(n):
            u = w[t] if weighted else 1.0
            if learn and K > 0 and last[0] == last[0]:
                rate = rate_of(&count[0])
            for k in range(K):
                Q[t, k] = P[t, k]
                if after[k] >= 0:
                    c = 1 if after[k] > 0 else 0
                    d = last[k] - P[t, k]
                    part = part_of(steps[0, k], steps[1, k], sums[c, 0, k], sums[c, 1, k])
                    if part > 0:
                        Q[t, k] = last[k] if part == 1 else P[t, k] + part*d
                    if learn:
                        error = Y[t, k] - P[t, k]
                        if fabs(error) > WILD*fabs(d):
                            error = WILD*fabs(d) if error > 0 else -WILD*fabs(d)
                        sums[c, 0, k] = KEEP[c]*sums[c, 0, k] + u*error*d
                        sums[c, 1, k] = KEEP[c]*sums[c, 1, k] + u*d*d
                if learn:
                    if last[k] == last[k]:
                        after[k] = moved(fabs(Y[t, k] - last[k]), rate, &steps[0, k], &steps[1, k])
                    last[k] = Y[t, k]
    return out


def guarded_classes(const double[:, ::1] P, labels, given, double[::1] last, double[::1] after,
                    double[:, ::1] steps, double[::1] counts, double[::1] shares, int64_t[::1] count):
    """The same for logarithms of probabilities P (n, K) and labels (n,); steps are 0 or 1.

    after (1,) is 1, 2, 3 in the rows after a change. counts (2,) of those rows that had the last class and that had
    not, shares (2,) of what was said and of no change.
    """
    cdef Py_ssize_t n = P.shape[0], K = P.shape[1], t, k, y, before
    cdef bint learn = labels is not None, weighted = given is not None
    cdef const double[::1] Y = labels if learn else NONE
    cdef const double[::1] w = given if weighted else NONE
    check(last.shape[0] == 1 and after.shape[0] == 1 and steps.shape[0] == 2 and steps.shape[1] == 1
          and counts.shape[0] == 2 and shares.shape[0] == 2 and count.shape[0] == 1 and not last[0] >= K)
    check(not learn or (Y.shape[0] == n and (not weighted or w.shape[0] == n)))
    out = np.empty((n, K))
    cdef double[:, ::1] Q = out
    cdef double stays, others, p, q, u, kind
    cdef double[2] losses
    cdef bint fits = True
    with nogil:
        for t in range(n):
            u = w[t] if weighted else 1.0
            y = <Py_ssize_t> Y[t] if learn else 0
            if not 0 <= y < K:
                fits = False
                break
            Q[t, :] = P[t, :]
            if last[0] == last[0]:
                before = <Py_ssize_t> last[0]
                others = 0
                if after[0] > 0:
                    for k in range(K):
                        others += exp(P[t, k]) if k != before else 0.0
                if others > 0:
                    stays = (STAYS + counts[0])/(STAYS + LEAVES + counts[0] + counts[1])
                    if rare(steps[0, 0], steps[1, 0]):
                        for k in range(K):
                            p = exp(P[t, k])
                            q = stays if k == before else (1 - stays)*(p/others)
                            Q[t, k] = log(shares[0]*p + shares[1]*q)
                    if learn:
                        p = exp(P[t, y])
                        q = stays if y == before else (1 - stays)*(p/others)
                        losses[0] = -log(p if p > LEAST else LEAST)
                        losses[1] = -log(q if q > LEAST else LEAST)
                        follow(2, losses, &shares[0], u, SHARE)
                        counts[0] = KEEP[1]*counts[0] + (u if y == before else 0.0)
                        counts[1] = KEEP[1]*counts[1] + (0.0 if y == before else u)
                if learn:
                    kind = moved(0.0 if y == before else 1.0, rate_of(&count[0]), &steps[0, 0], &steps[1, 0])
                    after[0] = after[0] + 1 if kind == 0 and 0 < after[0] < RECENT else kind
            if learn:
                last[0] = y
    check(fits)
    return out


def parts_of_targets(const double[::1] after, const double[:, ::1] steps, const double[:, :, ::1] sums):
    """(K,) what the last labels count for in the next predictions."""
    cdef Py_ssize_t K = after.shape[0], k, c
    check(steps.shape[0] == 2 and steps.shape[1] == K and sums.shape[0] == 2 and sums.shape[1] == 2
          and sums.shape[2] == K)
    out = np.empty(K)
    cdef double[::1] parts = out
    for k in range(K):
        c = 1 if after[k] > 0 else 0
        parts[k] = part_of(steps[0, k], steps[1, k], sums[c, 0, k], sums[c, 1, k]) if after[k] >= 0 else 0.0
    return out


def part_of_class(const double[::1] after, const double[:, ::1] steps, const double[::1] shares):
    """What no change counts for in the next probabilities."""
    check(after.shape[0] == 1 and steps.shape[0] == 2 and steps.shape[1] == 1 and shares.shape[0] == 2)
    return shares[1] if after[0] > 0 and rare(steps[0, 0], steps[1, 0]) else 0.0


cdef int check(bint fit) except -1:
    if not fit:
        raise ValueError("the arrays of the guard do not fit together")
    return 0
