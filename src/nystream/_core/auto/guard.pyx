# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Predictions and the last label, mixed where labels hardly ever change; row by row, rows after a change apart."""
import numpy as np

cimport numpy as cnp
from libc.math cimport exp, fabs, log
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from nystream._core.auto.arrays cimport blank, numbers, state, whole
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


def guarded_targets(cnp.ndarray P, cnp.ndarray labels or None, cnp.ndarray given or None, cnp.ndarray last,
                    cnp.ndarray after, cnp.ndarray steps, cnp.ndarray sums, cnp.ndarray count):
    """Predictions (n, K) from such, P (n, K), and the last labels, each before its label is learnt.

    last (K,), nan before the first row; after (K,) what the last step was (`moved`); steps (2, K) means of sizes
    and squares of `count` (1,) steps; sums (2, 2, K) of (y - p)(last - p) and (last - p)^2, over rows after no
    step, then over rows after a change. labels (n, K) or None, then nothing is learnt; `given` are weights of rows.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(P, 0), K = cnp.PyArray_DIM(P, 1), t, k, c
    cdef const double* p = numbers(P, 2, n, K, 0)
    cdef const double* y = numbers(labels, 2, n, K, 0) if labels is not None else NULL
    cdef const double* w = numbers(given, 1, n, 0, 0) if given is not None else NULL
    cdef double* before = state(last, 1, K, 0, 0)
    cdef double* kind = state(after, 1, K, 0, 0)
    cdef double* size = state(steps, 2, 2, K, 0)
    cdef double* square = size + K
    cdef double* products = state(sums, 3, 2, 2, K)
    cdef int64_t* seen = whole(count, 1)
    cdef cnp.ndarray out = blank(2, n, K, 0)
    cdef double* q = <double*> cnp.PyArray_DATA(out)
    cdef double* product
    cdef double* length
    cdef double rate = 0, part, d, error, u
    with nogil:
        for t in range(n):
            u = w[t] if w else 1.0
            if y and K > 0 and before[0] == before[0]:
                rate = rate_of(seen)
            for k in range(K):
                q[k] = p[k]
                if kind[k] >= 0:
                    c = 1 if kind[k] > 0 else 0
                    product, length = products + 2*c*K + k, products + (2*c + 1)*K + k
                    d = before[k] - p[k]
                    part = part_of(size[k], square[k], product[0], length[0])
                    if part > 0:
                        q[k] = before[k] if part == 1 else p[k] + part*d
                    if y:
                        error = y[k] - p[k]
                        if fabs(error) > WILD*fabs(d):
                            error = WILD*fabs(d) if error > 0 else -WILD*fabs(d)
                        product[0] = KEEP[c]*product[0] + u*error*d
                        length[0] = KEEP[c]*length[0] + u*d*d
                if y:
                    if before[k] == before[k]:
                        kind[k] = moved(fabs(y[k] - before[k]), rate, size + k, square + k)
                    before[k] = y[k]
            p += K
            q += K
            y = y + K if y else NULL
    return out


def guarded_classes(cnp.ndarray P, cnp.ndarray labels or None, cnp.ndarray given or None, cnp.ndarray last,
                    cnp.ndarray after, cnp.ndarray steps, cnp.ndarray counts, cnp.ndarray shares, cnp.ndarray count):
    """The same for logarithms of probabilities P (n, K) and labels (n,); steps are 0 or 1.

    after (1,) is 1, 2, 3 in the rows after a change. counts (2,) of those rows that had the last class and that had
    not, shares (2,) of what was said and of no change.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(P, 0), K = cnp.PyArray_DIM(P, 1), t, k, y = 0, before
    cdef const double* p = numbers(P, 2, n, K, 0)
    cdef const double* label = numbers(labels, 1, n, 0, 0) if labels is not None else NULL
    cdef const double* w = numbers(given, 1, n, 0, 0) if given is not None else NULL
    cdef double* known = state(last, 1, 1, 0, 0)
    cdef double* since = state(after, 1, 1, 0, 0)
    cdef double* step = state(steps, 2, 2, 1, 0)
    cdef double* times = state(counts, 1, 2, 0, 0)
    cdef double* share = state(shares, 1, 2, 0, 0)
    cdef int64_t* seen = whole(count, 1)
    cdef cnp.ndarray out = blank(2, n, K, 0)
    cdef double* q = <double*> cnp.PyArray_DATA(out)
    cdef double stays, others, a, b, u, kind
    cdef double[2] losses
    check(not known[0] >= K)
    for t in range(n if label else 0):
        check(0 <= label[t] < K)
    with nogil:
        for t in range(n):
            u = w[t] if w else 1.0
            y = <Py_ssize_t> label[t] if label else 0
            memcpy(q, p, K*sizeof(double))
            if known[0] == known[0]:
                before = <Py_ssize_t> known[0]
                others = 0
                if since[0] > 0:
                    for k in range(K):
                        others += exp(p[k]) if k != before else 0.0
                if others > 0:
                    stays = (STAYS + times[0])/(STAYS + LEAVES + times[0] + times[1])
                    if rare(step[0], step[1]):
                        for k in range(K):
                            a = exp(p[k])
                            b = stays if k == before else (1 - stays)*(a/others)
                            q[k] = log(share[0]*a + share[1]*b)
                    if label:
                        a = exp(p[y])
                        b = stays if y == before else (1 - stays)*(a/others)
                        losses[0] = -log(a if a > LEAST else LEAST)
                        losses[1] = -log(b if b > LEAST else LEAST)
                        follow(2, losses, share, u, SHARE)
                        times[0] = KEEP[1]*times[0] + (u if y == before else 0.0)
                        times[1] = KEEP[1]*times[1] + (0.0 if y == before else u)
                if label:
                    kind = moved(0.0 if y == before else 1.0, rate_of(seen), step, step + 1)
                    since[0] = since[0] + 1 if kind == 0 and 0 < since[0] < RECENT else kind
            if label:
                known[0] = y
            p += K
            q += K
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
