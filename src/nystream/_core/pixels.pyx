# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One frame of every pixel's novelty learner, a band of tiles at a time."""
cimport numpy as cnp

cnp.import_array()

cdef extern from "pixels_kernel.h" nogil:
    enum:
        PIXELS_TILE
    ctypedef struct pixels_job:
        const void* frame
        const unsigned char* frozen
        void* points
        void* coef
        void* born
        void* scale
        void* scores
        Py_ssize_t n, c, budget
        int bytes, absolute, ring, learn
        long long now
        double rate, keep, cap, rho
    ctypedef struct pixels_ops:
        int (*single)(const pixels_job*, Py_ssize_t, Py_ssize_t) noexcept nogil
        int (*twice)(const pixels_job*, Py_ssize_t, Py_ssize_t) noexcept nogil
    pixels_ops pixels_pick()

cdef pixels_ops OPS = pixels_pick()

TILE = PIXELS_TILE


cdef class Sweep:
    """The arrays and numbers of a video network; `band` works on them in place.

    With T tiles of TILE pixels: points (T, budget, c, TILE), coef (T, budget, TILE) and scale (T, TILE), all float32 or
    all float64; born (T, budget, TILE), int32 or int64. Pixel i of the frame is [i // TILE, ..., i % TILE].
    """

    cdef pixels_job job
    cdef bint single
    cdef tuple held
    cdef Py_ssize_t tiles

    def __init__(self, cnp.ndarray points not None, cnp.ndarray coef not None, cnp.ndarray born not None,
                 cnp.ndarray scale not None, Py_ssize_t n, *, bint absolute, bint ring, double rate, double keep,
                 double cap, double rho):
        cdef int real = cnp.PyArray_TYPE(points)
        self.single = real == cnp.NPY_FLOAT32
        if real != cnp.NPY_FLOAT32 and real != cnp.NPY_FLOAT64:
            raise TypeError("points must be float32 or float64")
        if cnp.PyArray_NDIM(points) != 4 or cnp.PyArray_DIM(points, 3) != PIXELS_TILE:
            raise TypeError("points must be (tiles, budget, c, TILE)")
        self.tiles = cnp.PyArray_DIM(points, 0)
        self.job.n, self.job.c, self.job.budget = n, cnp.PyArray_DIM(points, 2), cnp.PyArray_DIM(points, 1)
        if self.tiles * PIXELS_TILE < n:
            raise TypeError("too few tiles for the pixels")
        cdef Py_ssize_t slots = self.tiles * self.job.budget * PIXELS_TILE
        checked(points, real, slots * self.job.c)
        checked(coef, real, slots)
        checked(born, cnp.NPY_INT32 if self.single else cnp.NPY_INT64, slots)
        checked(scale, real, self.tiles * PIXELS_TILE)
        self.held = (points, coef, born, scale)
        self.job.points, self.job.coef = cnp.PyArray_DATA(points), cnp.PyArray_DATA(coef)
        self.job.born, self.job.scale = cnp.PyArray_DATA(born), cnp.PyArray_DATA(scale)
        self.job.absolute, self.job.ring = absolute, ring
        self.job.rate, self.job.keep, self.job.cap, self.job.rho = rate, keep, cap, rho

    def band(self, cnp.ndarray frame not None, cnp.ndarray scores not None, frozen, long long now, bint learn,
             Py_ssize_t first, Py_ssize_t last):
        """Scores of tiles first..last-1 of a frame (n, c), and a round of learning; other bands may run meanwhile.

        The frame is uint8 (divided by 255) or of the type of the state; frozen is None or (n,) bool: pixels that learn
        nothing and do not fade.
        """
        cdef pixels_job job = self.job
        cdef int real = cnp.NPY_FLOAT32 if self.single else cnp.NPY_FLOAT64
        cdef int failed
        job.bytes = cnp.PyArray_TYPE(frame) == cnp.NPY_UINT8
        checked(frame, cnp.NPY_UINT8 if job.bytes else real, job.n * job.c)
        checked(scores, real, job.n)
        if frozen is not None:
            checked(frozen, cnp.NPY_BOOL, job.n)
            job.frozen = <const unsigned char*> cnp.PyArray_DATA(<cnp.ndarray> frozen)
        if not 0 <= first <= last <= self.tiles:
            raise IndexError(f"tiles {first}..{last} of {self.tiles}")
        job.frame, job.scores = cnp.PyArray_DATA(frame), cnp.PyArray_DATA(scores)
        job.now, job.learn = now, learn
        with nogil:
            failed = OPS.single(&job, first, last) if self.single else OPS.twice(&job, first, last)
        if failed:
            raise MemoryError


cdef int checked(cnp.ndarray a, int kind, Py_ssize_t size) except -1:
    if cnp.PyArray_TYPE(a) != kind or not cnp.PyArray_IS_C_CONTIGUOUS(a) or cnp.PyArray_SIZE(a) != size:
        got = f"{(<object> a).dtype} {(<object> a).shape}"
        raise TypeError(f"expected {size} contiguous numbers of NumPy's type {kind}, got {got}")
    return 0
