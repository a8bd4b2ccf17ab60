"""Any learner as a river classifier."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from nystream.choice import chosen
from nystream.compose.classes import ClassLearner, class_learner
from nystream.learners.base import Learner
from nystream.river.columns import Features
from nystream.river.named import MiniBatchClassifier, Named, columns_for, frames

__all__ = ["KernelClassifier"]


class KernelClassifier(Named, MiniBatchClassifier):
    """Any nystream learner as a river classifier, for any number of classes.

    Labels may be anything hashable and new ones may appear at any time: exact for least squares, from scratch for the
    other losses. How classes reach the learner and how scores become probabilities: `nystream.compose.classes` and
    `nystream.compose.probabilities`. Features and weights as in `KernelRegressor`.

    Parameters
    ----------
    learner
        As in `KernelRegressor`.

    Examples
    --------
    >>> from nystream.river import KernelClassifier
    >>> from river import datasets, evaluate, metrics
    >>> score = evaluate.progressive_val_score(datasets.Phishing(), KernelClassifier(), metrics.Accuracy())
    >>> round(score.get(), 2)
    0.91
    """

    def __init__(self, learner: Learner | None = None) -> None:
        self.learner = learner
        self._model: ClassLearner = class_learner(chosen(learner))
        self._columns = columns_for(self._model.learner)
        self._labels: dict[Hashable, int] = {}

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def _pattern(self) -> Learner:
        return self._model.learner

    def learn_one(self, x: Features, y: Hashable, w: float = 1.0) -> None:
        """Learn one row with label y and weight w."""
        numbers = self._numbers([y])
        self._learn(x, numbers[y], w)
        self._labels = numbers

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[Any, float]:
        """Probability of every label seen so far; empty before the first."""
        P = self._model.probabilities(self._columns.row(x)[None])[0]
        return dict(zip(self._labels, P.tolist(), strict=True))

    def predict_one(self, x: Features, **kwargs: Any) -> Any:
        """The label with the largest score; None before the first row."""
        if not self._labels:
            return None
        best = int(self._model.scores(self._columns.row(x)[None])[0].argmax())
        return list(self._labels)[best]

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn the rows of a frame with labels y, exactly as `learn_one` row by row."""
        labels = frames.into_series(y).to_list()
        numbers = self._numbers(labels)
        self._learn_frame(X, np.array([numbers[label] for label in labels], dtype=np.intp), w)
        self._labels = numbers

    def predict_proba_many(self, X: Any) -> Any:
        """Probabilities as a frame of the same library, one column per label."""
        P = self._model.probabilities(self._block(X, learn=False))
        return frames.to_native_frame(dict(zip(self._labels, P.T, strict=True)), like=frames.into_frame(X))

    def predict_many(self, X: Any) -> Any:
        """Labels as a series of the same library."""
        F = self._model.scores(self._block(X, learn=False))
        labels = list(self._labels)
        chosen = [labels[i] for i in F.argmax(axis=1)] if labels else [None] * len(F)
        return frames.to_native_series(chosen, name=None, like=frames.into_frame(X))

    def explain(self) -> str:
        """What carries the predictions now, in words; of learners that can say, as the default."""
        return str(self._model.explain())

    def _numbers(self, labels: list[Hashable]) -> dict[Hashable, int]:
        """Numbers of the labels known, those given included; unchanged if there is no new one."""
        if all(label in self._labels for label in labels):
            return self._labels
        if any(label is None or label != label for label in labels):
            raise ValueError("y has a missing label (None or NaN)")
        numbers = dict(self._labels)
        for label in labels:
            numbers.setdefault(label, len(numbers))
        self._model.check(len(numbers))
        return numbers
