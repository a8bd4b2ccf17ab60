"""Metrics of numbers: mean squared and absolute error, their root, and the coefficient of determination."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nystream.evaluate.metrics.base import Direction, Mean, Metric, running_sum
from nystream.evaluate.metrics.pairs import as_numbers
from nystream.runtime.types import Array, LabelKind

__all__ = ["MAE", "MSE", "R2", "RMSE"]

_NUMBERS: tuple[LabelKind, ...] = ("real", "sign")


class MSE(Mean):
    """Mean squared error, mean (y - p)^2; with several targets also the mean over them.

    Examples
    --------
    >>> MSE().update([1.0, 2.0], [1.0, 4.0]).value
    2.0
    """

    name = "mse"
    labels: tuple[LabelKind, ...] = _NUMBERS

    def _terms(self, Y: Any, P: Any) -> Array:
        y, p = as_numbers(Y, P, self.name)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.square(y - p).mean(axis=1, keepdims=True)


class RMSE(MSE):
    """Root of the mean squared error (with several targets: of the mean over all of them)."""

    name = "rmse"

    @property
    def value(self) -> float:
        return math.sqrt(super().value)


class MAE(Mean):
    """Mean absolute error, mean |y - p|; with several targets also the mean over them."""

    name = "mae"
    labels: tuple[LabelKind, ...] = _NUMBERS

    def _terms(self, Y: Any, P: Any) -> Array:
        y, p = as_numbers(Y, P, self.name)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.abs(y - p).mean(axis=1, keepdims=True)


class R2(Metric):
    """Coefficient of determination, 1 - sum (y - p)^2 / sum (y - mean y)^2; with several targets the mean over them.

    NaN until two labels differ. The sums are of y - y_1: since (y_1 - mean)^2 is itself part of the sum of squares, the
    cancellation in sum (y - y_1)^2 - (sum (y - y_1))^2 / n costs at most a relative error of order n times 1e-16.

    Examples
    --------
    >>> R2().update([1.0, 2.0, 3.0], [1.0, 2.0, 4.0]).value
    0.5
    """

    name = "r2"
    direction: Direction = "higher"
    labels: tuple[LabelKind, ...] = _NUMBERS
    shift_: Array | None
    totals_: Array

    @property
    def value(self) -> float:
        if self.shift_ is None:
            return float("nan")
        weight = self.totals_[0]
        s1, s2, error = self.totals_[1:].reshape(3, -1)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            spread = s2 - s1 * s1 / weight
            ratio = np.where(spread > 0, error / spread, np.nan)
        return float(np.mean(1.0 - ratio))

    def reset(self) -> None:
        self.shift_ = None
        self.totals_ = np.zeros(1)

    def _terms(self, Y: Any, P: Any) -> Array:
        y, p = as_numbers(Y, P, self.name)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.hstack((y, np.square(y - p)))

    def _absorb(self, T: Array, w: Array) -> None:
        counted = np.flatnonzero(w > 0)  # a label of weight 0 is no part of the sums, so no safe shift
        if not len(counted):
            return
        y, error = np.hsplit(T, 2)
        if self.shift_ is None:
            self.shift_, self.totals_ = y[counted[0]].copy(), np.zeros(1 + 3 * y.shape[1])
        u = y - self.shift_
        self.totals_ = running_sum(self.totals_, np.hstack((w[:, None], w[:, None] * np.hstack((u, u * u, error)))))
