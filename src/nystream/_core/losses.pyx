# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The losses on plain numbers and single score vectors, compiled: what the classes in nystream.losses call."""
cimport numpy as cnp
from libc.stdlib cimport free, malloc

from nystream._core cimport scalar_losses as core

cnp.import_array()

EXACT = core.MULTI_EXACT
RUNNER_UP = core.MULTI_RUNNER_UP
CODES = {
    "squared": core.LOSS_SQUARED, "absolute": core.LOSS_ABSOLUTE, "epsilon_insensitive": core.LOSS_EPSILON,
    "huber": core.LOSS_HUBER, "pinball": core.LOSS_PINBALL, "hinge": core.LOSS_HINGE,
    "squared_hinge": core.LOSS_SQUARED_HINGE, "logistic": core.LOSS_LOGISTIC, "novelty": core.LOSS_NOVELTY,
    "multiclass_hinge": core.LOSS_MULTICLASS_HINGE, "softmax": core.LOSS_SOFTMAX,
    "structured_hinge": core.LOSS_STRUCTURED_HINGE,
}


def value(int kind, double a, double y, double p):
    """l(y, p)."""
    return core.loss_value(kind, a, 0.0, y, p)


def grad(int kind, double a, double y, double p):
    """Derivative in p."""
    return core.loss_grad(kind, a, 0.0, y, p)


def second(int kind, double a, double y, double p):
    """Second derivative in p."""
    return core.loss_second(kind, a, 0.0, y, p)


def implicit(int kind, double a, double y, double p, double s, double c):
    """argmin_a s/2 a^2 + c l(p + s a)."""
    return core.loss_implicit(kind, a, 0.0, y, p, s, c)


cdef cnp.ndarray _vector(object p):
    cdef cnp.ndarray v = <cnp.ndarray> cnp.PyArray_FROM_OTF(p, cnp.NPY_FLOAT64, cnp.NPY_ARRAY_IN_ARRAY)
    if cnp.PyArray_NDIM(v) != 1 or cnp.PyArray_DIM(v, 0) == 0:
        raise ValueError("scores must be a vector with one number per label")
    return v


cdef const double* _table(object T, int K) except? NULL:
    """Data of a (K, K) table of labels; NULL for None. The caller keeps T alive."""
    if T is None:
        return NULL
    cdef cnp.ndarray t = <cnp.ndarray?> T
    if (cnp.PyArray_TYPE(t) != cnp.NPY_FLOAT64 or not cnp.PyArray_IS_C_CONTIGUOUS(t) or cnp.PyArray_NDIM(t) != 2
            or cnp.PyArray_DIM(t, 0) != K or cnp.PyArray_DIM(t, 1) != K):
        raise ValueError(f"{K} scores do not fit a label table of shape {(<object> t).shape}")
    return <const double*> cnp.PyArray_DATA(t)


cdef int _label(long y, int K) except -1:
    if y < 0 or y >= K:
        raise ValueError(f"label {y} has no score; there are {K} scores")
    return <int> y


def multi_value(int kind, object D, long y, object p):
    """L(y, p) of one score vector."""
    cdef cnp.ndarray v = _vector(p)
    cdef int K = <int> cnp.PyArray_DIM(v, 0)
    return core.multi_value(kind, _table(D, K), K, _label(y, K), <const double*> cnp.PyArray_DATA(v))


def multi_grad(int kind, object D, long y, object p):
    """A fresh (K,) subgradient."""
    cdef cnp.ndarray v = _vector(p)
    cdef cnp.npy_intp K = cnp.PyArray_DIM(v, 0)
    cdef cnp.ndarray g = cnp.PyArray_EMPTY(1, &K, cnp.NPY_FLOAT64, 0)
    core.multi_grad(kind, _table(D, <int> K), <int> K, _label(y, <int> K), <const double*> cnp.PyArray_DATA(v),
                    <double*> cnp.PyArray_DATA(g))
    return g


def multi_implicit(int kind, int rule, object D, object M, long y, object p, object f, double s, double c):
    """A fresh (K,) implicit step; f (None: p) chooses the rival of the runner-up rule."""
    cdef cnp.ndarray v = _vector(p)
    cdef cnp.ndarray u = v if f is None else _vector(f)
    cdef cnp.npy_intp K = cnp.PyArray_DIM(v, 0)
    if cnp.PyArray_DIM(u, 0) != K:
        raise ValueError(f"scores has {cnp.PyArray_DIM(u, 0)} numbers, p has {K}")
    cdef const double* margins = _table(D, <int> K)
    cdef const double* similarity = _table(M, <int> K)
    cdef int label = _label(y, <int> K)
    cdef cnp.ndarray alpha = cnp.PyArray_EMPTY(1, &K, cnp.NPY_FLOAT64, 0)
    cdef double* work = <double*> malloc(<size_t> K * sizeof(double))
    if work == NULL:
        raise MemoryError()
    core.multi_implicit(kind, rule, margins, similarity, <int> K, label, <const double*> cnp.PyArray_DATA(v),
                        <const double*> cnp.PyArray_DATA(u), s, c, work, <double*> cnp.PyArray_DATA(alpha))
    free(work)
    return alpha
