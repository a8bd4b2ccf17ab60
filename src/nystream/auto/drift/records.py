"""Drift alarms and warnings: what is recorded of them, how they read in plain English, and callbacks for them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeAlias

from nystream.auto.drift.detectors import Detection
from nystream.auto.drift.inputs import ALERT, Shift
from nystream.runtime.params import Params

__all__ = ["CREDIT", "OUTCOMES", "Alarm", "Listener", "Listeners", "Records", "describe_columns", "own_columns"]

CREDIT = (1500, 0.15)
"""Candidates may learn so many rows, and this part of all rows. Chosen on the streams of auto_drift.py."""
ONCE_IN = 500
"""An alarm without a candidate, or a warning, is not recorded again within so many rows."""
REMEMBERED = 256
"""The last alarms and warnings are kept: so many."""

OUTCOMES = {
    "running": "A candidate model learns beside the incumbent.",
    "promoted": "A candidate model was better and has replaced the incumbent.",
    "discarded": "A candidate model was not better and was discarded.",
    "superseded": "The next alarm came first and started another candidate model.",
    "repeated": "No candidate was started: one had just been started.",
    "over budget": f"No candidate was started: candidates may learn on at most {CREDIT[1]:.0%} of the rows.",
    "no memory": "No candidate was started, or it had to stop: memory does not suffice for two models.",
    "unconfirmed": "The loss has not confirmed it, so no candidate was started.",
}
"""The outcome of an alarm, with the sentence for it; `unconfirmed` is the outcome of a warning."""
NAMES = {
    "rise": "higher loss",
    "steady": "higher loss of steady experts",
    "fall": "lower loss",
    "inputs": "shifted inputs",
}
"""The name of a detection's cause in records."""
CAUSES = {
    "higher loss": "The {loss} rose from {before:.4g} to {after:.4g}.",
    "higher loss of steady experts": "The loss of the experts that never forget rose from {before:.4g} to {after:.4g}.",
    "lower loss": "The {loss} fell from {before:.4g} to {after:.4g}.",
    "shifted inputs": "Inputs shifted, and the {loss} rose from {before:.4g} to {after:.4g}.",
}
"""Causes of alarms, with the sentences for them."""
PARTS = (
    (re.compile(r"(?:mean of target|share of class) \d+ by (.*)"), r"\1"),
    (re.compile(r"(?:sine|cosine) of the day of (.*)"), r"time of day of \1"),
    (re.compile(r"(?:sine|cosine) of the week of (.*)"), r"day of the week of \1"),
    (re.compile(r"(?:sine|cosine) of the year of (.*)"), r"time of the year of \1"),
)
"""Names of the numbers that the encoder makes of a column, and what to call them."""
MADE = re.compile(r"(?:filter|descent), output \d+")
"""Names of columns that are outputs of sparse experts."""


class Alarm(NamedTuple):
    """A drift alarm or a warning; `str` describes it in a few sentences."""

    row: int
    """Rows learnt when it was raised."""
    change: int
    """The estimated change point: a row, counted from 0."""
    cause: str
    """A key of `CAUSES`: "higher loss", "higher loss of steady experts" (those that never forget), "lower loss", or
    "shifted inputs" (the distribution of inputs changed; of an alarm, the loss confirmed it)."""
    outcome: str
    """A key of `OUTCOMES`: what the alarm led to."""
    until: int
    """Rows learnt when the outcome was decided."""
    before: float
    """Mean loss of the rows before the change point; nan for a warning."""
    after: float
    """Mean loss from the change point to the alarm; nan for a warning."""
    columns: tuple[str, ...]
    """Columns, by name or place, whose distribution has changed, the most shifted first; five at most."""
    regime: int = -1
    """The row at which the recalled model began; -1: no archived model was recalled."""
    loss: str = "loss"
    """The loss of `before` and `after`: "squared error", "log loss", or "squared error over the targets' variances"."""

    @property
    def level(self) -> str:
        """The string "warning" for an input shift that the loss did not confirm, else "alarm"."""
        return "warning" if self.outcome == "unconfirmed" else "alarm"

    def __str__(self) -> str:
        where = f"the estimated change point is row {self.change:,}"
        if self.level == "warning":
            parts = [f"Warning: inputs shifted at row {self.row:,}; {where}.", OUTCOMES[self.outcome]]
        else:
            why = CAUSES[self.cause].format(loss=self.loss, before=self.before, after=self.after)
            parts = [f"Drift alarm at row {self.row:,}; {where}.", why if math.isfinite(self.before) else "", ""]
            refused = OUTCOMES[self.outcome].removeprefix("No candidate was started: ")
            if refused != OUTCOMES[self.outcome]:
                parts[0] = f"Drift was suspected at row {self.row:,}, but no candidate was started: {refused}"
            else:
                parts[2] = OUTCOMES[self.outcome]
        if self.regime >= 0:
            parts.append(f"An archived model that began at row {self.regime:,} was recalled.")
        if self.columns:
            parts.append(f"Inputs that shifted: {', '.join(describe_columns(self.columns))}.")
        return " ".join(part for part in parts if part)


def own_columns(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names of the user's columns, without those of outputs of sparse experts."""
    return tuple(name for name in names if not MADE.fullmatch(name))


def describe_columns(names: Iterable[str]) -> list[str]:
    """Return readable names of columns, each once: "`temp`", "hour of `when`", "column 3" if columns have no names.

    >>> describe_columns(["mean of target 0 by hour of `when`", "hour of `when`", "temp", "3"])
    ['hour of `when`', '`temp`', 'column 3']
    """
    return list(dict.fromkeys(_described(name) for name in names))


def _described(name: str) -> str:
    if name.isdigit():
        return f"column {name}"
    for pattern, words in PARTS:
        found = pattern.fullmatch(name)
        if found:
            return found.expand(words)
    return name if "`" in name else f"`{name}`"


class Records(Params):
    """Alarms and warnings, with their outcomes."""

    rows_: list[tuple[object, ...]]

    def __init__(self) -> None:
        self.rows_ = []

    @property
    def all(self) -> list[Alarm]:
        """Alarms and warnings, in order."""
        return [Alarm(*row) for row in self.rows_]  # type: ignore[arg-type]

    @property
    def alarms(self) -> list[Alarm]:
        return [alarm for alarm in self.all if alarm.level == "alarm"]

    def add(self, alarm: Alarm) -> None:
        """Record an alarm or a warning, unless the last record is alike and recent: high losses raise many alarms."""
        last = Alarm(*self.rows_[-1]) if self.rows_ else None  # type: ignore[arg-type]
        repeats = last is not None and last.outcome == alarm.outcome and alarm.row - last.row < ONCE_IN
        if alarm.outcome == "running" or not repeats:
            self.rows_ = [*self.rows_[1 - REMEMBERED :], tuple(alarm)]

    def add_alarm(self, found: Detection, row: int, since: int, outcome: str, loss: str) -> None:
        """Record an alarm at this row, with the change point `since`. It replaces a recent warning."""
        warning = self.take_warning(row - ALERT - 1)
        cause = NAMES["inputs" if found.cause == "rise" and warning is not None else found.cause]
        columns = () if warning is None else warning.columns
        self.add(Alarm(row, since, cause, outcome, row, found.before, found.after, columns, loss=loss))

    def add_warning(self, shift: Shift, names: Callable[[], list[str]]) -> bool:
        """Record an input shift, unless an alarm or a warning was just recorded. Return whether it was recorded."""
        if self.is_recent(shift.row - ALERT):
            return False
        all_names, row = names(), shift.row + 1
        columns = own_columns(all_names[j] for j in shift.columns)
        self.add(Alarm(row, shift.since, NAMES["inputs"], "unconfirmed", row, math.nan, math.nan, columns))
        return True

    def is_recent(self, row: int) -> bool:
        """Return whether the last alarm or warning was raised after this row."""
        return bool(self.rows_) and int(self.rows_[-1][0]) > row  # type: ignore[call-overload]

    def take_warning(self, row: int) -> Alarm | None:
        """Remove and return the last record, if it is a warning that was raised after this row."""
        if not self.is_recent(row) or self.rows_[-1][3] != "unconfirmed":
            return None
        *self.rows_, last = self.rows_
        return Alarm(*last)  # type: ignore[arg-type]

    @property
    def running(self) -> Alarm:
        """The alarm that started the candidate."""
        return self.all[self._place]

    @property
    def _place(self) -> int:
        return max(i for i, row in enumerate(self.rows_) if row[3] == "running")

    def note(self, **news: object) -> None:
        """Change fields of the record of the alarm that started the candidate."""
        k = self._place
        row = tuple(Alarm(*self.rows_[k])._replace(**news))  # type: ignore[arg-type]
        self.rows_ = [*self.rows_[:k], row, *self.rows_[k + 1 :]]


Listener: TypeAlias = Callable[[Alarm], Any]


class Listeners:
    """Callbacks of one object, called once for every alarm; they are not saved, copied or cloned with it.

    They are called after the rows of a `step` or `run` are learnt and the state is consistent, in the order in which
    they were added. If some of them raise, all are called first, and then the first exception is raised.
    """

    def __init__(self) -> None:
        self._callbacks: list[tuple[Listener, bool]] = []
        self._row = 0

    def __bool__(self) -> bool:
        return bool(self._callbacks)

    def add(self, callback: Listener, *, warnings: bool, row: int) -> None:
        """Add a callback for alarms after this row, and for warnings too if they are wanted."""
        if not callable(callback):
            raise TypeError(f"on_alarm takes a function of one alarm, got {callback!r}")
        if not self._callbacks:
            self._row = row
        self._callbacks.append((callback, warnings))

    def announce(self, records: Sequence[Alarm], row: int) -> None:
        """Call the callbacks with the records that are new; `row`: rows learnt by now."""
        new = [alarm for alarm in records if alarm.row > self._row]
        self._row = row
        errors: list[BaseException] = []
        for alarm in new:
            for callback, warnings in list(self._callbacks):
                if warnings or alarm.level == "alarm":
                    try:
                        callback(alarm)
                    except Exception as error:
                        errors.append(error)
        if errors:
            raise errors[0]
