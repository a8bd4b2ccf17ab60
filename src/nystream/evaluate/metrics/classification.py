"""Metrics of decisions and of probabilities: accuracy, balanced accuracy, F1, Cohen's kappa, log loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream.evaluate.metrics.base import Direction, Input, Mean, Metric
from nystream.evaluate.metrics.pairs import UNDECIDED, as_classes, as_truth
from nystream.runtime.types import Array, LabelKind

__all__ = ["F1", "Accuracy", "BalancedAccuracy", "Kappa", "LogLoss"]

SMALLEST = float(np.finfo(np.float64).eps)
"""Probabilities of labels that happened are not taken below this; the largest log loss of a row is 36.04."""

SLACK = 1e-6
"""How far probabilities may be from summing to one, for single-precision models."""


class Accuracy(Mean):
    """Share of decisions that are right. A NaN prediction is a wrong decision.

    Examples
    --------
    >>> Accuracy().update([-1, 1, 1, 1], [-0.3, 0.0, 2.0, -1.0]).value
    0.75
    """

    name = "accuracy"
    direction: Direction = "higher"

    def _terms(self, Y: Any, P: Any) -> Array:
        truth, decided, _ = as_classes(Y, P, self.name)
        return (truth == decided).astype(np.float64)[:, None]


class _Confusion(Metric):
    """Metrics of the confusion matrix; its last column counts NaN predictions, decisions for no class."""

    direction: Direction = "higher"
    counts_: Array
    signs_: bool

    def reset(self) -> None:
        self.counts_ = np.zeros((0, 1))
        self.signs_ = False

    def _terms(self, Y: Any, P: Any) -> Array:
        truth, decided, signs = as_classes(Y, P, self.name)
        return np.column_stack((truth, decided, np.full(len(truth), signs))).astype(np.float64)

    def _absorb(self, T: Array, w: Array) -> None:
        if not len(T):
            return
        truth, decided = T[:, 0].astype(np.intp), T[:, 1].astype(np.intp)
        self.signs_ = bool(T[-1, 2])
        classes = max(len(self.counts_), 1 + int(max(truth.max(), decided.max())))
        if classes > len(self.counts_):
            old = self.counts_
            self.counts_ = np.zeros((classes, classes + 1))
            self.counts_[: len(old), : len(old)] = old[:, :-1]
            self.counts_[: len(old), UNDECIDED] = old[:, -1]
        np.add.at(self.counts_, (truth, decided), w)  # UNDECIDED = -1 is the last column


class BalancedAccuracy(_Confusion):
    """Mean over the classes seen of the share of their rows that was decided right.

    Examples
    --------
    >>> BalancedAccuracy().update([1, 1, 1, -1], [1.0, 1.0, 1.0, 1.0]).value
    0.5
    """

    name = "balanced_accuracy"

    @property
    def value(self) -> float:
        rows = self.counts_.sum(axis=1)
        seen = rows > 0
        return float(np.mean(np.diagonal(self.counts_)[seen] / rows[seen])) if seen.any() else float("nan")


class F1(_Confusion):
    """Harmonic mean of precision and recall, 2 TP / (2 TP + FP + FN).

    For -1/+1 labels that of +1; for classes the mean over all classes that were a label or a decision (macro average).
    """

    name = "f1"

    @property
    def value(self) -> float:
        square = self.counts_[:, :-1]
        both = self.counts_.sum(axis=1) + square.sum(axis=0)
        scores = 2.0 * np.diagonal(square)[both > 0] / both[both > 0]
        if self.signs_:
            return float(scores[-1]) if len(both) == 2 and both[1] > 0 else float("nan")
        return float(scores.mean()) if len(scores) else float("nan")


class Kappa(_Confusion):
    """Cohen's kappa: (accuracy - chance) / (1 - chance), chance being the agreement of independent draws with the same
    marginal frequencies. NaN while labels and decisions are all of one class.

    References
    ----------
    Cohen. A coefficient of agreement for nominal scales. Educational and Psychological Measurement 20(1), 1960.
    """

    name = "kappa"

    @property
    def value(self) -> float:
        total = self.counts_.sum()
        if not total > 0:
            return float("nan")
        square = self.counts_[:, :-1]
        agreed = np.trace(square) / total
        chance = float(self.counts_.sum(axis=1) @ square.sum(axis=0)) / total**2
        return float((agreed - chance) / (1.0 - chance)) if chance < 1.0 else float("nan")


class LogLoss(Mean):
    """Mean of -log(probability given to the label): of P = P(y = +1), shape (n,), or of each class, shape (n, K).

    Raw scores are not probabilities: the evaluation loop turns those of learners with the logistic or the softmax loss
    into them and refuses other learners.

    Examples
    --------
    >>> round(LogLoss().update([1, -1], [0.8, 0.5]).value, 4)
    0.4581
    """

    name = "logloss"
    takes: Input = "probability"
    labels: tuple[LabelKind, ...] = ("sign", "class")

    def _terms(self, Y: Any, P: Any) -> Array:
        p = np.asarray(P, dtype=np.float64)
        outside = (p < 0) | (p > 1)
        if p.ndim == 2:
            outside |= np.abs(p.sum(axis=1, keepdims=True) - 1.0) > SLACK
        if outside.any():
            row = int(np.argwhere(outside)[0, 0])
            raise ValueError(f"logloss takes probabilities that sum to 1; got {p[row].tolist()} at row {row}")
        truth = as_truth(Y, p, self.name)
        if p.ndim == 1:
            given = np.where(truth == 1, p, 1.0 - p)
        else:
            known = truth < p.shape[1]  # a class that had no output yet was given no probability
            given = np.where(known, p[np.arange(len(p)), np.where(known, truth, 0)], 0.0)
        return -np.log(np.clip(given, SMALLEST, 1.0))[:, None]
