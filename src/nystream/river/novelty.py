"""A river anomaly detector around any learner with the novelty loss."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from nystream.compose.novelty import checked_novelty, default_novelty, margin
from nystream.learners.base import Learner
from nystream.model import Model
from nystream.river.columns import Features
from nystream.river.named import AnomalyDetector, Named, columns_for, frames

__all__ = ["KernelNovelty"]


class KernelNovelty(Named, AnomalyDetector):
    """A river anomaly detector around any nystream learner with the novelty loss.

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

    _task: ClassVar[str] = "novelty"

    def __init__(self, learner: Learner | None = None) -> None:
        self.learner = learner
        self._model: Model | None = None
        self._columns = columns_for(default_novelty(1) if learner is None else checked_novelty(learner))

    def learn_one(self, x: Features) -> None:
        """Learn one row."""
        row = self._row(x)
        self._started().step(row)

    def score_one(self, x: Features) -> float:
        """Return a score that is high for a novelty. Features never seen in learning are ignored. Before the first row
        it is the margin.
        """
        row = self._columns.row(x)
        known = 0.0 if self._model is None else float(self._model.scores(row[None])[0, 0])
        return margin(self._inner) - known

    def learn_many(self, X: Any) -> None:
        """Learn the rows of a frame, exactly as `learn_one` row by row."""
        block = self._block(X, learn=True)
        self._started().run_scores(block)

    def score_many(self, X: Any) -> Any:
        """Return scores for the rows of a frame, as a series of the same library."""
        block = self._block(X, learn=False)
        known = np.zeros(len(block)) if self._model is None else self._model.scores(block)[:, 0]
        return frames.to_native_series(margin(self._inner) - known, name=None, like=frames.into_frame(X))
