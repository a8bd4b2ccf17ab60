"""A kernel learner that several series share, as a member of each of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nystream.auto.learner import Auto
from nystream.forecast.member import Arrival, Member, Origin
from nystream.model import Model
from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["GlobalLearner", "Shared"]

MEMORY = "64MB"
"""Of the shared learner."""
FEWEST = 48
"""Labels that the shared learner has learnt before any series asks it."""
OWN = 8
"""Labels of a series before its labels teach the shared learner: its level and its deviation must be known roughly."""
PRIOR = 10.0
"""The typical ratio of deviation to level counts as much as so many labels of the series itself."""
KEPT = 0.998
"""What a past label keeps of its weight in the level and the deviation of a series."""
RATIO_STEP = 0.002
"""Step of the running mean of that ratio over all series."""
TINY = 1e-12
"""Deviations below this part of the level are rounding; also keeps a level of 0 from dividing by 0."""


class GlobalLearner(Params):
    """One learner of the labels of several series, each in units of its own: g(x) predicts (y - level)/deviation.

    Parameters
    ----------
    learner : Learner, Model or None
        None: `Auto` without label lags.
    """

    def __init__(self, learner: Any = None) -> None:
        self.learner = learner
        self.learner_: Any = None
        self.learnt_ = 0
        self.ratio_ = 0.0

    def learn(self, inputs: Any, label: float, ratio: float) -> None:
        """Learn the label of a row, in units of its series, and the ratio of deviation to level of that series."""
        if self.learner_ is None:
            pattern = Auto(lags=False, memory=MEMORY) if self.learner is None else self.learner
            is_table = isinstance(inputs, dict)
            self.learner_ = Model(pattern) if is_table and not isinstance(pattern, Model) else pattern.clone()
        self.learner_.step(inputs, label)
        self.learnt_ += 1
        self.ratio_ += (ratio - self.ratio_) * max(1 / self.learnt_, RATIO_STEP)

    def predict(self, rows: Any) -> Array | None:
        """Return g (n,) for rows; None while too little was learnt, or where rows have other columns."""
        if self.learnt_ < FEWEST:
            return None
        if isinstance(self.learner_, Model):
            return np.asarray(self.learner_.scores(rows, ahead=1)[:, 0], dtype=float)
        X = np.asarray(rows, dtype=float)
        if X.shape[1] != self.learner_.d_:
            return None
        return np.asarray(self.learner_.predict(X, ahead=1), dtype=float)

    def check(self, rows: Any) -> None:
        """Refuse rows of inputs that the learner cannot read. Changes nothing."""
        if isinstance(self.learner_, Model):
            self.learner_.inputs(rows)

    @property
    def nbytes(self) -> int:
        return 0 if self.learner_ is None else int(self.learner_.nbytes)


class Shared(Member):
    """The forecast a + b g(x) of one series, with g of a learner that all series share.

    a and b are fitted to the labels of the series by discounted least squares. A prior shrinks b towards the typical
    ratio of deviation to level over all series, times the level of this one. So a new series has the shape of the
    others from its first rows on. `bind` sets the shared learner, which is not part of the state.
    """

    names = ("shared kernel",)
    needs_inputs = True

    def __init__(self) -> None:
        self._global: GlobalLearner | None = None
        self._lesson: tuple[Any, float, float] | None = None

    def bind(self, learner: GlobalLearner) -> None:
        """Use this shared learner."""
        self._global = learner

    def start(self, horizon: int, seasons: tuple[int, ...]) -> None:
        self.horizon_ = horizon
        self.labels_ = 0
        self.count_, self.mean_, self.square_ = 0.0, 0.0, 0.0  # of the labels
        self.fitted_, self.y_, self.g_, self.gg_, self.gy_ = 0.0, 0.0, 0.0, 0.0, 0.0  # of labels with a prediction

    def learn(self, arrival: Arrival) -> None:
        self._lesson = None
        if arrival.is_missing or arrival.inputs is None:
            return
        y = arrival.y
        known = self._global.predict([arrival.inputs]) if self._global is not None else None
        if known is not None:
            self._fit(float(known[0]), y)
        self.labels_ += 1
        self.count_ = KEPT * self.count_ + 1
        delta = y - self.mean_
        self.mean_ += delta / self.count_
        self.square_ = KEPT * self.square_ + delta * (y - self.mean_)
        if self.labels_ > OWN:
            deviation = math.sqrt(self.square_ / self.count_)
            if deviation > TINY * (1 + abs(self.mean_)):
                ratio = min(deviation / max(abs(self.mean_), TINY), 10.0)
                self._lesson = (arrival.inputs, (y - self.mean_) / deviation, ratio)

    def _fit(self, g: float, y: float) -> None:
        self.fitted_ = KEPT * self.fitted_ + 1
        dg, dy = g - self.g_, y - self.y_
        self.g_ += dg / self.fitted_
        self.y_ += dy / self.fitted_
        self.gg_ = KEPT * self.gg_ + dg * (g - self.g_)
        self.gy_ = KEPT * self.gy_ + dg * (y - self.y_)

    def lesson(self) -> tuple[Any, float, float] | None:
        """Return what the last label teaches the shared learner: inputs, label in the series' units, ratio; or None."""
        return self._lesson

    def forecast(self, origin: Origin) -> Array:
        if origin.inputs is None:
            return np.full((1, self.horizon_), math.nan)
        return self._predicted(origin.inputs)[None]

    def recall(self, arrival: Arrival) -> Array:
        return np.full((1, self.horizon_), self._predicted([arrival.inputs])[0])

    def check(self, rows: Any) -> None:
        if self._global is not None:
            self._global.check(rows)

    def _predicted(self, rows: Any) -> Array:
        g = self._global.predict(rows) if self._global is not None and self.fitted_ else None
        if g is None:
            return np.full(len(rows), math.nan)
        assert self._global is not None
        ratio = self._global.ratio_
        level = self.y_ / max(1 + ratio * self.g_, 0.2)
        b = (self.gy_ + PRIOR * ratio * abs(level)) / (self.gg_ + PRIOR)
        return self.y_ + b * (g - self.g_)
