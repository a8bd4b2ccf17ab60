"""How good the forecasts were so far, as they were given, beside naive ones from the same rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nystream.forecast.intervals import LEVELS
from nystream.forecast.recent import ages
from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["COVERAGE", "Score"]

COVERAGE = 0.9
"""Of the intervals whose coverage is counted."""
LOW, HIGH = (int(np.flatnonzero(np.isclose(LEVELS, q))[0]) for q in ((1 - COVERAGE) / 2, (1 + COVERAGE) / 2))
"""Places of the ends of these intervals among the tracked levels."""
KINDS = 3
"""The forecast, the naive one and the seasonal naive one."""


class Score(Params):
    """Sums of the errors of all forecasts that were given, by step.

    The last H forecasts wait for their labels. The naive forecast repeats the last label, the seasonal naive one the
    newest label of the same slot of the shortest season (where there is none: the last label). Forecasts for which the
    inputs were not known are not counted.

    Parameters
    ----------
    horizon : int
    """

    def __init__(self, horizon: int) -> None:
        self.horizon = horizon
        self.given_ = np.full((KINDS, horizon, horizon), math.nan)
        self.ends_ = np.full((2, horizon, horizon), math.nan)
        self.sums_ = np.zeros((KINDS, horizon))
        self.squares_ = np.zeros(horizon)
        self.counts_, self.covered_, self.intervals_ = np.zeros((3, horizon))

    def learn(self, row: int, y: float) -> None:
        """Count the errors of the forecasts of this label that were given 1 to H rows ago."""
        m = min(self.horizon, row)
        if y != y or not m:
            return
        h = np.arange(m)
        origin = (row - 1 - h) % self.horizon
        errors = np.abs(self.given_[:, origin, h] - y)
        known = ~np.isnan(errors[0])
        errors = np.where(known, errors, 0.0)
        self.sums_[:, :m] += errors
        self.squares_[:m] += errors[0] ** 2
        self.counts_[:m] += known
        low, high = self.ends_[:, origin, h]
        finite = known & np.isfinite(low) & np.isfinite(high)
        self.intervals_[:m] += finite
        self.covered_[:m] += finite & (low <= y) & (y <= high)

    def give(self, row: int, engine: Any) -> None:
        """Keep the forecasts that an engine makes after this row."""
        place, last = row % self.horizon, float(engine.labels_.aged(0)[0])
        made = engine.forecast()
        slots = ages(self.horizon, engine.labels_.keep)
        seasonal = np.where(slots < engine.labels_.count_, engine.labels_.aged(slots)[0], last)
        self.given_[:, place] = made, np.full(self.horizon, last), seasonal
        self.ends_[:, place] = made + engine.intervals_.widths(engine.row_)[[LOW, HIGH]]

    def by_step(self) -> dict[str, Array]:
        """Return the errors by step (H,); nan where nothing was counted.

        They are the mean absolute errors of the forecast and of the two naive ones, its root mean squared error, and
        the share of labels that 90% intervals covered.
        """
        counts = np.where(self.counts_ > 0, self.counts_, math.nan)
        mae, naive, seasonal = self.sums_ / counts
        covered = self.covered_ / np.where(self.intervals_ > 0, self.intervals_, math.nan)
        found = {"mae": mae, "rmse": np.sqrt(self.squares_ / counts), "naive": naive, "seasonal naive": seasonal}
        return {**found, "coverage": covered}

    def overall(self) -> dict[str, float]:
        """Return the same errors over all steps together."""
        n, intervals = self.counts_.sum(), self.intervals_.sum()
        if not n:
            return dict.fromkeys(("mae", "rmse", "naive", "seasonal naive", "coverage"), math.nan)
        mae, naive, seasonal = (float(v) for v in self.sums_.sum(axis=1) / n)
        rmse = math.sqrt(float(self.squares_.sum() / n))
        coverage = float(self.covered_.sum() / intervals) if intervals else math.nan
        return {"mae": mae, "rmse": rmse, "naive": naive, "seasonal naive": seasonal, "coverage": coverage}

    @property
    def nbytes(self) -> int:
        return self.given_.nbytes + self.ends_.nbytes
