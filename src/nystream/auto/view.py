"""How the experts of the automatic learner see rows: scaled, and perhaps by a learnt metric."""

from __future__ import annotations

import numpy as np

from nystream._core.auto.views import scaled
from nystream.features.metric import FULL, LearnedMetric
from nystream.features.scales import LearnedScales
from nystream.params import Params
from nystream.scaling import FrozenScale
from nystream.scaling.spread import fence_outliers
from nystream.types import Array

__all__ = ["View", "thinned"]

MOST = 1 << 19
"""Numbers that scales are computed from: with many columns, rows are thinned evenly."""


class View(Params):
    """Inputs as some experts see them: a frozen scaling, missing values at the mean, and perhaps a learnt metric."""

    scale_: FrozenScale
    metric_: LearnedMetric | LearnedScales | None

    def __init__(self, scale: FrozenScale) -> None:
        self.scale = scale

    def fit(
        self,
        X: Array,
        Y: Array | None = None,
        w: Array | None = None,
        *,
        rows: int = 1000,
        rounds: int = 1,
        full: int = FULL,
        seed: int = 0,
    ) -> None:
        """Scale from X, wild values fenced; with Y (n, K) the metric too, from so many rows, gradients at a fifth."""
        most = max(2, MOST // X.shape[1])
        thin, v = thinned(X, most), None if w is None else thinned(w, most)
        self.scale_ = self.scale.clone().fit(fence_outliers(thin, v), v)
        self.metric_ = self._learnt(X, Y, w, rows, rounds, full, seed)

    def _learnt(
        self, X: Array, Y: Array | None, w: Array | None, rows: int, rounds: int, full: int, seed: int
    ) -> LearnedMetric | LearnedScales | None:
        """What scaled rows are multiplied by."""
        if Y is None:
            return None
        if len(X) > rows:
            chosen = np.sort(np.random.default_rng(seed).choice(len(X), rows, replace=False))
            X, Y, w = X[chosen], Y[chosen], None if w is None else w[chosen]
        metric = LearnedMetric(rounds, rows=rows, gradients=_gradients(rows), full=full)
        return metric.fit(self._scaled(X), Y, w)

    def __call__(self, X: Array) -> Array:
        U = self._scaled(X)
        return U if self.metric_ is None else self.metric_.applied(U)

    def _scaled(self, X: Array) -> Array:
        return scaled(self.scale_._warped(X), self.scale_.mean_, self.scale_.scale_, self.scale_.clip)

    def widen(self, d: int) -> None:
        self.scale_.widen(d)
        if self.metric_ is not None:
            self.metric_.widen(d)

    @staticmethod
    def fit_nbytes(kept: int, d: int, rows: int, outputs: int, full: int = FULL) -> float:
        """Bytes that `fit` on `kept` rows takes for a moment: for the scale, then for the metric."""
        return max(8.0 * 5 * min(kept * d, MOST), LearnedMetric.fit_nbytes(rows, _gradients(rows), d, outputs, full))

    @property
    def nbytes(self) -> int:
        return self.scale_.nbytes + (0 if self.metric_ is None else self.metric_.nbytes)


def _gradients(rows: int) -> int:
    """Rows at which gradients are taken, of those that a metric is learnt from."""
    return max(1, rows // 5)


def thinned(X: Array, most: int) -> Array:
    """At most so many rows, spread evenly."""
    return X if len(X) <= most else X[np.linspace(0, len(X) - 1, most).round().astype(np.intp)]
