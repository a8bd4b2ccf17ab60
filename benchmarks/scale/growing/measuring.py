"""Seconds of a row of learners that differ in one thing: in turns, so that all of them meet the same machine."""

from __future__ import annotations

import copy
import math
import sys
import time
from typing import NamedTuple

import numpy as np

from growing.learners import BOUNDED, said
from nystream.learners.base import Learner
from nystream.model.tasks import for_task

__all__ = ["AT", "POINTS", "Bounds", "sweep"]

BLOCK = 64
PASSED = 64 * BLOCK
"""Rows of a call while a stream only passes."""
AT = {"columns": 10, "size": 100, "classes": 2}
POINTS = {
    "rows": (10_000, 100_000, 1_000_000),
    "columns": (2, 6, 20, 60, 200, 600, 2000),
    "size": (50, 100, 200, 500, 1000, 2000, 4000),
    "classes": (2, 5, 20, 60, 200),
}
TURNS = 10
LEAST = 0.01
"""Seconds of processor time of a point in a turn, where its blocks are that quick."""
MOST = 2.0
"""Seconds of a point in all turns, after which two blocks are enough."""
FULL = 0.9
"""Of the wanted size; a learner that does not get there is not measured."""


class Bounds(NamedTuple):
    """Seconds of processor time: of a row, of filling a learner, of a whole stream, after which a sweep ends."""

    row: float
    warm: float
    stream: float


class Point(NamedTuple):
    """A learner that is ready to be measured, its rows, and the seconds of a row of its blocks so far."""

    x: int
    learner: Learner
    columns: int
    classes: int
    found: list[float]


def sweep(name: str, axis: str, bounds: Bounds) -> list[tuple[int, float]]:
    """(what grows, seconds of a row): the median of the blocks of all turns."""
    points = streamed(name, bounds) if axis == "rows" else filled(name, axis, bounds)
    for turn in range(TURNS):
        for point in points:
            if len(point.found) < 2 or sum(point.found) * BLOCK < MOST:
                measure(point, turn)
    return [(point.x, float(np.median(point.found))) for point in points]


def streamed(name: str, bounds: Bounds) -> list[Point]:
    """Copies of one learner, taken as a long stream passes it."""
    learner, n, points = BOUNDED[name].of(AT["size"]), 0, []
    end = time.thread_time() + bounds.stream
    for x in POINTS["rows"]:
        while n < x:
            learner.run(*rows(min(PASSED, x - n), AT["columns"], 2, seed=n))
            n = min(n + PASSED, x)
            if time.thread_time() > end:
                print(f"{name}: {n:,} rows took {bounds.stream:g} seconds", file=sys.stderr)
                return points
        points.append(Point(x, copy.deepcopy(learner), AT["columns"], 2, []))
    return points


def filled(name: str, axis: str, bounds: Bounds) -> list[Point]:
    """Learners of growing size, columns or classes, as far as the bounds allow."""
    points: list[Point] = []
    for x in POINTS[axis]:
        if axis == "size" and x > BOUNDED[name].largest:
            break
        if points and np.median(points[-1].found) * (x / points[-1].x) ** max(1, said(name, axis)) > bounds.row:
            break
        at = {**AT, axis: x}
        try:
            learner = ready(name, at["columns"], at["size"], at["classes"], bounds.warm)
        except ValueError as error:
            print(f"{name}, {axis} {x}: {error}", file=sys.stderr)
            break
        if isinstance(learner, str):
            print(f"{name}, {axis} {x}: {learner}", file=sys.stderr)
            break
        points.append(Point(x, learner, at["columns"], at["classes"], []))
        measure(points[-1], TURNS)
    return points


def ready(name: str, d: int, size: int, classes: int, warm: float) -> Learner | str:
    """A learner that has its size, or why there is none."""
    learner = BOUNDED[name].of(size)
    if classes > 2:
        learner = for_task(learner, "classification", d)
    needed = int(BOUNDED[name].filled * size) + BLOCK
    X, y = rows(needed, d, classes, seed=1)
    end = time.thread_time() + warm
    for i in range(0, needed, BLOCK):
        learner.run(X[i : i + BLOCK], y[i : i + BLOCK])
        if time.thread_time() > end:
            return f"{min(i + BLOCK, needed):,} of {needed:,} rows to fill it took {warm:g} seconds"
    if BOUNDED[name].filled and classes == 2 and learner.size < FULL * size:
        return f"only {learner.size} stored after {needed:,} rows"
    return learner


def measure(point: Point, turn: int) -> None:
    """Add some blocks of rows that the learner has not seen, after one that brings it back into the caches."""
    _, learner, d, classes, found = point
    X, y = rows(40 * BLOCK, d, classes, seed=2 + 1000 * turn)
    learner.run(X[:BLOCK], y[:BLOCK])
    spent = 0.0
    for i in range(BLOCK, len(X), BLOCK):
        start = time.thread_time()
        learner.run(X[i : i + BLOCK], y[i : i + BLOCK])
        seconds = time.thread_time() - start
        found.append(seconds / BLOCK)
        spent += seconds
        if spent > LEAST:
            break


def rows(n: int, d: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of unit scale, and labels that say nothing: -1 and +1, or numbers of classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) / math.sqrt(d)
    y = rng.integers(classes, size=n).astype(np.float64)
    return X, 2.0 * y - 1.0 if classes == 2 else y
