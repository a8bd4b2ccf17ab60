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
LARGEST = 30.0
"""Logarithms are kept within this of 0."""


class LogSmoother(Member):
    """Eight smoothers with different gains on log y, mixed by their errors; forecasts are exponentials.

    From the first label that is not positive on, it repeats the forecast of the member `instead`.

    Parameters
    ----------
    instead : str
        Name of a member that comes earlier in the list.
    """

    names = ("log smoothers",)

    def __init__(self, instead: str = "slow smoother") -> None:
        self.instead = instead

    def start(self, horizon: int, seasons: tuple[int, ...]) -> None:
        gains = TWO_SEASONS if len(seasons) > 1 else ONE_SEASON
        self.smoother_ = Smoother([tuple(g) for g in gains], [str(i) for i in range(len(gains))])
        self.smoother_.start(horizon, seasons)
        self.mixture_ = Mixture(rate=RATE)
        self.mixture_.start([1.0] * len(gains), horizon)
        self.made_ = np.full((horizon, len(gains), horizon), math.nan)
        self.is_positive_ = True

    def learn(self, arrival: Arrival) -> None:
        if not self.is_positive_:
            return
        if arrival.y <= 0:
            self.is_positive_ = False
            return
        horizon, row = len(self.made_), arrival.row
        if not arrival.is_missing:
            h = np.arange(1, min(horizon, row) + 1)
            self.mixture_.learn(self.made_[(row - h) % horizon, :, h - 1], arrival.y)
        self.smoother_.learn_value(row, math.log(arrival.y) if arrival.y > 0 else math.nan)
        self.made_[row % horizon] = self._settings(row)

    def _settings(self, row: int) -> Array:
        return np.exp(np.clip(self.smoother_.values_ahead(row), -LARGEST, LARGEST))

    def forecast(self, origin: Origin) -> Array:
        if not self.is_positive_:
            return origin.made[self.instead][None]
        return self.mixture_.combine(self.made_[origin.row % len(self.made_)])[None]
