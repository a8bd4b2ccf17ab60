# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Shares of members whose share of change fades; few rows."""
cimport numpy as cnp
from libc.math cimport exp, sqrt
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from nystream._core.auto.arrays cimport blank, numbers, state

cnp.import_array()


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
