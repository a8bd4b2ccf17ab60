"""How rare a label is under the forecast made before it, and alarms for runs of rare ones."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from nystream.auto.quantiles import ResidualQuantiles
from nystream.runtime.params import Params

__all__ = ["Alarm", "Surprise", "Surprises", "last_surprise"]

KEPT = 5000
"""Past errors that a new one is compared with."""
FEWEST = 30
"""Errors before which nothing is called rare."""
RARE = 100.0
"""A row is surprising if an error as large comes once in so many rows, or less often."""
RUN, WITHIN = 3, 12
"""So many surprising rows within so many rows sound an alarm."""
BEYOND = 2.0
"""A single row sounds an alarm if its error is so many times the largest one kept."""
COOL_DOWN = 100
"""Rows after an alarm in which no other one sounds."""
REMEMBERED = 256
"""Alarms that are remembered, the last ones."""
SLOWEST = 0.005
"""Step of the running mean absolute error from the 200th label on."""


class Surprise(NamedTuple):
    """How rare a label was."""

    once_in: float
    """An error as large comes once in so many rows: 1/p of the conformal p-value among the last errors."""
    beyond: float
    """The error over the largest of the last errors; above 1 it is beyond the record, and `once_in` is at its limit."""
    error: float
    """The label minus the forecast; of `Auto` the size of the error in units of what was expected for its row."""

    def __str__(self) -> str:
        if not math.isfinite(self.error):
            return "not known: the label is missing, or too few rows were seen"
        text = f"once in {self.once_in:,.0f} rows"
        return f"{text} or less often: {self.beyond:.1f} times the largest error so far" if self.beyond > 1 else text


def last_surprise(noise: Any) -> Surprise:
    """Return the surprise of the last label that `Auto` learnt; of several targets the rarest.

    It compares the label's score, its error in units of what was expected for its row, with the other scores kept.
    """
    unknown = Surprise(1.0, 0.0, math.nan)
    if not isinstance(noise, ResidualQuantiles) or noise.marks_[0] < FEWEST:
        return unknown
    n = int(min(noise.marks_[0], noise.window))
    place = int(noise.marks_[1] - 1) % n
    found = unknown
    for kept in np.abs(noise.kept_[:, :n]):
        size, others = float(kept[place]), np.delete(kept, place)
        once_in, record = n / (1 + int((others >= size).sum())), float(others.max())
        if once_in >= found.once_in:
            found = Surprise(once_in, size / record if record > 0 else math.inf, size)
    return found


class Alarm(NamedTuple):
    """A run of surprising rows, or a row beyond the record."""

    row: int
    """Rows learnt when the alarm sounded."""
    change: int
    """The first surprising row of the run, counted from 0."""
    cause: str
    """"run": several surprising rows close together; "record": one row far beyond the largest error kept."""
    outcome: str
    """"reported": the forecaster goes on learning."""
    once_in: float
    """How rare the last row of the run was."""


class Surprises(Params):
    """Keeps past one-step errors in units of the usual error, and the alarms."""

    def __init__(self) -> None:
        pass

    def start(self) -> None:
        self.errors_ = np.full(KEPT, math.nan)
        self.count_ = 0
        self.spread_ = 0.0
        self.row_ = 0
        self.rare_: list[int] = []
        self.alarms_: list[tuple[Any, ...]] = []
        self.last_: list[float] = [1.0, 0.0, math.nan]

    def scale(self, engine: Any = None) -> float:
        """Return the usual size of the next one-step error: its running mean times that of its slot of the season."""
        slot = 1.0
        if engine is not None:
            intervals = engine.intervals_
            slot = max(float(intervals.slots_[(engine.row_ + 1) % intervals.cycle]), 0.1)
        return self.spread_ * slot

    def of(self, y: float, forecast: float, scale: float) -> Surprise:
        """Return the surprise of a label under a forecast. Pure."""
        error = y - forecast
        kept = self.errors_[: min(self.count_, KEPT)]
        if not math.isfinite(error) or len(kept) < FEWEST or not scale > 0:
            return Surprise(1.0, 0.0, math.nan if not math.isfinite(error) else error)
        size = abs(error) / scale
        record = float(kept.max())
        once_in = (len(kept) + 1) / (1 + int((kept >= size).sum()))
        return Surprise(once_in, size / record if record > 0 else math.inf, error)

    def learn(self, y: float, forecast: float, scale: float) -> None:
        """Learn the error of a forecast, and raise an alarm where it is due."""
        found = self.of(y, forecast, scale)
        self.last_ = list(found)
        self.row_ += 1
        error = abs(y - forecast)
        if not math.isfinite(error):
            return
        self._watch(found)
        if scale > 0:
            self.errors_[self.count_ % KEPT] = error / scale
            self.count_ += 1
        self.spread_ += (error - self.spread_) * max(1 / (self.count_ + 1), SLOWEST)

    def _watch(self, found: Surprise) -> None:
        row = self.row_ - 1
        if found.once_in < RARE:
            return
        self.rare_ = [r for r in self.rare_ if r > row - WITHIN] + [row]
        is_record = found.beyond >= BEYOND
        last = self.alarms_[-1][0] if self.alarms_ else -COOL_DOWN
        if (len(self.rare_) >= RUN or is_record) and self.row_ - last >= COOL_DOWN:
            cause, since = ("record", row) if len(self.rare_) < RUN else ("run", self.rare_[0])
            self.alarms_ = [*self.alarms_[1 - REMEMBERED :], (self.row_, since, cause, "reported", found.once_in)]

    def last(self) -> Surprise:
        """The surprise of the last label."""
        return Surprise(*self.last_)

    def alarms(self) -> list[Alarm]:
        """The last 256 alarms, in order."""
        return [Alarm(*alarm) for alarm in self.alarms_]

    @property
    def nbytes(self) -> int:
        return self.errors_.nbytes
