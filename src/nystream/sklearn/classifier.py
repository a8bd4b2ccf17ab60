"""A scikit-learn classifier around any learner."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from nystream.compose.classifier import Classifier
from nystream.data.targets import class_names
from nystream.learners.base import Learner
from nystream.model import Model
from nystream.model.weighting import BALANCED, ClassWeight, checked_weight
from nystream.runtime.types import Array
from nystream.sklearn.base import ClassifierMixin, Online, check_classification_targets, fitted

__all__ = ["OnlineKernelClassifier"]


class OnlineKernelClassifier(ClassifierMixin, Online):  # type: ignore[misc]
    """A scikit-learn classifier around any nystream learner.

    The loss decides how the learner learns classes. A multi-class loss learns them itself. Least squares learns one
    -1/+1 column per class over one shared factor. A binary loss learns one class against the other, or each class
    against the rest if there are more than two; so do symmetric regression losses (`absolute`, `huber`,
    `epsilon_insensitive`) with codes -1/+1. Labels may be any values that can be sorted, and new labels may appear at
    any time. Least squares learns a new class exactly; the other losses start it with an untrained learner
    (`nystream.compose.classes`).

    Probabilities: logistic and softmax losses give their own; least squares gives the distribution nearest to
    (f + 1)/2; margins pass through an online Platt map (`nystream.compose.probabilities`). The most probable class is
    always the predicted one.

    Parameters
    ----------
    learner : Learner or None
        As in `OnlineKernelRegressor`.
    class_weight : None, "balanced" or dict of label to weight
        Weights of classes, for learners that take weights, as the default and least squares do. "balanced": all classes
        have the same total weight; in `partial_fit` over the rows so far, see `nystream.model.weighting`. In `fit` of
        the default learner only the proportions of the weights count.

    Attributes
    ----------
    classes_ : array
        The labels known so far, sorted.
    model_ : Model
        The trained model: a learner with the names of its columns and of its classes.
    learners_ : list of Learner
        The trained learners: one, or one per class where classes are learnt one against the rest.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.sklearn import OnlineKernelClassifier
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> y = np.where((X**2).sum(1) < 1, "in", "out")
    >>> model = OnlineKernelClassifier().fit(X, y)
    >>> model.predict([[0, 0], [2, 2]]).tolist()
    ['in', 'out']
    """

    _task: ClassVar[str] = "classification"

    def __init__(self, learner: Learner | None = None, class_weight: ClassWeight = None) -> None:
        super().__init__(learner)
        self.class_weight = class_weight

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn the rows in one pass.

        They come in their order, but to the default learner, `Auto`, which would take their order for that of a
        stream: it gets them shuffled, in the same way each time. Streams go through `partial_fit` or
        `predict_then_learn`. Rows of weight 0 are left out.
        """
        X, y, weights = self._checked(X, y, sample_weight, reset=True)
        check_classification_targets(y)
        labels = np.unique(y)
        weight = self.class_weight
        if weight == BALANCED:  # all rows are there: every class has the weight that it would have in the end
            weight = dict(zip(labels.tolist(), _balanced(labels, y, weights), strict=True))
        elif weight is not None and (self.learner is None or self.learner.follows_order):
            weight = _relative(checked_weight(weight), y, weights)
        model = self._fresh(X, classes=class_names(labels), class_weight=weight)
        self.model_ = fitted(model, X, y, weights)
        self.classes_, self.numbers_ = labels, np.arange(len(labels))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows, in their order. `classes` declares labels in advance; it is never required.

        Rows without a label (None, nan, "") are left out.
        """
        self._learn(X, y, classes, sample_weight, keep=False)
        return self

    def predict_then_learn(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Do `partial_fit`, and return for each row the label that was predicted before its label was read.

        Each answer is one of the labels known at the time; None before the first. A row without a label (None, nan, "")
        is predicted and not learnt.
        """
        return self._chosen(self._learn(X, y, None, sample_weight, keep=True))

    def decision_function(self, X: Any) -> Array:
        """Return scores: (n,) for two classes, positive where the second is predicted; else (n, classes)."""
        X = self._clean(X)
        F = self.model_.scores(X)[:, self.numbers_]
        if F.shape[1] == 2:
            return (F[:, 1] - F[:, 0]) / 2  # the scores are opposite; so the sign agrees with `predict` to the last bit
        return F if F.shape[1] > 2 else F[:, 0]

    def predict_proba(self, X: Any) -> Array:
        """Return probabilities (n, classes) in the order of `classes_`."""
        X = self._clean(X)
        return self.model_.probabilities(X)[:, self.numbers_]

    def predict(self, X: Any) -> Any:
        """Return labels (n,)."""
        X = self._clean(X)
        return self._chosen(self.model_.scores(X))

    @property
    def learners_(self) -> list[Learner]:
        """The trained learners: one, or one per class where classes are learnt one against the rest."""
        learner = self.learner_
        return learner.inner_.learners if isinstance(learner, Classifier) else [learner]

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        self.class_weight = model.class_weight
        labels = np.array(model.classes)
        self.numbers_ = np.argsort(labels)
        self.classes_ = labels[self.numbers_]

    def _chosen(self, F: Array) -> Any:
        known = ~np.isnan(F).any(axis=1)
        labels = self.classes_[F[:, self.numbers_].argmax(axis=1)]
        return labels if known.all() else np.where(known, labels.astype(object), None)

    def _learn(self, X: Any, y: Any, classes: Any, sample_weight: Any, keep: bool) -> Array:
        first = not hasattr(self, "model_")
        X, y, weights = self._checked(X, y, sample_weight, reset=first, keep=keep, partly=True)
        there = y if isinstance(y, np.ndarray) else np.array([v for v in class_names(y) if v is not None])
        if len(there):
            check_classification_targets(there)
        model = self._fresh(X, class_weight=self.class_weight) if first else self.model_
        declared = there[:0] if first else self.classes_[np.argsort(self.numbers_)]
        if classes is not None:
            declared = _appended(declared, np.unique(classes))
        labels = _appended(declared, there) if len(there) else declared
        model.declare(declared)
        F = model.run_scores(X, y, weights).P
        order = np.argsort(labels)
        self.model_, self.classes_, self.numbers_ = model, labels[order], order
        return F


def _balanced(labels: Any, y: Any, weights: Array | None) -> list[float]:
    """Return n / (K n_c) for every class, with rows counted by their weights."""
    w = np.ones(len(y)) if weights is None else weights
    counts = np.array([w[y == label].sum() for label in labels])
    return (w.sum() / (len(labels) * counts)).tolist()


def _relative(class_weight: dict[Any, float], y: Any, weights: Array | None) -> dict[Any, float]:
    """Scale class weights so that all rows together weigh what they weigh without them.

    `Auto` takes a weight for a number of rows: with weights far from 1 it would trust few rows like very many.
    """
    w = np.ones(len(y)) if weights is None else weights
    labels = y.tolist() if isinstance(y, np.ndarray) else list(y)
    known = dict(zip(class_names(list(class_weight)), class_weight.values(), strict=True))
    total = float(sum(known.get(name, 1.0) * part for name, part in zip(class_names(labels), w.tolist(), strict=True)))
    if total <= 0:
        return class_weight
    factor = float(w.sum()) / total
    every = {**dict.fromkeys(class_names(labels), 1.0), **known}
    return {name: factor * value for name, value in every.items()}


def _appended(labels: Any, more: Any) -> Any:
    """Return labels in the order of their numbers, then those of `more` that are new, in order of appearance."""
    found, first = np.unique(more, return_index=True)
    if not len(labels):
        return found[np.argsort(first)]
    if {labels.dtype.kind, found.dtype.kind} & set("US") and {labels.dtype.kind, found.dtype.kind} & set("biuf"):
        raise ValueError(f"labels so far are {labels.dtype}, new ones {found.dtype}; strings and numbers do not mix")
    new = ~np.isin(found, labels)
    return np.concatenate([labels, found[new][np.argsort(first[new])]])
