# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""How far labels will be from predictions: a scale for every row, learnt online, and residuals in units of it."""
import numpy as np

cimport numpy as cnp
from libc.math cimport INFINITY, exp, fabs, floor, log, log1p, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memmove

from nystream._core.auto.fixed_share cimport follow

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


cdef inline double within(double x, double far) noexcept nogil:
    return far if x > far else (-far if x < -far else x)


cdef inline double unit(double x, const double[:, ::1] moments, Py_ssize_t j) noexcept nogil:
    """In mean absolute deviations from the running mean; 0 where nothing is known."""
    if x != x or not moments[0, j] > 0 or not moments[2, j] > 0:
        return 0
    return within((x - moments[1, j])/moments[2, j], FAR)


cdef void remember(double x, double u, double[:, ::1] moments, Py_ssize_t j) noexcept nogil:
    """Weight, mean and mean absolute deviation (3, D) of column j; wild values are moved nearer."""
    cdef double far = WILD*moments[2, j], away
    if x != x:
        return
    if moments[0, j] > EARLY and far > 0:
        x = moments[1, j] + within(x - moments[1, j], far)
    moments[0, j] = (1 - SLOW)*moments[0, j] + u
    away = (x - moments[1, j])*(u/moments[0, j])
    if moments[0, j] > u:
        moments[2, j] += (u/moments[0, j])*(fabs(x - moments[1, j]) - moments[2, j])
    moments[1, j] += away


cdef void see_inputs(const double[:, ::1] X, Py_ssize_t t, const double[:, ::1] columns, Py_ssize_t B,
                     double* f) noexcept nogil:
    """(2 B,): columns in B buckets, and their sizes; with at most B columns each has its own."""
    cdef Py_ssize_t D = X.shape[1], known = 0, j, b
    cdef double x, most
    for b in range(B):
        f[b] = 0
    for j in range(D):
        known += columns[0, j] > 0
        x = unit(X[t, j], columns, j)
        f[j % B] += x if (j//B) % 2 == 0 else -x
    most = sqrt(<double> ((known + B - 1)//B)) if known > 0 else 1
    for b in range(B):
        f[b] = f[b]/most
        f[B + b] = fabs(f[b]) - 1


cdef double dot(Py_ssize_t n, const double* a, const double* b) noexcept nogil:
    cdef double total = 0
    cdef Py_ssize_t i
    for i in range(n):
        total += a[i]*b[i]
    return total


cdef void look(Row* row, double p, double spread, Py_ssize_t k, const double[:, ::1] means,
               const double[:, ::1] level, const double[:, :, ::1] weights, const double* input_weights,
               Py_ssize_t inputs, const double* f, const double* shares) noexcept nogil:
    """What target k looks like at a row with inputs f: logarithms of the scale by every member, and of the mixture."""
    cdef Py_ssize_t i, m
    cdef double middle, x = unit(p, level, k)
    for i in range(PACES):
        row.logs[i] = log(means[i, k] if means[i, k] > LEAST else LEAST)
    middle = row.logs[1]
    row.z[0] = 1
    row.z[1] = within(row.logs[0] - middle, FAR)
    row.z[2] = within(row.logs[2] - middle, FAR)
    row.z[3] = within(log(spread if spread > LEAST else LEAST) - middle, FAR)
    row.z[4] = x
    row.z[5] = fabs(x) - 1
    row.scales[0] = middle
    for m in range(2):
        row.scales[1 + m] = middle + within(dot(LEVELS, &weights[k, m, 0], row.z), FAR_LEVEL)
    row.scales[3] = row.scales[2] + within(dot(inputs, input_weights, f), FAR_INPUT)
    row.scale = dot(MEMBERS, shares, row.scales)


cdef double loss_of(double size, double scale, double* slope) noexcept nogil:
    """Minus the log density of a size with this logarithm of its mean, and its derivative."""
    cdef double u = size*exp(-scale)
    slope[0] = 1 - TAIL*(u/(TAIL - 2 + u) if u < 1e300 else 1)
    return scale + TAIL*log1p(u/(TAIL - 2))


cdef void gather(Py_ssize_t n, const double* z, double keep, double u, double* A) noexcept nogil:
    """A = keep A + u z z', the lower triangle."""
    cdef Py_ssize_t i, j
    cdef double v
    for i in range(n):
        v = u*z[i]
        for j in range(i + 1):
            A[i*n + j] = keep*A[i*n + j] + v*z[j]


cdef void pull(Py_ssize_t n, const double* z, double keep, double v, double* b) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        b[i] = keep*b[i] + v*z[i]


cdef void factor(Py_ssize_t n, const double* A, double ridge, double* L) noexcept nogil:
    """Cholesky factor of A + ridge 1; sums of squares, so there is one."""
    cdef Py_ssize_t i, j, k
    cdef double s
    for i in range(n):
        for j in range(i + 1):
            s = A[i*n + j] + (ridge if i == j else 0)
            for k in range(j):
                s -= L[i*n + k]*L[j*n + k]
            if i == j:
                L[i*n + i] = sqrt(s if s > ridge*1e-9 else ridge*1e-9)
            else:
                L[i*n + j] = s/L[j*n + j]


cdef void solve(Py_ssize_t n, const double* L, const double* b, double* x) noexcept nogil:
    cdef Py_ssize_t i, k
    cdef double s
    for i in range(n):
        s = b[i]
        for k in range(i):
            s -= L[i*n + k]*x[k]
        x[i] = s/L[i*n + i]
    for i in range(n - 1, -1, -1):
        s = x[i]
        for k in range(i + 1, n):
            s -= L[k*n + i]*x[k]
        x[i] = s/L[i*n + i]


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
    cdef double whole = quantile_of(order, n, q), last
    if v == n or whole == INFINITY or whole == -INFINITY:
        return whole
    if q*(v + 1) < 1:
        last = recent[0] if recent[0] < whole else whole
    elif q*(v + 1) > v:
        last = recent[v - 1] if recent[v - 1] > whole else whole
    else:
        last = quantile_of(recent, v, q)
    return (1 - share)*whole + share*last


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


def learn(const double[:, ::1] X, const double[:, ::1] P, const double[:, ::1] residuals,
          const double[:, ::1] spread, given, double[:, ::1] columns, double[:, ::1] level, double[:, ::1] means,
          double[::1] counts, double[:, :, :, ::1] squares, double[:, :, ::1] sums, double[:, :, ::1] weights,
          double[:, ::1] input_squares, double[:, ::1] input_sums, double[:, ::1] input_weights,
          double[:, ::1] shares, double[:, ::1] window_shares, double[::1] power, double[:, ::1] kept,
          double[:, ::1] order, double[:, ::1] recent, int64_t[::1] marks):
    """Rows in order: inputs X (n, D), predictions, residuals (label minus prediction) and spread (n, K)."""
    cdef Py_ssize_t n = X.shape[0], K = P.shape[1], F = input_squares.shape[0], t, k, i, m, N, V = recent.shape[1]
    cdef Py_ssize_t W = kept.shape[1], B = F//2, oldest, last
    fits(X, P, spread, columns, level, means, weights, input_weights, shares, window_shares, kept, order, recent, marks)
    check(residuals.shape[0] == n and residuals.shape[1] == K and counts.shape[0] == PACES + 2 and power.shape[0] == K
          and squares.shape[0] == K and squares.shape[1] == 2 and squares.shape[2] == LEVELS
          and squares.shape[3] == LEVELS and sums.shape[0] == K and sums.shape[1] == 2 and sums.shape[2] == LEVELS
          and input_squares.shape[1] == F and input_sums.shape[0] == K and input_sums.shape[1] == F)
    cdef bint weighted = given is not None
    cdef const double[::1] w = given if weighted else counts
    check(not weighted or w.shape[0] == n)
    cdef double[MOST] f
    cdef double[::1] L = np.empty(max(F*F, LEVELS*LEVELS))
    cdef double[MEMBERS] losses, slopes
    cdef Row row
    cdef double u, size, score
    with nogil:
        for t in range(n):
            u = w[t] if weighted else 1.0
            counts[PACES] = (1 - RATES[2])*counts[PACES] + u
            counts[PACES + 1] = (1 - RATES[2])*counts[PACES + 1] + 1
            u /= counts[PACES]/counts[PACES + 1]    # in units of the running mean
            see_inputs(X, t, columns, B, f)
            if counts[0] > 0:
                N = marks[COUNT] if marks[COUNT] < W else W
                last = N if N < V else V
                oldest = marks[OLDEST]
                gather(F, f, INPUT_KEEP, u, &input_squares[0, 0])
                for k in range(K):
                    size = fabs(residuals[t, k])
                    look(&row, P[t, k], spread[t, k], k, means, level, weights, &input_weights[k, 0], F, f,
                         &shares[k, 0])
                    score = residuals[t, k]/exp(row.scale)
                    if N > V:
                        weigh(&order[k, 0], N, &recent[k, 0], last, score, &power[k], &window_shares[k, 0], u)
                    exchange(&recent[k, 0], last, last == V, kept[k, (oldest + N - V + W) % W], score)
                    exchange(&order[k, 0], N, N == W, kept[k, oldest], score)
                    kept[k, (oldest + N) % W] = score
                    for m in range(MEMBERS):
                        losses[m] = loss_of(size, row.scales[m], &slopes[m])
                    follow(MEMBERS, losses, &shares[k, 0], u, SHARE)
                    for m in range(2):
                        gather(LEVELS, row.z, KEEP[m], u, &squares[k, m, 0, 0])
                        pull(LEVELS, row.z, KEEP[m], u*(row.scales[1 + m] - row.scales[0] - slopes[1 + m]),
                             &sums[k, m, 0])
                    pull(F, f, INPUT_KEEP, u*(row.scales[3] - row.scales[2] - slopes[3]), &input_sums[k, 0])
                if N == W:
                    marks[OLDEST] = (oldest + 1) % W
                marks[COUNT] += 1
                marks[SEEN] += 1
                if marks[SEEN] == BLOCK:
                    marks[SEEN] = 0
                    for k in range(K):
                        for m in range(2):
                            factor(LEVELS, &squares[k, m, 0, 0], LEVEL_RIDGE, &L[0])
                            solve(LEVELS, &L[0], &sums[k, m, 0], &weights[k, m, 0])
                    factor(F, &input_squares[0, 0], INPUT_RIDGE, &L[0])
                    for k in range(K):
                        solve(F, &L[0], &input_sums[k, 0], &input_weights[k, 0])
            for i in range(PACES):
                counts[i] = (1 - RATES[i])*counts[i] + u
                for k in range(K):
                    means[i, k] += (u/counts[i])*(fabs(residuals[t, k]) - means[i, k])
            for i in range(X.shape[1]):
                remember(X[t, i], u, columns, i)
            for k in range(K):
                remember(P[t, k], u, level, k)


def quantiles(const double[:, ::1] X, const double[:, ::1] P, const double[:, ::1] spread, const double[::1] levels,
              const double[:, ::1] columns, const double[:, ::1] level, const double[:, ::1] means,
              const double[:, :, ::1] weights, const double[:, ::1] input_weights, const double[:, ::1] shares,
              const double[:, ::1] window_shares, const double[:, ::1] kept, const double[:, ::1] order,
              const double[:, ::1] recent, const int64_t[::1] marks):
    """(n, K, Q): what labels at rows will be below, less the prediction, with these probabilities. Pure."""
    cdef Py_ssize_t n = X.shape[0], K = P.shape[1], Q = levels.shape[0], F = input_weights.shape[1], t, k, i
    cdef Py_ssize_t W = kept.shape[1], V = recent.shape[1], N, last
    fits(X, P, spread, columns, level, means, weights, input_weights, shares, window_shares, kept, order, recent, marks)
    out = np.empty((n, K, Q))
    cdef double[:, :, ::1] D = out
    cdef double[:, ::1] scores = np.empty((K, Q))
    cdef double[MOST] f
    cdef Row row
    with nogil:
        N = marks[COUNT] if marks[COUNT] < W else W
        last = N if N < V else V
        for k in range(K):
            for i in range(Q):
                scores[k, i] = mixed_quantile(&order[k, 0], N, &recent[k, 0], last, window_shares[k, 1], levels[i])
        for t in range(n):
            see_inputs(X, t, columns, F//2, f)
            for k in range(K):
                look(&row, P[t, k], spread[t, k], k, means, level, weights, &input_weights[k, 0], F, f, &shares[k, 0])
                for i in range(Q):
                    D[t, k, i] = exp(row.scale)*scores[k, i]
    return out


cdef int fits(const double[:, ::1] X, const double[:, ::1] P, const double[:, ::1] spread,
              const double[:, ::1] columns, const double[:, ::1] level, const double[:, ::1] means,
              const double[:, :, ::1] weights, const double[:, ::1] input_weights, const double[:, ::1] shares,
              const double[:, ::1] window_shares, const double[:, ::1] kept, const double[:, ::1] order,
              const double[:, ::1] recent, const int64_t[::1] marks) except -1:
    cdef Py_ssize_t n = X.shape[0], D = X.shape[1], K = P.shape[1], F = input_weights.shape[1], W = kept.shape[1]
    check(P.shape[0] == n and spread.shape[0] == n and spread.shape[1] == K and columns.shape[0] == 3
          and columns.shape[1] == D and level.shape[0] == 3 and level.shape[1] == K and means.shape[0] == PACES
          and means.shape[1] == K and weights.shape[0] == K and weights.shape[1] == 2 and weights.shape[2] == LEVELS
          and input_weights.shape[0] == K and 0 < F <= MOST and F % 2 == 0 and shares.shape[0] == K
          and shares.shape[1] == MEMBERS and window_shares.shape[0] == K and window_shares.shape[1] == 2
          and kept.shape[0] == K and order.shape[0] == K and order.shape[1] == W and recent.shape[0] == K
          and 0 < recent.shape[1] <= W and marks.shape[0] == 3 and marks[COUNT] >= 0 and 0 <= marks[OLDEST] < W
          and 0 <= marks[SEEN] < BLOCK)
    return 0


cdef int check(bint fit) except -1:
    if not fit:
        raise ValueError("the arrays of the noise do not fit together")
    return 0
