# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Residual scale and quantiles for every row."""
cimport numpy as cnp
from libc.math cimport INFINITY, exp, fabs, floor, log, log1p, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memmove

from nystream._core.auto.arrays cimport blank, numbers, state, whole
from nystream._core.auto.fading_ridge cimport dot, factor, gather, pull, solve
from nystream._core.auto.mixtures cimport follow

cnp.import_array()

cdef enum:
    PACES = 3       # running means of sizes of residuals
    LEVELS = 6      # what a level looks at
    MEMBERS = 4     # the running mean, two levels, and the inputs
    COUNT = 0       # of the marks: scores so far
    OLDEST = 1      # where the oldest of them is
    SEEN = 2        # rows since the weights moved
    MOST = 64       # columns of the inputs' part, at most
    BLOCK = 10      # rows in which weights stay as they are
    GRID = 19       # quantiles whose losses weigh the two windows: .05, .10, ..., .95

cdef double[3] RATES = [0.2, 0.05, 0.01]
cdef double[2] KEEP = [0.995, 0.9995]
cdef double LEVEL_RIDGE = 10, INPUT_RIDGE = 30, INPUT_KEEP = 0.9995
cdef double SLOW = 0.002            # rate of the running moments of inputs and predictions
cdef double WILD = 10, EARLY = 20   # deviations, from so many rows on, beyond which an input is moved nearer
cdef double SHARE = 0.001           # of both mixtures: about one change in a thousand rows
cdef double TAIL = 6                # of the density (1 + u/(TAIL - 2))^-TAIL that sizes are taken to have
cdef double LEAST = 1e-150          # no residual is smaller
cdef double FAR_LEVEL = 3, FAR_INPUT = 2, FAR = 4


cdef struct Row:
    double[PACES] logs      # of the running means
    double[LEVELS] z
    double[MEMBERS] scales  # logarithms
    double scale            # the mixture's


cdef struct Scale:          # of rows of D columns, for K targets
    Py_ssize_t D, K
    Py_ssize_t F            # columns of the inputs' part
    Py_ssize_t window       # scores that are kept, and of them the last ones
    Py_ssize_t few
    double* columns         # (3, D) and level (3, K): weight, mean and deviation
    double* level
    double* means           # (PACES, K)
    double* weights         # (K, 2, LEVELS)
    double* input_weights   # (K, F)
    double* shares          # (K, MEMBERS)
    double* window_shares   # (K, 2)
    double* kept            # (K, window) and order; recent (K, few)
    double* order
    double* recent
    int64_t* marks


cdef inline double within(double x, double far) noexcept nogil:
    return far if x > far else (-far if x < -far else x)


cdef inline double unit(double x, const double* moments, Py_ssize_t D, Py_ssize_t j) noexcept nogil:
    """In mean absolute deviations from the running mean; 0 where nothing is known. Moments are (3, D)."""
    if x != x or not moments[j] > 0 or not moments[2*D + j] > 0:
        return 0
    return within((x - moments[D + j])/moments[2*D + j], FAR)


cdef void remember(double x, double u, double* moments, Py_ssize_t D, Py_ssize_t j) noexcept nogil:
    """Weight, mean and mean absolute deviation (3, D) of column j; wild values are moved nearer."""
    cdef double* weight = moments + j
    cdef double* mean = moments + D + j
    cdef double* size = moments + 2*D + j
    cdef double far = WILD*size[0], away
    if x != x:
        return
    if weight[0] > EARLY and far > 0:
        x = mean[0] + within(x - mean[0], far)
    weight[0] = (1 - SLOW)*weight[0] + u
    away = (x - mean[0])*(u/weight[0])
    if weight[0] > u:
        size[0] += (u/weight[0])*(fabs(x - mean[0]) - size[0])
    mean[0] += away


cdef void see_inputs(const double* X, const double* columns, Py_ssize_t D, Py_ssize_t B, double* f) noexcept nogil:
    """(2 B,): columns in B buckets, and their sizes; with at most B columns each has its own."""
    cdef Py_ssize_t known = 0, j, b
    cdef double x, most
    for b in range(B):
        f[b] = 0
    for j in range(D):
        known += columns[j] > 0
        x = unit(X[j], columns, D, j)
        f[j % B] += x if (j//B) % 2 == 0 else -x
    most = sqrt(<double> ((known + B - 1)//B)) if known > 0 else 1
    for b in range(B):
        f[b] = f[b]/most
        f[B + b] = fabs(f[b]) - 1


cdef void look(Row* row, double p, double spread, Py_ssize_t k, const Scale* known, const double* f) noexcept nogil:
    """What target k looks like at a row with inputs f: logarithms of the scale by every member, and of the mixture."""
    cdef Py_ssize_t i, m, K = known.K, F = known.F
    cdef double middle, mean, x = unit(p, known.level, K, k)
    for i in range(PACES):
        mean = known.means[i*K + k]
        row.logs[i] = log(mean if mean > LEAST else LEAST)
    middle = row.logs[1]
    row.z[0] = 1
    row.z[1] = within(row.logs[0] - middle, FAR)
    row.z[2] = within(row.logs[2] - middle, FAR)
    row.z[3] = within(log(spread if spread > LEAST else LEAST) - middle, FAR)
    row.z[4] = x
    row.z[5] = fabs(x) - 1
    row.scales[0] = middle
    for m in range(2):
        row.scales[1 + m] = middle + within(dot(LEVELS, known.weights + (2*k + m)*LEVELS, row.z), FAR_LEVEL)
    row.scales[3] = row.scales[2] + within(dot(F, known.input_weights + k*F, f), FAR_INPUT)
    row.scale = dot(MEMBERS, known.shares + k*MEMBERS, row.scales)


cdef double loss_of(double size, double scale, double* slope) noexcept nogil:
    """Minus the log density of a size with this logarithm of its mean, and its derivative."""
    cdef double u = size*exp(-scale)
    slope[0] = 1 - TAIL*(u/(TAIL - 2 + u) if u < 1e300 else 1)
    return scale + TAIL*log1p(u/(TAIL - 2))


cdef Py_ssize_t place_of(const double* sorted, Py_ssize_t n, double x) noexcept nogil:
    """How many of the sorted are less than x."""
    cdef Py_ssize_t low = 0, high = n, middle
    while low < high:
        middle = (low + high)//2
        if sorted[middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


cdef void exchange(double* sorted, Py_ssize_t n, bint full, double old, double new) noexcept nogil:
    """Put a score in its place among n sorted ones; where they are `full`, another one goes."""
    cdef Py_ssize_t gone = n, place
    if full:
        gone = place_of(sorted, n, old)
        gone = n - 1 if gone == n else gone     # it is there, but in a file that was tampered with
        memmove(sorted + gone, sorted + gone + 1, (n - gone - 1)*sizeof(double))
        n -= 1
    place = place_of(sorted, n, new)
    memmove(sorted + place + 1, sorted + place, (n - place)*sizeof(double))
    sorted[place] = new


cdef double quantile_of(const double* sorted, Py_ssize_t n, double q) noexcept nogil:
    """The next is below it with probability q, where all are exchangeable; infinite where n is too small."""
    cdef double at = q*(n + 1) - 1, part, x
    cdef Py_ssize_t low
    if at < 0 and at > -1e-9:
        at = 0      # rounding
    if at > n - 1 and at < n - 1 + 1e-9:
        at = n - 1
    if n == 0:
        return INFINITY if q >= 0.5 else -INFINITY
    if at < 0:
        return -INFINITY
    if at > n - 1:
        return INFINITY
    low = <Py_ssize_t> floor(at)
    part = at - low
    if part == 0:
        return sorted[low]
    x = sorted[low] + part*(sorted[low + 1] - sorted[low])
    return x if x < sorted[low + 1] else sorted[low + 1]    # rounding must not undo the order


cdef double mixed_quantile(const double* order, Py_ssize_t n, const double* recent, Py_ssize_t v, double share,
                           double q) noexcept nogil:
    """Of all n scores and the last v of them, the second weighed by `share`; beyond the last no nearer than they."""
    cdef double every = quantile_of(order, n, q), last
    if v == n or every == INFINITY or every == -INFINITY:
        return every
    if q*(v + 1) < 1:
        last = recent[0] if recent[0] < every else every
    elif q*(v + 1) > v:
        last = recent[v - 1] if recent[v - 1] > every else every
    else:
        last = quantile_of(recent, v, q)
    return (1 - share)*every + share*last


cdef void weigh(const double* order, Py_ssize_t n, const double* recent, Py_ssize_t v, double score, double* power,
                double* shares, double u) noexcept nogil:
    """Shares (2,) of all scores and of the last ones follow the mean pinball loss of their quantiles, in its units."""
    cdef double[2] losses
    cdef double q, away
    cdef Py_ssize_t i, j
    losses[0], losses[1] = 0, 0
    for i in range(GRID):
        q = (i + 1)/(GRID + 1.0)
        for j in range(2):
            away = score - (quantile_of(order, n, q) if j == 0 else quantile_of(recent, v, q))
            losses[j] += (q*away if away > 0 else (q - 1)*away)/GRID
    away = losses[0] if losses[0] < losses[1] else losses[1]
    power[0] = away if power[0] != power[0] else power[0] + 0.01*(away - power[0])
    q = power[0] if power[0] > LEAST else LEAST
    for j in range(2):
        losses[j] = within(losses[j]/q, 1e3)
    follow(2, losses, shares, u, SHARE)


def learn(cnp.ndarray X, cnp.ndarray P, cnp.ndarray residuals, cnp.ndarray spread, cnp.ndarray given or None,
          cnp.ndarray columns, cnp.ndarray level, cnp.ndarray means, cnp.ndarray counts, cnp.ndarray squares,
          cnp.ndarray sums, cnp.ndarray weights, cnp.ndarray input_squares, cnp.ndarray input_sums,
          cnp.ndarray input_weights, cnp.ndarray shares, cnp.ndarray window_shares, cnp.ndarray power, cnp.ndarray kept,
          cnp.ndarray order, cnp.ndarray recent, cnp.ndarray marks):
    """Rows in order: inputs X (n, D), predictions, residuals (label minus prediction) and spread (n, K)."""
    cdef Scale s
    fitted(&s, columns, level, means, weights, input_weights, shares, window_shares, kept, order, recent, marks)
    cdef Py_ssize_t n = cnp.PyArray_DIM(X, 0), K = s.K, F = s.F, D = s.D, W = s.window, V = s.few, t, k, i, m, N
    cdef Py_ssize_t oldest, last
    cdef const double* x = numbers(X, 2, n, D, 0)
    cdef const double* p = numbers(P, 2, n, K, 0)
    cdef const double* r = numbers(residuals, 2, n, K, 0)
    cdef const double* apart = numbers(spread, 2, n, K, 0)
    cdef const double* w = numbers(given, 1, n, 0, 0) if given is not None else NULL
    cdef double* count = state(counts, 1, PACES + 2, 0, 0)
    cdef double* A = state(squares, 4, K, 2, LEVELS)
    cdef double* b = state(sums, 3, K, 2, LEVELS)
    cdef double* input_A = state(input_squares, 2, F, F, 0)
    cdef double* input_b = state(input_sums, 2, K, F, 0)
    cdef double* unit_of_losses = state(power, 1, K, 0, 0)
    cdef cnp.ndarray memory = blank(1, F*F if F > LEVELS else LEVELS*LEVELS, 0, 0)
    cdef double* L = <double*> cnp.PyArray_DATA(memory)
    cdef double[MOST] f
    cdef double[MEMBERS] losses, slopes
    cdef Row row
    cdef double u, size, score
    with nogil:
        for t in range(n):
            u = w[t] if w else 1.0
            count[PACES] = (1 - RATES[2])*count[PACES] + u
            count[PACES + 1] = (1 - RATES[2])*count[PACES + 1] + 1
            u /= count[PACES]/count[PACES + 1]    # in units of the running mean
            see_inputs(x, s.columns, D, F//2, f)
            if count[0] > 0:
                N = s.marks[COUNT] if s.marks[COUNT] < W else W
                last = N if N < V else V
                oldest = s.marks[OLDEST]
                gather(F, f, INPUT_KEEP, u, input_A)
                for k in range(K):
                    size = fabs(r[k])
                    look(&row, p[k], apart[k], k, &s, f)
                    score = r[k]/exp(row.scale)
                    if N > V:
                        weigh(s.order + k*W, N, s.recent + k*V, last, score, unit_of_losses + k,
                              s.window_shares + 2*k, u)
                    exchange(s.recent + k*V, last, last == V, s.kept[k*W + (oldest + N - V + W) % W], score)
                    exchange(s.order + k*W, N, N == W, s.kept[k*W + oldest], score)
                    s.kept[k*W + (oldest + N) % W] = score
                    for m in range(MEMBERS):
                        losses[m] = loss_of(size, row.scales[m], &slopes[m])
                    follow(MEMBERS, losses, s.shares + k*MEMBERS, u, SHARE)
                    for m in range(2):
                        gather(LEVELS, row.z, KEEP[m], u, A + (2*k + m)*LEVELS*LEVELS)
                        pull(LEVELS, row.z, KEEP[m], u*(row.scales[1 + m] - row.scales[0] - slopes[1 + m]),
                             b + (2*k + m)*LEVELS)
                    pull(F, f, INPUT_KEEP, u*(row.scales[3] - row.scales[2] - slopes[3]), input_b + k*F)
                if N == W:
                    s.marks[OLDEST] = (oldest + 1) % W
                s.marks[COUNT] += 1
                s.marks[SEEN] += 1
                if s.marks[SEEN] == BLOCK:
                    s.marks[SEEN] = 0
                    for k in range(2*K):
                        factor(LEVELS, A + k*LEVELS*LEVELS, LEVEL_RIDGE, L)
                        solve(LEVELS, L, b + k*LEVELS, s.weights + k*LEVELS)
                    factor(F, input_A, INPUT_RIDGE, L)
                    for k in range(K):
                        solve(F, L, input_b + k*F, s.input_weights + k*F)
            for i in range(PACES):
                count[i] = (1 - RATES[i])*count[i] + u
                for k in range(K):
                    s.means[i*K + k] += (u/count[i])*(fabs(r[k]) - s.means[i*K + k])
            for i in range(D):
                remember(x[i], u, s.columns, D, i)
            for k in range(K):
                remember(p[k], u, s.level, K, k)
            x += D
            p += K
            r += K
            apart += K


def quantiles(cnp.ndarray X, cnp.ndarray P, cnp.ndarray spread, cnp.ndarray levels, cnp.ndarray columns,
              cnp.ndarray level, cnp.ndarray means, cnp.ndarray weights, cnp.ndarray input_weights, cnp.ndarray shares,
              cnp.ndarray window_shares, cnp.ndarray kept, cnp.ndarray order, cnp.ndarray recent, cnp.ndarray marks):
    """(n, K, Q): what labels at rows will be below, less the prediction, with these probabilities. Pure."""
    cdef Scale s
    fitted(&s, columns, level, means, weights, input_weights, shares, window_shares, kept, order, recent, marks)
    cdef Py_ssize_t n = cnp.PyArray_DIM(X, 0), Q = cnp.PyArray_DIM(levels, 0), K = s.K, W = s.window, V = s.few, t, k, i
    cdef Py_ssize_t N, last
    cdef const double* x = numbers(X, 2, n, s.D, 0)
    cdef const double* p = numbers(P, 2, n, K, 0)
    cdef const double* apart = numbers(spread, 2, n, K, 0)
    cdef const double* q = numbers(levels, 1, Q, 0, 0)
    cdef cnp.ndarray out = blank(3, n, K, Q), memory = blank(1, K*Q, 0, 0)
    cdef double* found = <double*> cnp.PyArray_DATA(out)
    cdef double* scores = <double*> cnp.PyArray_DATA(memory)
    cdef double[MOST] f
    cdef Row row
    with nogil:
        N = s.marks[COUNT] if s.marks[COUNT] < W else W
        last = N if N < V else V
        for k in range(K):
            for i in range(Q):
                scores[k*Q + i] = mixed_quantile(s.order + k*W, N, s.recent + k*V, last, s.window_shares[2*k + 1], q[i])
        for t in range(n):
            see_inputs(x + t*s.D, s.columns, s.D, s.F//2, f)
            for k in range(K):
                look(&row, p[t*K + k], apart[t*K + k], k, &s, f)
                for i in range(Q):
                    found[(t*K + k)*Q + i] = exp(row.scale)*scores[k*Q + i]
    return out


cdef int fitted(Scale* s, cnp.ndarray columns, cnp.ndarray level, cnp.ndarray means, cnp.ndarray weights,
                cnp.ndarray input_weights, cnp.ndarray shares, cnp.ndarray window_shares, cnp.ndarray kept,
                cnp.ndarray order, cnp.ndarray recent, cnp.ndarray marks) except -1:
    check(columns.ndim == 2 and level.ndim == 2 and input_weights.ndim == 2 and kept.ndim == 2 and recent.ndim == 2)
    s.D, s.K, s.F = columns.shape[1], level.shape[1], input_weights.shape[1]
    s.window, s.few = kept.shape[1], recent.shape[1]
    check(0 < s.F <= MOST and s.F % 2 == 0 and 0 < s.few <= s.window)
    s.columns, s.level = state(columns, 2, 3, s.D, 0), state(level, 2, 3, s.K, 0)
    s.means, s.weights = state(means, 2, PACES, s.K, 0), state(weights, 3, s.K, 2, LEVELS)
    s.input_weights, s.shares = state(input_weights, 2, s.K, s.F, 0), state(shares, 2, s.K, MEMBERS, 0)
    s.window_shares, s.marks = state(window_shares, 2, s.K, 2, 0), whole(marks, 3)
    s.kept, s.order = state(kept, 2, s.K, s.window, 0), state(order, 2, s.K, s.window, 0)
    s.recent = state(recent, 2, s.K, s.few, 0)
    check(s.marks[COUNT] >= 0 and 0 <= s.marks[OLDEST] < s.window and 0 <= s.marks[SEEN] < BLOCK)
    return 0


cdef int check(bint fit) except -1:
    if not fit:
        raise ValueError("the arrays of the noise do not fit together")
    return 0
