# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One row through the compiled rounds of several learners on compiled maps: one call for all of them."""
import numpy as np

cimport numpy as cnp
from cpython.dict cimport PyDict_GetItem
from cpython.ref cimport PyObject
from libc.math cimport fabs

from nystream._core.one_row cimport OneRow, RowMap, clean_number, clean_row

cnp.import_array()


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
