"""Errors relative to a baseline: the mean of past labels, or the last label."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream.evaluate.metrics.base import Metric, running_sum
from nystream.evaluate.metrics.pairs import as_numbers
from nystream.runtime.types import Array, LabelKind

__all__ = ["OfLast", "OfMean"]


class _Share(Metric):
    """Sum of squared errors over that of a baseline, from the second label on; with several targets the mean share."""

    labels: tuple[LabelKind, ...] = ("real",)
    sums_: Array
    """(3, K): our squared errors, the baseline's, and what the baseline knows."""
    weight_: float

    def reset(self) -> None:
        self.sums_ = np.zeros((3, 0))
        self.weight_ = 0.0

    @property
    def value(self) -> float:
        ours, theirs = self.sums_[0], self.sums_[1]
        if not len(ours) or not (theirs > 0).any():
            return float("nan")
        with np.errstate(over="ignore", invalid="ignore"):
            return float(np.mean(ours[theirs > 0] / theirs[theirs > 0]))

    def _terms(self, Y: Any, P: Any) -> Array:
        y, p = as_numbers(Y, P, self.name)
        return np.hstack([y, p])

    def _absorb(self, T: Array, w: Array) -> None:
        if not len(T):
            return
        y, p = np.hsplit(T, 2)
        if not self.sums_.shape[1]:
            self.sums_ = np.zeros((3, y.shape[1]))
        known = self._known(y, w)
        seen = self.weight_ + np.append(0.0, np.cumsum(w)[:-1]) > 0
        counted = np.where(seen, w, 0.0)[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            errors = np.hstack([counted * np.square(y - p), counted * np.square(y - known)])
        total = running_sum(self.sums_[:2].ravel(), errors)
        self.sums_[:2] = total.reshape(2, -1)
        self.weight_ += float(w.sum())

    def observe(self, Y: Any) -> None:
        if not len(Y):
            return
        y = np.asarray(Y, dtype=np.float64).reshape(len(Y), -1)
        if not self.sums_.shape[1]:
            self.sums_ = np.zeros((3, y.shape[1]))
        self._known(y, np.ones(len(y)))
        self.weight_ += float(len(y))

    def _known(self, y: Array, w: Array) -> Array:
        """Return the baseline's predictions for the rows, and add the rows."""
        raise NotImplementedError


class OfMean(_Share):
    """The squared error divided by that of predicting the mean of the targets so far: from 1 on it is no better.

    Examples
    --------
    >>> OfMean().update([1.0, 3.0, 5.0], [0.0, 2.0, 5.0]).value
    0.07692307692307693
    """

    name = "of_mean"

    def _known(self, y: Array, w: Array) -> Array:
        weights = _running(np.array([self.weight_]), w[:, None])
        with np.errstate(over="ignore", invalid="ignore"):
            totals = _running(self.sums_[2], w[:, None] * y)
            self.sums_[2] = totals[-1]
            means: Array = totals[:-1] / np.maximum(weights[:-1], np.finfo(np.float64).tiny)
        return means


class OfLast(_Share):
    """The squared error divided by that of repeating the last target: from 1 on it is no better."""

    name = "of_last"

    def _known(self, y: Array, w: Array) -> Array:
        known = np.vstack([self.sums_[2], y[:-1]])
        self.sums_[2] = y[-1]
        return known


def _running(start: Array, rows: Array) -> Array:
    """Return sums (n + 1, q): the start, then the sums after each row, added one by one."""
    sums: Array = np.add.accumulate(np.vstack([start, rows]), axis=0)
    return sums
