"""Several learners of one target each on the same rows, held as one learner where that gives the same numbers."""

from __future__ import annotations

import numpy as np

from nystream.learners.base import Learner
from nystream.params import Params, at_least
from nystream.types import Array

__all__ = ["Columns"]


class Columns(Params):
    """`width` clones of a learner, each with its own column of targets.

    A learner that is `separable` (a map that follows inputs alone, and one column of weights for each output) is held
    once, with `width` outputs: one map instead of `width` equal ones, and the same bits.

    Parameters
    ----------
    learner : Learner
        The pattern, of one output: never trained itself, always cloned.
    width : int
    """

    learners_: list[Learner]

    def __init__(self, learner: Learner, width: int) -> None:
        self.learner = learner
        self.width = at_least("width", width, 1)

    def start(self) -> None:
        """Learners that have learnt nothing."""
        self.learners_ = [self.learner.clone() for _ in range(1 if self._together else self.width)]

    @property
    def started(self) -> bool:
        """Whether there was an example."""
        return self.learners_[0].d_ > 0

    @property
    def _together(self) -> bool:
        return self.width > 1 and bool(getattr(self.learner, "separable", False))

    def run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        """Predictions (n, width), each made before its row of Y (n, width) was read; and learn. Inputs are clean."""
        if not self._together:
            return np.column_stack([m.run(X, Y[:, k], weights) for k, m in enumerate(self.learners_)])
        learner = self._reserved(X.shape[1])
        learner._check_weights(weights)
        P = learner._run(X, np.ascontiguousarray(Y), weights)
        learner.n_seen_ += len(X)
        return P

    def step(self, x: Array, y: Array, weight: float) -> Array:
        """`run` on one row: (width,)."""
        if not self._together:
            return np.array([m.step(x, target, weight) for m, target in zip(self.learners_, y, strict=True)])
        learner = self._reserved(len(x))
        p = learner._step(x, np.ascontiguousarray(y), weight)
        learner.n_seen_ += 1
        return p

    def predict(self, X: Array) -> Array:
        """(n, width), pure."""
        if not self._together:
            return np.column_stack([m.predict(X) for m in self.learners_])
        return self.learners_[0]._predict(X) if self.started else np.zeros((len(X), self.width))

    def _reserved(self, d: int) -> Learner:
        learner = self.learners_[0]
        if not learner.d_:
            learner.reserve(d, self.width)
        return learner
