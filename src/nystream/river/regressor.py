"""Any learner of real targets as a river regressor."""

from __future__ import annotations

import math
from typing import Any

from nystream.choice import chosen
from nystream.inputs import as_block
from nystream.learners.base import Learner
from nystream.river.columns import Features, number_of
from nystream.river.named import MiniBatchRegressor, Named, columns_for, frames

__all__ = ["KernelRegressor"]


class KernelRegressor(Named, MiniBatchRegressor):
    """Any nystream learner of real targets as a river regressor.

    Features may appear, vanish and change their order. One that is absent, None or NaN is a missing value to a learner
    that takes those, as the default does; to others it counts as 0, and so it does, to all, in the rows before it first
    appeared. For the built-in kernels and the features made from them a column of zeros changes no value, so this is
    exact; a learner whose width cannot grow says so when a new feature arrives. `learn_many` equals `learn_one` over
    its rows. Both take weights `w` where the learner does (the default, least squares).

    Parameters
    ----------
    learner
        The algorithm; it is cloned, never changed. None: `nystream.Auto()`, which needs no parameter.

    Examples
    --------
    >>> from nystream.river import KernelRegressor
    >>> from river import datasets, evaluate, metrics
    >>> score = evaluate.progressive_val_score(datasets.TrumpApproval(), KernelRegressor(), metrics.MAE())
    >>> round(score.get(), 1)
    0.2
    """

    def __init__(self, learner: Learner | None = None) -> None:
        self.learner = learner
        self._model: Learner = chosen(learner)
        if self._model.labels != "real":
            raise ValueError(f"learner={learner!r} learns classes, not real targets; use KernelClassifier")
        self._columns = columns_for(self._model)

    def learn_one(self, x: Features, y: float, w: float = 1.0) -> None:
        """Learn one row with target y and weight w."""
        self._learn(x, number_of("y", y, missing=None), w)

    def predict_one(self, x: Features) -> float:
        """The prediction; features never seen in learning are ignored. 0 before the first row."""
        return float(self._model.predict(self._columns.row(x)[None])[0])

    def predict_interval_one(self, x: Features, coverage: float = 0.9) -> tuple[float, float]:
        """Ends of an interval that covers this share of the labels to come; of learners with intervals, as the default.

        From minus to plus infinity while too few rows have been learnt.
        """
        if self._model.can("predict_interval") and not self._model.n_seen:
            return -math.inf, math.inf
        low, high = self._model.predict_interval(self._columns.row(x)[None], coverage)
        return float(low[0]), float(high[0])

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn the rows of a frame with targets y, exactly as `learn_one` row by row."""
        self._learn_frame(X, as_block(frames.into_series(y).to_numpy()[:, None], name="y"), w)

    def predict_many(self, X: Any) -> Any:
        """Predictions for the rows of a frame, as a series of the same library."""
        P = self._model.predict(self._block(X, learn=False))
        return frames.to_native_series(P, name=None, like=frames.into_frame(X))

    def explain(self) -> str:
        """What carries the predictions now, in words; of learners that can say, as the default."""
        return self._model.explain()
