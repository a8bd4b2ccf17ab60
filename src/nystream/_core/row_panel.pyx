# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One row through the compiled rounds of several learners on compiled maps: one call for all of them."""
import numpy as np

cimport numpy as cnp
from libc.math cimport fabs

from nystream._core.one_row cimport OneRow, RowMap, clean_number, clean_row

cnp.import_array()


cdef class RowPanel:
    """Started learners of one output, each a map (`features_`) and a solver (`solver_`) whose `engine` are compiled.

    groups are positions of those with equal maps, whose features are made once; told, for each, the map that wants to
    `note` its rows, or None. Subclasses write `mixed`.
    """

    def __init__(self, list learners, list groups, list told):
        self.n = len(learners)
        self.solvers = [learner.solver_ for learner in learners]
        self.engines = [solver.engine for solver in self.solvers]
        self.states = [learner.__dict__ for learner in learners]   # the shortest way to what they hold
        self.parts = [solver.__dict__ for solver in self.solvers]
        self.maps = [learners[group[0]].features_.engine for group in groups]
        self.told, self.counted = told, ["t_" in part for part in self.parts]
        self.held = [np.empty((<RowMap?> map).features()) for map in self.maps]
        self.group = np.full(self.n, -1, dtype=np.intp)
        self.answers = np.empty(self.n)
        self.q = <double*> cnp.PyArray_DATA(self.answers)
        for number, group in enumerate(groups):
            for i in group:
                self.group[i] = number
                if not isinstance(self.engines[i], OneRow):
                    raise TypeError(f"learner {i} has no compiled rounds")
        if self.n < 1 or self.group.min() < 0 or len(told) != self.n:
            raise ValueError("every learner must be in a group")

    cdef bint ready(self):
        """Whether the learners still are what they were: one may have been given new arrays, or outputs."""
        cdef Py_ssize_t i
        cdef const Py_ssize_t* group = <const Py_ssize_t*> cnp.PyArray_DATA(self.group)
        cdef OneRow engine
        cdef RowMap map
        for i in range(self.n):
            engine, map = <OneRow> self.engines[i], <RowMap> self.maps[group[i]]
            if ((<dict> self.states[i])["solver_"] is not self.solvers[i]
                    or (<dict> self.parts[i])["engine"] is not engine
                    or engine.accepts() != map.features() or engine.bytes() != map.bytes() or engine.signs):
                return False
        return True

    cdef double mixed(self, double y) noexcept:
        """One answer from those in q; then learn from the label."""
        return 0

    def one_row(self, object x, object y, double largest):
        """A round of every learner -> what is made of their answers; None, and nothing done, where x or y is not a
        clean row or a plain number, or y is beyond `largest`."""
        cdef double label = 0
        cdef long long t = 0
        cdef Py_ssize_t i
        cdef dict state
        cdef object seen, before = None, after = None
        cdef const Py_ssize_t* group = <const Py_ssize_t*> cnp.PyArray_DATA(self.group)
        cdef const double* row = clean_row(x, (<RowMap> self.maps[0]).d)
        if (row == NULL or not clean_number(y, False, &label) or not fabs(label) <= largest
                or not self.ready()):
            return None
        for i in range(len(self.maps)):
            if (<RowMap> self.maps[i]).d != (<RowMap> self.maps[0]).d or (<RowMap> self.maps[i]).fill(
                    1, row, cnp.PyArray_DATA(<cnp.ndarray> self.held[i])):
                return None
        for i in range(self.n):
            t = (<dict> self.parts[i])["t_"] + 1 if self.counted[i] else 0
            (<OneRow> self.engines[i]).one(cnp.PyArray_DATA(<cnp.ndarray> self.held[group[i]]), label, t, self.q + i)
            if t:
                (<dict> self.parts[i])["t_"] = t
            state = <dict> self.states[i]
            seen = state["n_seen_"]
            if seen is not before:      # they count alike: one number for all of them
                before, after = seen, seen + 1
            state["n_seen_"] = after
            if self.told[i] is not None:
                self.told[i].note(x)
        return self.mixed(label)
