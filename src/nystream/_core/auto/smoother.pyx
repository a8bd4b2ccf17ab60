# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Nearest neighbours in a sliding window: distances of a block by one pass, rows that enter inside it corrected."""
cimport numpy as cnp
from libc.math cimport INFINITY, exp
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from nystream._core.kernel_rows cimport KernelRows, narrow
from nystream._core.linalg.linear_kernel cimport clean, clean_numbers
from nystream._core.one_row cimport clean_number, clean_row

cnp.import_array()

cdef enum:
    TOGETHER = 32     # queries whose distances are computed at once
    MOST = 64         # neighbours, at most
    WORTH_RELEASING = 1 << 14   # numbers in the ring from which on it pays to give up the GIL

NEIGHBOURS = MOST

cdef KernelRows SQUARED = KernelRows("squared")


cdef struct Ring:                  # the last `window` rows; row number i (from 0) is in slot i % window
    char* points                   # (window, d), double or float
    double* targets                # (window, K + 1): labels, then the weight
    Py_ssize_t window, d, K, kept
    Py_ssize_t stride              # bytes of a point
    bint single                    # points are float, and distances are calculated in it


cdef int take_points(Ring* ring, cnp.ndarray points) except -1:
    """The ring's rows are these."""
    ring.window, ring.d = cnp.PyArray_DIM(points, 0), cnp.PyArray_DIM(points, 1)
    ring.single = cnp.PyArray_TYPE(points) == cnp.NPY_FLOAT32
    cdef int size = 4 if ring.single else 8
    ring.points, ring.stride = <char*> clean_numbers(points, ring.window, ring.d, size), ring.d*size
    return 0


cdef double* scratch(const Ring* ring, Py_ssize_t n) except NULL:
    """Memory for a block of n rows: labels and weights, their distances, then the rows as points are."""
    cdef double* D = <double*> malloc(n*((ring.K + 1 + ring.window + n)*sizeof(double) + ring.d*sizeof(float)))
    if D == NULL:
        raise MemoryError
    return D


cdef struct Nearest:               # sorted by distance, of equal ones the latest first
    int k, n
    double distance[MOST]
    const double* target[MOST]


def smooth(cnp.ndarray points, cnp.ndarray targets, Py_ssize_t kept, int neighbours, cnp.ndarray X, cnp.ndarray Y=None,
           cnp.ndarray w=None):
    """Predictions (n, K) for the rows of X (n, d) from the ring points (W, d), float64 or float32, targets (W, K + 1).

    With Y (n, K), labels of the rows of X, each row of weight > 0 (w, by default all 1) enters the ring after its
    prediction, and how many rows the ring took in its life is the second result; without Y nothing changes.
    """
    cdef Ring ring
    take_points(&ring, points)
    ring.K, ring.kept = cnp.PyArray_DIM(targets, 1) - 1, kept
    if kept < 0:    # as only a forged file has it
        raise ValueError(f"kept must be at least 0, got {kept}")
    ring.targets = <double*> clean(targets, ring.window, ring.K + 1)
    cdef Py_ssize_t n = cnp.PyArray_DIM(X, 0)
    cdef const double* x = clean(X, n, ring.d)
    cdef const double* y = NULL if Y is None else clean(Y, n, ring.K)
    cdef const double* given = NULL if w is None else clean(w, -1, n)
    if not 1 <= neighbours <= MOST:
        raise ValueError(f"neighbours must be from 1 to {MOST}, got {neighbours}")
    cdef cnp.npy_intp[2] shape
    shape[0], shape[1] = n, ring.K
    cdef cnp.ndarray P = cnp.PyArray_EMPTY(2, shape, cnp.NPY_FLOAT64, 0)
    cdef double* p = <double*> cnp.PyArray_DATA(P)
    cdef Py_ssize_t most = min(n, TOGETHER, ring.window)
    cdef double* memory = scratch(&ring, max(most, 1))
    cdef double* D = memory + max(most, 1)*(ring.K + 1)
    if n*ring.window*ring.d < WORTH_RELEASING:
        rounds(&ring, neighbours, x, y, given, n, most, D, memory, p)
    else:
        with nogil:
            rounds(&ring, neighbours, x, y, given, n, most, D, memory, p)
    free(memory)
    return P, ring.kept


def smooth_one(cnp.ndarray points, cnp.ndarray targets, Py_ssize_t kept, int neighbours, object x, object y):
    """The prediction for one row from the ring of one output, which then takes it in with weight 1; None, and nothing
    done, unless x is a clean row and y a plain number."""
    cdef double label = 0, p = 0
    cdef Py_ssize_t d = cnp.PyArray_DIM(points, 1)
    cdef const double* row
    if kept < 0 or not 1 <= neighbours <= MOST or cnp.PyArray_DIM(targets, 1) != 2 \
            or not clean_number(y, False, &label):
        return None
    row = clean_row(x, d)
    if row == NULL:
        return None
    one_round(points, targets, kept, neighbours, row, d, &label, 1, 1.0, &p)
    return p


cdef int one_round(cnp.ndarray points, cnp.ndarray targets, Py_ssize_t kept, int neighbours, const double* x,
                   Py_ssize_t d, const double* y, Py_ssize_t K, double weight, double* p) except -1:
    """The prediction (K,) for row x (d,) from the ring, which takes it in with labels y if the weight is above 0."""
    cdef Ring ring
    take_points(&ring, points)
    ring.K, ring.kept = K, kept
    if ring.d != d:
        raise ValueError(f"a row of {ring.d} columns is needed, got {d}")
    if kept < 0 or not 1 <= neighbours <= MOST:
        raise ValueError(f"kept must be at least 0 and neighbours from 1 to {MOST}, got {kept} and {neighbours}")
    ring.targets = <double*> clean(targets, ring.window, K + 1)
    cdef double* target = scratch(&ring, 1)
    cdef double* D = target + K + 1
    memcpy(target, y, K*sizeof(double))
    target[K] = weight
    if ring.window*d < WORTH_RELEASING:
        block(&ring, neighbours, x, target, 1, D, p)
    else:
        with nogil:
            block(&ring, neighbours, x, target, 1, D, p)
    free(target)
    return 0


cdef void rounds(Ring* ring, int neighbours, const double* x, const double* y, const double* w, Py_ssize_t n,
                 Py_ssize_t most, double* D, double* new, double* p) noexcept nogil:
    """n rows, `most` at a time; labels y (or NULL) and weights (or NULL) of a block are put into new."""
    cdef Py_ssize_t t = 0, K = ring.K, size, i
    while t < n:
        size = min(most, n - t)
        if y != NULL:
            for i in range(size):
                memcpy(new + i*(K + 1), y + (t + i)*K, K*sizeof(double))
                new[i*(K + 1) + K] = 1.0 if w == NULL else w[t + i]
        block(ring, neighbours, x + t*ring.d, NULL if y == NULL else new, size, D, p + t*K)
        t += size


cdef void block(Ring* ring, int neighbours, const double* X, const double* new, Py_ssize_t n, double* D,
                double* P) noexcept nogil:
    """n <= window rounds: distances to the ring as it is, and to the block's own rows, which replace the oldest."""
    cdef Py_ssize_t filled = min(ring.kept, ring.window), ld = ring.window + n, K = ring.K, entered = 0, i, j
    cdef Py_ssize_t first, slot
    cdef Py_ssize_t oldest = ring.kept % ring.window if filled == ring.window else 0
    cdef Nearest near
    cdef const double* row
    cdef const char* rows = <const char*> X
    near.k = neighbours
    if ring.single:
        rows = <const char*> (D + n*ld)
        narrow(X, n*ring.d, <float*> rows)
    distances(ring, rows, n, ring.points, filled, D, ld)
    if new != NULL and n > 1:
        distances(ring, rows, n, rows, n, D + ring.window, ld)
    for i in range(n):
        row, near.n = D + i*ld, 0
        # from the oldest row that is still in the window to the latest, which wins ties
        first = oldest + max(filled + entered - ring.window, 0)
        scan(&near, row, first, filled, ring.targets, K + 1)
        scan(&near, row, max(first - filled, 0), oldest, ring.targets, K + 1)
        if new != NULL:
            for j in range(i):
                if new[j*(K + 1) + K] > 0:
                    scan(&near, row + ring.window, j, j + 1, new, K + 1)
            if new[i*(K + 1) + K] > 0:
                entered += 1
        mean_label(&near, K, P + i*K)
    if new == NULL:
        return
    for i in range(n):
        if new[i*(K + 1) + K] > 0:
            slot = ring.kept % ring.window
            memcpy(ring.points + slot*ring.stride, rows + i*ring.stride, ring.stride)
            memcpy(ring.targets + slot*(K + 1), new + i*(K + 1), (K + 1)*sizeof(double))
            ring.kept += 1


cdef void distances(const Ring* ring, const void* X, Py_ssize_t n, const void* Y, Py_ssize_t m, double* D,
                    Py_ssize_t ld) noexcept nogil:
    """Squared, between rows that are as the ring's points are."""
    if ring.single:
        SQUARED.fill_single(<const float*> X, n, <const float*> Y, m, ring.d, D, ld)
    else:
        SQUARED.fill(<const double*> X, n, <const double*> Y, m, ring.d, D, ld)


cdef inline void scan(Nearest* near, const double* distance, Py_ssize_t start, Py_ssize_t stop, const double* targets,
                      Py_ssize_t width) noexcept nogil:
    """Candidates start..stop - 1, each later than those before."""
    cdef double worst = near.distance[near.k - 1] if near.n == near.k else INFINITY
    cdef Py_ssize_t i
    cdef int at
    for i in range(start, stop):
        if distance[i] <= worst:
            at = near.n if near.n < near.k else near.k - 1
            while at > 0 and near.distance[at - 1] >= distance[i]:
                near.distance[at], near.target[at] = near.distance[at - 1], near.target[at - 1]
                at -= 1
            near.distance[at], near.target[at] = distance[i], targets + i*width
            if near.n < near.k:
                near.n += 1
            if near.n == near.k:
                worst = near.distance[near.k - 1]


cdef inline void mean_label(const Nearest* near, Py_ssize_t K, double* p) noexcept nogil:
    cdef double scale = 0, heaviest = 0, total = 0
    cdef double share[MOST]
    cdef Py_ssize_t c
    cdef int i
    for i in range(near.n):
        scale += near.distance[i]/near.n
        heaviest = max(heaviest, near.target[i][K])
    for i in range(near.n):
        share[i] = near.target[i][K]/heaviest
        if 0 < scale < INFINITY:   # else the neighbours are one point, or out of sight: all alike
            share[i] *= exp(-near.distance[i]/scale)
        total += share[i]
    for c in range(K):
        p[c] = 0
        for i in range(near.n):
            p[c] += share[i]/total*near.target[i][c]
