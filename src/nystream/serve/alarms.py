"""What is wrong with the rows or the errors of a model, told once when it begins and once when it has ended."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nystream.data.batch import NUMERIC
from nystream.runtime.types import Array
from nystream.serve.form import Form
from nystream.serve.meters import Meter
from nystream.serve.rows import LoggedRows

__all__ = ["Alarm", "Watch", "rank_surprise"]

PAGE = 500
"""Rows after which columns are looked at."""
ENOUGH = 200
"""Labels or errors before a level is believed."""
STRETCHES = (50, 200)
"""Last rows whose errors are compared with those before: a large change shows in few of them, a small one in many."""
SURPRISE, CALM = 7.0, 3.0
"""Standard deviations of their ranks from which on that is a change of the stream, and below which it is over."""


class Alarm(NamedTuple):
    """Something that began, or (`over`) ended."""

    cause: str
    about: str
    message: str
    over: bool = False


class Watch:
    """Looks at rows a page at a time: columns that went missing or constant, labels out of range, a high error.

    A change of the stream is reported when the errors of the last rows rank far above the errors before them. Ranks are
    used so that a few outliers do not count as a change. The change is over when new errors rank among those before it
    again, or when the meter's window contains only rows after it.
    """

    def __init__(self, form: Form, level: float | None = None) -> None:
        self._names = [name for name in form.schema.names if form.schema.columns[name] in NUMERIC]
        self._level = level
        self._pages: list[Array] = []
        self._rows = 0
        self._lively: set[str] = set()
        """Columns that had different values at some time."""
        self._filled: set[str] = set()
        """Columns that had values at some time."""
        self._unknown: set[str] = set()
        self._reported = 0
        self._compared = 0
        self._usual: Array | None = None
        """Sorted errors before a change that is not over."""
        self._changed = 0
        self.raised: dict[tuple[str, str], str] = {}
        """Alarms that have not ended, by cause and what they are about."""

    def rows(self, batch: LoggedRows, meter: Meter) -> list[Alarm]:
        """Take in rows before the meter does."""
        found: list[Alarm] = []
        if isinstance(batch.labels, np.ndarray) and meter.labels >= ENOUGH:
            found += self._labels(batch.labels, meter)
        if self._names:
            self._pages.append(batch.numbers)
            self._rows += batch.n
            if self._rows >= PAGE:
                found += self._columns(np.vstack(self._pages))
                self._pages, self._rows = [], 0
        return found

    def errors(self, meter: Meter) -> list[Alarm]:
        """Look at the errors after the meter took the rows in."""
        if meter.n < ENOUGH:
            return []
        found = self._change(meter) if meter.n - self._compared >= STRETCHES[0] else []
        if self._level is not None:
            window = meter.reading()["window"]
            text = f"the windowed error is {window:.4g}, above {self._level:g}"
            found += self._set("error", "", window > self._level, text)
        return found

    def _change(self, meter: Meter) -> list[Alarm]:
        self._compared = meter.n
        losses = meter.losses()
        if self._usual is None:
            for rows in STRETCHES:
                last, before = losses[-rows:], np.sort(losses[:-rows])
                if len(before) >= 2 * rows and rank_surprise(last, before) >= SURPRISE:
                    self._usual, self._changed = before, meter.n
                    text = f"drift around row {meter.n - rows:,}: the mean error rose from {before.mean():.4g}"
                    return self._set("drift", "", True, f"{text} to {last.mean():.4g}")
            return []
        last = losses[-STRETCHES[0] :]
        if meter.n - self._changed < len(losses) and rank_surprise(last, self._usual) >= CALM:
            return []
        self._usual = None
        return self._set("drift", "", False, "")

    def unknown(self, names: list[str]) -> list[Alarm]:
        """Return alarms for columns that the schema does not know, once each, for at most 100 of them."""
        new = [name for name in names if name not in self._unknown][: max(0, 100 - len(self._unknown))]
        self._unknown.update(new)
        return [Alarm("unknown column", n[:100], f"column {n[:100]!r} is not known and left out") for n in new]

    def reported(self, changes: list[Any]) -> list[Alarm]:
        """Return the changes that the learner itself noticed since it was last asked."""
        new = [change for change in changes if change.row > self._reported]
        self._reported = max([self._reported, *(change.row for change in new)])
        return [Alarm("drift", "", str(change)[:500]) for change in new]

    def _labels(self, labels: Array, meter: Meter) -> list[Alarm]:
        width = max(meter.high - meter.low, 1e-300)
        if labels.size == 1:
            value = labels.item()
            if not (value > meter.high + width or value < meter.low - width):
                return []
        with np.errstate(invalid="ignore"):
            far = (labels > meter.high + width) | (labels < meter.low - width)
        if not far.any():
            return []
        value = float(labels[far][0])
        span = f"{meter.low:.4g} to {meter.high:.4g}"
        return [Alarm("label", "", f"label {value:.6g} is far outside the range so far ({span})")]

    def _columns(self, X: Array) -> list[Alarm]:
        found: list[Alarm] = []
        missing: Any = np.isnan(X).all(axis=0)
        with np.errstate(invalid="ignore"):
            low, high = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
        for name, gone, a, b in zip(self._names, missing.tolist(), low.tolist(), high.tolist(), strict=True):
            if name in self._filled:
                found += self._set("missing", name, gone, f"column {name!r} is missing in the last {len(X)} rows")
            if name in self._lively and not gone:
                same = a == b
                found += self._set(
                    "constant", name, same, f"column {name!r} was {a:.6g} in all of the last {len(X)} rows"
                )
            if not gone:
                self._filled.add(name)
                if a != b:
                    self._lively.add(name)
        return found

    def _set(self, cause: str, about: str, on: bool, message: str) -> list[Alarm]:
        if on == ((cause, about) in self.raised):
            return []
        if on:
            self.raised[cause, about] = message
            return [Alarm(cause, about, message)]
        return [Alarm(cause, about, "over: " + self.raised.pop((cause, about)), over=True)]


def rank_surprise(last: Array, before: Array) -> float:
    """Return how far the errors rank above the sorted errors before them, in standard deviations (Mann and Whitney)."""
    m, n = len(last), len(before)
    below = np.searchsorted(before, last, "left") + np.searchsorted(before, last, "right")
    counts = np.unique(np.concatenate([last, before]), return_counts=True)[1].astype(np.float64)
    total = m + n
    ties = float((counts**3 - counts).sum()) / (total**3 - total)
    spread = np.sqrt(m * n * (total + 1) / 12 * (1 - ties))
    return float((below.sum() / 2 - m * n / 2) / spread) if spread > 0 else 0.0
