"""A scikit-learn outlier detector around any learner with the novelty loss."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from nystream.compose.novelty import RecentQuantile, adapts, checked_novelty, margin
from nystream.learners.base import Learner
from nystream.model import Model
from nystream.runtime.types import Array
from nystream.sklearn.base import Online, OutlierMixin, validate_data

__all__ = ["OnlineKernelNovelty"]


class OnlineKernelNovelty(OutlierMixin, Online):  # type: ignore[misc]
    """A scikit-learn outlier detector around any nystream learner with the novelty loss.

    The learner's f(x) is high where inputs like x were seen. An input whose score is below a threshold is an outlier
    (-1), the others are inliers (1). Without `contamination="auto"` the threshold is a quantile of scores. After `fit`
    these are the scores of the fitted rows by the final model. After `partial_fit` they are the last 1000 scores, each
    made before its row was learnt.

    Parameters
    ----------
    learner : Learner or None
        The algorithm, such as `SILK(Gaussian(1.0), loss="novelty")`; it is cloned, never changed. None:
        `nystream.compose.novelty.default_novelty`, which needs no parameter.
    contamination : float or "auto", default 0.1
        The share of rows that are outliers, in (0, 0.5]. With "auto" the threshold is the margin that the learner
        adapts itself: `NORMA(Gaussian(1.0), loss="novelty", nu=0.1)`.

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

    _task: ClassVar[str] = "novelty"
    _default_missing: ClassVar[bool] = False
    _default_sparse: ClassVar[bool] = False

    def __init__(self, learner: Learner | None = None, contamination: float | str = 0.1) -> None:
        super().__init__(learner)
        self.contamination = contamination

    def fit(self, X: Any, y: Any = None) -> Self:
        """Forget everything, then learn the rows in their order, in one pass. y is ignored."""
        X = validate_data(self, X, **self._numbers)
        model, recent = self._start(X)
        model.run_scores(X)
        if recent is not None:
            scores = model.scores(X)[:, 0]
            recent.passed(scores[-recent.size :])
            self.offset_ = float(np.quantile(scores, recent.share))
        else:
            self.offset_ = margin(model.inner)
        self.model_, self.recent_ = model, recent
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn more rows, in their order. y is ignored."""
        self._learn(X)
        return self

    def predict_then_learn(self, X: Any, y: Any = None) -> Any:
        """Do `partial_fit`, and return for each row the label that was given before it was learnt.

        The very first row, when nothing is known, is an outlier.
        """
        scores, thresholds = self._learn(X)
        return np.where(scores >= thresholds, 1, -1)

    def score_samples(self, X: Any) -> Array:
        """Return scores (n,). A low score means that the row is novel."""
        X = self._clean(X)
        return self.model_.scores(X)[:, 0]

    def decision_function(self, X: Any) -> Array:
        """Return scores minus the threshold (n,): negative for outliers."""
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> Any:
        """Return 1 for inliers and -1 for outliers, (n,)."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def _start(self, X: Array) -> tuple[Model, RecentQuantile | None]:
        if self.learner is not None:
            checked_novelty(self.learner)
        model, share = self._fresh(X), self.contamination
        if isinstance(share, (float, int, np.floating)) and 0 < share <= 0.5:
            return model, RecentQuantile(float(share))
        if share != "auto":
            raise ValueError(f"contamination must be 'auto' or a share in (0, 0.5], got {share!r}")
        if not adapts(model.inner):
            raise ValueError(
                "contamination='auto' needs a learner that adapts its margin, such as NORMA(Gaussian(1.0), "
                f"loss='novelty', nu=0.1); {model.inner!r} does not"
            )
        return model, None

    def _learn(self, X: Any) -> tuple[Array, Array]:
        """Learn rows; return the scores made before each row was learnt, and the thresholds of that time."""
        first = not hasattr(self, "model_")
        X = validate_data(self, X, reset=first, **self._numbers)
        model, recent = self._start(X) if first else (self.model_, self.recent_)
        if recent is not None:
            scores = model.run_scores(X).P[:, 0]
            thresholds = recent.passed(scores)
            self.offset_ = recent.value
        else:
            rounds = [(margin(model.inner), model.step(x)) for x in X]
            thresholds, scores = np.array(rounds).T
            self.offset_ = margin(model.inner)
        self.model_, self.recent_ = model, recent
        return scores, thresholds

    def _note(self, notes: dict[str, Any]) -> None:
        notes["contamination"], notes["offset"] = self.contamination, self.offset_
        notes["recent"] = None if self.recent_ is None else self.recent_.numbers

    def _adopt(self, model: Model) -> None:
        super()._adopt(model)
        notes = model.notes_
        self.contamination = notes.get("contamination", 0.1)
        self.recent_ = RecentQuantile(self.contamination) if isinstance(self.contamination, float) else None
        if self.recent_ is not None:
            self.recent_.passed(notes.get("recent") or ())
        self.offset_ = notes["offset"] if "offset" in notes else margin(model.inner)
