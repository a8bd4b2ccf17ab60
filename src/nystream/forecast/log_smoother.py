"""Smoothers on the logarithm of labels, for seasons that grow with the level."""

from __future__ import annotations

import math

import numpy as np

from nystream.forecast.member import Arrival, Member, Origin
from nystream.forecast.mixture import Mixture
from nystream.forecast.smoother import Gains, Smoother
from nystream.runtime.types import Array

__all__ = ["LogSmoother"]

TWO_SEASONS = (
    Gains(0.01, 0, 1, 0.05, 0.1, 0.9),
    Gains(0.01, 0, 1, 0.1, 0.3, 0.8),
    Gains(0.03, 0, 1, 0.15, 0.15, 0.95),
    Gains(0.1, 0, 1, 0.1, 0.2, 0.6),
    Gains(0.1, 0.005, 0.9, 0.3, 0.05, 0.5),
    Gains(0.5, 0, 1, 0.1, 0.1, 0),
    Gains(0.9, 0.02, 0.9, 0.05, 0.05, 0),
    Gains(0.3, 0, 1, 0.3, 0, 0),
)
ONE_SEASON = tuple(
    Gains(a, b, phi, g, 0, rho)
    for a, b, phi, rho in ((0.1, 0.01, 1, 0), (0.3, 0.03, 0.98, 0), (0.6, 0.02, 0.95, 0), (0.05, 0.005, 1, 0.7))
    for g in (0.1, 0.4)
)
RATE = 0.05
"""Learning rate of the mixture over the settings."""
FARTHEST = 30.0
"""Forecasts of logarithms are kept within this of the last one."""


class LogSmoother(Member):
    """Eight smoothers with different gains on log y, mixed by their errors; forecasts are exponentials.

    At the first label that is not positive they begin anew, on the labels as they are.
    """

    names = ("log smoothers",)

    def start(self, horizon: int, seasons: tuple[int, ...]) -> None:
        self.horizon_, self.seasons_ = horizon, list(seasons)
        self._begin(is_positive=True)

    def _begin(self, *, is_positive: bool) -> None:
        gains = TWO_SEASONS if len(self.seasons_) > 1 else ONE_SEASON
        self.smoother_ = Smoother([tuple(g) for g in gains], [str(i) for i in range(len(gains))])
        self.smoother_.start(self.horizon_, tuple(self.seasons_))
        self.mixture_ = Mixture(rate=RATE)
        self.mixture_.start([1.0] * len(gains), self.horizon_)
        self.made_ = np.full((self.horizon_, len(gains), self.horizon_), math.nan)
        self.is_positive_ = is_positive
        self.last_ = 0.0

    def learn(self, arrival: Arrival) -> None:
        if self.is_positive_ and arrival.y <= 0:
            self._begin(is_positive=False)
        horizon, row = self.horizon_, arrival.row
        if not arrival.is_missing:
            h = np.arange(1, min(horizon, row) + 1)
            self.mixture_.learn(self.made_[(row - h) % horizon, :, h - 1], arrival.y)
            self.last_ = math.log(arrival.y) if self.is_positive_ else arrival.y
        self.smoother_.learn_value(row, math.nan if arrival.is_missing else self.last_)
        self.made_[row % horizon] = self._settings(row)

    def _settings(self, row: int) -> Array:
        values = self.smoother_.values_ahead(row)
        return np.exp(np.clip(values, self.last_ - FARTHEST, self.last_ + FARTHEST)) if self.is_positive_ else values

    def forecast(self, origin: Origin) -> Array:
        return self.mixture_.combine(self.made_[origin.row % self.horizon_])[None]
