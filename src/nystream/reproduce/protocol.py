"""Functions that the experiments share: shuffles, a timed prequential pass, mean and deviation over shuffles."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from nystream.learners.base import Learner
from nystream.runtime.types import Array

__all__ = ["SEEDS", "Pass", "coins", "error_rate", "mean_sd", "one_pass", "rmse", "shuffled", "so_far", "wrong"]

SEEDS = (0, 1, 2, 3, 4)
"""Of shuffles, coins and draws in full runs."""


@dataclass(frozen=True)
class Pass:
    """One pass: the learner afterwards, its predictions made before the labels, and the processor seconds it took."""

    learner: Learner
    predictions: Array
    seconds: float


def one_pass(learner: Learner, X: Array, y: Array) -> Pass:
    """Run one pass in which every row is predicted before its label is used."""
    start = time.process_time()  # other programs may be running, and would stretch the time of the clock
    predictions = learner.run(X, y)
    return Pass(learner, predictions, time.process_time() - start)


def coins(seed: int) -> int:
    """Return the seed of a learner for data drawn with `seed`. Equal seeds would give both the same random numbers."""
    return 1000 + seed


def shuffled(X: Array, y: Array, seed: int | None, rows: int | None = None) -> tuple[Array, Array]:
    """Return the first rows of a shuffle; for None the stored order."""
    if seed is None:
        return X[:rows], y[:rows]
    order = np.random.default_rng(seed).permutation(len(y))[:rows]
    return X[order], y[order]


def wrong(P: Array, y: Array) -> Array:
    """Return which predictions are wrong: classes by the largest score, labels -1/+1 by the sign (0 counts as +1)."""
    if P.ndim == 2:
        return P.argmax(axis=1) != y
    return np.where(P >= 0, 1.0, -1.0) != y


def error_rate(P: Array, y: Array) -> float:
    """Return the percentage of mistakes."""
    return 100.0 * float(np.mean(wrong(P, y)))


def rmse(P: Array, y: Array) -> float:
    """Return the root mean squared error."""
    return float(np.sqrt(np.mean((P - y) ** 2)))


def so_far(values: Array, points: int = 60) -> tuple[Array, Array]:
    """Return running means of a column at about evenly spaced rows: (rows, means)."""
    rows = np.unique(np.linspace(len(values) / points, len(values), points).astype(int))
    rows = rows[rows > 0]
    return rows, np.cumsum(values)[rows - 1] / rows


def mean_sd(values: list[float]) -> tuple[float, float]:
    """Return mean and standard deviation over shuffles (0 for one)."""
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
