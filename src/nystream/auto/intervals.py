"""Intervals around predictions whose coverage holds whatever the noise is: online conformal prediction."""

from __future__ import annotations

import math

import numpy as np

from nystream._core.auto.lags import lagged
from nystream.params import Params, at_least
from nystream.scaling.ring import Ring
from nystream.types import Array

__all__ = ["Intervals"]

LEAST = 1e-150
"""Rows never look easier than this: predictions may be exact for a while."""
RATE = 0.02
"""Of the running mean of squared residuals."""
PACE = np.array([RATE])


class Intervals(Params):
    """Half-widths from past residuals, each relative to how hard its row looked before its label was read.

    A row looks hard where experts disagree, by a standard deviation of spread, and while residuals are large::

        h_t^2 = (running mean of residual^2) + spread_t^2        score_t = |residual_t| / h_t

    The half-width at x is h(x) times the quantile of the last `window` scores that conformal prediction asks for,
    the ceil((n + 1) coverage)-th smallest of n: where scores of the last rows and the next are exchangeable, it covers
    at least that share, and at most 1/(n + 1) more. Residuals that grow or shrink are followed by h.

    Parameters
    ----------
    window : int, default 1000
        Scores that are kept.

    References
    ----------
    Vovk, Gammerman, Shafer. Algorithmic Learning in a Random World. Springer 2005. Papadopoulos, Gammerman, Vovk.
    Normalized nonconformity measures for regression conformal prediction. AIA 2008.
    """

    scores_: Ring
    power_: Array
    """(1, K) running mean of squared residuals, nan before the first."""

    def __init__(self, window: int = 1000) -> None:
        self.window = at_least("window", window, 1)

    def start(self, outputs: int) -> None:
        self.scores_ = Ring(self.window, outputs)
        self.power_ = np.full((1, outputs), np.nan)

    def learn(self, residuals: Array, spread: Array) -> None:
        """Rows (n, K) in order; the first row of all has nothing to be compared with and is only counted."""
        before = lagged(residuals * residuals, self.power_, PACE)[:, 0]
        if np.isnan(before[0, 0]):
            before, residuals, spread = before[1:], residuals[1:], spread[1:]
        self.scores_.extend(np.abs(residuals) / _hardness(before, spread))

    def half_width(self, spread: Array, coverage: float) -> Array:
        """(n, K) for rows with this spread (n, K); infinite while there are too few rows for the coverage."""
        n = len(self.scores_)
        place = math.ceil((n + 1) * coverage)
        if place > n:
            return np.full(spread.shape, np.inf)
        quantile = np.partition(self.scores_.rows, place - 1, axis=0)[place - 1]
        return _hardness(self.power_, spread) * quantile

    @property
    def nbytes(self) -> int:
        return self.scores_.nbytes + self.power_.nbytes


def _hardness(power: Array, spread: Array) -> Array:
    return np.maximum(np.sqrt(power + spread * spread), LEAST)
