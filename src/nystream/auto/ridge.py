"""The ridges of the automatic learner: they learn several rows at a time, which share one pass over the factor."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from nystream._core.auto.waiting import answered
from nystream._core.kernel_rows import KernelRows
from nystream._core.linalg.back import solution
from nystream.auto.experts import BLOCK, SEEN, Landmarked
from nystream.auto.view import View
from nystream.solvers.awv import AWV
from nystream.types import Array
from nystream.work import Work

__all__ = ["Big", "Ridge", "copied"]

ROUNDING = (0.0, 1e-13, 1e-10, 1e-7)
"""Parts of the trace that are tried as a further ridge where weights are so large that A is not."""
_LINEAR = KernelRows("linear")
_UNWEIGHTED = np.empty(0)


class Ridge(Landmarked):
    """Nystrom ridge, no forgetting; several ridges may share the landmarks.

    The features are raw kernel values and the penalty is lam K_mm: the same function as with whitened features and
    lam I, without a triangular solve for every row.

    With `first` it learns `together` rows at a time, and predicts by its weights until then. The factor of 300 features
    is 360 KB, that of a thousand 4 MB: learning one row at a time, most of the time goes into reading and writing it.
    Rows that share a pass cost a fraction, and a prediction is one dot product. What is given up is that a row counts up
    to `together` - 1 rows late.

    Parameters
    ----------
    m : int
        Landmarks.
    factor : float, default 1.0
        Width over the median distance.
    lams : tuple of float
        Ridges that share the landmarks.
    first : int, default 0
        Rows that are learnt the first time, at most `together`, so that experts take turns; 0: every row at once.
    """

    together: ClassVar[int] = 16
    """Rows that are learnt at a time."""

    solvers_: list[AWV]
    """Empty while it is frozen."""
    weights_: Array
    """(K, r) while it is frozen; of every ridge, one below the other, where rows wait."""
    rows_: Array = np.empty((0, 0))
    """Features, targets and weights of the rows that wait, (together, r + K + 1)."""
    filled_: int

    def __init__(self, m: int, factor: float = 1.0, lams: tuple[float, ...] = (0.01,), first: int = 0) -> None:
        self.m = m
        self.factor = factor
        self.lams = lams
        self.first = first

    @property
    def title(self) -> str:
        return f"kernel, {self.m:,} landmarks"

    @classmethod
    def nbytes_for(cls, m: int, d: int, outputs: int, lams: int = 1) -> float:
        return 8.0 * m * (d + lams * outputs + cls.together) + lams * AWV.nbytes_for(m, outputs)

    @staticmethod
    def fit_nbytes(m: int, outputs: int) -> float:
        """Bytes that `fit` takes for a moment beside itself: one matrix, and a block of kernel rows."""
        return 8.0 * (m * m + 2 * BLOCK * m + 2 * m * outputs)

    def fitting(self, view: View, X: Array, Y: Array, w: Array | None, rng: np.random.Generator) -> Work[None]:
        yield from self.placing(view, X, rng)
        if len(self.lams) == 1:  # one matrix, factored where it stands
            solver = yield from self.solving(self.lams[0], lambda: self.summing(view, X, Y, w))
            self.adopt([solver])
            return
        G, b = yield from self.summing(view, X, Y, w)
        solvers = []
        for lam in self.lams:
            solver = yield from self.solving(lam, lambda: copied(G, b))
            solvers.append(solver)
        self.adopt(solvers)

    def adopt(self, solvers: list[AWV]) -> None:
        """Go on from these: where rows wait, with room for them and the first weights."""
        self.solvers_ = solvers
        if self.first:
            self.rows_ = np.zeros((self.together, self._dim + solvers[0].outputs_ + 1))
            self._settle()
            self.filled_ = self.together - self.first  # by rows of weight 0

    def solving(self, lam: float, sums: Callable[[], Work[tuple[Array, Array]]]) -> Work[AWV]:
        """Of Z'WZ and Z'WY, which are used up and asked for again where rounding wants more ridge."""
        for part in ROUNDING:
            A, b = yield from sums()
            yield from self._penalising(A, lam)
            A.flat[:: len(A) + 1] += part * float(np.trace(A))
            solver = AWV(lam, vovk=False)
            solver.start(len(A), b.shape[1])
            try:
                yield from solver.starting_from(A, b)
                break
            except ValueError:
                if part == ROUNDING[-1]:
                    raise
        return solver

    def freeze(self) -> None:
        if self.solvers_:
            first = self.solvers_[0]
            self.weights_ = self._solution(first) if not self.first else self.weights_[: first.outputs_].copy()
            self.solvers_, self.rows_ = [], np.empty((0, 0))

    def predict(self, U: Array) -> Array:
        """Of the first ridge."""
        Z, solvers = self._features(U), self.solvers_
        if solvers and not self.first:
            return solvers[0].predict(Z)
        return _LINEAR.block(Z, self.weights_[: solvers[0].outputs_] if solvers else self.weights_)

    def run(self, U: Array, Y: Array, w: Array | None) -> Array:
        """Of the first ridge; `run_all` gives all of them."""
        return self.run_all(U, Y, w)[0]

    def run_all(self, U: Array, Y: Array, w: Array | None) -> list[Array]:
        if not self.solvers_:
            return [self.predict(U)]
        if not self.first:
            Z = self._features(U)
            return [solver.run(Z, Y, w) for solver in self.solvers_]
        n, row, given, P = len(U), 0, _UNWEIGHTED if w is None else w, np.empty((len(U), len(self.weights_)))
        while row < n:  # up to the next time that rows are learnt
            rest = (self.points_, self.weights_, self.rows_, self.filled_, P)
            taken = answered(self._kernel, U, Y, given, row, *rest)
            row, self.filled_ = row + taken, self.filled_ + taken
            if self.filled_ == self.together:
                self._learn()
        K = Y.shape[1]
        return [P] if len(self.solvers_) == 1 else [P[:, i : i + K] for i in range(0, P.shape[1], K)]

    def _learn(self) -> None:
        """The rows that waited."""
        r = self._dim
        parts = self.rows_[:, :r], self.rows_[:, r:-1], self.rows_[:, -1]
        Z, Y, w = (np.ascontiguousarray(part) for part in parts)
        for solver in self.solvers_:
            solver.run(Z, Y, w)
        self._settle()

    def _settle(self) -> None:
        """Predict by all that was learnt from now on."""
        solutions = [self._solution(solver) for solver in self.solvers_]
        self.weights_ = solutions[0] if len(solutions) == 1 else np.vstack(solutions)
        self.filled_ = 0

    def add_outputs(self, combination: Array) -> None:
        for solver in self.solvers_:
            solver.add_outputs(combination)
        if len(self.rows_):
            labels = self.rows_[:, self._dim : -1]
            self.rows_ = np.hstack([self.rows_[:, :-1], labels @ combination, self.rows_[:, -1:]])
            old = len(combination)
            parts = [self.weights_[i : i + old] for i in range(0, len(self.weights_), old)]
            self.weights_ = np.vstack([new for W in parts for new in (W, combination.T @ W)])

    @property
    def nbytes(self) -> int:
        weights = self.weights_.nbytes if self.first or not self.solvers_ else 0
        return self.points_.nbytes + sum(solver.nbytes for solver in self.solvers_) + weights + self.rows_.nbytes

    @property
    def _dim(self) -> int:
        return len(self.points_) + 1

    @staticmethod
    def _solution(solver: AWV) -> Array:
        """(K, r) what features are multiplied by."""
        return solution(solver.tiles_, solver.q_, solver.dim_, solver.outputs_)


class Big(Ridge):
    """The large ridge, which learns 32 rows at a time."""

    together: ClassVar[int] = 32

    def __init__(self, m: int, factor: float = 1.0, lams: tuple[float, ...] = (0.01,), first: int = 32) -> None:
        super().__init__(m, factor, lams, first)


def copied(G: Array, b: Array) -> Work[tuple[Array, Array]]:
    """Sums that may be used up."""
    yield SEEN * G.size
    return G.copy(), b.copy()
