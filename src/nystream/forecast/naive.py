"""Members that repeat labels: the last one, and the newest one of the same slot of a season."""

from __future__ import annotations

import math

import numpy as np

from nystream.forecast.member import Arrival, Member, Origin
from nystream.forecast.recent import Recent, ages
from nystream.runtime.types import Array

__all__ = ["Naive", "SeasonalNaive"]


class Naive(Member):
    """Forecast the last label for every step: y[t+h] = y[t]."""

    names = ("naive",)

    def start(self, horizon: int, seasons: tuple[int, ...]) -> None:
        self.horizon_ = horizon
        self.last_ = 0.0

    def learn(self, arrival: Arrival) -> None:
        self.last_ = arrival.filled

    def forecast(self, origin: Origin) -> Array:
        return np.full((1, self.horizon_), self.last_)


class SeasonalNaive(Member):
    """Forecast the newest label of the target's slot, for each season S: y[t+h] = y[t+h-S ceil(h/S)].

    It sleeps (nan) for slots that have had no label yet.
    """

    def start(self, horizon: int, seasons: tuple[int, ...]) -> None:
        self.seasons_ = list(seasons)
        self.ages_ = np.array([ages(horizon, s) for s in seasons], dtype=np.int64).reshape(len(seasons), horizon)
        self.labels_ = Recent(1, max(seasons, default=1))
        self.row_ = -1

    @property
    def names(self) -> list[str]:  # type: ignore[override]
        return ["seasonal naive", "long seasonal naive"][: len(self.seasons_)]

    def learn(self, arrival: Arrival) -> None:
        self.labels_.push(arrival.filled)
        self.row_ = arrival.row

    def forecast(self, origin: Origin) -> Array:
        found = self.labels_.aged(self.ages_)[0]
        return found if self.row_ >= self.labels_.keep else np.where(self.ages_ <= self.row_, found, math.nan)
