"""One contestant over one stream, in a process of its own: predictions before labels, time and memory measured."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from accuracy.auto_streams import figures
from peers.method import Method, Task

__all__ = ["Outcome", "Stream", "measure"]

WARM = 30
"""Rows that a copy learns first, so that libraries are loaded before memory is measured."""
POLL = 0.3
"""Seconds between two looks at how far the other process is."""
FORK = multiprocessing.get_context("fork")  # the rows are shared, not copied


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


def measure(
    build: Callable[[Task], Method], stream: Stream, limit: float | None, told: Callable[[int], None]
) -> Outcome:
    """Run it in another process; `told` hears how many rows are done."""
    done = FORK.RawValue("q", 0)
    here, there = FORK.Pipe(duplex=False)
    child = FORK.Process(target=_send, args=(there, build, stream, limit, done))
    child.start()
    there.close()
    try:
        while not here.poll(POLL):
            told(done.value)
        outcome = here.recv()
    except EOFError:
        child.join()
        raise RuntimeError(f"{stream.name}: the process of {build} ended with code {child.exitcode}") from None
    child.join()
    if isinstance(outcome, str):
        raise RuntimeError(f"{stream.name}: {build} failed\n{outcome}")
    return outcome


def _send(pipe: Connection, build: Callable[[Task], Method], stream: Stream, limit: float | None, done: Any) -> None:
    try:
        pipe.send(_run(build, stream, limit, done))
    except Exception:
        pipe.send(traceback.format_exc())


def _run(build: Callable[[Task], Method], stream: Stream, limit: float | None, done: Any) -> Outcome:
    warnings.simplefilter("ignore")
    X, y, classes = stream.X, stream.y, stream.classes
    n, row, seconds, P = len(y), 0, 0.0, None
    p, shift = np.full(n, 0.0), _means_before(y)
    space = np.full((n, max(classes, 1)), 0.0)
    warm = build(stream.task)
    warm.learn(warm.prepare(X[:WARM], y[:WARM]))
    del warm
    before = _settled_resident()
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
        row = done.value = min(part.stop, n)
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
