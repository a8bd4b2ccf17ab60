"""scikit-learn estimators: the facade carries the task and the checks, the learner carries the algorithm."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from nystream.learners.base import Learner
from nystream.learners.baseline import Baseline
from nystream.learners.classes import class_learner
from nystream.learners.novelty import RecentQuantile, adapts, checked_novelty, default_novelty, margin
from nystream.types import Array

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ImportError as error:
    raise ImportError("nystream.sklearn needs scikit-learn 1.6 or newer: pip install 'nystream[sklearn]'") from error

__all__ = ["OnlineKernelClassifier", "OnlineKernelNovelty", "OnlineKernelRegressor"]


class _Online(BaseEstimator):  # type: ignore[misc]
    """What the estimators share: the parameter, and the checks of inputs and weights."""

    _target: ClassVar[dict[str, bool]] = {}
    """How scikit-learn checks y."""

    def __init__(self, learner: Learner | None = None) -> None:
        self.learner = learner

    def _fresh(self) -> Learner:
        """A learner of the kind asked for that has learnt nothing."""
        if self.learner is None:
            return Baseline()
        if not isinstance(self.learner, Learner):
            raise TypeError(f"learner must be a nystream learner or None, got {self.learner!r}")
        return self.learner.clone()

    def _checked(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool, keep: bool = False
    ) -> tuple[Array, Any, Array | None]:
        """Clean X, y, weights (None: all 1). Rows of weight 0 are left out, unless `keep`."""
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", reset=reset, **self._target)
        if sample_weight is None:
            return X, y, None
        weights: Array = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if bool((weights < 0).any()):
            raise ValueError("sample_weight has negative values; weights must be at least 0")
        some = weights > 0
        if not some.any():
            raise ValueError("sample_weight is zero for every row; at least one weight must be positive")
        if not keep and not some.all():
            X, y, weights = X[some], y[some], weights[some]
        return X, y, None if bool((weights == 1).all()) else weights

    def _clean(self, X: Any, fitted: str) -> Array:
        check_is_fitted(self, fitted)
        block: Array = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        return block


class OnlineKernelRegressor(RegressorMixin, _Online):  # type: ignore[misc]
    """Any nystream learner of real targets as a scikit-learn regressor.

    `fit` is one pass over the rows in their order; `partial_fit` goes on from there; `predict_then_learn` answers each
    row before learning it. Least-squares learners take sample weights and several targets.

    Parameters
    ----------
    learner : Learner or None
        The algorithm; it is cloned, never changed. None: `nystream.learners.baseline.Baseline()`, which needs no
        parameter.

    Attributes
    ----------
    learner_ : Learner
        The trained learner, with its `save`, `regret`, `std` and so on where it has them.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.sklearn import OnlineKernelRegressor
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> model = OnlineKernelRegressor().fit(X, np.sin(4 * X[:, 0]))
    >>> model.predict([[0.5]]).round(2).tolist()
    [0.91]
    """

    _target: ClassVar[dict[str, bool]] = {"multi_output": True, "y_numeric": True}

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn the rows in their order, in one pass.

        Rows of weight 0 are left out. The default learner looks at the whole of X first (`Baseline.prepare`).
        """
        learner = self._real()
        X, y, weights = self._checked(X, y, sample_weight, reset=True)
        self.learner_ = learner
        _prepare(self.learner_, X, weights)
        self.learner_.run(X, y, weights)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn more rows, in their order."""
        self._learn(X, y, sample_weight, keep=False)
        return self

    def predict_then_learn(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """`partial_fit`, returning the predictions that were made row by row before each target was read."""
        return self._learn(X, y, sample_weight, keep=True)

    def predict(self, X: Any) -> Array:
        """Predictions (n,), or (n, targets)."""
        X = self._clean(X, "learner_")
        return self.learner_.predict(X)

    def _real(self) -> Learner:
        learner = self._fresh()
        if learner.labels != "real":
            raise ValueError(f"learner={learner!r} learns classes, not real targets; use OnlineKernelClassifier")
        return learner

    def _learn(self, X: Any, y: Any, sample_weight: Any, keep: bool) -> Array:
        first = not hasattr(self, "learner_")
        learner = self._real() if first else self.learner_
        X, y, weights = self._checked(X, y, sample_weight, reset=first, keep=keep)
        predictions = learner.run(X, y, weights)
        self.learner_ = learner
        return predictions

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self.learner is None or bool(getattr(self.learner, "multi_output", False))
        return tags


class OnlineKernelClassifier(ClassifierMixin, _Online):  # type: ignore[misc]
    """Any nystream learner as a scikit-learn classifier.

    How classes reach the learner depends on its loss: multi-class losses take them natively; least-squares learners
    regress one -1/+1 column per class over one shared factor; binary losses learn one class against the other, or each
    against the rest when there are more than two; so do symmetric regression losses (`absolute`, `huber`,
    `epsilon_insensitive`) with codes -1/+1. Labels may be of any kind that can be sorted. New labels may appear at any
    time: exact for least squares, from scratch for the others (`nystream.learners.classes`).

    Probabilities: logistic and softmax losses give their own; least squares gives the distribution nearest to
    (f + 1)/2; margins pass through an online Platt map (`nystream.learners.probabilities`). The most probable class is
    always the predicted one.

    Parameters
    ----------
    learner : Learner or None
        The algorithm; it is cloned, never changed. None: `nystream.learners.baseline.Baseline()`, which needs no
        parameter.

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
        """Forget everything, then learn the rows in their order, in one pass.

        Rows of weight 0 are left out. The default learner looks at the whole of X first (`Baseline.prepare`).
        """
        coding = class_learner(self._fresh())
        X, y, weights = self._checked(X, y, sample_weight, reset=True)
        check_classification_targets(y)
        labels, numbers = np.unique(y, return_inverse=True)
        coding.declare(len(labels))
        for learner in coding.learners:
            _prepare(learner, X, weights)
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

    @property
    def learners_(self) -> list[Learner]:
        check_is_fitted(self, "coding_")
        return self.coding_.learners

    def _chosen(self, F: Array) -> Any:
        return self.classes_[F[:, self.numbers_].argmax(axis=1)]

    def _learn(self, X: Any, y: Any, classes: Any, sample_weight: Any, keep: bool) -> Array:
        first = not hasattr(self, "coding_")
        coding = class_learner(self._fresh()) if first else self.coding_
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


class OnlineKernelNovelty(OutlierMixin, _Online):  # type: ignore[misc]
    """Any nystream learner with the novelty loss as a scikit-learn outlier detector.

    The learner's f(x) is high where inputs like x were seen. An input whose score is below a threshold is an outlier
    (-1), the others are inliers (1). Without `contamination="auto"` the threshold is a quantile of scores: after `fit`,
    of the rows fitted, under the final model; after `partial_fit`, of the last 1000 scores, each made before its row
    was learnt.

    Parameters
    ----------
    learner : Learner or None
        The algorithm, such as `SILK(Gaussian(1.0), loss="novelty")`; it is cloned, never changed. None:
        `nystream.learners.novelty.default_novelty`, which needs no parameter.
    contamination : float or "auto", default 0.1
        Share of the rows to call outliers, in (0, 0.5]. "auto" takes the margin that the learner adapts itself:
        `NORMA(Gaussian(1.0), loss="novelty", nu=0.1)`.

    Attributes
    ----------
    offset_ : float
        The threshold: `decision_function` is `score_samples` minus it.
    learner_ : Learner
        The trained learner.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.sklearn import OnlineKernelNovelty
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> OnlineKernelNovelty(contamination=0.02).fit(X).predict([[0, 0], [6, 6]]).tolist()
    [1, -1]
    """

    def __init__(self, learner: Learner | None = None, contamination: float | str = 0.1) -> None:
        super().__init__(learner)
        self.contamination = contamination

    def fit(self, X: Any, y: Any = None) -> Self:
        """Forget everything, then learn the rows in their order, in one pass. y is ignored."""
        X = validate_data(self, X, dtype=np.float64, order="C")
        learner, recent = self._start(X.shape[1])
        learner.run(X)
        if recent is not None:
            scores = learner.predict(X)
            recent.passed(scores[-recent.size :])
            self.offset_ = float(np.quantile(scores, recent.share))
        else:
            self.offset_ = margin(learner)
        self.learner_, self.recent_ = learner, recent
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn more rows, in their order. y is ignored."""
        self._learn(X)
        return self

    def predict_then_learn(self, X: Any, y: Any = None) -> Any:
        """`partial_fit`, returning the labels that were given row by row before each row was learnt.

        The very first row, when nothing is known, is an outlier.
        """
        scores, thresholds = self._learn(X)
        return np.where(scores >= thresholds, 1, -1)

    def score_samples(self, X: Any) -> Array:
        """Scores (n,): low is novel."""
        X = self._clean(X, "learner_")
        return self.learner_.predict(X)

    def decision_function(self, X: Any) -> Array:
        """Scores minus the threshold (n,): negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> Any:
        """1 for inliers, -1 for outliers, (n,)."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def _start(self, d: int) -> tuple[Learner, RecentQuantile | None]:
        learner = default_novelty(d) if self.learner is None else checked_novelty(self.learner).clone()
        share = self.contamination
        if isinstance(share, (float, int, np.floating)) and 0 < share <= 0.5:
            return learner, RecentQuantile(float(share))
        if share != "auto":
            raise ValueError(f"contamination must be 'auto' or a share in (0, 0.5], got {share!r}")
        if not adapts(learner):
            raise ValueError(
                "contamination='auto' needs a learner that adapts its margin, such as NORMA(Gaussian(1.0), "
                f"loss='novelty', nu=0.1); {learner!r} does not"
            )
        return learner, None

    def _learn(self, X: Any) -> tuple[Array, Array]:
        """Scores made before each row was learnt, and the thresholds that stood then."""
        first = not hasattr(self, "learner_")
        X = validate_data(self, X, dtype=np.float64, order="C", reset=first)
        learner, recent = self._start(X.shape[1]) if first else (self.learner_, self.recent_)
        if recent is not None:
            scores = learner.run(X)
            thresholds = recent.passed(scores)
            self.offset_ = recent.value
        else:
            rounds = [(margin(learner), learner.step(x)) for x in X]
            thresholds, scores = np.array(rounds).T
            self.offset_ = margin(learner)
        self.learner_, self.recent_ = learner, recent
        return scores, thresholds


def _prepare(learner: Learner, X: Array, weights: Array | None) -> None:
    """Some learners can use the whole of X before they learn."""
    if hasattr(learner, "prepare"):
        learner.prepare(X, weights)


def _appended(labels: Any, more: Any) -> Any:
    """Labels in the order of their numbers, then those of `more` that are new, in order of appearance."""
    found, first = np.unique(more, return_index=True)
    if not len(labels):
        return found[np.argsort(first)]
    if {labels.dtype.kind, found.dtype.kind} & set("US") and {labels.dtype.kind, found.dtype.kind} & set("biuf"):
        raise ValueError(f"labels so far are {labels.dtype}, new ones {found.dtype}; strings and numbers do not mix")
    new = ~np.isin(found, labels)
    return np.concatenate([labels, found[new][np.argsort(first[new])]])
