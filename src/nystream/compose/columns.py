"""Several learners of one target each, held as one learner if that gives the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from nystream.learners.base import Learner
from nystream.runtime.params import Params, at_least
from nystream.runtime.types import Array

__all__ = ["Columns"]


class Columns(Params):
    """A group of `width` clones of a learner, each with its own column of targets.

    A `separable` learner (its map depends on inputs only, and each output has its own weights) is held once, with
    `width` outputs: one map instead of `width` equal ones, and the same bits.

    Parameters
    ----------
    learner : Learner
        A learner of one output. It is cloned and never trained itself.
    width : int
    """

    learners_: list[Learner]

    def __init__(self, learner: Learner, width: int) -> None:
        self.learner = learner
        self.width = at_least("width", width, 1)

    def start(self) -> None:
        """Start with untrained learners."""
        self.learners_ = [self.learner.clone() for _ in range(1 if self._together else self.width)]

    @property
    def started(self) -> bool:
        """Whether a row was learnt."""
        return self.learners_[0].d_ > 0

    @property
    def _together(self) -> bool:
        return self.width > 1 and self.learner.separable

    def jobs(self, X: Array, Y: Array, weights: Array | None) -> list[Callable[[], Array]]:
        """Return jobs that learn a block, one for each learner, without shared state. Inputs are clean.

        Together they return predictions (n, width), each made before its row of Y (n, width).
        """
        if not self._together:
            return [partial(m.run_clean, X, _column(Y, k), weights) for k, m in enumerate(self.learners_)]
        return [partial(self.learners_[0].run_clean, X, np.ascontiguousarray(Y), weights)]

    def step(self, x: Array, y: Array, weight: float) -> Array:
        """Do `run` for one row. Return (width,)."""
        if not self._together:
            return np.array([m.step(x, target, weight) for m, target in zip(self.learners_, y.tolist(), strict=True)])
        return self.learners_[0].step_clean(x, np.ascontiguousarray(y), weight)

    def predict(self, X: Array, ahead: int | None = 1) -> Array:
        """Return predictions (n, width) without learning; `ahead` as in `Learner.predict`."""
        if not self.started:
            return np.zeros((len(X), self.width))
        return self.gathered(lambda learner: learner.predict_clean(X, ahead))

    def gathered(self, ask: Callable[[Learner], Array]) -> Array:
        """Join the learners' results, each (n, its outputs) or (n,), to (n, width)."""
        answers = [ask(learner) for learner in self.learners_]
        return np.hstack([a[:, None] if a.ndim == 1 else a for a in answers])


def _column(Y: Array, k: int) -> Array:
    return np.ascontiguousarray(Y[:, k : k + 1])
