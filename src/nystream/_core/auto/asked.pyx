# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One row for all experts of a bank: what their `run` does, without the interpreter between the compiled parts."""
cimport numpy as cnp
from libc.math cimport pow
from libc.string cimport memcpy

from nystream._core.auto.arrays cimport array
from nystream._core.auto.smoother cimport one_round
from nystream._core.auto.views cimport seen
from nystream._core.auto.waiting cimport keep
from nystream._core.kernel_rows cimport KernelRows
from nystream._core.linalg.ldl cimport LDL, RELEASE
from nystream._core.linalg.linear_kernel cimport clean

cnp.import_array()


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
        cdef KernelRows kernel = self.expert._kernel
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
    """Least squares on kernel values that learns every row: `_kernel`, `points_` and one of `solvers_`."""

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
        cdef KernelRows kernel = self.expert._kernel
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
