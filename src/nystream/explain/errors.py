"""Errors of predictions, row by row, by which importance is measured."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nystream.explain.importance import Losses
from nystream.runtime.types import Array

__all__ = ["Error", "error_rate", "of_probabilities", "of_score", "squared_error"]


class Error(NamedTuple):
    """An error: its name, the losses of predictions, and the mean loss of the best constant prediction."""

    unit: str
    losses: Losses
    constant: float


def squared_error(Y: Array) -> Error:
    """Return the squared error of targets (n, K). Several targets are divided by their variances and averaged."""
    spread = Y.var(axis=0)
    unit = np.where(spread > 0, spread, 1.0) if Y.shape[1] > 1 else np.ones(1)

    def losses(P: Array, at: npt.NDArray[np.intp]) -> Array:
        found: Array = ((P - Y[at]) ** 2 / unit).mean(axis=1)
        return found

    return Error("squared error", losses, float((spread / unit).mean()))


def of_probabilities(classes: npt.NDArray[np.intp]) -> Error:
    """Return the squared error of class probabilities (n, K), summed over the classes (Brier score)."""
    shares = np.bincount(classes) / max(len(classes), 1)

    def losses(P: Array, at: npt.NDArray[np.intp]) -> Array:
        found: Array = ((P - (np.arange(P.shape[1]) == classes[at, None])) ** 2).sum(axis=1)
        return found

    return Error("squared error of probabilities", losses, float(1 - (shares**2).sum()))


def error_rate(classes: npt.NDArray[np.intp]) -> Error:
    """Return the 0/1 error: the largest of the scores (n, K) belongs to a wrong class."""
    shares = np.bincount(classes) / max(len(classes), 1)

    def losses(P: Array, at: npt.NDArray[np.intp]) -> Array:
        return (P.argmax(axis=1) != classes[at]).astype(np.float64)

    return Error("error rate", losses, float(1 - shares.max(initial=0.0)))


def of_score(now: Array) -> Error:
    """Return the error of scores (n,) without labels: the squared difference from the present scores."""
    spread = float(now.var()) or 1.0

    def losses(P: Array, at: npt.NDArray[np.intp]) -> Array:
        found: Array = spread + (P[:, 0] - now[at]) ** 2
        return found

    return Error("score", losses, spread)
