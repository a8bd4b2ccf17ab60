"""One contestant over one stream, in a process of its own: predictions before labels, time and memory measured."""

from __future__ import annotations

import ctypes
import gc
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from auto_streams import figures

from nystream.runtime.processes import Line
from peers.method import Method, Task

__all__ = ["Outcome", "Stream", "measure"]

WARM = 30
"""Rows that a copy learns first, so that libraries are loaded before memory is measured."""
PAUSE = 0.3
"""Seconds between two words of how far it is."""


@dataclass(frozen=True)
class Stream:
    """Rows in order; classes is 0 for regression."""

    name: str
    X: np.ndarray
    y: np.ndarray
    classes: int

    @property
    def task(self) -> Task:
        return Task(self.X.shape[1], self.classes, self.X[:1000])


@dataclass
class Outcome:
    """What was measured over the first `rows` rows; losses are wrong (0, 1) or squared errors, row by row."""

    rows: int
    seconds: float
    resident: int
    saved: int
    figures: dict[str, float]
    losses: np.ndarray = field(repr=False)


def measure(build: Callable[[Task], Method], stream: Stream, limit: float | None, line: Line) -> Outcome:
    """Work for a process of its own (`nystream.runtime.processes`), which tells how many rows are done."""
    return _run(build, stream, limit, line.tell)


def _run(build: Callable[[Task], Method], stream: Stream, limit: float | None, told: Callable[[int], None]) -> Outcome:
    warnings.simplefilter("ignore")
    X, y, classes = stream.X, stream.y, stream.classes
    n, row, seconds, P = len(y), 0, 0.0, None
    p, shift = np.full(n, 0.0), _means_before(y)
    space = np.full((n, max(classes, 1)), 0.0)
    warm = build(stream.task)
    warm.learn(warm.prepare(X[:WARM], y[:WARM]))
    del warm
    before, last = _settled_resident(), time.monotonic()
    start = time.process_time()
    method = build(stream.task)
    seconds += time.process_time() - start
    centred = method.centred and not classes
    while row < n and (limit is None or seconds < limit):
        part = slice(row, row + method.block)
        prepared = method.prepare(X[part], y[part] - shift[part] if centred else y[part])
        start = time.process_time()
        p[part], said = method.learn(prepared)
        seconds += time.process_time() - start
        if said is not None:
            P = space
            P[part] = said
        row = min(part.stop, n)
        if time.monotonic() > last + PAUSE:
            last = time.monotonic()
            told(row)
    resident = max(_status("VmHWM") - before, 0)
    if centred:
        p += shift
    losses = (p - y)[:row] ** 2 if not classes else (p != y)[:row].astype(float)
    found = figures(p[:row], y[:row], None if P is None else P[:row], regression=not classes)
    return Outcome(row, seconds, resident, method.saved_bytes(), found, losses)


def _means_before(y: np.ndarray) -> np.ndarray:
    """The mean of all labels before each row; 0 for the first."""
    return np.r_[0.0, np.cumsum(y)[:-1] / np.arange(1, len(y))]


def _settled_resident() -> int:
    """Resident bytes after everything unused was given back; the peak is counted anew from here."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return _status("VmRSS")


def _status(name: str) -> int:
    with open("/proc/self/status") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(f"{name}:"))
