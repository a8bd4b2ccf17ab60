"""Any learner of real targets as a scikit-learn regressor."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from nystream.choice import chosen
from nystream.learners.base import Learner
from nystream.sklearn.base import Online, RegressorMixin, batch, check_is_fitted
from nystream.types import Array

__all__ = ["OnlineKernelRegressor"]


class OnlineKernelRegressor(RegressorMixin, Online):  # type: ignore[misc]
    """Any nystream learner of real targets as a scikit-learn regressor.

    `fit` is one pass over the rows; `partial_fit` goes on from there; `predict_then_learn` answers each
    row before learning it. The default and the least-squares learners take sample weights and several targets; the
    default takes nan for missing values and gives intervals.

    Parameters
    ----------
    learner : Learner or None
        The algorithm; it is cloned, never changed. None: `nystream.Auto()`, which needs no parameter.

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
        """Forget everything, then learn the rows in one pass.

        They come in their order, but to the default learner, `Auto`, which would take their order for that of a
        stream: it gets them shuffled, in the same way each time. Streams go through `partial_fit` or
        `predict_then_learn`. Rows of weight 0 are left out.
        """
        learner = self._real()
        X, y, weights = self._checked(X, y, sample_weight, reset=True)
        learner.run(*batch(learner, X, y, weights))
        self.learner_ = learner
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

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Lower and upper ends, shaped as `predict`, of intervals that cover this share of the labels to come.

        Of learners with intervals, as the default; refused (`nystream.Unable`) by others.
        """
        X = self._clean(X, "learner_")
        ends: tuple[Array, Array] = self.learner_.predict_interval(X, coverage)
        return ends

    def explain(self) -> str:
        """What carries the predictions now, in words; of learners that can say, as the default."""
        check_is_fitted(self, "learner_")
        return str(self.learner_.explain())

    def _real(self) -> Learner:
        learner = chosen(self.learner)
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
