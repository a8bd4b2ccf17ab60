"""Members that repeat labels: the last one, and the newest one of the same slot of a season."""

from __future__ import annotations

import numpy as np

from nystream.forecast.member import Arrival, Member, Origin
from nystream.forecast.recent import Recent, ages
from nystream.types import Array

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

    Before the first cycle is over, slots without a label get the last label.
    """

    def start(self, horizon: int, seasons: tuple[int, ...]) -> None:
        self.seasons_ = list(seasons)
        self.ages_ = np.array([ages(horizon, s) for s in seasons]).reshape(len(seasons), horizon)
        self.labels_ = Recent(1, max(seasons, default=1))
        self.row_ = -1

    @property
    def names(self) -> list[str]:  # type: ignore[override]
        return [f"seasonal naive {s}" for s in self.seasons_]

    def learn(self, arrival: Arrival) -> None:
        self.labels_.push(arrival.filled)
        self.row_ = arrival.row

    def forecast(self, origin: Origin) -> Array:
        age = self.ages_ if self.row_ >= self.labels_.keep else np.where(self.ages_ <= self.row_, self.ages_, 0)
        return self.labels_.aged(age)[0]
