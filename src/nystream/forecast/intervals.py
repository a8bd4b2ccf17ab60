"""Quantiles of forecasts: past errors in units of what is usual for the step and the slot, with adaptive levels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["LEVELS", "MOST_COVERED", "Intervals"]

LEVELS = np.array([0.005, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.975, 0.995])
"""Levels whose quantiles are tracked; those between them are interpolated."""
MOST_COVERED = 0.99
"""The largest coverage of an interval, that between the first and the last of these levels."""
WINDOW = 400
"""Scores of each step that quantiles are taken from."""
THINNED = 7
"""After the first `WINDOW` scores one in so many is kept: neighbouring errors are alike, so 400 span 2,800 rows."""
FEWEST = 20
"""Scores of a step from which on there are quantiles of its own; until then it takes those of a shorter step."""
RATE = 0.005
"""How far a level moves after each label."""
CLIP = 8.0
"""Errors count up to so many mean absolute errors in their running mean."""
SLOWEST = 0.005
"""Step of the running mean absolute error from the 200th label on."""
SLOT_RATE = 0.03
"""Step of the running mean of each slot's relative error."""
LEAST_SLOT = 0.1
"""The least relative error of a slot."""
LARGEST = 50.0
"""Scores are kept within this: after rows without any error the first one would be endlessly large."""
EVERY = 8
"""Rows between two looks at the scores, after the first `WINDOW` rows."""
EXACT = 1e-9
"""Mean errors below this part of the label are those of rounding, as in constant labels: the next one replaces them."""


class Intervals(Params):
    """Quantiles of the next H labels around their forecasts.

    The scale of a target is m_h u_slot: the running mean absolute error of its step, times the mean relative error of
    its slot of the season. Scores are (y - forecast)/scale. The quantile of level q is the forecast plus the scale
    times the empirical quantile of the last 400 scores of the step, at a level that moves by a small step after each
    label, up or down, so that a share q of the labels stays below (adaptive conformal inference).

    Until a step has 400 scores, its mean error may still grow many times. So its scores are kept in units of the
    present mean error, and its levels stay as they are. Scores of constant labels are dropped at the first error.

    Parameters
    ----------
    horizon : int
    cycle : int
        Length of the season whose slots have scales of their own; 1: none.
    """

    def __init__(self, horizon: int, cycle: int) -> None:
        self.horizon = horizon
        self.cycle = cycle
        g = len(LEVELS)
        self.spread_ = np.zeros(horizon)
        self.counts_ = np.zeros(horizon, dtype=np.int64)
        self.slots_ = np.ones(cycle)
        self.scores_ = np.full((WINDOW, horizon), math.nan)
        self.levels_ = np.repeat(LEVELS[:, None], horizon, axis=1)
        self.ends_ = np.full((g, horizon), math.nan)
        self.scales_ = np.full((horizon, horizon), math.nan)
        self.asked_ = np.full((horizon, g, horizon), math.nan)

    def learn(self, row: int, y: float, forecasts: Array) -> None:
        """Learn from the forecasts (m,) of a label that were made 1 to m rows ago."""
        m = len(forecasts)
        if y == y and m:
            h = np.arange(m)
            origin = (row - 1 - h) % self.horizon
            error, scale = y - forecasts, self.scales_[origin, h]
            self._leave_constant(y, error)
            score = np.clip(error / np.where(scale > 0, scale, math.nan), -LARGEST, LARGEST)
            score = np.where(error == 0, 0 * scale, score)
            ends = self.asked_[origin, :, h].T
            unknown = np.isnan(ends) | np.isnan(score) | (score == ends)  # all scores of constant labels are the same
            below = np.where(unknown, LEVELS[:, None], score < ends)
            self.levels_[:, :m] += np.where(self.counts_[:m] < WINDOW, 0.0, RATE) * (LEVELS[:, None] - below)
            np.clip(self.levels_, -0.2, 1.2, out=self.levels_)
            self.scores_[self._slots_of(self.counts_[:m]), h] = score
            self.counts_[:m] += 1
            counts, size = self.counts_[:m], np.abs(error)
            known = self.spread_[:m] > EXACT * abs(y)
            size = np.where(known & (counts > FEWEST), np.minimum(size, CLIP * self.spread_[:m]), size)
            rate = np.where(known, np.maximum(1 / counts, SLOWEST), 1.0)
            spread = self.spread_[:m] + (size - self.spread_[:m]) * rate
            young = (counts <= WINDOW) & (spread > 0)
            if young.any():
                self.scores_[:, :m] *= np.divide(self.spread_[:m], spread, out=np.ones(m), where=young)
            self.spread_[:m] = spread
            relative = float(np.minimum(size / np.where(spread > 0, spread, 1.0), 5.0).mean())
            slot = row % self.cycle
            self.slots_[slot] += SLOT_RATE * (relative - self.slots_[slot])
        if row < WINDOW or row % EVERY == 0:
            self.ends_ = self._quantiles()
        self.scales_[row % self.horizon] = np.where(self.counts_ > 0, self.scale(row), math.nan)
        self.asked_[row % self.horizon] = self.ends_

    def _leave_constant(self, y: float, error: Array) -> None:
        """Drop the scores of constant labels at the first error: they say nothing of the labels that follow."""
        rounding, m = EXACT * abs(y), len(error)
        constant = (self.counts_[:m] > 0) & (self.spread_[:m] <= rounding)
        if constant.any():
            left = np.flatnonzero(constant & (np.abs(error) > rounding))
            self.scores_[:, left], self.counts_[left], self.levels_[:, left] = math.nan, 0, LEVELS[:, None]
            if len(left):
                self.slots_[:] = 1.0

    @staticmethod
    def _slots_of(counts: Any) -> Any:
        """Return the slots of new scores: the first `WINDOW` scores are all kept, later ones one in `THINNED`."""
        return np.where(counts < WINDOW, counts, (counts // THINNED) % WINDOW)

    def scale(self, row: int) -> Array:
        """Return the typical size of each of the next H errors."""
        return self.spread_ * self._of_slots(row)

    def _of_slots(self, row: int) -> Array:
        """Return the mean relative errors of the slots of the next H rows."""
        target = (row + np.arange(1, self.horizon + 1)) % self.cycle
        return np.maximum(self.slots_[target], LEAST_SLOT)

    def _quantiles(self) -> Array:
        """Return the scores at the tracked levels (levels, H); they rise with the level."""
        kept = np.sort(self.scores_[: min(WINDOW, int(self.counts_.max(initial=0)))], axis=0)  # nan come last
        n = (~np.isnan(kept)).sum(axis=0)
        if not n.any():
            return np.full_like(self.ends_, math.nan)
        last = np.maximum(n - 1, 0)
        place = np.clip(self.levels_ * (n + 1) - 1, 0, last)
        low = place.astype(np.int64)
        high = np.minimum(low + 1, last)
        step = np.arange(self.horizon)
        found = kept[low, step] + (place - low) * (kept[high, step] - kept[low, step])
        found = np.maximum.accumulate(found, axis=0)
        return np.where(n >= FEWEST, found, math.nan)

    def quantiles(self, row: int, forecasts: Array, q: Array) -> Array:
        """Return quantiles (levels, steps) of the labels after this row; infinite while there are too few errors."""
        steps = len(forecasts)
        widths = self.widths(row)[:, :steps]
        width = np.array([np.interp(q, LEVELS, each) for each in widths.T]).reshape(steps, len(q)).T
        unknown = np.where(q[:, None] < 0.5, -np.inf, np.where(q[:, None] > 0.5, np.inf, 0.0))
        return forecasts + np.where(np.isnan(width), unknown, width)

    def widths(self, row: int) -> Array:
        """Return the distances (levels, H) of the tracked quantiles from the forecast; nan while there are too few
        errors.

        A step h with too few scores takes the quantiles of the last step k that has enough, times the root of h/k, as
        they would be in a random walk.
        """
        known = ~np.isnan(self.ends_[0])
        if known.all() or not known.any():
            return self.ends_ * self.scale(row)
        h = np.arange(self.horizon)
        k = np.maximum.accumulate(np.where(known, h, int(known.argmax())))
        return self.ends_[:, k] * (self.spread_[k] * np.sqrt((h + 1) / (k + 1)) * self._of_slots(row))

    @property
    def nbytes(self) -> int:
        return sum(v.nbytes for v in self.__dict__.values() if isinstance(v, np.ndarray))
