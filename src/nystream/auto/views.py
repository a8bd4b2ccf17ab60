"""Views: scalings and learnt metrics through which experts see rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from nystream._core.auto.experts import seen
from nystream.features.metric import FULL, LearnedMetric
from nystream.features.scales import LearnedScales
from nystream.runtime.incremental import CALL, PIECE, Task, run_to_completion
from nystream.runtime.params import Params
from nystream.runtime.types import Array
from nystream.scaling import FrozenScale
from nystream.scaling.spread import fence_outliers

__all__ = ["LAPLACIAN_LAM", "LaplacianView", "Parts", "Tame", "View", "sizes", "taming", "thinned"]

MOST = 1 << 19
"""Numbers that scales are computed from: with many columns, rows are thinned evenly."""
SORTED, SEEN = 1500.0, 200.0
"""Operations to fence a number, and to count it in a scale."""
LAPLACIAN_LAM = 0.1
"""Ridge of the Laplacian experts, and of the fits that learn their scales."""
HELD = 0.6
"""Rows held out in a step of learning scales, for every row fitted."""
PAIRS = 2e7
"""Pairs of rows times columns that a step may look at: with many columns, fewer rows."""


Tame: TypeAlias = tuple[Array, Array | None]
"""Rows, perhaps thinned, whose wild values were moved to the fences, and their weights."""
Parts: TypeAlias = tuple[Callable[[Array], Array] | None, Array, Array, float | None, Array | None]
"""Of a view: what warps rows, if anything does, mean, scale and clip of what that makes of them, and the metric."""


class View(Params):
    """Inputs as some experts see them: a frozen scaling, missing values at the mean, and perhaps a learnt metric."""

    scale_: FrozenScale
    metric_: LearnedMetric | LearnedScales | None

    def __init__(self, scale: FrozenScale) -> None:
        self.scale = scale

    def fit(self, X: Array, Y: Array | None = None, w: Array | None = None, **options: Any) -> None:
        """Run `fitting` to completion."""
        run_to_completion(self.fitting(X, Y, w, **options))

    def fitting(
        self,
        X: Array,
        Y: Array | None = None,
        w: Array | None = None,
        *,
        rows: int = 1000,
        rounds: int = 1,
        full: int = FULL,
        seed: int = 0,
        tame: Tame | None = None,
    ) -> Task[None]:
        """Fit the scale on X with outliers moved within bounds; with Y (n, K) also the metric, from so many rows,
        with gradients at a fifth of them.

        `tame`: what `taming` makes of X and w, where it is there already.
        """
        if tame is None:
            tame = yield from taming(X, w)
        self.scale_ = self.scale.clone().fit(*tame)
        yield CALL + SEEN * tame[0].size
        self.metric_ = yield from self._learning(X, Y, w, rows, rounds, full, seed)

    def _learning(
        self, X: Array, Y: Array | None, w: Array | None, rows: int, rounds: int, full: int, seed: int
    ) -> Task[LearnedMetric | LearnedScales | None]:
        """Learn the matrix that scaled rows are multiplied by."""
        if Y is None:
            return None
        if len(X) > rows:
            chosen = np.sort(np.random.default_rng(seed).choice(len(X), rows, replace=False))
            X, Y, w = X[chosen], Y[chosen], None if w is None else w[chosen]
        metric = LearnedMetric(rounds, rows=rows, gradients=_gradients(rows), full=full)
        return (yield from metric.fitting(self._scaled(X), Y, w))

    def __call__(self, X: Array) -> Array:
        warped, mean, scale, clip, metric = self.parts
        return seen(X if warped is None else warped(X), mean, scale, clip, metric)

    @property
    def parts(self) -> Parts:
        """The view as compiled code takes it, until it is fitted again or widened."""
        scale, metric = self.scale_, None if self.metric_ is None else self.metric_.linear
        return scale._warped if scale.warps else None, scale.mean_, scale.scale_, scale.clip, metric

    def _scaled(self, X: Array) -> Array:
        return seen(self.scale_._warped(X), self.scale_.mean_, self.scale_.scale_, self.scale_.clip)

    def widen(self, d: int) -> None:
        self.scale_.widen(d)
        if self.metric_ is not None:
            self.metric_.widen(d)

    @staticmethod
    def fit_nbytes(kept: int, d: int, rows: int, outputs: int, full: int = FULL) -> float:
        """Return the bytes that `fit` on `kept` rows takes for a moment: for the scale, then for the metric."""
        return max(8.0 * 3 * min(kept * d, MOST), LearnedMetric.fit_nbytes(rows, _gradients(rows), d, outputs, full))

    @property
    def nbytes(self) -> int:
        return self.scale_.nbytes + (0 if self.metric_ is None else self.metric_.nbytes)


class LaplacianView(View):
    """Standardises inputs and multiplies them by learnt column scales, see `nystream.features.LearnedScales`."""

    def _learning(
        self, X: Array, Y: Array | None, w: Array | None, rows: int, rounds: int, full: int, seed: int
    ) -> Task[LearnedScales]:
        fitted, held = sizes(rows, X.shape[1])
        scales = LearnedScales(rows=fitted, held=held, lam=LAPLACIAN_LAM, seed=seed)
        return (yield from scales.fitting(self._scaled(X), np.zeros((len(X), 1)) if Y is None else Y, w))

    @property
    def loss(self) -> float:
        """The loss of the learnt scales on held-out rows; nan where nothing was learnt."""
        assert isinstance(self.metric_, LearnedScales)
        return self.metric_.loss_


def sizes(rows: int, d: int) -> tuple[int, int]:
    """Return the rows fitted and held out in one step of learning scales of d columns; the final choice uses twice
    as many.
    """
    fitted = max(2, int(min(rows / 2, (PAIRS / d) ** 0.5)))
    return fitted, max(1, int(HELD * fitted))


def taming(X: Array, w: Array | None) -> Task[Tame]:
    """Return the rows that scales of X are computed from."""
    most = max(2, MOST // X.shape[1])
    thin, v = thinned(X, most), None if w is None else thinned(w, most)
    tame, columns = thin, max(1, int(PIECE / (SORTED * len(thin))))
    for j in range(0, thin.shape[1], columns):
        some = thin[:, j : j + columns]
        fenced = fence_outliers(some, v)
        if fenced is not some:
            tame = tame.copy() if tame is thin else tame
            tame[:, j : j + columns] = fenced
        yield CALL + SORTED * some.size
    return tame, v


def _gradients(rows: int) -> int:
    """Return the rows at which gradients are taken."""
    return max(1, rows // 5)


def thinned(X: Array, most: int) -> Array:
    """Return at most so many rows, spread evenly."""
    return X if len(X) <= most else X[np.linspace(0, len(X) - 1, most).round().astype(np.intp)]
