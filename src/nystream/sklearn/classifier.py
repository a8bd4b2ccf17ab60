"""Any learner as a scikit-learn classifier."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from nystream.choice import chosen
from nystream.compose.classes import class_learner
from nystream.learners.base import Learner
from nystream.sklearn.base import ClassifierMixin, Online, batch, check_classification_targets, check_is_fitted
from nystream.types import Array

__all__ = ["OnlineKernelClassifier"]


class OnlineKernelClassifier(ClassifierMixin, Online):  # type: ignore[misc]
    """Any nystream learner as a scikit-learn classifier.

    How classes reach the learner depends on its loss: multi-class losses take them natively; least-squares learners
    regress one -1/+1 column per class over one shared factor; binary losses learn one class against the other, or each
    against the rest when there are more than two; so do symmetric regression losses (`absolute`, `huber`,
    `epsilon_insensitive`) with codes -1/+1. Labels may be of any kind that can be sorted. New labels may appear at any
    time: exact for least squares, from scratch for the others (`nystream.compose.classes`).

    Probabilities: logistic and softmax losses give their own; least squares gives the distribution nearest to
    (f + 1)/2; margins pass through an online Platt map (`nystream.compose.probabilities`). The most probable class is
    always the predicted one.

    Parameters
    ----------
    learner : Learner or None
        As in `OnlineKernelRegressor`.

    Attributes
    ----------
    classes_ : array
        The labels known so far, sorted.
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn the rows in one pass.

        They come in their order, but to the default learner, `Auto`, which would take their order for that of a
        stream: it gets them shuffled, in the same way each time. Streams go through `partial_fit` or
        `predict_then_learn`. Rows of weight 0 are left out.
        """
        coding = class_learner(chosen(self.learner))
        X, y, weights = self._checked(X, y, sample_weight, reset=True)
        check_classification_targets(y)
        labels, numbers = np.unique(y, return_inverse=True)
        coding.declare(len(labels))
        for learner in coding.learners:
            X, numbers, weights = batch(learner, X, numbers, weights)
        coding.run(X, numbers, weights)
        self.coding_, self.classes_, self.numbers_ = coding, labels, np.arange(len(labels))
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows, in their order. `classes` declares labels beforehand; it is never required."""
        self._learn(X, y, classes, sample_weight, keep=False)
        return self

    def predict_then_learn(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """`partial_fit`, returning the labels that were predicted row by row before each label was read.

        Each answer is one of the labels known at the time. Only the very first row, when none is, gets the smallest
        label of the block.
        """
        return self._chosen(self._learn(X, y, None, sample_weight, keep=True))

    def decision_function(self, X: Any) -> Array:
        """Scores: (n,) for two classes, positive where the second is predicted; else (n, classes)."""
        X = self._clean(X, "coding_")
        F = self.coding_.scores(X)[:, self.numbers_]
        if F.shape[1] == 2:
            return (F[:, 1] - F[:, 0]) / 2  # the scores are opposite; so the sign agrees with `predict` to the last bit
        return F if F.shape[1] > 2 else F[:, 0]

    def predict_proba(self, X: Any) -> Array:
        """Probabilities (n, classes) in the order of `classes_`."""
        X = self._clean(X, "coding_")
        return self.coding_.probabilities(X)[:, self.numbers_]

    def predict(self, X: Any) -> Any:
        """Labels (n,)."""
        X = self._clean(X, "coding_")
        return self._chosen(self.coding_.scores(X))

    def explain(self) -> str:
        """What carries the predictions now, in words; of learners that can say, as the default."""
        check_is_fitted(self, "coding_")
        return str(self.coding_.explain())

    @property
    def learners_(self) -> list[Learner]:
        check_is_fitted(self, "coding_")
        return self.coding_.learners

    def _chosen(self, F: Array) -> Any:
        return self.classes_[F[:, self.numbers_].argmax(axis=1)]

    def _learn(self, X: Any, y: Any, classes: Any, sample_weight: Any, keep: bool) -> Array:
        first = not hasattr(self, "coding_")
        coding = class_learner(chosen(self.learner)) if first else self.coding_
        X, y, weights = self._checked(X, y, sample_weight, reset=first, keep=keep)
        check_classification_targets(y)
        declared = self.classes_[np.argsort(self.numbers_)] if not first else y[:0]
        if classes is not None:
            declared = _appended(declared, np.unique(classes))
        labels = _appended(declared, y)
        order = np.argsort(labels)
        coding.check(len(labels))
        coding.declare(len(declared))
        F = coding.run(X, order[np.searchsorted(labels, y, sorter=order)], weights)
        self.coding_, self.classes_, self.numbers_ = coding, labels[order], order
        return F


def _appended(labels: Any, more: Any) -> Any:
    """Labels in the order of their numbers, then those of `more` that are new, in order of appearance."""
    found, first = np.unique(more, return_index=True)
    if not len(labels):
        return found[np.argsort(first)]
    if {labels.dtype.kind, found.dtype.kind} & set("US") and {labels.dtype.kind, found.dtype.kind} & set("biuf"):
        raise ValueError(f"labels so far are {labels.dtype}, new ones {found.dtype}; strings and numbers do not mix")
    new = ~np.isin(found, labels)
    return np.concatenate([labels, found[new][np.argsort(first[new])]])
