"""How a model is doing: its error so far and in a window, beside two naive forecasts, and a history of bounded length.

The error is the mean squared error of numbers (the mean over several targets) and the share of wrong answers of
classes; of each row it is taken before the row was learnt. The naive forecasts are the mean of all labels so far (of
classes the most frequent one) and the label before (no change).
"""

from __future__ import annotations

import time
from collections import Counter, deque
from typing import Any

import numpy as np

from nystream.runtime.types import Array

__all__ = ["Meter", "Rate"]

WINDOW = 1000
"""Rows of the window over which errors are averaged."""
POINTS = 400
"""Most points of a time line; a page could not show more."""
SPACING = 10
"""Rows between the first points of a time line; doubled whenever `POINTS` are reached."""
BINS = 10
"""Bins of predicted probability in the calibration chart."""
WATCHED = 20
"""Rows from one look at intervals or probabilities to the next."""
SHARES = 16
"""Experts, and columns, whose shares a reading of the history keeps: those with the largest."""
READINGS = (
    "row",
    "at",
    "error",
    "window",
    "window_mean",
    "window_last",
    "rows_per_second",
    "coverage",
    "relied_on",
    "bytes",
)
"""What a reading of the history is made of."""


class Meter:
    """Sums over all rows, and the last `window` rows; `points` readings of them along the way."""

    def __init__(self, task: str, window: int = WINDOW, points: int = POINTS) -> None:
        self.task, self.points = task, points
        self.n = 0
        self.sums = [0.0, 0.0, 0.0]
        """Losses of the model, of the mean, of no change."""
        self.recent = np.zeros((3, window))
        """The same losses of the last rows; row n is at n modulo the window."""
        self.labels = 0
        self.total: Any = 0.0
        self.last: Any = None
        self.low, self.high = np.inf, -np.inf
        self.counts: Counter[Any] = Counter()
        self.covered = [0, 0]
        """Looks at intervals of 90%, and how many held the label."""
        self.bins = [[0, 0.0, 0] for _ in range(BINS)]
        """Of probabilities of the answer in tenths: answers, sum of the probabilities, right ones."""
        self.history: list[list[Any]] = []
        self.spacing, self.next_point, self.next_look = SPACING, 1, WATCHED

    # -- taking rows in ----------------------------------------------------------------------------------------------
    def update(self, labels: Any, predictions: Any) -> None:
        """Take in rows with their labels, (n, K) numbers or names, and what was predicted before these were read."""
        if labels is None or self.task == "novelty":
            return
        if self.task == "classification":
            for label, predicted in zip(labels, predictions, strict=True):
                if label is not None:
                    self._name(label, predicted)
        elif len(labels) == 1 and labels.shape[1] == 1:
            predicted = predictions[0]
            self._number(float(labels[0, 0]), float(predicted if predicted is not None else np.nan))
        else:
            self._numbers(labels, np.asarray(predictions, dtype=np.float64))

    def _name(self, label: Any, predicted: Any) -> None:
        most = self.counts.most_common(1)[0][0] if self.counts else None
        self._add((float(label != predicted), float(label != most), float(label != self.last)))
        self.counts[label] += 1
        self.last = label

    def _number(self, y: float, p: float) -> None:
        if y != y:
            return
        p = p if p == p else 0.0
        mean = float(self.total) / self.labels if self.labels else 0.0
        last = float(self.last[0]) if self.last is not None else 0.0
        self._add(((y - p) ** 2, (y - mean) ** 2, (y - last) ** 2))
        self.labels += 1
        self.total = float(self.total) + y
        self.last = [y]
        self.low, self.high = min(self.low, y), max(self.high, y)

    def _numbers(self, Y: Array, P: Array) -> None:
        there = ~np.isnan(Y).any(axis=1)
        Y, P = Y[there], P.reshape(len(P), -1)[there]
        if not len(Y):
            return
        n, outputs = Y.shape
        before = np.zeros((n, outputs)) + self.total
        before[1:] += np.cumsum(Y[:-1], axis=0)
        counts = self.labels + np.arange(n)
        means = before / np.maximum(counts, 1)[:, None]
        lasts = np.vstack([np.zeros(outputs) if self.last is None else np.asarray(self.last), Y[:-1]])
        with np.errstate(over="ignore", invalid="ignore"):
            losses = [((Y - guess) ** 2).mean(axis=1) for guess in (np.nan_to_num(P), means, lasts)]
        self._add_all(np.array(losses))
        self.labels += n
        self.total = (self.total + Y.sum(axis=0)).tolist() if outputs > 1 else float(self.total) + float(Y.sum())
        self.total = np.array(self.total) if outputs > 1 else self.total
        self.last = Y[-1].tolist()
        self.low, self.high = min(self.low, float(Y.min())), max(self.high, float(Y.max()))

    def _add(self, losses: tuple[float, float, float]) -> None:
        self.recent[:, self.n % self.recent.shape[1]] = losses
        self.n += 1
        for k in range(3):
            self.sums[k] += losses[k]

    def _add_all(self, losses: Array) -> None:
        window, n = self.recent.shape[1], losses.shape[1]
        last = losses[:, -window:]
        self.recent[:, (self.n + n - last.shape[1] + np.arange(last.shape[1])) % window] = last
        self.n += n
        self.sums = [total + float(part) for total, part in zip(self.sums, losses.sum(axis=1), strict=True)]

    def losses(self) -> Array:
        """Return losses of the model in the window, the oldest first."""
        window = self.recent.shape[1]
        rows = np.arange(max(0, self.n - window), self.n) % window
        found: Array = self.recent[0, rows]
        return found

    # -- looks now and then ------------------------------------------------------------------------------------------
    @property
    def wants_look(self) -> bool:
        """Whether the next rows should come with an interval or probabilities."""
        return self.n >= self.next_look

    def looked(self, *, inside: bool | None = None, probability: float | None = None, right: bool = False) -> None:
        """Count one row: whether its label was inside the interval, or how probable its answer was."""
        self.next_look = self.n + WATCHED
        if inside is not None:
            self.covered[0] += 1
            self.covered[1] += inside
        if probability is not None and probability == probability:
            place = self.bins[min(int(probability * BINS), BINS - 1)]
            place[0] += 1
            place[1] += probability
            place[2] += right

    @property
    def wants_point(self) -> bool:
        """Whether a reading of the history is due."""
        return self.points > 0 and self.n >= self.next_point

    def point(self, at: float, rate: float, relied_on: dict[str, dict[str, float]], size: int = 0) -> None:
        """Write a reading down; when there are too many every other one goes."""
        now = self.reading()
        errors = [now[name] for name in ("error", "window", "window_mean", "window_last")]
        shares = {kind: _largest(found) for kind, found in relied_on.items()}
        self.history.append([self.n, at, *errors, rate, now["coverage"], shares, size])
        if len(self.history) >= self.points:
            self.history = self.history[1::2]
            self.spacing *= 2
        self.next_point = self.n + self.spacing

    # -- reading ------------------------------------------------------------------------------------------------------
    def reading(self) -> dict[str, Any]:
        """Return all numbers now; None where no row was seen."""
        n, there = self.n, min(self.n, self.recent.shape[1])
        means = [total / n if n else None for total in self.sums]
        window = self.recent[:, :there].mean(axis=1).tolist() if n else [None] * 3
        return {
            "measure": "share wrong" if self.task == "classification" else "mean squared error",
            "rows": n,
            "error": means[0],
            "error_mean": means[1],
            "error_last": means[2],
            "window": window[0],
            "window_mean": window[1],
            "window_last": window[2],
            "window_rows": there,
            "coverage": self.covered[1] / self.covered[0] if self.covered[0] else None,
            "coverage_asked": 0.9,
            "coverage_rows": self.covered[0],
            "calibration": [[c, s / c, r / c] for c, s, r in self.bins if c],
        }

    def timeline(self) -> dict[str, Any]:
        """Return the history by columns; shares are None where an expert or column was not among the largest."""
        readings = list(self.history)
        columns = list(zip(*readings, strict=True)) or [()] * len(READINGS)
        found: dict[str, Any] = {name: list(column) for name, column in zip(READINGS, columns, strict=True)}
        points = found["relied_on"]
        kinds: dict[str, dict[str, None]] = {}
        for point in points:
            for kind, shares in point.items():
                kinds.setdefault(kind, {}).update(dict.fromkeys(shares))
        found["relied_on"] = {
            kind: {name: [point.get(kind, {}).get(name) for point in points] for name in names}
            for kind, names in kinds.items()
        }
        return found

    # -- stopping and going on ----------------------------------------------------------------------------------------
    def state(self) -> dict[str, Any]:
        """Return everything as JSON."""
        found = {k: v for k, v in self.__dict__.items() if k not in ("recent", "counts", "total", "low", "high")}
        found["recent"] = self.recent[:, : self.n].tolist()
        found["window"] = self.recent.shape[1]
        found["counts"] = [[name, count] for name, count in self.counts.items()]
        found["total"] = self.total.tolist() if isinstance(self.total, np.ndarray) else self.total
        found["range"] = [self.low, self.high] if self.labels else None
        return found

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Meter:
        """Return the meter that `state` describes."""
        meter = cls(state["task"], state["window"], state["points"])
        for name in ("n", "sums", "labels", "last", "covered", "bins", "history", "spacing", "next_point", "next_look"):
            setattr(meter, name, state[name])
        for point in meter.history:  # readings without what they were not made of then
            point.extend([None] * (len(READINGS) - len(point)))
        recent = np.array(state["recent"], dtype=np.float64)
        meter.recent[:, : recent.shape[1]] = recent
        meter.counts.update(dict(map(tuple, state["counts"])))
        meter.total = np.array(state["total"]) if isinstance(state["total"], list) else state["total"]
        if state["range"]:
            meter.low, meter.high = state["range"]
        return meter


def _largest(shares: dict[str, float]) -> dict[str, float]:
    """Return the largest shares, to four digits: as many as a picture can show."""
    found = sorted(shares.items(), key=lambda item: -abs(item[1]))[:SHARES]
    return {name: round(float(share), 4) for name, share in found}


class Rate:
    """Events a second over the last ten seconds."""

    SECONDS = 10

    def __init__(self) -> None:
        self._buckets: deque[tuple[int, int]] = deque(maxlen=self.SECONDS + 1)

    def add(self, count: int) -> None:
        now = int(time.monotonic())
        if self._buckets and self._buckets[-1][0] == now:
            self._buckets[-1] = (now, self._buckets[-1][1] + count)
        else:
            self._buckets.append((now, count))

    @property
    def value(self) -> float:
        now = int(time.monotonic())
        recent = [count for second, count in list(self._buckets) if now - self.SECONDS <= second < now]
        return sum(recent) / self.SECONDS
