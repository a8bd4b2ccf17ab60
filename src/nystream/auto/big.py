"""The large ridge of the automatic learner: learns several rows at a time, which share one pass over its factor."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from nystream._core.auto.experts import Asked, AskedWaiting, answered
from nystream._core.kernels import KernelRows
from nystream.auto.experts import BLOCK, Ridge
from nystream.runtime.types import Array
from nystream.solvers.awv import AWV

__all__ = ["Big"]

WORK, FEWEST = 64 * 1700**2, 8
"""Rows that are learnt at a time times squared landmarks, at most, some 8 ms; and rows at least."""
_LINEAR = KernelRows("linear")


class Big(Ridge):
    """Nystrom ridge that learns after every 32 rows, counted from its fit, and predicts by its weights until then.

    A factor of a thousand features is 4 MB, more than a core's cache holds: learning one row at a time, most of the
    time goes into reading and writing it. Rows that share a pass cost less, and a prediction is one dot
    product. What is given up is that a row counts up to 31 rows late. With very many landmarks groups are smaller, so
    that none is a long pause.
    """

    asked: ClassVar[type[Asked]] = AskedWaiting
    together: ClassVar[int] = 32
    """Rows that are learnt at a time, at most."""
    first: int = 32
    """Of those, rows that are learnt the first time: large experts take turns."""

    rows_: Array
    """Features, targets and weights of the rows that wait, (group, r + K + 1)."""
    filled_: int

    @classmethod
    def nbytes_for(cls, m: int, d: int, outputs: int, lams: int = 1) -> float:
        return Ridge.nbytes_for(m, d, outputs, lams) + 8.0 * m * (outputs + cls.group(m))

    @classmethod
    def group(cls, m: int) -> int:
        """Rows that m landmarks learn at a time: `together`, halved until it is no more work than WORK."""
        rows = cls.together
        while rows > FEWEST and rows * m * m > WORK:
            rows //= 2
        return rows

    @staticmethod
    def fit_nbytes(m: int, outputs: int) -> float:
        """Bytes that `fit` takes for a moment beside itself: one matrix, and a block of kernel rows."""
        return 8.0 * (m * m + 2 * BLOCK * m + 2 * m * outputs)

    def adopt(self, solvers: list[AWV]) -> None:
        """Go on from these: room for the rows that wait, and the first weights."""
        super().adopt(solvers)
        rows = self.group(self._dim - 1)
        self.rows_ = np.zeros((rows, self._dim + solvers[0].outputs_ + 1))
        self._settle()
        self.filled_ = rows - rows * self.first // self.together  # by rows of weight 0

    def predict(self, U: Array) -> Array:
        return _LINEAR.block(self._features(U), self.weights_)

    def freeze(self) -> None:
        self.solvers_, self.rows_ = [], np.empty((0, 0))

    def run_all(self, U: Array, Y: Array, w: Array | None) -> list[Array]:
        if not self.solvers_:
            return [self.predict(U)]
        P, row = np.empty(Y.shape), 0
        while row < len(U):  # up to the next time that rows are learnt
            waiting = (self.points_, self.weights_, self.rows_, self.filled_)
            taken = answered(self.kernel_rows, U, Y, w, row, *waiting, P)
            row, self.filled_ = row + taken, self.filled_ + taken
            if self.filled_ == len(self.rows_):
                self.learn()
        return [P]

    def learn(self) -> None:
        """The rows that wait."""
        r = self._dim
        parts = self.rows_[:, :r], self.rows_[:, r:-1], self.rows_[:, -1]
        self.solvers_[0].run(*(np.ascontiguousarray(part) for part in parts))
        self._settle()

    def shrink(self, m: int) -> None:
        if len(self.points_) > m and self.solvers_:
            r, waiting = self._dim, self.rows_[: self.filled_]
            parts = waiting[:, :r], waiting[:, r:-1], waiting[:, -1]
            if len(waiting):
                self.solvers_[0].run(*(np.ascontiguousarray(part) for part in parts))
            super().shrink(m)

    def add_outputs(self, combination: Array) -> None:
        super().add_outputs(combination)
        labels = self.rows_[:, self._dim : -1]
        self.rows_ = np.hstack([self.rows_[:, :-1], labels @ combination, self.rows_[:, -1:]])
        self.weights_ = np.vstack([self.weights_, combination.T @ self.weights_])

    @property
    def nbytes(self) -> int:
        return self.points_.nbytes + sum(s.nbytes for s in self.solvers_) + self.weights_.nbytes + self.rows_.nbytes

    @property
    def _dim(self) -> int:
        return len(self.points_) + 1

    def _settle(self) -> None:
        """Predict by all that was learnt from now on."""
        self.weights_ = self._solution(self.solvers_[0])
        self.filled_ = 0
