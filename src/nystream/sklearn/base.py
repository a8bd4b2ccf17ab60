"""What the estimators share, and all that is imported from scikit-learn."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from nystream.choice import batch_order
from nystream.learners.base import Learner
from nystream.types import Array

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ImportError as error:
    raise ImportError("nystream.sklearn needs scikit-learn 1.6 or newer: pip install 'nystream[sklearn]'") from error

__all__ = [
    "ClassifierMixin",
    "Online",
    "OutlierMixin",
    "RegressorMixin",
    "batch",
    "check_classification_targets",
    "check_is_fitted",
    "validate_data",
]


class Online(BaseEstimator):  # type: ignore[misc]
    """What the estimators share: the parameter, and the checks of inputs and weights."""

    _target: ClassVar[dict[str, bool]] = {}
    """How scikit-learn checks y."""
    _default_missing: ClassVar[bool] = True
    """Whether nan is a missing value to the learner of `learner=None`."""

    def __init__(self, learner: Learner | None = None) -> None:
        self.learner = learner

    def _checked(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool, keep: bool = False
    ) -> tuple[Array, Any, Array | None]:
        """Clean X, y, weights (None: all 1). Rows of weight 0 are left out, unless `keep`."""
        X, y = validate_data(self, X, y, reset=reset, **self._numbers, **self._target)
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
        block: Array = validate_data(self, X, reset=False, **self._numbers)
        return block

    @property
    def _missing(self) -> bool:
        return bool(getattr(self.learner, "missing", self._default_missing))

    @property
    def _numbers(self) -> dict[str, Any]:
        """How scikit-learn checks X."""
        return {"dtype": np.float64, "order": "C", "ensure_all_finite": "allow-nan" if self._missing else True}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._missing
        return tags


def batch(learner: Learner, X: Array, y: Any, weights: Array | None) -> tuple[Array, Any, Array | None]:
    """The rows of `fit` as the learner is to get them; some learners use the whole of X before they learn."""
    learner.prepare(X, weights)
    order = batch_order(learner, len(X))
    return X[order], y[order], None if weights is None else weights[order]
