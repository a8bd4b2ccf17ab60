"""Meters: numbers from the learner or the evaluation loop, not computed from predictions."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

from nystream.evaluate.metrics.base import Direction
from nystream.runtime.params import Params

__all__ = [
    "Bytes",
    "ImportanceShares",
    "Meter",
    "Progress",
    "Regret",
    "RegretBound",
    "RowsPerSecond",
    "Seconds",
    "Shares",
    "Size",
    "Weights",
]


class Progress(NamedTuple):
    """The state of an evaluation: rows so far, seconds inside the learner, and the learner."""

    n: int
    seconds: float
    learner: Any


class Meter(Params):
    """The base class of meters: numbers that are read, not accumulated."""

    name: ClassVar[str]

    def __init__(self) -> None:
        """Take no parameters."""

    @property
    def direction(self) -> Direction | None:
        """Whether lower or higher values are better; None where neither is."""
        return "lower"

    @property
    def column(self) -> str:
        """Name in tables and files."""
        return self.name

    def read(self, progress: Progress) -> float:
        """Return the present number."""
        raise NotImplementedError

    def readings(self, progress: Progress) -> dict[str, float]:
        """Return columns and their present numbers: one, except for meters with several."""
        return {self.column: self.read(progress)}


class Regret(Meter):
    """Cumulative loss minus that of the best regularised function in hindsight; NaN where it is not known.

    It is `learner.regret()`. If the learner raises an error, a warning gives the reason once.
    """

    name = "regret"
    told_: bool = False

    def read(self, progress: Progress) -> float:
        if not progress.learner.can("regret"):
            return float("nan")
        try:
            return float(progress.learner.regret()) if progress.learner.n_seen else 0.0
        except (TypeError, ValueError) as error:  # an evaluation of many hours does not end for one column
            if not self.told_:
                self.told_ = True
                warnings.warn(f"the regret of {type(progress.learner).__name__} is not known: {error}", stacklevel=2)
            return float("nan")


class RegretBound(Meter):
    """The learner's own bound of `Regret`; NaN if it is not known.

    It is NaN for learners whose bound depends on a given comparator.
    """

    name = "regret_bound"

    def read(self, progress: Progress) -> float:
        if not (progress.learner.can("regret_bound") and progress.learner.can("regret")):
            return float("nan")
        try:
            return float(progress.learner.regret_bound()) if progress.learner.n_seen else 0.0
        except (TypeError, ValueError):  # it asks for a comparator, or has a reason that `Regret` tells
            return float("nan")


class Seconds(Meter):
    """Seconds spent inside the learner; reading the stream and computing metrics are not counted."""

    name = "seconds"

    def read(self, progress: Progress) -> float:
        return progress.seconds


class RowsPerSecond(Meter):
    """Rows per second spent inside the learner."""

    name = "rows_per_second"
    direction: Direction | None = "higher"

    def read(self, progress: Progress) -> float:
        return progress.n / progress.seconds if progress.seconds > 0 else float("nan")


class Size(Meter):
    """Points or features that the learner stores."""

    name = "size"

    def read(self, progress: Progress) -> float:
        return float(progress.learner.size)


class Bytes(Meter):
    """Bytes of the arrays that the learner holds."""

    name = "bytes"

    def read(self, progress: Progress) -> float:
        return float(progress.learner.nbytes)


class Shares(Meter):
    """The base class of meters of named shares, with a column `meter[name]` for each name."""

    direction: Direction | None = None

    def readings(self, progress: Progress) -> dict[str, float]:
        return {f"{self.name}[{part}]": value for part, value in self.parts_of(progress.learner).items()}

    @staticmethod
    def parts_of(learner: Any) -> dict[str, float]:
        """Return the shares by name; none if the learner has none."""
        raise NotImplementedError

    @classmethod
    def parts(cls, columns: Iterable[str]) -> dict[str, str]:
        """Return the columns of shares among these, by the name of the part."""
        start = f"{cls.name}["
        return {column[len(start) : -1]: column for column in columns if column.startswith(start)}


class Weights(Shares):
    """The present weights of a learner's parts, such as experts, in columns `weights[name]`.

    It is the learner's own `weights()`: shares by name. Learners without it have no such column.
    """

    name = "weights"

    @staticmethod
    def parts_of(learner: Any) -> dict[str, float]:
        return dict(learner.weights()) if learner.can("weights") else {}


class ImportanceShares(Shares):
    """The present importance of columns, in columns `importance[name]`.

    It is the model's own `importance()`, which asks for thousands of predictions at every reading. Learners without it
    have no such column.
    """

    name = "importance"

    @staticmethod
    def parts_of(learner: Any) -> dict[str, float]:
        return dict(learner.importance()) if learner.n_seen > 1 and learner.can("importance") else {}
