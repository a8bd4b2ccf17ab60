"""A river classifier around any learner."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

from nystream.data.targets import class_names
from nystream.learners.base import Learner
from nystream.model import Model
from nystream.model.tasks import for_task
from nystream.river.columns import Features
from nystream.river.named import NEXT, MiniBatchClassifier, Named, columns_for, frames

__all__ = ["KernelClassifier"]


class KernelClassifier(Named, MiniBatchClassifier):
    """A river classifier around any nystream learner, for any number of classes.

    Labels may be any hashable values, and new labels may appear at any time. Least squares learns a new class exactly;
    other losses start it with an untrained learner. `nystream.compose.classes` describes how learners learn classes,
    and `nystream.compose.probabilities` how scores become probabilities. Features and weights are as in
    `KernelRegressor`.

    Parameters
    ----------
    learner
        As in `KernelRegressor`.
    class_weight
        None, "balanced" or a dict of label to weight, for learners that take weights; see `nystream.model.weighting`.

    Examples
    --------
    >>> from nystream.river import KernelClassifier
    >>> from river import datasets, evaluate, metrics
    >>> score = evaluate.progressive_val_score(datasets.Phishing(), KernelClassifier(), metrics.Accuracy())
    >>> score.get() > 0.9
    True
    """

    _task: ClassVar[str] = "classification"

    def __init__(self, learner: Learner | None = None, class_weight: Any = None) -> None:
        self.learner = learner
        self.class_weight = class_weight
        self._model: Model | None = None
        if learner is not None and not isinstance(learner, Learner):
            raise TypeError(f"learner must be a nystream learner or None, got {learner!r}")
        self._columns = columns_for(for_task(learner, "classification", 1))
        self._labels: dict[Hashable, int] = {}

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def _settings(self) -> dict[str, Any]:
        return {"class_weight": self.class_weight, "mixed": True}

    def learn_one(self, x: Features, y: Hashable, w: float = 1.0) -> None:
        """Learn one row with label y and weight w."""
        numbers = self._numbers([y])
        self._learn(x, class_names([y])[0], w)
        self._labels = numbers

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[Any, float]:
        """Return the probability of every label seen so far; empty before the first."""
        if self._model is None or not self._labels:
            return {}
        model = self._model
        P = self._ask(x, lambda row: model.probabilities(row, NEXT))[0]
        return dict(zip(self._labels, P.tolist(), strict=True))

    def predict_one(self, x: Features, **kwargs: Any) -> Any:
        """Return the label with the largest score; None before the first row."""
        if self._model is None or not self._labels:
            return None
        best = int(self._scores(x)[0].argmax())
        return list(self._labels)[best]

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn the rows of a frame with labels y, exactly as `learn_one` row by row."""
        labels = frames.into_series(y).to_list()
        numbers = self._numbers(labels)
        self._learn_frame(X, class_names(labels), w)
        self._labels = numbers

    def predict_proba_many(self, X: Any) -> Any:
        """Return probabilities as a frame of the same library, with one column per label."""
        like, model = frames.into_frame(X), self._model
        if model is None:
            return frames.to_native_frame({}, like=like)
        P = self._ask_many(X, lambda rows: model.probabilities(rows, NEXT))
        return frames.to_native_frame(dict(zip(self._labels, P.T, strict=True)), like=like)

    def predict_many(self, X: Any) -> Any:
        """Return labels as a series of the same library."""
        like, labels, model = frames.into_frame(X), list(self._labels), self._model
        if model is None or not labels:
            chosen: list[Any] = [None] * len(like)
        else:
            P = self._ask_many(X, lambda rows: model.scores(rows, NEXT))
            chosen = [labels[i] for i in P.argmax(axis=1)]
        return frames.to_native_series(chosen, name=None, like=like)

    def _output(self, of: Any) -> Any:
        return of if of is None else class_names([of])[0]

    def _adopt(self, model: Model) -> None:
        self.class_weight = model.class_weight
        self._labels = {name: k for k, name in enumerate(model.classes)}

    def _numbers(self, labels: list[Hashable]) -> dict[Hashable, int]:
        """Return the numbers of the known labels, with the given ones added; unchanged if there is no new one."""
        if all(label in self._labels for label in labels):
            return self._labels
        if any(label is None or label != label for label in labels):
            raise ValueError("y has a missing label (None or NaN)")
        numbers = dict(self._labels)
        for label in labels:
            numbers.setdefault(label, len(numbers))
        room = self._inner.classes
        if room is not None and len(numbers) > room:
            raise ValueError(f"there are {len(numbers)} classes, but {self._inner!r} is for {room}")
        if len(set(class_names(list(numbers)))) < len(numbers):
            raise ValueError(f"y has labels that are written alike, such as {labels[-1]!r}; use others")
        return numbers
