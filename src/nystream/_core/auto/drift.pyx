# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Drift detectors of `Auto`, shares of candidates, and bounds of outliers."""
import numpy as np
cimport numpy as cnp
from libc.math cimport INFINITY, NAN, exp, fabs, log, sqrt
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memmove, memset

from nystream._core.auto.arrays cimport blank, for_columns, numbers, state, whole

cnp.import_array()

# ----------------------------------------------------------------------------------------------------------------------
# Whether numbers rank as they did: bets against it, for rows of one alarm, and for one row of three that are quiet.
# ----------------------------------------------------------------------------------------------------------------------
cdef enum:
    COUNT = 0   # of the marks: numbers that are kept
    OLDEST = 1  # where the oldest of them is
    MOST = 16   # bets


cdef struct Rules:
    const double* bets      # their exponents, those on rises first
    Py_ssize_t count
    Py_ssize_t ups          # bets on rises
    double fall             # log of what the bets on falls have to win on average
    Py_ssize_t least        # numbers before one is ranked
    double floor            # part of the mean below which numbers are alike


cdef struct Ranks:
    bint alike              # whether small numbers are alike for bets on falls too
    double bar              # log of what the bets on rises have to win on average
    double* kept            # (size,) the last numbers in a circle, order: sorted
    double* order
    Py_ssize_t size
    double* ranks           # (reach,) p-values by row number in a circle
    Py_ssize_t reach
    double* logs            # of each bet, and began: where it left 0
    int64_t* began
    int64_t* marks
    double* sums            # (1,) of the numbers


cdef struct Ranked:
    double p                # nan where numbers were too few to rank
    double heat             # log of what the bets on rises have won on average
    int64_t left            # where the one that won most left 0
    Py_ssize_t won          # the bet that won, -1: none did
    double[MOST] logs
    int64_t[MOST] began


cdef int rules_of(tuple given, Rules* rules) except -1:
    bets, rules.ups, rules.fall, rules.least, rules.floor = given
    rules.count = len(bets)
    rules.bets = numbers(bets, 1, rules.count, 0, 0)
    if not 0 < rules.ups <= rules.count <= MOST:
        raise ValueError("the rules of the alarm are out of range")
    return 0


cdef int ranks_of(tuple parts, const Rules* rules, Ranks* alarm) except -1:
    """The state of an alarm: alike, bar, kept, order, ranks, logs, began, marks, sums."""
    cdef cnp.ndarray kept = parts[2], ranks = parts[4]
    alarm.alike, alarm.bar = parts[0], parts[1]
    alarm.size, alarm.reach = cnp.PyArray_SIZE(kept), cnp.PyArray_SIZE(ranks)
    alarm.kept, alarm.order = state(kept, 1, alarm.size, 0, 0), state(parts[3], 1, alarm.size, 0, 0)
    alarm.ranks, alarm.logs = state(ranks, 1, alarm.reach, 0, 0), state(parts[5], 1, rules.count, 0, 0)
    alarm.began, alarm.marks = whole(parts[6], rules.count), whole(parts[7], 2)
    alarm.sums = state(parts[8], 1, 1, 0, 0)
    if (not 0 <= alarm.marks[COUNT] <= alarm.size or not 0 <= alarm.marks[OLDEST] < alarm.size or alarm.reach < 1):
        raise ValueError("the marks of the alarm are out of range")
    return 0


cdef Py_ssize_t below(const double* known, Py_ssize_t low, Py_ssize_t high, double x) noexcept nogil:
    """How many of the sorted are less than x."""
    cdef Py_ssize_t middle
    while low < high:
        middle = (low + high)//2
        if known[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


cdef Py_ssize_t up_to(const double* known, Py_ssize_t low, Py_ssize_t high, double x) noexcept nogil:
    """How many of the sorted are at most x."""
    cdef Py_ssize_t middle
    while low < high:
        middle = (low + high)//2
        if known[middle] <= x:
            low = middle + 1
        else:
            high = middle
    return low


cdef double mean_log(const double* logs, Py_ssize_t n, double most) noexcept nogil:
    """log of the mean of the exponentials."""
    cdef double total = 0
    cdef Py_ssize_t k
    for k in range(n):
        total += exp(logs[k] - most)
    return most + log(total/n)


cdef void rank(const Ranks* alarm, const Rules* rules, double x, int64_t row, bint falls, Ranked* found) noexcept nogil:
    """What becomes of the bets with this number; nothing of the alarm is changed."""
    cdef Py_ssize_t count = alarm.marks[COUNT], low, a, b, k, best, used = rules.count if falls else rules.ups
    cdef double small, r, logp, logq, most
    found.p, found.heat, found.left, found.won = NAN, 0, row, -1
    memcpy(found.logs, alarm.logs, rules.count*sizeof(double))
    memcpy(found.began, alarm.began, rules.count*sizeof(int64_t))
    if count < rules.least:
        return
    low = below(alarm.order, 0, count, x)
    small = rules.floor*alarm.sums[0]/count
    if x >= small:
        a, b = low, up_to(alarm.order, low, count, x)
    else:
        a, b = 0, below(alarm.order, 0, count, small)
    found.p = (count - 0.5*(a + b) + 0.5)/(count + 1)
    r = found.p
    if not (alarm.alike or x >= small):
        r = (count - 0.5*(low + up_to(alarm.order, low, count, x)) + 0.5)/(count + 1)
    logp, logq = log(found.p), log(1 - r)
    best, most = 0, -1e300
    for k in range(used):
        if found.logs[k] <= 0:
            found.logs[k], found.began[k] = 0, row
        found.logs[k] += log(rules.bets[k]) + (rules.bets[k] - 1)*(logp if k < rules.ups else logq)
        if k < rules.ups and found.logs[k] > most:
            best, most = k, found.logs[k]
    found.heat, found.left = mean_log(found.logs, rules.ups, most), found.began[best]
    if found.heat >= alarm.bar:
        found.won = best
    elif used > rules.ups:
        best, most = rules.ups, found.logs[rules.ups]
        for k in range(rules.ups + 1, rules.count):
            if found.logs[k] > most:
                best, most = k, found.logs[k]
        if most >= rules.fall and mean_log(found.logs + rules.ups, rules.count - rules.ups, most) >= rules.fall:
            found.won = best


cdef void keep(Ranks* alarm, const Rules* rules, double x, int64_t row, const Ranked* found) noexcept nogil:
    """The number is one of those that the next is ranked among."""
    cdef Py_ssize_t count = alarm.marks[COUNT], oldest = alarm.marks[OLDEST], size = alarm.size, gone, low
    memcpy(alarm.logs, found.logs, rules.count*sizeof(double))
    memcpy(alarm.began, found.began, rules.count*sizeof(int64_t))
    if found.p == found.p:
        alarm.ranks[row % alarm.reach] = found.p
    if count == size:
        gone = below(alarm.order, 0, size, alarm.kept[oldest])
        if gone >= size:  # only in a damaged file
            gone = size - 1
        memmove(alarm.order + gone, alarm.order + gone + 1, (size - 1 - gone)*sizeof(double))
        alarm.sums[0] -= alarm.kept[oldest]
        count -= 1
        alarm.kept[oldest] = x
        oldest = oldest + 1 if oldest + 1 < size else 0
    else:
        alarm.kept[(oldest + count) % size] = x
    low = below(alarm.order, 0, count, x)
    memmove(alarm.order + low + 1, alarm.order + low, (count - low)*sizeof(double))
    alarm.order[low] = x
    alarm.sums[0] += x
    alarm.marks[COUNT], alarm.marks[OLDEST] = count + 1, oldest


cdef inline double known(double x) noexcept nogil:
    return x if x == x else 1e300


def see(cnp.ndarray losses, int64_t first, int64_t falls_from, tuple alarm, tuple given, cnp.ndarray heat,
        cnp.ndarray left):
    """Rows `first`, `first` + 1, ... with these losses, up to the one where an alarm sounds.

    (rows seen, the bet that won), -1: none did. `alarm` is the state of a `RankDetector` and `given` its rules: see
    `ranks_of` and `Rules`. heat and left (n,): for every row seen the log of what the bets on rises have won on
    average, and where the one that won most left 0.
    """
    cdef Py_ssize_t n = cnp.PyArray_SIZE(losses), t = 0
    cdef const double* x = numbers(losses, 1, n, 0, 0)
    cdef double* level = state(heat, 1, n, 0, 0)
    cdef int64_t* since = whole(left, n)
    cdef Rules rules
    cdef Ranks ranks
    cdef Ranked found
    rules_of(given, &rules)
    ranks_of(alarm, &rules, &ranks)
    if first < 0:
        raise ValueError("rows are counted from 0")
    found.won = -1
    with nogil:
        while t < n and found.won == -1:
            rank(&ranks, &rules, known(x[t]), first + t, first + t >= falls_from, &found)
            keep(&ranks, &rules, known(x[t]), first + t, &found)
            level[t], since[t] = found.heat, found.left
            t += 1
    return t, found.won


cdef double distance(Py_ssize_t d, const double* x, const double* where, double most) noexcept nogil:
    """The mean over d columns of squared deviations: see `far`."""
    cdef Py_ssize_t j, count = 0
    cdef double z, total = 0
    for j in range(d):
        z = (x[j] - where[j])/where[d + j]
        if z == z:
            z = most if z > most else -most if z < -most else z
            total += z*z
            count += 1
    return total/count if count else 0


def far(cnp.ndarray X, cnp.ndarray where, double most):
    """(n,) means over columns of squared deviations, at most `most` each, from means where[0], in units of where[1].

    Missing values, and columns whose mean or unit is nan, do not count; 0 where nothing does.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(X, 0), d = cnp.PyArray_DIM(X, 1), t
    cdef const double* x = numbers(X, 2, n, d, 0)
    cdef const double* place = numbers(where, 2, 2, d, 0)
    cdef cnp.ndarray out = blank(1, n, 0, 0)
    cdef double* found = <double*> cnp.PyArray_DATA(out)
    with nogil:
        for t in range(n):
            found[t] = distance(d, x + t*d, place, most)
    return out


cdef inline double loss_of(Py_ssize_t K, const double* p, const double* y, const double* scale, Py_ssize_t right,
                           double least) noexcept nogil:
    """The squared error, of several targets the mean in units of their variances; without a scale the log loss."""
    cdef Py_ssize_t k
    cdef double total = 0
    if scale == NULL:
        total = p[<Py_ssize_t> y[0]]
        return -(total if total > least else least)
    if K == 1:
        return (p[0] - y[0])*(p[0] - y[0])
    for k in range(K):
        total += (p[k] - y[k])*(p[k] - y[k])/(scale[k*right]*scale[k*right])
    return total/K


cdef int labels_of(cnp.ndarray Y, Py_ssize_t n, Py_ssize_t K, bint classes, const double** y) except -1:
    """Labels (n, K), or (n, 1) numbers of classes."""
    cdef Py_ssize_t t
    y[0] = numbers(Y, 2, n, 1 if classes else K, 0)
    for t in range(n if classes else 0):
        if not 0 <= y[0][t] < K:
            raise ValueError(f"labels must be 0 to {K - 1}, got {y[0][t]}")
    return 0


def losses_of(cnp.ndarray P, cnp.ndarray Y, cnp.ndarray scale or None, double least):
    """(n,) squared errors of predictions P (n, K) of labels Y, of several targets the mean in units of their variances;
    without a scale log losses, P are logarithms of probabilities, those under `least` count as that.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(P, 0), K = cnp.PyArray_DIM(P, 1), right = 0, t
    cdef const double* p = numbers(P, 2, n, K, 0)
    cdef const double* unit = for_columns(scale, K, &right) if scale is not None else NULL
    cdef const double* y = NULL
    labels_of(Y, n, K, unit == NULL, &y)
    cdef cnp.ndarray out = blank(1, n, 0, 0)
    cdef double* found = <double*> cnp.PyArray_DATA(out)
    with nogil:
        for t in range(n):
            found[t] = loss_of(K, p + t*K, y + t*(K if unit else 1), unit, right, least)
    return out


def watch(int64_t row, cnp.ndarray P, cnp.ndarray core or None, cnp.ndarray Y, cnp.ndarray heard or None,
          cnp.ndarray scale or None, double least, double steady, cnp.ndarray X, cnp.ndarray where, double most,
          tuple alarms, tuple given, int64_t falls_from, cnp.ndarray losses, cnp.ndarray said):
    """One row of one ensemble, if no alarm sounds: how near the first two are, (heat, left, heat, left) as in `see`.

    All three alarms, on the loss, on the loss `steady` of experts that do not forget and on the distance of X (1, d)
    from `where`, have then seen the row; its loss is in losses (rows, 3), in the first and the last column, and what
    was predicted, P (1, K) and core, in said (rows, width), each in the place of the row. Where there is a label
    `heard`, the first alarm sees the loss by it, and the second nothing. None, and nothing has changed, if one of them
    sounds.
    """
    cdef Py_ssize_t K = cnp.PyArray_DIM(P, 1), d = cnp.PyArray_DIM(X, 1), right = 0, k
    cdef Py_ssize_t rows = cnp.PyArray_DIM(losses, 0), kept = cnp.PyArray_DIM(said, 0)
    cdef Py_ssize_t width = 2*K if core is not None else K
    cdef const double* p = numbers(P, 2, 1, K, 0)
    cdef const double* middle = numbers(core, 2, 1, K, 0) if core is not None else NULL
    cdef const double* unit = for_columns(scale, K, &right) if scale is not None else NULL
    cdef const double* x = numbers(X, 2, 1, d, 0)
    cdef const double* place = numbers(where, 2, 2, d, 0)
    cdef double* all_losses = state(losses, 2, rows, 3, 0)
    cdef double* all_said = state(said, 2, kept, width, 0)
    cdef const double* y = NULL
    cdef const double* h = NULL
    cdef double loss
    cdef Rules rules
    cdef Ranks[3] ranks
    cdef Ranked[3] found
    cdef double[3] seen
    cdef bint silent = True
    labels_of(Y, 1, K, unit == NULL, &y)
    if heard is not None:
        labels_of(heard, 1, K, unit == NULL, &h)
    rules_of(given, &rules)
    for k in range(3):
        ranks_of(alarms[k], &rules, &ranks[k])
    if row < 0 or rows < 1 or kept < 1:
        raise ValueError("rows are counted from 0, and have places")
    with nogil:
        loss = loss_of(K, p, y, unit, right, least)
        seen[0] = loss if h == NULL else loss_of(K, p, h, unit, right, least)
        seen[1], seen[2] = steady, distance(d, x, place, most)
        found[1].heat, found[1].left = 0, 0
        for k in range(3):
            if silent and not (k == 1 and h != NULL):
                rank(&ranks[k], &rules, known(seen[k]), row, k == 0 and row >= falls_from, &found[k])
                silent = found[k].won == -1
        if silent:
            for k in range(3):
                if not (k == 1 and h != NULL):
                    keep(&ranks[k], &rules, known(seen[k]), row, &found[k])
            all_losses += (row % rows)*3
            all_losses[0], all_losses[1], all_losses[2] = loss, 0, loss
            all_said += (row % kept)*width
            memcpy(all_said, p, K*sizeof(double))
            if middle:
                memcpy(all_said + K, middle, K*sizeof(double))
    return (found[0].heat, found[0].left, found[1].heat, found[1].left) if silent else None


# ----------------------------------------------------------------------------------------------------------------------
# Shares of members whose share of change fades; few rows.
# ----------------------------------------------------------------------------------------------------------------------
cdef struct Shares:         # of M members in each of G groups
    Py_ssize_t G, M
    double* share           # (G, M) and power
    double* power
    double rate


cdef Shares shares_of(cnp.ndarray shares, cnp.ndarray powers, double rate):
    cdef Shares s
    s.G, s.M, s.rate = cnp.PyArray_DIM(shares, 0), cnp.PyArray_DIM(shares, 1), rate
    s.share, s.power = state(shares, 2, s.G, s.M, 0), state(powers, 2, s.G, s.M, 0)
    return s


cdef void fade(const Shares* s, const double* loss, int64_t age, double weight) noexcept nogil:
    """After a row with losses (G, M), the age-th: see `fading_shares`."""
    cdef double a = 1.0/(age + 1), unit, least, total, d
    cdef Py_ssize_t M = s.M, g, i
    cdef double* share
    cdef double* power
    for g in range(s.G):
        share, power, unit = s.share + g*M, s.power + g*M, 1
        if s.rate > 0:
            unit = 1e300
            for i in range(M):
                if power[i] != power[i]:
                    power[i] = loss[i]
                else:
                    power[i] = (1 - s.rate)*power[i] + s.rate*loss[i]
                unit = power[i] if power[i] < unit else unit
            unit = 2*(unit if unit > 1e-300 else 1e-300)
        least = loss[0]
        for i in range(M):
            least = loss[i] if loss[i] < least else least
        total = 0
        for i in range(M):
            d = (loss[i] - least)/unit*weight
            share[i] *= exp(-(d if d < 60 else 60))
            total += share[i]
        for i in range(M):
            share[i] = (1 - a)*share[i]/total + a/M
        loss += M


def fading_shares(cnp.ndarray losses, cnp.ndarray shares, cnp.ndarray powers, int64_t age, double rate,
                  cnp.ndarray given=None):
    """(n, G, M) shares in force before each of n rows with losses (n, G, M) of M members in G groups.

    After a row, v ~ share exp(-loss), share = (1 - a) v + a/M, a = 1/(age + 1), age one more each row. With a rate
    above 0 losses are squares: each over twice the least of the members' running means of them, `powers` (G, M), nan
    before the first. shares and powers are brought up to date in place. given (n,): losses count so many times.
    """
    cdef Shares s = shares_of(shares, powers, rate)
    cdef Py_ssize_t n = cnp.PyArray_DIM(losses, 0), size = s.G*s.M, t
    cdef const double* loss = numbers(losses, 3, n, s.G, s.M)
    cdef const double* w = numbers(given, 1, n, 0, 0) if given is not None else NULL
    cdef cnp.ndarray out = blank(3, n, s.G, s.M)
    cdef double* before = <double*> cnp.PyArray_DATA(out)
    with nogil:
        for t in range(n):
            memcpy(before + t*size, s.share, size*sizeof(double))
            fade(&s, loss + t*size, age + t + 1, w[t] if w else 1.0)
    return out


def mix_fading(tuple members, cnp.ndarray T, cnp.ndarray shares, cnp.ndarray powers, int64_t age, double rate,
               cnp.ndarray shift, cnp.ndarray scale, cnp.ndarray parts, cnp.ndarray given=None):
    """(n, K) what M members (n, K) say of n rows, by `fading_shares` of every target, times scale plus shift, (K,); and
    (n, K) sums of the shares times `parts` (M,). Losses are squares of what is missing to the targets T (n, K).
    """
    cdef Shares s = shares_of(shares, powers, rate)
    cdef Py_ssize_t n = cnp.PyArray_DIM(T, 0), K = cnp.PyArray_DIM(T, 1), M = len(members), t, k, i
    if s.G != K or s.M != M:
        raise ValueError(f"shares must be ({K}, {M}), got ({s.G}, {s.M})")
    cdef const double* y = numbers(T, 2, n, K, 0)
    cdef const double* w = numbers(given, 1, n, 0, 0) if given is not None else NULL
    cdef const double* zero = numbers(shift, 1, K, 0, 0)
    cdef const double* unit = numbers(scale, 1, K, 0, 0)
    cdef const double* part = numbers(parts, 1, M, 0, 0)
    cdef cnp.ndarray said = together(members, n, K), out = blank(2, n, K, 0), sums = blank(2, n, K, 0)
    cdef cnp.ndarray memory = blank(2, K, M, 0)
    cdef const double* says = <const double*> cnp.PyArray_DATA(said)
    cdef double* P = <double*> cnp.PyArray_DATA(out)
    cdef double* carried = <double*> cnp.PyArray_DATA(sums)
    cdef double* loss = <double*> cnp.PyArray_DATA(memory)
    cdef double p, q, d
    with nogil:
        for t in range(n):
            for k in range(K):
                p, q = 0, 0
                for i in range(M):
                    p += s.share[k*M + i]*says[i*K + k]
                    q += s.share[k*M + i]*part[i]
                    d = says[i*K + k] - y[k]
                    loss[k*M + i] = d*d
                P[k], carried[k] = p*unit[k] + zero[k], q
            fade(&s, loss, age + t + 1, w[t] if w else 1.0)
            says, y, P, carried = says + M*K, y + K, P + K, carried + K
    return out, sums


cpdef cnp.ndarray together(tuple members, Py_ssize_t n, Py_ssize_t K):
    """(n, M, K) what M members say of n rows: (n, K), or a number that is the same for all."""
    cdef Py_ssize_t M = len(members), i, t, k
    cdef cnp.ndarray out = blank(3, n, M, K)
    cdef double* found = <double*> cnp.PyArray_DATA(out)
    cdef const double* one
    cdef double number
    for i in range(M):
        if isinstance(members[i], float):
            number = members[i]
            for t in range(n):
                for k in range(K):
                    found[(t*M + i)*K + k] = number
            continue
        one = numbers(members[i], 2, n, K, 0)
        for t in range(n):
            memcpy(found + (t*M + i)*K, one + t*K, K*sizeof(double))
    return out


def standardised(cnp.ndarray V, cnp.ndarray shift, cnp.ndarray scale):
    """(n, K) numbers V (n, K) less shift (K,), in units of scale (K,)."""
    cdef Py_ssize_t n = cnp.PyArray_DIM(V, 0), K = cnp.PyArray_DIM(V, 1), t, k
    cdef const double* v = numbers(V, 2, n, K, 0)
    cdef const double* zero = numbers(shift, 1, K, 0, 0)
    cdef const double* unit = numbers(scale, 1, K, 0, 0)
    cdef cnp.ndarray out = blank(2, n, K, 0)
    cdef double* found = <double*> cnp.PyArray_DATA(out)
    for t in range(n):
        for k in range(K):
            found[t*K + k] = (v[t*K + k] - zero[k])/unit[k]
    return out


def spread_of_two(cnp.ndarray P, cnp.ndarray share, cnp.ndarray A, cnp.ndarray a, cnp.ndarray B, cnp.ndarray b):
    """(n, K) standard deviations around P of what two say, A and B with deviations a and b; share is the first one's.
    All are (n, K).
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(P, 0), K = cnp.PyArray_DIM(P, 1), i
    cdef const double* p = numbers(P, 2, n, K, 0)
    cdef const double* s = numbers(share, 2, n, K, 0)
    cdef const double* first = numbers(A, 2, n, K, 0)
    cdef const double* of_first = numbers(a, 2, n, K, 0)
    cdef const double* other = numbers(B, 2, n, K, 0)
    cdef const double* of_other = numbers(b, 2, n, K, 0)
    cdef cnp.ndarray out = blank(2, n, K, 0)
    cdef double* found = <double*> cnp.PyArray_DATA(out)
    cdef double x, y
    for i in range(n*K):
        x, y = first[i] - p[i], other[i] - p[i]
        found[i] = sqrt(s[i]*(of_first[i]*of_first[i] + x*x) + (1 - s[i])*(of_other[i]*of_other[i] + y*y))
    return out


cdef void times_rows(const double* L, Py_ssize_t N, Py_ssize_t n, const double* x, double* out) noexcept nogil:
    """out = L x, n rows of a lower triangle (N, N); four sums at a time, which do not wait for each other."""
    cdef Py_ssize_t i = 0, j, r
    cdef const double* a
    cdef double s0, s1, s2, s3, s
    while i + 4 <= n:
        a = L + i*N
        s0, s1, s2, s3 = 0, 0, 0, 0
        for j in range(i + 1):
            s0 += a[j]*x[j]
            s1 += a[N + j]*x[j]
            s2 += a[2*N + j]*x[j]
            s3 += a[3*N + j]*x[j]
        s1 += a[N + i + 1]*x[i + 1]
        s2 += a[2*N + i + 1]*x[i + 1]
        s2 += a[2*N + i + 2]*x[i + 2]
        s3 += a[3*N + i + 1]*x[i + 1]
        s3 += a[3*N + i + 2]*x[i + 2]
        s3 += a[3*N + i + 3]*x[i + 3]
        out[i], out[i + 1], out[i + 2], out[i + 3] = s0, s1, s2, s3
        i += 4
    for r in range(i, n):
        s = 0
        for j in range(r + 1):
            s += L[r*N + j]*x[j]
        out[r] = s


def placed(cnp.ndarray X, cnp.ndarray where, double most):
    """(n, d) rows X less where[0], in units of where[1], within -most and most; 0 where a value is missing or nan."""
    cdef Py_ssize_t n = cnp.PyArray_DIM(X, 0), d = cnp.PyArray_DIM(X, 1), t, j
    cdef const double* x = numbers(X, 2, n, d, 0)
    cdef const double* middle = numbers(where, 2, 2, d, 0)
    cdef const double* unit = middle + d
    cdef cnp.ndarray out = blank(2, n, d, 0)
    cdef double* found = <double*> cnp.PyArray_DATA(out)
    cdef double z
    with nogil:
        for t in range(n):
            for j in range(d):
                z = (x[t*d + j] - middle[j])/unit[j]
                z = most if z > most else -most if z < -most else z
                found[t*d + j] = z if z == z else 0
    return out


def few_rounds(cnp.ndarray Z, cnp.ndarray T, cnp.ndarray kept, cnp.ndarray inverse, cnp.ndarray whitened,
               Py_ssize_t count, double width, double ridge, cnp.ndarray given=None, bint learn=True):
    """(n, K) predictions of kernel ridge regression on the rows before each, as many as there is room for; and the
    count. The kernel is the mean of two Gaussians, exp(-2 |x - z|^2/width) and exp(-|x - z|^2/(2 width)).

    kept (N, d) rows, inverse (N, N) that of the lower factor L of K + ridge/weight, whitened (N, K) = L^-1 T. A row
    costs O(count^2). With `learn` False, T (n, K) is not read and nothing changes.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(Z, 0), d = cnp.PyArray_DIM(Z, 1), N = cnp.PyArray_DIM(kept, 0), t, i, j, k
    cdef Py_ssize_t K = cnp.PyArray_DIM(whitened, 1)
    cdef double total, z, pivot, gone
    cdef const double* row = numbers(Z, 2, n, d, 0)
    cdef const double* y = numbers(T, 2, n, K, 0) if learn else NULL
    cdef const double* w = numbers(given, 1, n, 0, 0) if given is not None else NULL
    cdef double* points = state(kept, 2, N, d, 0)
    cdef double* L = state(inverse, 2, N, N, 0)
    cdef double* white = state(whitened, 2, N, K, 0)
    if not 0 <= count <= N:
        raise ValueError(f"count must be at most {N}, got {count}")
    cdef cnp.ndarray out = blank(2, n, K, 0), memory = blank(2, 2, N, 0)
    cdef double* said = <double*> cnp.PyArray_DATA(out)
    cdef double* near = <double*> cnp.PyArray_DATA(memory)
    cdef double* part = near + N
    memset(said, 0, n*K*sizeof(double))
    with nogil:
        for t in range(n):
            for i in range(count):
                total = 0
                for j in range(d):
                    z = row[j] - points[i*d + j]
                    total += z*z
                near[i] = 0.5*(exp(-2*total/width) + exp(-0.5*total/width))
            pivot = 0
            times_rows(L, N, count, near, part)
            for i in range(count):
                pivot += part[i]*part[i]
                for k in range(K):
                    said[k] += part[i]*white[i*K + k]
            if learn and count < N:
                gone = ridge if w == NULL else ridge/w[t]
                pivot = sqrt(1 + gone - pivot if 1 - pivot > 0 else gone)
                memset(near, 0, count*sizeof(double))
                for i in range(count):
                    for j in range(i + 1):
                        near[j] += part[i]*L[i*N + j]
                for j in range(count):
                    L[count*N + j] = -near[j]/pivot
                L[count*N + count] = 1/pivot
                for k in range(K):
                    white[count*K + k] = (y[t*K + k] - said[k])/pivot
                memcpy(points + count*d, row, d*sizeof(double))
                count += 1
            row, said = row + d, said + K
    return out, count


# ----------------------------------------------------------------------------------------------------------------------
# Medians of columns, and where to cut sizes of residuals: what labels with long tails ask for in every row.
# ----------------------------------------------------------------------------------------------------------------------
cdef double smallest(double* v, Py_ssize_t n, Py_ssize_t rank) noexcept nogil:
    """The value of this rank, from 0, among n; before it in v are none larger afterwards, after it none smaller."""
    cdef Py_ssize_t low = 0, high = n - 1, i, j
    cdef double pivot, kept
    while low < high:
        pivot = v[(low + high)//2]
        i, j = low, high
        while i <= j:
            while v[i] < pivot:
                i += 1
            while v[j] > pivot:
                j -= 1
            if i <= j:
                kept = v[i]
                v[i] = v[j]
                v[j] = kept
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            break
    return v[rank]


cdef double middle(double* v, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef double upper = smallest(v, n, n//2), lower
    if n % 2:
        return upper
    lower = v[0]
    for i in range(1, n//2):
        lower = v[i] if v[i] > lower else lower
    return 0.5*lower + 0.5*upper


def with_residuals(cnp.ndarray P, cnp.ndarray Y):
    """(n, 2 K) predictions P (n, K), and beside them labels Y (n, K) less the predictions."""
    cdef Py_ssize_t n = cnp.PyArray_DIM(P, 0), K = cnp.PyArray_DIM(P, 1), t, k
    cdef const double* p = numbers(P, 2, n, K, 0)
    cdef const double* y = numbers(Y, 2, n, K, 0)
    cdef cnp.ndarray out = blank(2, n, 2*K, 0)
    cdef double* found = <double*> cnp.PyArray_DATA(out)
    for t in range(n):
        for k in range(K):
            found[2*t*K + k] = p[t*K + k]
            found[(2*t + 1)*K + k] = y[t*K + k] - p[t*K + k]
    return out


def medians(const double[:, :] X):
    """(K,) of columns of n >= 1 numbers, none of them nan."""
    cdef Py_ssize_t n = X.shape[0], K = X.shape[1], t, k
    if n < 1:
        raise ValueError("medians need at least one row, got 0")
    out = np.empty(K)
    cdef double[::1] found = out
    cdef double* v = <double*> malloc(n*sizeof(double))
    if v == NULL:
        raise MemoryError
    with nogil:
        for k in range(K):
            for t in range(n):
                v[t] = X[t, k]
            found[k] = middle(v, n)
    free(v)
    return out


cdef void cut_to(const double* sizes, Py_ssize_t n, Py_ssize_t step, double median, double least,
                 const double[::1] reaches, double part, double* cut, double* kept, double* variance) noexcept nogil:
    """What n sizes, `step` apart, are cut to, the part of them that is not cut, and the estimate's variance."""
    cdef Py_ssize_t c, t, below
    cdef double k, q, size, total, found
    cut[0] = kept[0] = 1
    variance[0] = INFINITY
    for c in range(reaches.shape[0]):
        k = reaches[c]*median
        k = k if k > least else least
        if not k > 0:
            continue
        total, below = 0, 0
        for t in range(n):
            size = sizes[t*step]
            if size <= k:
                below += 1
                total += (size/k)*(size/k)
        q = <double> below/n
        q = q if q > part else part
        found = (total + (n - below))/n*(k/q)*(k/q)
        if found < variance[0]:
            cut[0], kept[0], variance[0] = k, q, found


def cuts(const double[:, :] sizes, const double[::1] median, const double[::1] least, const double[::1] reaches,
         double part):
    """(K,) what sizes (n, K) of residuals are cut to, the part of them that is not cut, and the estimate's variance.

    Of k = max(reach median, least) the one with the least mean(min(size, k)^2) / q^2, q the part that is at most k, and
    at least `part`. Where all k are 0 they are cut to 1, and the variance is infinite.
    """
    cdef Py_ssize_t n = sizes.shape[0], K = sizes.shape[1], k
    if n < 1 or median.shape[0] != K or least.shape[0] != K:
        raise ValueError(f"sizes must have rows, and median and least be ({K},), got {n} rows, ({median.shape[0]},) "
                         f"and ({least.shape[0]},)")
    cdef Py_ssize_t step = sizes.strides[0]//<Py_ssize_t> sizeof(double)
    out = np.empty((3, K))
    cdef double[:, ::1] found = out
    with nogil:
        for k in range(K):
            cut_to(&sizes[0, k], n, step, median[k], least[k], reaches, part, &found[0, k], &found[1, k], &found[2, k])
    return out[0], out[1], out[2]


def weighed(const double[:, ::1] past, Py_ssize_t first, Py_ssize_t last, const double[::1] y, const double[::1] p,
            const double[::1] least, const double[::1] reaches, double part, double far, double gain, double changed):
    """What the last residuals say of labels y (K,) with predictions p (K,): cuts of the residuals, parts of them that
    are not cut; 1 where the label is far off, that is, by more than `far` medians, and the mean of the squares with it
    is more than `gain` times the variance of `cuts`, else 0; how many of the `last` ones are beyond `changed` medians,
    all of them where the median is not above 0; and the medians. (5, K).

    past (n, 2 K): predictions and residuals, in a ring of which row `first` is the oldest.
    """
    cdef Py_ssize_t n = past.shape[0], K = past.shape[1]//2, k, t
    if n < 1 or not 0 <= first < n or last > n or y.shape[0] != K or p.shape[0] != K or least.shape[0] != K:
        raise ValueError(f"rows {n}, first {first}, last {last} and labels ({y.shape[0]},) do not fit together")
    out = np.empty((5, K))
    cdef double[:, ::1] found = out
    cdef double* sizes = <double*> malloc(2*n*sizeof(double))
    if sizes == NULL:
        raise MemoryError
    cdef double* v = sizes + n
    cdef double median, variance, squares
    with nogil:
        for k in range(K):
            squares = (y[k] - p[k])*(y[k] - p[k])
            for t in range(n):
                sizes[t] = fabs(past[first + t if first + t < n else first + t - n, K + k])
                squares += sizes[t]*sizes[t]
            memcpy(v, sizes, n*sizeof(double))
            median = middle(v, n)
            cut_to(sizes, n, 1, median, least[k], reaches, part, &found[0, k], &found[1, k], &variance)
            found[2, k] = fabs(y[k] - p[k]) > far*median and squares/(n + 1) > gain*variance
            found[3, k] = last if not median > 0 else 0
            for t in range(n - last if median > 0 else n, n):
                found[3, k] += sizes[t] > changed*median
            found[4, k] = median
    free(sizes)
    return out
