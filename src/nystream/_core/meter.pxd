# The sums that a meter of least squares keeps (solvers/meter.py), a round at a time.

cdef enum:                             # a meter's totals
    ROUNDS = 0
    ONLINE = 1
    SPREAD = 2

cdef enum:                             # rows of a meter's columns; row 4 (slack) changes in merges only
    LOSS = 0
    BEST = 1
    LABEL = 2
    MISS = 3
    WEIGHT = 5


cdef inline void count_round(double* totals, double* columns, Py_ssize_t K, const double* y, const double* r,
                             const double* p, double s, double w) noexcept nogil:
    """One round: label y, ridge prediction r, emitted prediction p (K,), weight w and s = w z'A^-1 z."""
    cdef double share = 1/(1 + s), miss, label
    cdef Py_ssize_t k
    totals[ROUNDS] += 1
    totals[ONLINE] += s*share
    totals[SPREAD] += w*(s*share)
    for k in range(K):
        miss = (y[k] - p[k])*(y[k] - p[k])
        columns[LOSS*K + k] += w*miss
        columns[BEST*K + k] += w*((y[k] - r[k])*(y[k] - r[k])*share)
        columns[WEIGHT*K + k] += w
        label = y[k] if y[k] >= 0 else -y[k]
        if label > columns[LABEL*K + k]:
            columns[LABEL*K + k] = label
        if miss > columns[MISS*K + k]:
            columns[MISS*K + k] = miss
