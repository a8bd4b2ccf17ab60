"""The kernel learner as a member: labels from the calendar and from inputs that are known ahead."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nystream.forecast.member import Arrival, Member, Origin
from nystream.model import Model
from nystream.runtime.types import Array

__all__ = ["Kernel"]


class Kernel(Member):
    """A learner of labels from the inputs of their own row: forecasts are its predictions for the rows to come.

    It sleeps (nan) until it has learnt the labels of one cycle of the season.

    Parameters
    ----------
    learner : Learner or Model
        With `step(x, y)` and `predict(X)`; it is cloned.
    """

    names = ("kernel",)
    needs_inputs = True

    def __init__(self, learner: Any) -> None:
        self.learner = learner

    def start(self, horizon: int, seasons: tuple[int, ...]) -> None:
        self.horizon_ = horizon
        self.learner_ = self.learner.clone()
        self.fewest_ = max(seasons[0] if seasons else 0, 2)
        self.learnt_ = 0

    def learn(self, arrival: Arrival) -> None:
        if not arrival.is_missing and arrival.inputs is not None:
            self.learner_.step(arrival.inputs, arrival.y)
            self.learnt_ += 1

    def forecast(self, origin: Origin) -> Array:
        if origin.inputs is None:
            return np.full((1, self.horizon_), math.nan)
        return self._predicted(origin.inputs)[None]

    def recall(self, arrival: Arrival) -> Array:
        return np.full((1, self.horizon_), self._predicted([arrival.inputs])[0])

    def check(self, rows: Any) -> None:
        if self.learnt_ and isinstance(self.learner_, Model):
            self.learner_.inputs(rows)

    def _predicted(self, rows: Any) -> Array:
        if self.learnt_ < self.fewest_:
            return np.full(len(rows), math.nan)
        if isinstance(self.learner_, Model):  # its `predict` would warn of inputs that are not known ahead
            return np.asarray(self.learner_.scores(rows, ahead=1)[:, 0], dtype=float)
        return np.asarray(self.learner_.predict(rows, ahead=1), dtype=float)

    @property
    def nbytes(self) -> int:
        return int(self.learner_.nbytes)
