# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Rows of kernel values, and the prediction of one row from them."""
import numpy as np
cimport numpy as cnp
from cpython.dict cimport PyDict_GetItem
from cpython.ref cimport PyObject
from libc.float cimport FLT_MAX, FLT_MIN
from libc.math cimport copysign, fabs

from nystream._core.inputs cimport OneRow, RowMap, clean_number, clean_row

cnp.import_array()

# ----------------------------------------------------------------------------------------------------------------------
# Blocks and rows of the built-in kernels: a sum over columns for every pair of rows, then a function of that sum.
# ----------------------------------------------------------------------------------------------------------------------
cdef extern from "pairs_kernel.h" nogil:
    enum:
        PAIRS_DOT
        PAIRS_SQUARED
        PAIRS_ABSOLUTE
    ctypedef void (*pairs_finish)(void*, Py_ssize_t, const void*) noexcept nogil
    ctypedef struct pairs_ops:
        const char* name
    pairs_ops pairs_pick()
    pairs_ops pairs_single_pick()
    void pairs_block(const pairs_ops*, int, const void*, Py_ssize_t, const void*, Py_ssize_t, Py_ssize_t, double*,
                     Py_ssize_t, pairs_finish, const void*)

cdef extern from "exp_kernel.h" nogil:
    ctypedef struct exp_ops:
        void (*exp)(void*, Py_ssize_t, double) noexcept nogil
        void (*matern12)(void*, Py_ssize_t, double) noexcept nogil
        void (*matern32)(void*, Py_ssize_t, double) noexcept nogil
        void (*matern52)(void*, Py_ssize_t, double) noexcept nogil
        void (*power)(void*, Py_ssize_t, double, double, int) noexcept nogil
    exp_ops exp_pick()
    exp_ops exp_single_pick()

cdef pairs_ops PAIRS = pairs_pick(), SINGLE_PAIRS = pairs_single_pick()
cdef exp_ops EXPS = exp_pick(), SINGLE_EXPS = exp_single_pick()
cdef enum: AS_IS, EXP, MATERN12, MATERN32, MATERN52, POWER

_FORMS = {
    "linear": (PAIRS_DOT, AS_IS),
    "polynomial": (PAIRS_DOT, POWER),
    "squared": (PAIRS_SQUARED, AS_IS),
    "absolute": (PAIRS_ABSOLUTE, AS_IS),
    "gaussian": (PAIRS_SQUARED, EXP),
    "laplacian": (PAIRS_ABSOLUTE, EXP),
    "matern12": (PAIRS_SQUARED, MATERN12),
    "matern32": (PAIRS_SQUARED, MATERN32),
    "matern52": (PAIRS_SQUARED, MATERN52),
}
cdef Py_ssize_t WORTH_RELEASING = 1 << 16   # multiplications; below, giving up the interpreter's lock costs more


cdef struct Finish:
    const exp_ops* ops
    int map
    int degree
    double a
    double b


cdef void finish(void* v, Py_ssize_t n, const void* how) noexcept nogil:
    cdef const Finish* f = <const Finish*> how
    if f.map == EXP:
        f.ops.exp(v, n, f.a)
    elif f.map == MATERN12:
        f.ops.matern12(v, n, f.a)
    elif f.map == MATERN32:
        f.ops.matern32(v, n, f.a)
    elif f.map == MATERN52:
        f.ops.matern52(v, n, f.a)
    else:
        f.ops.power(v, n, f.a, f.b, f.degree)


cdef class KernelRows:
    """One kernel with its numbers filled in.

    `form` and its function of t = <x, y>, |x - y|^2 or |x - y|_1: linear t; polynomial (a t + b)^degree; gaussian and
    laplacian exp(a t), a < 0; matern12, 32, 52 of u = a sqrt(t). No kernels but distances: squared |x - y|^2,
    absolute |x - y|_1.
    The value of a pair does not depend on the rows that are computed with it: blocks, rows and transposed blocks agree
    bit for bit. With `single`, rows are rounded to float32, values are calculated in it and then widened.
    """

    def __init__(self, str form, double a=1.0, double b=0.0, int degree=1):
        self._op, self._map = _FORMS[form]
        self._a, self._b, self._degree = a, b, degree
        # of a rate, the nearest that is finite and not 0
        self._narrow = a if self._map == POWER else copysign(min(max(fabs(a), FLT_MIN), FLT_MAX), a)

    cdef void fill(self, const double* X, Py_ssize_t n, const double* Y, Py_ssize_t m, Py_ssize_t d, double* out,
                   Py_ssize_t ldo) noexcept nogil:
        """Values between the n rows of X and the m rows of Y, d columns each, to rows of `out` that are ldo apart."""
        cdef Finish how = Finish(&EXPS, self._map, self._degree, self._a, self._b)
        pairs_block(&PAIRS, self._op, X, n, Y, m, d, out, ldo, NULL if self._map == AS_IS else &finish, &how)

    cdef void fill_single(self, const float* X, Py_ssize_t n, const float* Y, Py_ssize_t m, Py_ssize_t d, double* out,
                          Py_ssize_t ldo) noexcept nogil:
        """The same in single precision, for rows that are in it."""
        cdef Finish how = Finish(&SINGLE_EXPS, self._map, self._degree, self._narrow, self._b)
        pairs_block(&SINGLE_PAIRS, self._op, X, n, Y, m, d, out, ldo, NULL if self._map == AS_IS else &finish, &how)

    cdef bint of_distance(self) noexcept nogil:
        """Whether the kernel is a function of |x - y|^2: `apply` makes its values from those of the form "squared"."""
        return self._op == PAIRS_SQUARED

    cdef void apply(self, double* v, Py_ssize_t n) noexcept nogil:
        """n sums over columns to values, in place: `fill` is sums, then this, and gives the same bits."""
        cdef Finish how = Finish(&EXPS, self._map, self._degree, self._a, self._b)
        if self._map != AS_IS:
            finish(v, n, &how)

    def block(self, X, Y, *, bint single=False):
        """(n, m) values between the rows of X (n, d) and of Y (m, d)."""
        cdef cnp.ndarray A = clean(X, 2, "X", single), B = clean(Y, 2, "Y", single)
        cdef cnp.npy_intp[2] shape
        cdef cnp.npy_intp d = cnp.PyArray_DIM(A, 1)
        if cnp.PyArray_DIM(B, 1) != d:
            raise ValueError(f"X has {d} columns and Y has {cnp.PyArray_DIM(B, 1)}; rows must be equally long")
        shape[0], shape[1] = cnp.PyArray_DIM(A, 0), cnp.PyArray_DIM(B, 0)
        return filled(self, A, shape[0], B, shape[1], d, cnp.PyArray_EMPTY(2, shape, cnp.NPY_FLOAT64, 0))

    def row(self, X, x):
        """(m,) values between every row of X (m, d) and x (d,)."""
        cdef cnp.ndarray A = clean(X, 2, "X", False), b = clean(x, 1, "x", False)
        cdef cnp.npy_intp m = cnp.PyArray_DIM(A, 0), d = cnp.PyArray_DIM(A, 1)
        if cnp.PyArray_DIM(b, 0) != d:
            raise ValueError(f"X has {d} columns and x has {cnp.PyArray_DIM(b, 0)}; rows must be equally long")
        return filled(self, b, 1, A, m, d, cnp.PyArray_EMPTY(1, &m, cnp.NPY_FLOAT64, 0))

    def diag(self, X, *, bint single=False):
        """(n,) values between every row of X and itself, as `block(X, X)` has them on its diagonal."""
        cdef cnp.ndarray A = clean(X, 2, "X", single)
        cdef cnp.npy_intp n = cnp.PyArray_DIM(A, 0), d = cnp.PyArray_DIM(A, 1), i
        cdef cnp.ndarray out = cnp.PyArray_EMPTY(1, &n, cnp.NPY_FLOAT64, 0)
        cdef const void* a = cnp.PyArray_DATA(A)
        cdef double* o = <double*> cnp.PyArray_DATA(out)
        with nogil:
            for i in range(n):
                if single:
                    self.fill_single(<const float*> a + i*d, 1, <const float*> a + i*d, 1, d, o + i, 1)
                else:
                    self.fill(<const double*> a + i*d, 1, <const double*> a + i*d, 1, d, o + i, 1)
        return out


cdef cnp.ndarray filled(KernelRows form, cnp.ndarray X, Py_ssize_t n, cnp.ndarray Y, Py_ssize_t m, Py_ssize_t d,
                        cnp.ndarray out):
    """Values between rows that are both of double or both of float."""
    cdef const void* x = cnp.PyArray_DATA(X)
    cdef const void* y = cnp.PyArray_DATA(Y)
    cdef double* o = <double*> cnp.PyArray_DATA(out)
    cdef bint single = cnp.PyArray_TYPE(X) == cnp.NPY_FLOAT32
    if n*m*d < WORTH_RELEASING:
        fill_either(form, single, x, n, y, m, d, o)
    else:
        with nogil:
            fill_either(form, single, x, n, y, m, d, o)
    return out


cdef void fill_either(KernelRows form, bint single, const void* x, Py_ssize_t n, const void* y, Py_ssize_t m,
                      Py_ssize_t d, double* out) noexcept nogil:
    if single:
        form.fill_single(<const float*> x, n, <const float*> y, m, d, out, m)
    else:
        form.fill(<const double*> x, n, <const double*> y, m, d, out, m)


cdef cnp.ndarray clean(object value, int ndim, str name, bint single):
    """C-ordered float64, or float32, of the wanted dimension; a copy only where the input is not that already."""
    cdef cnp.ndarray a
    cdef int kind = cnp.NPY_FLOAT32 if single else cnp.NPY_FLOAT64
    if isinstance(value, cnp.ndarray):
        a = <cnp.ndarray> value
        if (cnp.PyArray_TYPE(a) == kind and cnp.PyArray_NDIM(a) == ndim and cnp.PyArray_IS_C_CONTIGUOUS(a)
                and cnp.PyArray_ISBEHAVED_RO(a)):
            return a
    a = np.ascontiguousarray(value, dtype=np.float64)
    if cnp.PyArray_NDIM(a) != ndim:
        wanted = "two-dimensional (rows, columns)" if ndim == 2 else "one row"
        raise ValueError(f"{name} must be {wanted}, got shape {(<object> a).shape}")
    return rounded(a) if single else a


def rounded(numbers):
    """float32 of numbers; those beyond its range become its largest, so that differences are no NaN."""
    cdef cnp.ndarray a = np.ascontiguousarray(numbers, dtype=np.float64)
    cdef cnp.ndarray out = cnp.PyArray_EMPTY(cnp.PyArray_NDIM(a), cnp.PyArray_DIMS(a), cnp.NPY_FLOAT32, 0)
    narrow(<const double*> cnp.PyArray_DATA(a), cnp.PyArray_SIZE(a), <float*> cnp.PyArray_DATA(out))
    return out


def exp(v):
    """exp of every element, (n,): the vector exponential behind the kernels, for tests."""
    cdef cnp.ndarray out = np.array(v, dtype=np.float64, order="C")
    cdef double* o = <double*> cnp.PyArray_DATA(out)
    cdef Py_ssize_t n = cnp.PyArray_SIZE(out)
    with nogil:
        EXPS.exp(o, n, 1.0)
    return out


def isa():
    """The instruction set in use: "plain", "base", "avx2" or "avx512"."""
    return PAIRS.name.decode()


# ----------------------------------------------------------------------------------------------------------------------
# One row through the compiled rounds of several learners on compiled maps: one call for all of them.
# ----------------------------------------------------------------------------------------------------------------------
cdef class RowPanel:
    """Started learners of one output, each a map (`features_`) and a solver (`solver_`) whose `engine` are compiled.

    groups are positions of those with equal maps, whose features are made once; told, for each, the map that wants to
    `note` its rows, or None. Subclasses write `mixed`.
    """

    def __init__(self, list learners, list groups, list told):
        cdef Py_ssize_t i, number
        cdef OneRow engine
        cdef RowMap map
        self.n = len(learners)
        if self.n < 1 or sorted(i for group in groups for i in group) != list(range(self.n)) or len(told) != self.n:
            raise ValueError("every learner must be in a group")
        self.maps = [learners[group[0]].features_.engine for group in groups]
        self.held = [np.empty((<RowMap?> map).features()) for map in self.maps]
        self.members, self.answers = np.zeros(self.n*sizeof(Member), dtype=np.uint8), np.empty(self.n)
        self.member = <Member*> cnp.PyArray_DATA(<cnp.ndarray> self.members)
        self.q = <double*> cnp.PyArray_DATA(<cnp.ndarray> self.answers)
        self.kept, self.fits = [], True     # whatever a member points to
        for number, group in enumerate(groups):
            map = self.maps[number]
            self.fits &= map.d == (<RowMap> self.maps[0]).d
            for i in group:
                solver = learners[i].solver_
                engine = solver.engine
                self.fits &= engine.accepts() == map.features() and engine.bytes() == map.bytes() and not engine.signs
                self.hold(i, learners[i].__dict__, solver, engine, told[i])
                self.member[i].z = cnp.PyArray_DATA(<cnp.ndarray> self.held[number])

    cdef int hold(self, Py_ssize_t i, dict state, object solver, OneRow engine, object told) except -1:
        cdef Member* member = self.member + i
        cdef dict part = solver.__dict__
        self.kept.append((state, solver, part, engine, told))
        member.state, member.solver, member.part = <PyObject*> state, <PyObject*> solver, <PyObject*> part
        member.engine, member.told, member.counted = <PyObject*> engine, <PyObject*> told, "t_" in part
        return 0

    cdef bint ready(self):
        """Whether the learners still are what they were: one may have been given new arrays, or outputs."""
        cdef Py_ssize_t i
        cdef Member* member = self.member
        for i in range(self.n):
            if (PyDict_GetItem(<object> member[i].state, "solver_") != member[i].solver
                    or PyDict_GetItem(<object> member[i].part, "engine") != member[i].engine):
                return False
        return self.fits

    cdef double mixed(self, double y) noexcept:
        """One answer from those in q; then learn from the label."""
        return 0

    def one_row(self, object x, object y, double largest):
        """A round of every learner -> what is made of their answers; None, and nothing done, where x or y is not a
        clean row or a plain number, or y is beyond `largest`."""
        cdef double label = 0
        cdef long long t = 0
        cdef Py_ssize_t i
        cdef Member* member = self.member
        cdef object seen, before = None, after = None
        cdef const double* row = clean_row(x, (<RowMap> self.maps[0]).d)
        if row == NULL or not clean_number(y, False, &label) or not fabs(label) <= largest or not self.ready():
            return None
        for i in range(len(self.maps)):
            if (<RowMap> self.maps[i]).fill(1, row, cnp.PyArray_DATA(<cnp.ndarray> self.held[i])):
                return None
        for i in range(self.n):
            t = (<dict> member[i].part)["t_"] + 1 if member[i].counted else 0
            (<OneRow> member[i].engine).one(member[i].z, label, t, self.q + i)
            if t:
                (<dict> member[i].part)["t_"] = t
            seen = (<dict> member[i].state)["n_seen_"]
            if seen is not before:      # they count alike: one number for all of them
                before, after = seen, seen + 1
            (<dict> member[i].state)["n_seen_"] = after
            if <object> member[i].told is not None:
                (<object> member[i].told).note(x)
        return self.mixed(label)
