# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One row of the experts of `Auto`: views, kernel rows that wait, window smoothers, and queries of all of them."""
cimport numpy as cnp
from libc.math cimport INFINITY, exp, pow
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from nystream._core.auto.arrays cimport array
from nystream._core.inputs cimport clean_number, clean_row
from nystream._core.kernels cimport KernelRows, narrow
from nystream._core.linalg cimport LDL, RELEASE
from nystream._core.linear_kernel cimport clean, clean_numbers

cnp.import_array()

# ----------------------------------------------------------------------------------------------------------------------
# Rows as experts see them: scaled columns with missing values at the mean, perhaps turned; kernel values.
# ----------------------------------------------------------------------------------------------------------------------
cdef enum:
    WORTH_RELEASING = 1 << 14    # numbers, below which giving up the GIL costs more than it gives

cdef KernelRows LINEAR = KernelRows("linear")


cpdef cnp.ndarray seen(cnp.ndarray X, cnp.ndarray mean, cnp.ndarray scale, clip, cnp.ndarray T=None):
    """(n, d) rows (x - mean) / scale, clipped to [-clip, clip] unless that is None, 0 where x is nan; then T x.

    T is (d, d), or (d,), its diagonal. A row has the same bits in any block, so that near ties stay what they are.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(X, 0), d = cnp.PyArray_DIM(X, 1), i, j
    cdef const double* x = clean(X, n, d)
    cdef const double* middle = clean(mean, -1, d)
    cdef const double* size = clean(scale, -1, d)
    cdef const double* t = NULL
    cdef bint full = False
    cdef double most = INFINITY if clip is None else clip, u
    cdef cnp.npy_intp[2] shape
    shape[0], shape[1] = n, d
    if T is not None:
        full = cnp.PyArray_NDIM(T) == 2
        t = clean(T, d if full else -1, d)
    cdef cnp.ndarray out = cnp.PyArray_EMPTY(2, shape, cnp.NPY_FLOAT64, 0), turned
    cdef double* v = <double*> cnp.PyArray_DATA(out)
    for i in range(n):
        for j in range(d):
            u = (x[i*d + j] - middle[j])/size[j]
            u = most if u > most else (-most if u < -most else u)
            u = u if u == u else 0.0
            v[i*d + j] = u*t[j] if t != NULL and not full else u
    if not full:
        return out
    turned = cnp.PyArray_EMPTY(2, shape, cnp.NPY_FLOAT64, 0)
    cdef double* w = <double*> cnp.PyArray_DATA(turned)
    if n*d*d < WORTH_RELEASING:
        LINEAR.fill(v, n, t, d, d, w, d)
    else:
        with nogil:
            LINEAR.fill(v, n, t, d, d, w, d)
    return turned


def with_constant(KernelRows kernel, cnp.ndarray X, cnp.ndarray points):
    """(n, m + 1) kernel values between the rows of X and m points, and a last column of ones."""
    cdef Py_ssize_t n = cnp.PyArray_DIM(X, 0), m = cnp.PyArray_DIM(points, 0), d = cnp.PyArray_DIM(X, 1), i
    cdef const double* x = clean(X, n, d)
    cdef const double* a = clean(points, m, d)
    cdef cnp.npy_intp[2] shape
    shape[0], shape[1] = n, m + 1
    cdef cnp.ndarray out = cnp.PyArray_EMPTY(2, shape, cnp.NPY_FLOAT64, 0)
    cdef double* z = <double*> cnp.PyArray_DATA(out)
    if n*m*d < WORTH_RELEASING:
        kernel.fill(x, n, a, m, d, z, m + 1)
    else:
        with nogil:
            kernel.fill(x, n, a, m, d, z, m + 1)
    for i in range(n):
        z[i*(m + 1) + m] = 1.0
    return out


def after_constant(cnp.ndarray X):
    """(n, 1 + d) a column of ones, and the rows of X."""
    cdef Py_ssize_t n = cnp.PyArray_DIM(X, 0), d = cnp.PyArray_DIM(X, 1), i
    cdef const double* x = clean(X, n, d)
    cdef cnp.npy_intp[2] shape
    shape[0], shape[1] = n, 1 + d
    cdef cnp.ndarray out = cnp.PyArray_EMPTY(2, shape, cnp.NPY_FLOAT64, 0)
    cdef double* z = <double*> cnp.PyArray_DATA(out)
    for i in range(n):
        z[i*(1 + d)] = 1.0
        memcpy(z + i*(1 + d) + 1, x + i*d, d*sizeof(double))
    return out


# ----------------------------------------------------------------------------------------------------------------------
# Rows that wait until several of them are learnt together: their features are put where they wait.
# ----------------------------------------------------------------------------------------------------------------------
cdef enum:
    PAIRS_WORTH_RELEASING = 1 << 14    # pairs times columns, below which giving up the GIL costs more than it gives


def answered(KernelRows kernel, cnp.ndarray U, cnp.ndarray Y, cnp.ndarray w or None, Py_ssize_t row, cnp.ndarray points,
             cnp.ndarray weights, cnp.ndarray rows, Py_ssize_t at, cnp.ndarray P):
    """Predict rows of U (n, d) from `row` on and keep them in `rows` from place `at` on, as far as there is room.

    Features are kernel values of the m points and a last 1; predictions P (n, K) their products with weights
    (K, m + 1). A place has the features, the K labels of Y (n, K) and the weight, 1 where w is None. Returns how many
    rows were kept.
    """
    cdef Py_ssize_t n = cnp.PyArray_DIM(U, 0), d = cnp.PyArray_DIM(U, 1), m = cnp.PyArray_DIM(points, 0)
    cdef Py_ssize_t K = cnp.PyArray_DIM(Y, 1), places = cnp.PyArray_DIM(rows, 0)
    cdef Py_ssize_t wide = m + K + 2, size
    cdef const double* u = clean(U, n, d)
    cdef const double* y = clean(Y, n, K)
    cdef const double* a = clean(points, m, d)
    cdef const double* v = clean(weights, K, m + 1)
    cdef double* z = <double*> clean(rows, places, wide)
    cdef double* p = <double*> clean(P, n, K)
    cdef const double* given = NULL
    if w is not None:
        given = clean(w, -1, n)
    if not 0 <= row <= n or not 0 <= at <= places:
        raise ValueError(f"row {row} of {n} and place {at} of {places} are not there")
    size = min(n - row, places - at)
    if size*m*d < PAIRS_WORTH_RELEASING:
        keep(kernel, u + row*d, y + row*K, NULL if given == NULL else given + row, size, a, v, m, d, K,
             z + at*wide, p + row*K)
    else:
        with nogil:
            keep(kernel, u + row*d, y + row*K, NULL if given == NULL else given + row, size, a, v, m, d, K,
                 z + at*wide, p + row*K)
    return size


cdef void keep(KernelRows kernel, const double* u, const double* y, const double* w, Py_ssize_t n, const double* points,
               const double* weights, Py_ssize_t m, Py_ssize_t d, Py_ssize_t K, double* z, double* p) noexcept nogil:
    """n rows u (n, d) with labels y (n, K) and weights (n,) or NULL, to places z on and predictions p."""
    cdef Py_ssize_t i, k, wide = m + K + 2
    kernel.fill(u, n, points, m, d, z, wide)
    for i in range(n):
        z[m] = 1.0
        for k in range(K):
            z[m + 1 + k] = y[i*K + k]
        z[m + 1 + K] = 1.0 if w == NULL else w[i]
        LINEAR.fill(z, 1, weights, K, m + 1, p + i*K, K)
        z += wide


# ----------------------------------------------------------------------------------------------------------------------
# Nearest neighbours in a sliding window: distances of a block by one pass, rows that enter inside it corrected.
# ----------------------------------------------------------------------------------------------------------------------
cdef enum:
    TOGETHER = 32     # queries whose distances are computed at once
    MOST = 64         # neighbours, at most
    RING_WORTH_RELEASING = 1 << 14   # numbers in the ring from which on it pays to give up the GIL

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
    if n*ring.window*ring.d < RING_WORTH_RELEASING:
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
    if ring.window*d < RING_WORTH_RELEASING:
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


# ----------------------------------------------------------------------------------------------------------------------
# One row for all experts of a bank: what their `run` does, without the interpreter between the compiled parts.
# ----------------------------------------------------------------------------------------------------------------------
cdef class Asked:
    """An expert that is asked for one row by its `run`; others know a shorter way to the same bits.

    Nothing but the expert is kept: its arrays are those that it has at the time.
    """
    cdef readonly object expert
    cdef object scratch

    def __init__(self, expert):
        self.expert = expert

    cdef int answer(self, cnp.ndarray U, cnp.ndarray Y, cnp.ndarray w, double* p) except -1:
        """The prediction (K,) for U (1, d), made before Y (1, K) of weight w (1,), or None, is learnt."""
        cdef Py_ssize_t K = cnp.PyArray_DIM(Y, 1)
        memcpy(p, clean(self.expert.run(U, Y, w), 1, K), K*sizeof(double))
        return 0

    cdef double* room(self, Py_ssize_t n) except NULL:
        """For n features."""
        if self.scratch is None or cnp.PyArray_DIM(self.scratch, 0) != n:
            self.scratch = cnp.PyArray_EMPTY(1, <cnp.npy_intp*> &n, cnp.NPY_FLOAT64, 0)
        return <double*> cnp.PyArray_DATA(self.scratch)

    cdef double* kernel_values(self, cnp.ndarray U) except NULL:
        """Of the expert's points, and 1."""
        cdef KernelRows kernel = self.expert.kernel_rows
        cdef cnp.ndarray points = array(self.expert.points_)
        cdef Py_ssize_t m = cnp.PyArray_DIM(points, 0), d = cnp.PyArray_DIM(U, 1)
        cdef const double* u = clean(U, 1, d)
        cdef const double* a = clean(points, m, d)
        cdef double* z = self.room(m + 1)
        kernel.fill(u, 1, a, m, d, z, m + 1)
        z[m] = 1.0
        return z

    cdef int learn(self, LDL engine, cnp.ndarray Y, double weight, double* p) except -1:
        """Predict and learn the features that were just put into `room`."""
        cdef const double* z = clean(self.scratch, -1, engine.dim)
        return engine.rows(1, z, clean(Y, 1, engine.outputs), &weight, p, engine.dim >= RELEASE)


cdef class AskedRidge(Asked):
    """Least squares on kernel values that learns every row: `kernel_rows`, `points_` and one of `solvers_`."""

    cdef int answer(self, cnp.ndarray U, cnp.ndarray Y, cnp.ndarray w, double* p) except -1:
        cdef list solvers = self.expert.solvers_
        if len(solvers) != 1:
            return Asked.answer(self, U, Y, w, p)
        self.kernel_values(U)
        return self.learn(solvers[0].engine, Y, weight_of(w), p)


cdef class AskedWaiting(Asked):
    """The same where rows wait: `weights_`, `rows_`, `filled_`, and `learn` for when there is no more room."""

    cdef int answer(self, cnp.ndarray U, cnp.ndarray Y, cnp.ndarray w, double* p) except -1:
        if not self.expert.solvers_:
            return Asked.answer(self, U, Y, w, p)
        cdef KernelRows kernel = self.expert.kernel_rows
        cdef cnp.ndarray points = array(self.expert.points_), weights = array(self.expert.weights_)
        cdef cnp.ndarray rows = array(self.expert.rows_)
        cdef Py_ssize_t m = cnp.PyArray_DIM(points, 0), d = cnp.PyArray_DIM(U, 1), K = cnp.PyArray_DIM(Y, 1)
        cdef Py_ssize_t places = cnp.PyArray_DIM(rows, 0), at = self.expert.filled_, wide = m + K + 2
        cdef double* z = <double*> clean(rows, places, wide)
        cdef double weight = weight_of(w)
        if not 0 <= at < places:
            raise ValueError(f"place {at} of {places} is not there")
        keep(kernel, clean(U, 1, d), clean(Y, 1, K), &weight, 1, clean(points, m, d), clean(weights, K, m + 1), m, d, K,
             z + at*wide, p)
        self.expert.filled_ = at + 1
        if at + 1 == places:
            self.expert.learn()
        return 0


cdef class AskedForgetting(Asked):
    """Least squares that forgets, on kernel values: `solver_`."""

    cdef double* features(self, cnp.ndarray U) except NULL:
        return self.kernel_values(U)

    cdef int answer(self, cnp.ndarray U, cnp.ndarray Y, cnp.ndarray w, double* p) except -1:
        solver = self.expert.solver_
        cdef LDL engine = solver.ridge_.engine
        cdef cnp.ndarray rows = array(solver.rows_)
        cdef Py_ssize_t K = cnp.PyArray_DIM(Y, 1), places = cnp.PyArray_DIM(rows, 0), at
        cdef double weight = weight_of(w), decay
        cdef const double* z = self.features(U)
        cdef double* row
        if not places:
            return self.learn(engine, Y, weight, p)
        row, at, decay = <double*> clean(rows, places, engine.dim + K + 1), solver.filled_, solver.decay
        if not 0 <= at < places:
            raise ValueError(f"place {at} of {places} is not there")
        self.learn(engine, Y, weight*pow(decay, -(at + 1.0)), p)
        row += at*(engine.dim + K + 1)
        memcpy(row, z, engine.dim*sizeof(double))
        memcpy(row + engine.dim, cnp.PyArray_DATA(Y), K*sizeof(double))
        row[engine.dim + K] = weight
        if at + 1 < places:
            solver.filled_ = at + 1
        else:
            solver.count(1)
        return 0


cdef class AskedLinear(AskedForgetting):
    """The same on 1 and the columns."""

    cdef double* features(self, cnp.ndarray U) except NULL:
        cdef Py_ssize_t d = cnp.PyArray_DIM(U, 1)
        cdef const double* u = clean(U, 1, d)
        cdef double* z = self.room(d + 1)
        z[0] = 1.0
        memcpy(z + 1, u, d*sizeof(double))
        return z


cdef class AskedWindow(Asked):
    """The nearest of the last rows: `smoother_`."""

    cdef int answer(self, cnp.ndarray U, cnp.ndarray Y, cnp.ndarray w, double* p) except -1:
        smoother = self.expert.smoother_
        cdef Py_ssize_t d = cnp.PyArray_DIM(U, 1), K = cnp.PyArray_DIM(Y, 1), kept = smoother.kept_
        cdef double weight = weight_of(w)
        one_round(array(smoother.points_), array(smoother.targets_), kept, smoother.neighbours, clean(U, 1, d), d,
                  clean(Y, 1, K), K, weight, p)
        if weight > 0:
            smoother.kept_ = kept + 1
        return 0


cdef class AskedChange(Asked):
    """The last label, the first columns of U, where nothing is added to it: `kernel_` is None."""

    cdef int answer(self, cnp.ndarray U, cnp.ndarray Y, cnp.ndarray w, double* p) except -1:
        cdef Py_ssize_t K = cnp.PyArray_DIM(Y, 1)
        if self.expert.kernel_ is not None:
            return Asked.answer(self, U, Y, w, p)
        memcpy(p, clean(U, 1, K), K*sizeof(double))
        return 0


cdef inline double weight_of(cnp.ndarray w) except? -1:
    return 1.0 if w is None else clean(w, -1, 1)[0]


cpdef cnp.ndarray answers(tuple asked, tuple views, cnp.ndarray X, object beside, cnp.ndarray Y,
                          cnp.ndarray w=None):
    """(1, E, K) predictions of the experts for one row X (1, d), each made before Y (1, K) of weight w (1,) is learnt.

    asked: for every expert (`Asked`, the place of its view); views: (what warps rows or None, mean, scale, clip, metric
    or None), see `seen`. Where the place is that after the last view, the expert sees the row `beside`.
    """
    cdef Py_ssize_t V = len(views), v
    cdef cnp.npy_intp[3] shape
    shape[0], shape[1], shape[2] = 1, len(asked), cnp.PyArray_DIM(Y, 1)
    clean(Y, 1, shape[2])
    cdef cnp.ndarray out = cnp.PyArray_EMPTY(3, shape, cnp.NPY_FLOAT64, 0)
    cdef double* p = <double*> cnp.PyArray_DATA(out)
    cdef list rows = []
    cdef Asked one
    for warped, mean, scale, clip, metric in views:
        rows.append(seen(X if warped is None else array(warped(X)), array(mean), array(scale), clip, metric))
    rows.append(beside)
    for one, v in asked:
        if not 0 <= v <= V or rows[v] is None:
            raise ValueError(f"view {v} of {V} is not there")
        one.answer(rows[v], Y, w, p)
        p += shape[2]
    return out
