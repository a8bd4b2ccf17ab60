"""One learner under test: it predicts, is timed and scored, and learns when the labels arrive."""

from __future__ import annotations

import importlib.metadata
import platform
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, softmax

from nystream.evaluate.result import Result
from nystream.learners.base import Learner
from nystream.metrics.base import Metric
from nystream.metrics.meters import Meter, Progress
from nystream.types import Array

__all__ = ["Snapshot", "Trial"]

PROBABILITIES: dict[str, Callable[[Array], Array]] = {"logistic": expit, "softmax": lambda P: softmax(P, axis=1)}
"""Losses whose raw predictions are log odds, and what turns those into probabilities."""


class Snapshot(NamedTuple):
    """What a progress function is told: a learner's name, rows so far, seconds inside it, and the metrics now."""

    name: str
    n: int
    seconds: float
    values: dict[str, float]


class Trial:
    """A learner, its metrics, and its readings so far.

    With `delay` = k > 0, the label of row t arrives after row t + k was predicted: each row is predicted on arrival
    (`predict`), and the row k before it is learnt afterwards (`step`).
    """

    def __init__(self, name: str, learner: Learner, metrics: Sequence[Metric | Meter], delay: int = 0) -> None:
        self.name = name
        self.learner = learner
        self.metrics = metrics
        self.delay = delay
        self.n = 0
        self.seconds = 0.0
        self.readings: list[list[float]] = []
        self._read_at = 0
        self._pending: deque[tuple[Array, Any]] = deque()
        self._classes = 2
        self._probabilities = _check(name, learner, metrics)

    def feed(self, X: Array, Y: Any) -> None:
        """Rows in order: predicted before their labels are used, then learnt (at once, or `delay` rows later)."""
        for start, stop in self._parts(Y, len(X)):
            y = None if Y is None else Y[start:stop]
            P = self._delayed(X[start:stop], y) if self.delay else self._timed(X[start:stop], y)
            for metric in self.metrics:
                if isinstance(metric, Metric):
                    metric.update(y, P if metric.takes == "prediction" else self._probabilities(P))
            self.n += stop - start

    def finish(self) -> None:
        """Learn the rows whose labels were still on their way; they were predicted and scored already."""
        while self._pending:
            began = perf_counter()
            self.learner.step(*self._pending.popleft())
            self.seconds += perf_counter() - began

    def read(self) -> Snapshot:
        """Note the metrics at this row."""
        progress = Progress(self.n, self.seconds, self.learner)
        values = [m.value if isinstance(m, Metric) else m.read(progress) for m in self.metrics]
        if not self.is_read:
            self.readings.append([float(self.n), *values])
            self._read_at = self.n
        return Snapshot(self.name, self.n, self.seconds, dict(zip(self._columns, values, strict=True)))

    def result(self, **meta: Any) -> Result:
        """The readings, with what is known of their origin."""
        table = np.array(self.readings, dtype=np.float64).reshape(-1, 1 + len(self.metrics))
        columns = {column: table[:, i].copy() for i, column in enumerate(["n", *self._columns])}
        directions = {m.column: m.direction for m in self.metrics}
        seed = getattr(self.learner, "seed", None)
        origin = {"seed": seed if seed is None or isinstance(seed, int) else repr(seed), "versions": _versions()}
        facts = {"rows": self.n, "seconds": self.seconds, "delay": self.delay, **meta, **origin}
        return Result(self.name, repr(self.learner), columns, directions, facts)

    @property
    def is_read(self) -> bool:
        """Whether the last row fed has been read."""
        return self._read_at == self.n

    @property
    def _columns(self) -> list[str]:
        return [metric.column for metric in self.metrics]

    def _timed(self, X: Array, Y: Any) -> Array:
        began = perf_counter()
        P = self.learner.run(X, Y)
        self.seconds += perf_counter() - began
        return P

    def _delayed(self, X: Array, Y: Any) -> Array:
        parts = []
        for i, x in enumerate(X):
            y: Any = None if Y is None else Y[i]
            began = perf_counter()
            p = self.learner.predict(x[None])
            self.seconds += perf_counter() - began
            parts.append(p if self.learner.n_seen else self._blank(p, y))
            self._pending.append((x.copy(), y if y is None or np.ndim(y) else float(y)))
            if len(self._pending) > self.delay:
                row, label = self._pending.popleft()
                began = perf_counter()
                self.learner.step(row, label)
                self.seconds += perf_counter() - began
        return _stacked(parts)

    def _blank(self, p: Array, y: Any) -> Array:
        """Predictions of a learner that saw no label and cannot know yet how many outputs it will have."""
        if self.learner.labels == "class":
            return np.zeros((1, self.learner.classes or 2))
        return np.zeros((1, len(y))) if self.learner.labels == "real" and np.ndim(y) == 1 else p

    def _parts(self, Y: Any, n: int) -> Iterator[tuple[int, int]]:
        """One part, cut where a class appears for the first time: before it, there is no score that it could have."""
        start = 0
        if self.learner.labels == "class" and self.learner.classes is None and Y is not None:
            y = np.asarray(Y, dtype=np.float64).reshape(n, -1)[:, 0]
            while len(late := np.flatnonzero((y[start:] >= self._classes) & np.isfinite(y[start:]))):
                row = start + int(late[0])
                if row > start:
                    yield start, row
                start, self._classes = row, int(y[row]) + 1
        yield start, n


def _stacked(parts: list[Array]) -> Array:
    """Predictions of single rows as one block; a class without a score yet cannot win, so its score is -inf."""
    if parts[0].ndim == 1:
        return np.concatenate(parts)
    width = max(p.shape[1] for p in parts)
    block = np.full((len(parts), width), -np.inf)
    for row, p in zip(block, parts, strict=True):
        row[: p.shape[1]] = p[0]
    return block


def _check(name: str, learner: Learner, metrics: Sequence[Metric | Meter]) -> Callable[[Array], Array]:
    """Refuse a metric that cannot read this learner; else give what turns its predictions into probabilities."""
    if isinstance(learner, type) or not callable(getattr(learner, "run", None)):
        raise TypeError(f"{name}: a learner has predict, step and run; got {learner!r}")
    loss = getattr(learner, "loss", None)
    loss = loss if isinstance(loss, str) else getattr(loss, "name", None)
    for metric in metrics:
        if not isinstance(metric, Metric):
            continue
        if metric.takes == "probability" and loss not in PROBABILITIES:
            raise ValueError(
                f"{name}: {metric.column} needs probabilities, and the predictions of {type(learner).__name__} are not "
                f"log odds; use a learner with loss='logistic' or loss='softmax', or another metric such as accuracy"
            )
        if learner.labels not in metric.labels:
            other = {"class": "accuracy", "none": "auc"}.get(learner.labels, "mse")
            raise ValueError(
                f"{name}: {metric.column} cannot be read off {type(learner).__name__}, whose labels are of kind "
                f"{learner.labels!r}; use another metric such as {other}"
            )
    return PROBABILITIES.get(loss or "", lambda P: P)


def _versions() -> dict[str, str]:
    try:
        own = importlib.metadata.version("nystream")
    except importlib.metadata.PackageNotFoundError:
        own = "unknown"
    return {"nystream": own, "numpy": np.__version__, "python": platform.python_version()}
