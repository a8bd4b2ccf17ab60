"""Exponential smoothing with one or two seasons, for several settings at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nystream.forecast.member import Arrival, Member, Origin
from nystream.runtime.types import Array

__all__ = ["Gains", "Smoother"]

CLIP = 3.0
"""Errors count up to so many mean absolute errors: a rare drop to 0 must not move the level (water flow)."""
TRUSTED = 30
"""Errors after the first cycle from which on their mean is known well enough to clip."""
EXACT = 1e-9
"""Mean errors below this part of the label are those of rounding, as in constant labels: the next one replaces them."""
SLOWEST = 0.005
"""Step of the running mean absolute error from the 200th error on."""


class Gains(NamedTuple):
    """The setting of one smoother: shares of a one-step error that go into each of its parts."""

    level: float
    trend: float = 0.0
    damping: float = 1.0
    """What is left of the trend after each row."""
    short: float = 0.0
    """Gain of the shortest season."""
    long: float = 0.0
    """Gain of the longest season, where there are two."""
    error: float = 0.0
    """Share of an error that is expected again in the next row."""


class Smoother(Member):
    """Holt-Winters smoothing with two seasons and autocorrelated errors, O(1) a row.

    The parts are a level l, a damped trend b, one value for each slot of the shortest season (s) and of the longest
    one (w), and the expected error u. With the label y of row t and e = y - (l + phi b + s[t] + w[t]) - rho u::

        l <- l + phi b + a e,  b <- phi b + beta e,  s[t] <- s[t] + g e,  w[t] <- w[t] + d e,  u <- rho u + e

    and the forecast for row t + h is l + (phi + ... + phi^h) b + s[t+h] + w[t+h] + rho^h u. Errors are clipped at
    three mean absolute errors. During the first cycle l is the mean of all labels; then s begins with their deviations
    from it. A slot that was visited k times moves by at least 1/(1+k) of e in s and by half of that in w, so that
    profiles begin as running means. It sleeps (nan) during the first cycle. A missing label
    moves time only: l + phi b, phi b and rho u.

    Parameters
    ----------
    gains : sequence of Gains
        One setting for each forecast.
    names : sequence of str
        Names of the forecasts.
    """

    def __init__(self, gains: Sequence[Sequence[float]], names: Sequence[str]) -> None:
        self.gains = gains
        self.names = names

    def start(self, horizon: int, seasons: tuple[int, ...]) -> None:
        h, k = np.arange(1, horizon + 1), len(self.gains)
        a, beta, phi, g, d, rho = np.array(self.gains).T.copy()
        self.level_gain_, self.trend_gain_, self.damping_, self.error_gain_ = a, beta, phi, rho
        self.short_gain_ = g if seasons else 0.0 * g
        self.long_gain_ = d if len(seasons) > 1 else 0.0 * d
        self.damped_ = np.cumsum(phi[:, None] ** h, axis=1)
        self.faded_ = rho[:, None] ** h
        self.h_ = h
        self.cycle_ = seasons[0] if seasons else 1
        self.level_, self.trend_, self.error_, self.spread_ = np.zeros((4, k))
        self.short_ = np.zeros((k, self.cycle_))
        self.long_ = np.zeros((k, seasons[-1] if len(seasons) > 1 else 1))
        self.first_ = np.full(self.cycle_, math.nan)
        self.visits_ = np.zeros(self.cycle_, dtype=np.int64)
        self.long_visits_ = np.zeros(self.long_.shape[1], dtype=np.int64)
        self.count_ = 0

    def learn(self, arrival: Arrival) -> None:
        self.learn_value(arrival.row, arrival.y)

    def learn_value(self, row: int, y: float) -> None:
        """Learn the label of a row; nan is a missing one."""
        trend, expected = self.damping_ * self.trend_, self.error_gain_ * self.error_
        if y != y:
            self.level_ = self.level_ + trend
            self.trend_, self.error_ = trend, expected
            return
        self.count_ += 1
        i, j = row % self.cycle_, row % self.long_.shape[1]
        if self.count_ <= self.cycle_ and self.first_ is not None:
            self._begin(i, y)
            return
        e = y - self.level_ - trend - self.short_[:, i] - self.long_[:, j] - expected
        after = self.count_ - self.cycle_
        known = self.spread_ > EXACT * abs(y)
        if after > TRUSTED:
            limit = np.where(known, CLIP * self.spread_, np.inf)
            e = np.clip(e, -limit, limit)
        self.spread_ = self.spread_ + (np.abs(e) - self.spread_) * np.where(known, max(1 / after, SLOWEST), 1.0)
        self.level_ = self.level_ + trend + self.level_gain_ * e
        self.trend_ = trend + self.trend_gain_ * e
        self.error_ = expected + e
        self.short_[:, i] += self._at_least(self.short_gain_, 1 / (1 + self.visits_[i])) * e
        self.long_[:, j] += self._at_least(self.long_gain_, 0.5 / (1 + self.long_visits_[j])) * e
        self.visits_[i] += 1
        self.long_visits_[j] += 1

    def _begin(self, slot: int, y: float) -> None:
        """Learn a label of the first cycle: the level is their mean; its end sets the profile to their deviations."""
        self.level_ = self.level_ + (y - self.level_) / self.count_
        self.first_[slot] = y
        self.visits_[slot] = 1
        if self.count_ == self.cycle_:
            deviations = np.where(np.isnan(self.first_), 0.0, self.first_ - self.level_[0])
            self.short_[:] = np.where(self.short_gain_[:, None] > 0, deviations, 0.0)

    @staticmethod
    def _at_least(gain: Array, first: float) -> Array:
        return np.where(gain > 0, np.maximum(gain, first), 0.0)

    def forecast(self, origin: Origin) -> Array:
        return self.values_ahead(origin.row)

    def values_ahead(self, row: int) -> Array:
        """Return forecasts (settings, H) from this row."""
        if self.count_ < self.cycle_:
            return np.full((len(self.gains), len(self.h_)), math.nan)
        level, season = self.parts_ahead(row)
        return level + season + self.error_[:, None] * self.faded_

    def parts_ahead(self, row: int) -> tuple[Array, Array]:
        """Return level with trend, and seasons, (settings, H) each, for the rows after this one."""
        target = row + self.h_
        season = self.short_[:, target % self.cycle_] + self.long_[:, target % self.long_.shape[1]]
        return self.level_[:, None] + self.trend_[:, None] * self.damped_, season
