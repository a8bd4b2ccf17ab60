# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Whether numbers rank as they did: bets against it, for rows of one alarm, and for one row of three that are quiet."""
cimport numpy as cnp
from libc.math cimport NAN, exp, log
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memmove

from nystream._core.auto.arrays cimport blank, for_columns, numbers, state, whole

cnp.import_array()

cdef enum:
    COUNT = 0   # of the marks: numbers that are kept
    OLDEST = 1  # where the oldest of them is
    MOST = 16   # bets


cdef struct Rules:
    const double* bets      # their exponents, those on rises first
    Py_ssize_t count
    Py_ssize_t ups          # bets on rises
    double fall             # log of what the bets on falls have to win on average
    double low_bar          # log of what one bet on a rise has to win in rows of an alert
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
    Py_ssize_t won          # the bet that won, -1: none did, -2: a row of an alert is over the low bar
    double[MOST] logs
    int64_t[MOST] began


cdef int rules_of(tuple given, Rules* rules) except -1:
    bets, rules.ups, rules.fall, rules.low_bar, rules.least, rules.floor = given
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


cdef void rank(const Ranks* alarm, const Rules* rules, double x, int64_t row, bint falls, bint alert,
               Ranked* found) noexcept nogil:
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
    elif alert and most >= rules.low_bar:
        found.won = -2
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


def see(cnp.ndarray losses, int64_t first, int64_t falls_from, int64_t alert_from, int64_t alert_to, tuple alarm,
        tuple given, cnp.ndarray heat, cnp.ndarray left):
    """Rows `first`, `first` + 1, ... with these losses, up to the one where an alarm sounds.

    (rows seen, the bet that won), -1: none did, -2: one of the rows of an alert is over the low bar. `alarm` is the
    state of a `RankAlarm` and `given` its rules: see `ranks_of` and `Rules`. heat and left (n,): for every row seen the
    log of what the bets on rises have won on average, and where the one that won most left 0.
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
            rank(&ranks, &rules, known(x[t]), first + t, first + t >= falls_from, alert_from <= first + t < alert_to,
                 &found)
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
          tuple alarms, tuple given, int64_t falls_from, int64_t alert_from, int64_t alert_to, cnp.ndarray losses,
          cnp.ndarray said):
    """One row of one generation, if no alarm sounds: how near the first two are, (heat, left, heat, left) as in `see`.

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
                rank(&ranks[k], &rules, known(seen[k]), row, k == 0 and row >= falls_from,
                     k == 0 and alert_from <= row < alert_to, &found[k])
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
