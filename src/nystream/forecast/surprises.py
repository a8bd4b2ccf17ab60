"""How rare each label of a series is under the forecast made before it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nystream.auto.surprise import RULES, Alarm, Runs, Surprise
from nystream.runtime.params import Params

__all__ = ["Surprises"]


def _in_units(size: float, scale: float) -> float:
    """Return the size of an error in units of the usual one; infinite where there was none before."""
    if size == 0:
        return 0.0
    return size / scale if scale > 0 else math.inf


class Surprises(Params):
    """Keeps past one-step errors in units of the usual error, and the alarms."""

    def __init__(self) -> None:
        pass

    def start(self) -> None:
        self.errors_ = np.full(RULES.kept, math.nan)
        self.count_ = 0
        self.spread_ = 0.0
        self.row_ = 0
        self.runs_ = Runs()
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
        kept = self.errors_[: min(self.count_, RULES.kept)]
        if not math.isfinite(error) or len(kept) < RULES.fewest:
            return Surprise(1.0, 0.0, math.nan if not math.isfinite(error) else error)
        size = _in_units(abs(error), scale)
        record = float(kept.max())
        once_in = (len(kept) + 1) / (1 + int((kept >= size).sum()))
        beyond = size / record if record > 0 else math.inf if size > 0 else 1.0
        return Surprise(once_in, beyond, error)

    def learn(self, y: float, forecast: float, scale: float) -> Alarm | None:
        """Learn the error of a forecast; return an alarm where it is due."""
        found = self.of(y, forecast, scale)
        self.last_ = list(found)
        self.row_ += 1
        error = abs(y - forecast)
        if not math.isfinite(error):
            return None
        alarm = self.runs_.learn(self.row_ - 1, found)
        size = _in_units(error, scale)
        if size < math.inf:
            self.errors_[self.count_ % RULES.kept] = size
            self.count_ += 1
        self.spread_ += (error - self.spread_) * max(1 / (self.count_ + 1), RULES.slowest)
        return alarm

    def last(self) -> Surprise:
        """The surprise of the last label."""
        return Surprise(*self.last_)

    def alarms(self) -> list[Alarm]:
        """The last 256 alarms, in order."""
        return self.runs_.alarms()

    @property
    def nbytes(self) -> int:
        return self.errors_.nbytes
