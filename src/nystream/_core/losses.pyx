# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The losses, compiled: on plain numbers and single score vectors for nystream.losses, on K outputs for the loops."""
import numpy as np

cimport numpy as cnp
from libc.stdlib cimport free, malloc

from nystream._core cimport scalar_losses as core
from nystream._core.linear_kernel cimport clean

cnp.import_array()

CODES = {
    "squared": core.LOSS_SQUARED, "absolute": core.LOSS_ABSOLUTE, "epsilon_insensitive": core.LOSS_EPSILON,
    "huber": core.LOSS_HUBER, "pinball": core.LOSS_PINBALL, "hinge": core.LOSS_HINGE,
    "squared_hinge": core.LOSS_SQUARED_HINGE, "logistic": core.LOSS_LOGISTIC, "novelty": core.LOSS_NOVELTY,
    "multiclass_hinge": core.LOSS_MULTICLASS_HINGE, "softmax": core.LOSS_SOFTMAX,
    "structured_hinge": core.LOSS_STRUCTURED_HINGE,
}
RULES = {"exact": core.MULTI_EXACT, "runner_up": core.MULTI_RUNNER_UP}


cdef class CompiledLoss:
    """A formula of simd/scalar_losses.h or simd/multi_losses.h with its constant, or tables of labels, filled in."""

    def __init__(self, str name, double constant=0.0, *, object margins=None, object similarity=None):
        self.name, self.code, self.constant = name, CODES[name], constant
        self.margins, self.similarity = margins, similarity

    def __repr__(self):
        return f"CompiledLoss({self.name!r}, {self.constant!r})"

    def value(self, double y, double p):
        """l(y, p)."""
        return core.loss_value(self.code, self.constant, y, p)

    def grad(self, double y, double p):
        """Derivative in p."""
        return core.loss_grad(self.code, self.constant, y, p)

    def second(self, double y, double p):
        """Second derivative in p."""
        return core.loss_second(self.code, self.constant, y, p)

    def implicit(self, double y, double p, double s, double c):
        """argmin_a s/2 a^2 + c l(p + s a)."""
        return core.loss_implicit(self.code, self.constant, y, p, s, c)

    def multi_value(self, long y, object p):
        """L(y, p) of one score vector."""
        cdef cnp.ndarray v = _vector(p)
        cdef int K = <int> cnp.PyArray_DIM(v, 0)
        return core.multi_value(self.code, _table(self.margins, K), K, _label(y, K),
                                <const double*> cnp.PyArray_DATA(v))

    def multi_grad(self, long y, object p):
        """A fresh (K,) subgradient."""
        cdef cnp.ndarray v = _vector(p)
        cdef cnp.npy_intp K = cnp.PyArray_DIM(v, 0)
        cdef cnp.ndarray g = cnp.PyArray_EMPTY(1, &K, cnp.NPY_FLOAT64, 0)
        core.multi_grad(self.code, _table(self.margins, <int> K), <int> K, _label(y, <int> K),
                        <const double*> cnp.PyArray_DATA(v), <double*> cnp.PyArray_DATA(g))
        return g

    def multi_implicit(self, str rule, long y, object p, object scores, double s, double c):
        """A fresh (K,) implicit step; `scores` (None: p) choose the rival of the rule "runner_up"."""
        cdef cnp.ndarray v = _vector(p)
        cdef cnp.ndarray f = v if scores is None else _vector(scores)
        cdef cnp.npy_intp K = cnp.PyArray_DIM(v, 0)
        if cnp.PyArray_DIM(f, 0) != K:
            raise ValueError(f"scores has {cnp.PyArray_DIM(f, 0)} numbers, p has {K}")
        cdef const double* margins = _table(self.margins, <int> K)
        cdef const double* similarity = _table(self.similarity, <int> K)
        cdef int label = _label(y, <int> K), step = RULES[rule]
        cdef cnp.ndarray alpha = cnp.PyArray_EMPTY(1, &K, cnp.NPY_FLOAT64, 0)
        cdef double* work = <double*> malloc(<size_t> K * sizeof(double))
        if work == NULL:
            raise MemoryError()
        core.multi_implicit(self.code, step, margins, similarity, <int> K, label, <const double*> cnp.PyArray_DATA(v),
                            <const double*> cnp.PyArray_DATA(f), s, c, work, <double*> cnp.PyArray_DATA(alpha))
        free(work)
        return alpha


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


cdef class OutputLoss:
    """A loss of K outputs as compiled rounds ask it. One whose `compiled` is None is asked in Python, row by row.

    `rule` is that of the implicit step of several classes; None is "exact", or "runner_up" where labels have
    similarities M: the joint kernel is then k(x, x') M[y, y'], and what moves one label moves those like it (`mix`).
    """

    def __init__(self, object loss, Py_ssize_t K, object rule=None):
        margins, similarity, work = loss.label_margins, loss.label_similarity, np.zeros(K)
        self.loss, self.form, self.K = loss, loss.compiled, K
        self.multiclass, self.columns = loss.multiclass, 1 if loss.multiclass else K
        self.signs = loss.labels == "sign"
        if self.form is not None:
            self.code, self.constant = self.form.code, self.form.constant
        self.rule = RULES[rule or ("exact" if similarity is None else "runner_up")]
        self.margins = clean(margins, K, K) if margins is not None else NULL
        self.similarity = clean(similarity, K, K) if similarity is not None else NULL
        self.work = <double*> clean(work, -1, K)
        self._arrays = (margins, similarity, work)

    cdef int check(self, const double* y, Py_ssize_t n) except -1:
        """Class numbers are used as indices: refuse one that has no output, before anything changes."""
        cdef Py_ssize_t i
        if self.multiclass:
            for i in range(n):
                if not 0 <= y[i] < self.K:
                    raise ValueError(f"y must be a class number below {self.K}, got {y[i]:g}")
        return 0

    cdef void mix(self, double* v) noexcept nogil:
        """v <- M v: the scores of raw outputs, or what coefficients do to the scores."""
        core.multi_mix(self.similarity, <int> self.K, v, self.work)

    cdef double value(self, double y, double p) except? -1e300 nogil:
        """l(y, p) of one output."""
        if self.form is None:
            with gil:
                return self.loss.value(y, p)
        return core.loss_value(self.code, self.constant, y, p)

    cdef double slope(self, double y, double p) except? -1e300 nogil:
        """l'(y, p) of one output."""
        if self.form is None:
            with gil:
                return self.loss.grad(y, p)
        return core.loss_grad(self.code, self.constant, y, p)

    cdef int gradient(self, const double* y, const double* p, double* g) except -1 nogil:
        """g (K) <- l'(y, p)."""
        cdef Py_ssize_t c
        if self.form is None:
            with gil:
                _fill(g, self.loss.grad(int(y[0]), _numbers(p, self.K)) if self.multiclass
                      else [self.loss.grad(y[c], p[c]) for c in range(self.K)], self.K)
        elif self.multiclass:
            core.multi_grad(self.code, self.margins, <int> self.K, <int> y[0], p, g)
        else:
            for c in range(self.K):
                g[c] = core.loss_grad(self.code, self.constant, y[c], p[c])
        return 0

    cdef int curved(self, const double* y, const double* p, const double* g, const double* v,
                    double* Hv) except -1 nogil:
        """Hv (K) <- l''(y, p) v, given g = l'(y, p)."""
        cdef Py_ssize_t c
        cdef double mean = 0
        if self.form is None:
            with gil:
                _fill(Hv, self.loss.second(int(y[0]), _numbers(p, self.K)) @ _numbers(v, self.K) if self.multiclass
                      else [self.loss.second(y[c], p[c]) * v[c] for c in range(self.K)], self.K)
        elif not self.multiclass:
            for c in range(self.K):
                Hv[c] = core.loss_second(self.code, self.constant, y[c], p[c]) * v[c]
        elif self.code == core.LOSS_SOFTMAX:       # H = diag(pi) - pi pi', and g = pi - e_y
            for c in range(self.K):
                Hv[c] = g[c] + (1 if c == <Py_ssize_t> y[0] else 0)
                mean += Hv[c] * v[c]
            for c in range(self.K):
                Hv[c] *= v[c] - mean
        else:
            for c in range(self.K):
                Hv[c] = 0
        return 0

    cdef int implicit(self, const double* y, const double* p, const double* scores, double s, double c,
                      double* alpha) except -1 nogil:
        """alpha (K) <- argmin_a s/2 |a|^2 + c l(y, p + s a); `scores` (NULL: p) choose the rival of "runner_up"."""
        cdef Py_ssize_t i
        if not (s > 0 and c > 0):
            for i in range(self.K):
                alpha[i] = 0
        elif self.form is None:
            with gil:
                _fill(alpha, self.loss.implicit(int(y[0]), _numbers(p, self.K), s, c) if self.multiclass
                      else [self.loss.implicit(y[i], p[i], s, c) for i in range(self.K)], self.K)
        elif self.multiclass:
            core.multi_implicit(self.code, self.rule, self.margins, self.similarity, <int> self.K, <int> y[0], p,
                                scores, s, c, self.work, alpha)
        else:
            for i in range(self.K):
                alpha[i] = core.loss_implicit(self.code, self.constant, y[i], p[i], s, c)
        return 0


cdef object _numbers(const double* p, Py_ssize_t K):
    return np.array([p[c] for c in range(K)])


cdef int _fill(double* out, object values, Py_ssize_t K) except -1:
    cdef Py_ssize_t c
    for c in range(K):
        out[c] = values[c]
    return 0
