"""How wrong predictions are, row by row: what importance is measured by."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nystream.explain.importance import Losses
from nystream.runtime.types import Array

__all__ = ["Error", "error_rate", "of_probabilities", "of_score", "squared_error"]


class Error(NamedTuple):
    """What an error is called, the losses of predictions, and the mean loss of the best constant prediction."""

    unit: str
    losses: Losses
    constant: float


def squared_error(Y: Array) -> Error:
    """Of targets (n, K); of several, over the variance of each, and the mean of them."""
    spread = Y.var(axis=0)
    unit = np.where(spread > 0, spread, 1.0) if Y.shape[1] > 1 else np.ones(1)

    def losses(P: Array, at: npt.NDArray[np.intp]) -> Array:
        found: Array = ((P - Y[at]) ** 2 / unit).mean(axis=1)
        return found

    return Error("squared error", losses, float((spread / unit).mean()))


def of_probabilities(classes: npt.NDArray[np.intp]) -> Error:
    """The squared error of probabilities (n, K) of the classes, summed over them: Brier's score."""
    shares = np.bincount(classes) / max(len(classes), 1)

    def losses(P: Array, at: npt.NDArray[np.intp]) -> Array:
        found: Array = ((P - (np.arange(P.shape[1]) == classes[at, None])) ** 2).sum(axis=1)
        return found

    return Error("squared error of probabilities", losses, float(1 - (shares**2).sum()))


def error_rate(classes: npt.NDArray[np.intp]) -> Error:
    """Whether the largest score (n, K) is that of another class."""
    shares = np.bincount(classes) / max(len(classes), 1)

    def losses(P: Array, at: npt.NDArray[np.intp]) -> Array:
        return (P.argmax(axis=1) != classes[at]).astype(np.float64)

    return Error("error rate", losses, float(1 - shares.max(initial=0.0)))


def of_score(now: Array) -> Error:
    """Without labels: the variance of the scores (n,) as they are now, and how far a score is from that, squared."""
    spread = float(now.var()) or 1.0

    def losses(P: Array, at: npt.NDArray[np.intp]) -> Array:
        found: Array = spread + (P[:, 0] - now[at]) ** 2
        return found

    return Error("score", losses, spread)
