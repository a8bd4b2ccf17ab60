"""Any learner with the novelty loss as a river anomaly detector."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from nystream.compose.novelty import checked_novelty, default_novelty, margin
from nystream.learners.base import Learner
from nystream.river.columns import Features
from nystream.river.named import AnomalyDetector, Named, columns_for, frames

__all__ = ["KernelNovelty"]


class KernelNovelty(Named, AnomalyDetector):
    """Any nystream learner with the novelty loss as a river anomaly detector.

    The score is margin - f(x): positive where the learner does not yet know inputs like x, and at most the margin.
    The margin is 1 (the rho of the loss), or what `NORMA` adapts it to, given a share `nu` of rows that may violate it.
    Features may appear and vanish as in `KernelRegressor`. `learn_many` equals `learn_one` over its rows.

    Parameters
    ----------
    learner
        The algorithm, such as `SILK(Gaussian(1.0), loss="novelty")`; it is cloned, never changed. None:
        `nystream.compose.novelty.default_novelty`, for as many features as the first row has.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.river import KernelNovelty
    >>> model = KernelNovelty()
    >>> for u, v in np.random.default_rng(0).normal(size=(500, 2)).tolist():
    ...     model.learn_one({"u": u, "v": v})
    >>> model.score_one({"u": 5.0, "v": 5.0}) > 0.9 > model.score_one({"u": 0.1, "v": 0.0})
    True
    """

    def __init__(self, learner: Learner | None = None) -> None:
        self.learner = learner
        self._model: Learner | None = None if learner is None else checked_novelty(learner).clone()
        self._columns = columns_for(self._model or default_novelty(1))

    def learn_one(self, x: Features) -> None:
        """Learn one row."""
        row = self._row(x)
        self._started().step(row)

    def score_one(self, x: Features) -> float:
        """High for a novelty; features never seen in learning are ignored. The margin itself before the first row."""
        row = self._columns.row(x)
        model = self._model if self._model is not None else default_novelty(1)
        return margin(model) - float(model.predict(row[None])[0])

    def learn_many(self, X: Any) -> None:
        """Learn the rows of a frame, exactly as `learn_one` row by row."""
        block = self._block(X, learn=True)
        self._started().run(block)

    def score_many(self, X: Any) -> Any:
        """Scores for the rows of a frame, as a series of the same library."""
        block = self._block(X, learn=False)
        model = self._model if self._model is not None else default_novelty(1)
        return frames.to_native_series(margin(model) - model.predict(block), name=None, like=frames.into_frame(X))

    def _started(self) -> Learner:
        """The learner; the default one is made for the features there are when it is first needed."""
        if self._model is None:
            self._model = default_novelty(self._columns.width())
        return self._model

    def _admit(self, new: list[Hashable]) -> None:
        if self._model is None:
            self._columns.add(new)
        else:
            super()._admit(new)
