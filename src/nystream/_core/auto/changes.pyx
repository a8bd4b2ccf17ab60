# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Whether losses rank as they did: bets against it; shares of members whose share of change fades; few rows."""
import numpy as np

cimport numpy as cnp
from libc.math cimport exp, log, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memmove

cnp.import_array()

cdef enum:
    COUNT = 0   # of the marks: losses that are kept
    OLDEST = 1  # where the oldest of them is


cdef Py_ssize_t _below(const double* known, Py_ssize_t low, Py_ssize_t high, double x) noexcept nogil:
    """How many of the sorted are less than x."""
    cdef Py_ssize_t middle
    while low < high:
        middle = (low + high)//2
        if known[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


cdef Py_ssize_t _up_to(const double* known, Py_ssize_t low, Py_ssize_t high, double x) noexcept nogil:
    """How many of the sorted are at most x."""
    cdef Py_ssize_t middle
    while low < high:
        middle = (low + high)//2
        if known[middle] <= x:
            low = middle + 1
        else:
            high = middle
    return low


cdef double _mean_log(const double* logs, Py_ssize_t n, double most) noexcept nogil:
    """log of the mean of the exponentials."""
    cdef double total = 0
    cdef Py_ssize_t k
    for k in range(n):
        total += exp(logs[k] - most)
    return most + log(total/n)


def see(const double[::1] losses, int64_t first, int64_t falls_from, int64_t alert_from,
        int64_t alert_to, bint alike, double[::1] kept, double[::1] order, double[::1] ranks, double[::1] logs,
        int64_t[::1] began, int64_t[::1] marks, double[::1] sums,
        const double[::1] bets, Py_ssize_t ups, double bar, double fall, double low_bar, Py_ssize_t least,
        double floor, double[::1] heat, int64_t[::1] left):
    """Rows `first`, `first` + 1, ... with these losses, up to the one where an alarm sounds.

    (rows seen, the bet that won), -1: none did, -2: one of the rows of an alert is over `low_bar`.
    kept (W,) the last losses in a circle, order (W,) the same sorted; ranks (R,) p-values by row number in a circle;
    logs and began: of each bet, and where it left 0; of them the first `ups` are on losses that rise.
    `alike`: small losses are alike for bets on falls too. heat and left (n,): for every row seen the log of what the
    bets on rises have won on average, and where the one that won most left 0.
    """
    cdef Py_ssize_t n = losses.shape[0], W = kept.shape[0], R = ranks.shape[0], B = bets.shape[0], t, k, a, b, low, used
    cdef Py_ssize_t count = marks[COUNT], oldest = marks[OLDEST], won = -1, best
    cdef double x, p, r, small, most, gone, logp, logq
    cdef int64_t row
    if order.shape[0] != W or logs.shape[0] != B or began.shape[0] != B or not 0 < ups <= B:
        raise ValueError("the arrays of the alarm do not fit together")
    if marks.shape[0] != 2 or sums.shape[0] != 1 or not 0 <= count <= W or not 0 <= oldest < W or first < 0 or R < 1:
        raise ValueError("the marks of the alarm are out of range")
    if heat.shape[0] != n or left.shape[0] != n:
        raise ValueError(f"heat and left must have {n} places")
    t = 0
    with nogil:
        while t < n and won == -1:
            x, row = losses[t], first + t
            heat[t], left[t] = 0, row
            if x != x:
                x = 1e300
            low = _below(&order[0], 0, count, x)
            if count >= least:
                small = floor*sums[0]/count
                if x >= small:
                    a, b = low, _up_to(&order[0], low, count, x)
                else:
                    a, b = 0, _below(&order[0], 0, count, small)
                p = (count - 0.5*(a + b) + 0.5)/(count + 1)
                ranks[row % R] = p
                r = p
                if not (alike or x >= small):
                    r = (count - 0.5*(low + _up_to(&order[0], low, count, x)) + 0.5)/(count + 1)
                logp, logq = log(p), log(1 - r)
                used = B if row >= falls_from else ups
                best, most = 0, -1e300
                for k in range(used):
                    if logs[k] <= 0:
                        logs[k], began[k] = 0, row
                    logs[k] += log(bets[k]) + (bets[k] - 1)*(logp if k < ups else logq)
                    if k < ups and logs[k] > most:
                        best, most = k, logs[k]
                heat[t], left[t] = _mean_log(&logs[0], ups, most), began[best]
                if heat[t] >= bar:
                    won = best
                elif alert_from <= row < alert_to and most >= low_bar:
                    won = -2
                elif used > ups:
                    best, most = ups, logs[ups]
                    for k in range(ups + 1, B):
                        if logs[k] > most:
                            best, most = k, logs[k]
                    if most >= fall and _mean_log(&logs[ups], B - ups, most) >= fall:
                        won = best
            if count == W:
                gone = kept[oldest]
                a = _below(&order[0], 0, W, gone)
                if a >= W:  # only in a damaged file
                    a = W - 1
                memmove(&order[a], &order[a + 1] if a + 1 < W else &order[a], (W - 1 - a)*sizeof(double))
                sums[0] -= gone
                count -= 1
                kept[oldest] = x
                oldest = oldest + 1 if oldest + 1 < W else 0
                low = _below(&order[0], 0, count, x)
            else:
                kept[(oldest + count) % W] = x
            memmove(&order[low + 1] if low + 1 < W else &order[low], &order[low], (count - low)*sizeof(double))
            order[low] = x
            sums[0] += x
            count += 1
            t += 1
    marks[COUNT], marks[OLDEST] = count, oldest
    return t, won


def far(const double[:, ::1] X, const double[:, ::1] where, double most):
    """(n,) means over columns of squared deviations, at most `most` each, from means where[0], in units of where[1].

    Missing values, and columns whose mean or unit is nan, do not count; 0 where nothing does.
    """
    cdef Py_ssize_t n = X.shape[0], d = X.shape[1], t, j, known
    cdef double z, total
    if where.shape[0] != 2 or where.shape[1] != d:
        raise ValueError(f"where must be (2, {d}), got ({where.shape[0]}, {where.shape[1]})")
    out = np.empty(n)
    cdef double[::1] found = out
    with nogil:
        for t in range(n):
            total, known = 0, 0
            for j in range(d):
                z = (X[t, j] - where[0, j])/where[1, j]
                if z == z:
                    z = most if z > most else -most if z < -most else z
                    total += z*z
                    known += 1
            found[t] = total/known if known else 0
    return out


def fading_shares(const double[:, :, ::1] losses, double[:, ::1] shares, double[:, ::1] powers, int64_t age,
                  double rate, const double[::1] given=None):
    """(n, G, M) shares in force before each of n rows with losses (n, G, M) of M members in G groups.

    After a row, v ~ share exp(-loss), share = (1 - a) v + a/M, a = 1/(age + 1), age one more each row. With a rate
    above 0 losses are squares: each over twice the least of the members' running means of them, `powers` (G, M), nan
    before the first. shares and powers are brought up to date in place. given (n,): losses count so many times.
    """
    cdef Py_ssize_t n = losses.shape[0], G = losses.shape[1], M = losses.shape[2], t, g, i
    cdef double least, unit, total, a, d
    if shares.shape[0] != G or shares.shape[1] != M or powers.shape[0] != G or powers.shape[1] != M or M < 1:
        raise ValueError(f"shares and powers must be ({G}, {M})")
    if given is not None and given.shape[0] != n:
        raise ValueError(f"there are {given.shape[0]} weights for {n} rows")
    out = np.empty((n, G, M))
    cdef double[:, :, ::1] before = out
    with nogil:
        for t in range(n):
            age += 1
            a = 1.0/(age + 1)
            for g in range(G):
                unit = 1
                if rate > 0:
                    unit = 1e300
                    for i in range(M):
                        if powers[g, i] != powers[g, i]:
                            powers[g, i] = losses[t, g, i]
                        else:
                            powers[g, i] = (1 - rate)*powers[g, i] + rate*losses[t, g, i]
                        unit = powers[g, i] if powers[g, i] < unit else unit
                    unit = 2*(unit if unit > 1e-300 else 1e-300)
                least = losses[t, g, 0]
                for i in range(M):
                    before[t, g, i] = shares[g, i]
                    least = losses[t, g, i] if losses[t, g, i] < least else least
                total = 0
                for i in range(M):
                    d = (losses[t, g, i] - least)/unit
                    if given is not None:
                        d *= given[t]
                    shares[g, i] *= exp(-(d if d < 60 else 60))
                    total += shares[g, i]
                for i in range(M):
                    shares[g, i] = (1 - a)*shares[g, i]/total + a/M
    return out


def few_rounds(const double[:, ::1] Z, const double[:, ::1] T, double[:, ::1] kept, double[:, ::1] inverse,
               double[:, ::1] whitened, Py_ssize_t count, double width, double ridge, const double[::1] given=None,
               bint learn=True):
    """(n, K) predictions of kernel ridge regression on the rows before each, as many as there is room for; and the
    count. The kernel is the mean of two Gaussians, exp(-2 |x - z|^2/width) and exp(-|x - z|^2/(2 width)).

    kept (N, d) rows, inverse (N, N) that of the lower factor L of K + ridge/weight, whitened (N, K) = L^-1 T. A row
    costs O(count^2). With `learn` False, T (n, K) is not read and nothing changes.
    """
    cdef Py_ssize_t n = Z.shape[0], d = Z.shape[1], N = kept.shape[0], K = whitened.shape[1], t, i, j, k
    cdef double total, z, pivot, gone
    if kept.shape[1] != d or inverse.shape[0] != N or inverse.shape[1] != N or whitened.shape[0] != N:
        raise ValueError("the arrays of the few rows do not fit together")
    if not 0 <= count <= N or (learn and (T.shape[0] != n or T.shape[1] != K)):
        raise ValueError(f"T must be ({n}, {K}) and count at most {N}")
    if given is not None and given.shape[0] != n:
        raise ValueError(f"there are {given.shape[0]} weights for {n} rows")
    out, row, white = np.zeros((n, K)), np.empty(N), np.empty(N)
    cdef double[:, ::1] said = out
    cdef double[::1] near = row, part = white
    with nogil:
        for t in range(n):
            for i in range(count):
                total = 0
                for j in range(d):
                    z = Z[t, j] - kept[i, j]
                    total += z*z
                near[i] = 0.5*(exp(-2*total/width) + exp(-0.5*total/width))
            pivot = 0
            for i in range(count):
                total = 0
                for j in range(i + 1):
                    total += inverse[i, j]*near[j]
                part[i] = total
                pivot += total*total
                for k in range(K):
                    said[t, k] += total*whitened[i, k]
            if not learn or count == N:
                continue
            gone = ridge if given is None else ridge/given[t]
            pivot = sqrt(1 + gone - pivot if 1 - pivot > 0 else gone)
            for j in range(count):
                near[j] = 0
            for i in range(count):
                for j in range(i + 1):
                    near[j] += part[i]*inverse[i, j]
            for j in range(count):
                inverse[count, j] = -near[j]/pivot
            inverse[count, count] = 1/pivot
            for k in range(K):
                whitened[count, k] = (T[t, k] - said[t, k])/pivot
            for j in range(d):
                kept[count, j] = Z[t, j]
            count += 1
    return out, count
