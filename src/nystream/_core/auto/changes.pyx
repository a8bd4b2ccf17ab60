# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Shares of members whose share of change fades; few rows."""
import numpy as np

cimport numpy as cnp
from libc.math cimport exp, sqrt
from libc.stdint cimport int64_t

from nystream._core.auto.arrays cimport numbers, state

cnp.import_array()


def fading_shares(cnp.ndarray losses, cnp.ndarray shares, cnp.ndarray powers, int64_t age, double rate,
                  cnp.ndarray given=None):
    """(n, G, M) shares in force before each of n rows with losses (n, G, M) of M members in G groups.

    After a row, v ~ share exp(-loss), share = (1 - a) v + a/M, a = 1/(age + 1), age one more each row. With a rate
    above 0 losses are squares: each over twice the least of the members' running means of them, `powers` (G, M), nan
    before the first. shares and powers are brought up to date in place. given (n,): losses count so many times.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(losses, 0), G = cnp.PyArray_DIM(shares, 0), M = cnp.PyArray_DIM(shares, 1)
    cdef Py_ssize_t t, g, i
    cdef const double* loss = numbers(losses, 3, n, G, M)
    cdef const double* w = numbers(given, 1, n, 0, 0) if given is not None else NULL
    cdef double* all_shares = state(shares, 2, G, M, 0)
    cdef double* all_powers = state(powers, 2, G, M, 0)
    cdef cnp.ndarray out = np.empty((n, G, M))
    cdef double* before = <double*> cnp.PyArray_DATA(out)
    cdef double* share
    cdef double* power
    cdef double least, unit, total, a, d
    with nogil:
        for t in range(n):
            age += 1
            a = 1.0/(age + 1)
            for g in range(G):
                share, power, unit = all_shares + g*M, all_powers + g*M, 1
                if rate > 0:
                    unit = 1e300
                    for i in range(M):
                        if power[i] != power[i]:
                            power[i] = loss[i]
                        else:
                            power[i] = (1 - rate)*power[i] + rate*loss[i]
                        unit = power[i] if power[i] < unit else unit
                    unit = 2*(unit if unit > 1e-300 else 1e-300)
                least = loss[0]
                for i in range(M):
                    before[i] = share[i]
                    least = loss[i] if loss[i] < least else least
                total = 0
                for i in range(M):
                    d = (loss[i] - least)/unit
                    if w:
                        d *= w[t]
                    share[i] *= exp(-(d if d < 60 else 60))
                    total += share[i]
                for i in range(M):
                    share[i] = (1 - a)*share[i]/total + a/M
                loss += M
                before += M
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
    cdef cnp.ndarray out = np.empty((n, d))
    cdef double* found = <double*> cnp.PyArray_DATA(out)
    cdef double z
    with nogil:
        for t in range(n):
            for j in range(d):
                z = (x[t*d + j] - middle[j])/unit[j]
                z = most if z > most else -most if z < -most else z
                found[t*d + j] = z if z == z else 0
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
            times_rows(&inverse[0, 0], N, count, &near[0], &part[0])
            for i in range(count):
                pivot += part[i]*part[i]
                for k in range(K):
                    said[t, k] += part[i]*whitened[i, k]
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
