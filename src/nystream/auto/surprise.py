"""How rare a label is under the forecast made before it, and alarms for runs of rare ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from nystream.auto.quantiles import ResidualQuantiles
from nystream.runtime.params import Params

__all__ = ["RULES", "Alarm", "Runs", "Surprise", "last_surprise", "recent_alarms"]


@dataclass(frozen=True)
class _Rules:
    """Which rows are rare, and when they raise an alarm: independent errors raise about one in 20,000 rows."""

    kept: int = 5000
    """Past errors that a new one is compared with."""
    fewest: int = 30
    """Errors before which nothing is called rare."""
    rare: float = 100.0
    """A row is surprising if so large an error comes at most once in so many rows."""
    run: int = 3
    """So many surprising rows within `within` rows raise an alarm."""
    within: int = 12
    """Rows within which surprising rows are counted."""
    beyond: float = 2.0
    """A single row raises an alarm if its error is so many times the largest one kept."""
    pause: int = 100
    """Rows after an alarm in which no other one is raised."""
    remembered: int = 256
    """The last alarms are remembered: so many."""
    slowest: float = 0.005
    """Step of the running mean of absolute errors from the 200th label on."""


RULES = _Rules()


class Surprise(NamedTuple):
    """How rare a label was."""

    once_in: float
    """So large an error comes once in so many rows: 1/p, with the conformal p-value p among the last errors."""
    beyond: float
    """The error over the largest of the last errors. Above 1 it is a new record, and `once_in` is at its limit."""
    error: float
    """The label minus the forecast; for `Auto` the size of the error, in units of the size expected for its row."""

    def __str__(self) -> str:
        if not math.isfinite(self.error):
            return "not known: the label is missing, or too few rows were seen"
        text = f"once in {self.once_in:,.0f} rows"
        return f"{text} or less often: {self.beyond:.1f} times the largest error so far" if self.beyond > 1 else text


def _scores(noise: Any) -> np.ndarray | None:
    """Return the sizes (K, n) of the scores that `Auto` keeps for its intervals; None while there are too few.

    The oldest come first.
    """
    if not isinstance(noise, ResidualQuantiles) or noise.marks_[0] < RULES.fewest:
        return None
    n = int(min(noise.marks_[0], noise.window))
    return np.roll(np.abs(noise.kept_[:, :n]), -int(noise.marks_[1]) % n, axis=1)


def _among(sizes: np.ndarray, places: Any) -> list[Surprise]:
    """Return the surprises of some of (n,) sizes, each compared with all others."""
    ordered, n = np.sort(sizes), len(sizes)
    found = []
    for place in places:
        size = float(sizes[place])
        others = n - int(np.searchsorted(ordered, size)) - 1
        record = float(ordered[-2] if size >= ordered[-1] else ordered[-1])
        found.append(Surprise(n / (1 + others), size / record if record > 0 else math.inf, size))
    return found


def last_surprise(noise: Any) -> Surprise:
    """Return the surprise of the last label that `Auto` learnt; of several targets the rarest.

    The error, in units of the size expected for its row, is compared with those of the other rows kept.
    """
    sizes = _scores(noise)
    if sizes is None:
        return Surprise(1.0, 0.0, math.nan)
    return max((_among(kept, [-1])[0] for kept in sizes), key=lambda found: found.once_in)


def recent_alarms(noise: Any, labels: int) -> list[Alarm]:
    """Return the alarms for the labels whose scores `Auto` keeps. Each score is compared with all others kept."""
    sizes = _scores(noise)
    if sizes is None:
        return []
    n = sizes.shape[1]
    runs = Runs()
    for place, each in enumerate(zip(*(_among(kept, range(n)) for kept in sizes), strict=True)):
        runs.learn(labels - n + place, max(each, key=lambda found: found.once_in))
    return runs.alarms()


class Alarm(NamedTuple):
    """A run of surprising rows, or a row beyond the record."""

    row: int
    """Rows learnt when the alarm was raised."""
    change: int
    """The first surprising row of the run, counted from 0."""
    cause: str
    """"run": several surprising rows close together; "record": one row far beyond the largest error kept."""
    outcome: str
    """"reported": the forecaster goes on learning."""
    once_in: float
    """How rare the last row of the run was: `Surprise.once_in`."""


class Runs(Params):
    """Raises an alarm for several surprising rows close together, or for one far beyond the record; then it pauses."""

    def __init__(self) -> None:
        self.rare_: list[int] = []
        self.alarms_: list[tuple[Any, ...]] = []

    def learn(self, row: int, found: Surprise) -> Alarm | None:
        """Learn the surprise of a row, counted from 0; return an alarm where it is due."""
        if found.once_in < RULES.rare:
            return None
        self.rare_ = [r for r in self.rare_ if r > row - RULES.within] + [row]
        is_run, is_record = len(self.rare_) >= RULES.run, found.beyond >= RULES.beyond
        last = self.alarms_[-1][0] if self.alarms_ else -RULES.pause
        if not (is_run or is_record) or row + 1 - last < RULES.pause:
            return None
        cause, since = ("run", self.rare_[0]) if is_run else ("record", row)
        alarm = Alarm(row + 1, since, cause, "reported", found.once_in)
        self.alarms_ = [*self.alarms_[1 - RULES.remembered :], tuple(alarm)]
        return alarm

    def alarms(self) -> list[Alarm]:
        """Return the last 256 alarms, in order."""
        return [Alarm(*alarm) for alarm in self.alarms_]
