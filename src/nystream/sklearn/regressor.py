"""A scikit-learn regressor around any learner of numbers."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from nystream.learners.base import Learner
from nystream.runtime.types import Array
from nystream.sklearn.base import Online, RegressorMixin, fitted

__all__ = ["OnlineKernelRegressor"]


class OnlineKernelRegressor(RegressorMixin, Online):  # type: ignore[misc]
    """A scikit-learn regressor around any nystream learner of numbers.

    `fit` learns the rows in one pass, and `partial_fit` continues. `predict_then_learn` predicts each row before it
    learns the row. The default and the least-squares learners take sample weights and several targets. The default
    learner also accepts nan as a missing value and has intervals.

    Parameters
    ----------
    learner : Learner or None
        The algorithm; it is cloned, never changed. None: `nystream.Auto()`, which needs no parameter.

    Attributes
    ----------
    model_ : Model
        The trained model: a learner with the names of its columns.
    learner_ : Learner
        The trained learner, with its `regret`, `std` and so on where it has them.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.sklearn import OnlineKernelRegressor
    >>> X = np.linspace(-1, 1, 200)[:, None]
    >>> model = OnlineKernelRegressor().fit(X, np.sin(4 * X[:, 0]))
    >>> model.predict([[0.5]]).round(1).tolist()
    [0.9]
    """

    _target: ClassVar[dict[str, bool]] = {"multi_output": True, "y_numeric": True}

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn the rows in one pass.

        They come in their order, but to the default learner, `Auto`, which would take their order for that of a
        stream: it gets them shuffled, in the same way each time. Streams go through `partial_fit` or
        `predict_then_learn`. Rows of weight 0 are left out.
        """
        self._check_learner()
        X, y, weights = self._checked(X, y, sample_weight, reset=True)
        self.model_ = fitted(self._fresh(X), X, y, weights)
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn more rows, in their order. Rows without a target (None, nan) are left out."""
        self._learn(X, y, sample_weight, keep=False)
        return self

    def predict_then_learn(self, X: Any, y: Any, sample_weight: Any = None) -> Array:
        """Do `partial_fit`, and return for each row the prediction that was made before its target was read.

        A row without a target (None, nan) is predicted and not learnt.
        """
        return self._learn(X, y, sample_weight, keep=True)

    def predict(self, X: Any) -> Array:
        """Return predictions (n,), or (n, targets)."""
        X = self._clean(X)
        predictions: Array = self.model_.predict(X)
        return predictions

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Return lower and upper ends, shaped as `predict`, of intervals that should contain this share of future
        labels.

        Of learners with intervals, as the default; refused (`nystream.Unable`) by others.
        """
        X = self._clean(X)
        return self.model_.predict_interval(X, coverage)

    def predict_quantile(self, X: Any, q: Any) -> Array:
        """Return the q-quantiles of the labels, shaped as `predict`; for several q with one more axis, the last.

        Of learners with quantiles, as the default; refused (`nystream.Unable`) by others.
        """
        X = self._clean(X)
        return self.model_.predict_quantile(X, q)

    def _check_learner(self) -> None:
        if isinstance(self.learner, Learner) and self.learner.labels != "real":
            raise ValueError(f"learner={self.learner!r} learns classes, not real targets; use OnlineKernelClassifier")

    def _learn(self, X: Any, y: Any, sample_weight: Any, keep: bool) -> Array:
        self._check_learner()
        first = not hasattr(self, "model_")
        X, y, weights = self._checked(X, y, sample_weight, reset=first, keep=keep, partly=True)
        model = self._fresh(X) if first else self.model_
        predictions: Array = model.run(X, y, weights)
        self.model_ = model
        return predictions

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = not isinstance(self.learner, Learner) or self.learner.multi_output
        return tags
