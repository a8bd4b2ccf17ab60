"""Several learners of one target each on the same rows, held as one learner where that gives the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from nystream.learners.base import Learner
from nystream.runtime.params import Params, at_least
from nystream.runtime.types import Array

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
        return self.width > 1 and self.learner.separable

    def jobs(self, X: Array, Y: Array, weights: Array | None) -> list[Callable[[], Array]]:
        """What learns a block, one job for each learner: they share nothing that they change. Inputs are clean.

        The jobs return, side by side, predictions (n, width), each made before its row of Y (n, width) was read.
        """
        if not self._together:
            return [partial(m.run_clean, X, _column(Y, k), weights) for k, m in enumerate(self.learners_)]
        return [partial(self.learners_[0].run_clean, X, np.ascontiguousarray(Y), weights)]

    def step(self, x: Array, y: Array, weight: float) -> Array:
        """`run` on one row: (width,)."""
        if not self._together:
            return np.array([m.step(x, target, weight) for m, target in zip(self.learners_, y.tolist(), strict=True)])
        return self.learners_[0].step_clean(x, np.ascontiguousarray(y), weight)

    def predict(self, X: Array, ahead: int | None = 1) -> Array:
        """(n, width), pure; `ahead` as in `Learner.predict`."""
        if not self.started:
            return np.zeros((len(X), self.width))
        return self.gathered(lambda learner: learner.predict_clean(X, ahead))

    def gathered(self, ask: Callable[[Learner], Array]) -> Array:
        """(n, width) from what the learners answer, each (n, its outputs) or, with one output, (n,)."""
        answers = [ask(learner) for learner in self.learners_]
        return np.hstack([a[:, None] if a.ndim == 1 else a for a in answers])


def _column(Y: Array, k: int) -> Array:
    return np.ascontiguousarray(Y[:, k : k + 1])
