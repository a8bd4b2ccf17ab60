"""Baseline: ridge regression on random Fourier features whose scale and width come from the first rows."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from nystream._core.inputs import StandardRows
from nystream.data.inputs import as_block, as_weights
from nystream.dictionary.rows import Rows
from nystream.features.base import FeatureMap
from nystream.features.fourier import Fourier, even_dim
from nystream.kernels.gaussian import Gaussian
from nystream.learners.base import Learner
from nystream.learners.families.feature import BLOCK, FeatureLearner
from nystream.learners.families.least_squares import LeastSquares
from nystream.runtime.params import at_least, positive
from nystream.runtime.seeds import checked_seed, generator
from nystream.runtime.types import Array, LabelKind, Seed
from nystream.solvers.awv import AWV
from nystream.solvers.meter import SLACK, Meter

__all__ = ["Baseline", "ScaledFeatures"]

REBUILDS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)
"""Rows after which the features are rebuilt during the warm-up, besides its end."""
CLIP = 3.0
"""Standardised inputs are clipped to this, so that a drifting column does not move all rows away from past ones."""
SAMPLE = 400
"""Largest number of rows whose distances set the width."""


class ScaledFeatures(FeatureMap):
    """Features of standardised inputs, and the constant 1: z(x) = (features(clip((x - mean) / scale)), 1).

    Parameters
    ----------
    features : FeatureMap
    mean, scale : array (d,)
        The inputs' location and, all > 0, scale; what comes out is clipped to [-3, 3].
    """

    def __init__(self, features: FeatureMap, mean: Array, scale: Array) -> None:
        self.features = features
        self.mean = mean
        self.scale = scale

    def start(self, d: int) -> None:
        self.d_ = d
        self.mean_, self.scale_ = self.mean.copy(), self.scale.copy()
        self.features_ = self.features.clone()
        self.features_.start(d)
        self._bind()

    @property
    def dim(self) -> int:
        return self.features_.dim + 1

    def _map(self, X: Array, out: Array) -> None:
        Z = np.empty((len(X), self.features_.dim))
        self.features_._map(standardise(X, self.mean_, self.scale_), Z)
        out[:, :-1] = Z
        out[:, -1] = 1.0

    def row(self, x: Array) -> Array:
        z = np.empty(self.dim)
        z[:-1] = self.features_.row(standardise(x, self.mean_, self.scale_))
        z[-1] = 1.0
        return z

    def widen(self, d: int) -> None:
        """Add columns of mean 0 and scale 1, so that their zeros in past rows stay zeros."""
        new = d - self.d_
        self.mean_, self.scale_ = np.r_[self.mean_, np.zeros(new)], np.r_[self.scale_, np.ones(new)]
        self.features_.widen(d)
        self.d_ = d
        self._bind()

    def _bind(self) -> None:
        inner = self.features_.engine
        self.engine = None if inner is None else StandardRows(inner, self.mean_, self.scale_, CLIP)

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if self.d_:
            self._bind()

    @property
    def nbytes(self) -> int:
        return self.mean_.nbytes + self.scale_.nbytes + self.features_.nbytes


class Baseline(LeastSquares, FeatureLearner):
    """Ridge regression on random Fourier features of standardised inputs: one fast model that needs no parameter.

    Inputs are centred, divided by their standard deviations and clipped to [-3, 3]; the Gaussian kernel's width is the
    median distance between distinct rows. Both are computed again after rows 1, 2, 5, 10, 20, 50, ... of the warm-up.
    The rows of the warm-up are stored, and the model is refitted on them exactly. At the end of the warm-up both are
    frozen and the rows are dropped. After that it is online ridge regression with O(dim^2) time per row, and nothing
    grows. `prepare` computes scale and width from given rows, without a warm-up. The regret compares the predictions
    with the best function of the present features.

    Parameters
    ----------
    dim : int, default 400
        Fourier features, two per frequency; the constant 1 is added.
    lam : float, default 0.01
        Ridge, > 0. The features have norm sqrt(2).
    warmup : int, default 1000
        Rows after which scale and width are frozen. A stream that drifts at its start needs more.
    seed : int, Generator or None
        Seed of the frequencies.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.learners.baseline import Baseline
    >>> X = np.random.default_rng(0).normal(size=(500, 2)) * [1, 1000]
    >>> y = np.sin(X[:, 0]) + X[:, 1] / 1000
    >>> p = Baseline().run(X, y)
    >>> bool(np.mean((p[100:] - y[100:]) ** 2) < 0.01 * y.var())
    True
    """

    multi_output: ClassVar[bool] = True
    weighted: ClassVar[bool] = True

    shape_: tuple[Array, Array, float] | None = None
    """Mean, scale and width from `prepare`."""
    kept_: list[Rows]
    """Inputs, targets and weights of the warm-up; empty after it."""
    solver_: AWV

    def __init__(self, dim: int = 400, *, lam: float = 0.01, warmup: int = 1000, seed: Seed = 0) -> None:
        self.dim = even_dim(dim)
        self.lam = positive("lam", lam)
        self.warmup = at_least("warmup", warmup, 1)
        self.seed = checked_seed(seed)

    @property
    def labels(self) -> LabelKind:
        return "real"

    @property
    def classes(self) -> int | None:
        return None

    def prepare(self, X: Any, weights: Any = None) -> None:
        """Compute scale and width from these rows, before the first round. Their order does not matter.

        A row of weight k counts as k rows.
        """
        if self.d_:
            raise ValueError(f"call prepare before the first row; this Baseline has learnt {self.n_seen} rows already")
        X = as_block(X)
        w = as_weights(weights, len(X))
        w = np.ones(len(X)) if w is None else w
        if not w.any():
            raise ValueError("prepare needs at least one row of positive weight")
        self.shape_ = _shape(X, w)

    def log_det(self) -> float:
        """Return log det(A / lam), where A = lam I + the sum of z z'."""
        return self.solver_.log_det() if self.d_ else 0.0

    def effective_dimension(self) -> float:
        """Return dim + 1 - lam tr A^-1, the number of directions in which the data outweigh the ridge. O(dim^3)."""
        return self.solver_.effective_dimension() if self.d_ else 0.0

    def add_outputs(self, combination: Array) -> None:
        """Add outputs whose past labels are combinations (K, new) of those of the present outputs."""
        self.solver_.add_outputs(combination)
        self._gained(combination.shape[1])
        if self.kept_:
            X, Y, w = (rows.view for rows in self.kept_)
            self.kept_ = _rows(X, np.hstack([Y, Y @ combination]), w)

    def _start(self, d: int, outputs: int) -> None:
        # drawn once, so that every rebuild, before or after a save, has the same frequencies
        self.seed_ = self.seed if isinstance(self.seed, int) else int(generator(self.seed).integers(2**32))
        if self.shape_ is not None:
            if len(self.shape_[0]) != d:
                raise ValueError(f"X has {d} columns, but prepare saw {len(self.shape_[0])}")
            self.kept_ = []
        else:
            self.kept_ = _rows(np.empty((0, d)), np.empty((0, outputs)), np.empty((0, 1)))
        self._build(d, outputs, self.shape_ or (np.zeros(d), np.ones(d), float(np.sqrt(2 * d))))

    def _build(self, d: int, outputs: int, shape: tuple[Array, Array, float]) -> None:
        """Return new features and a new solver."""
        mean, scale, width = shape
        self.features_ = ScaledFeatures(Fourier(Gaussian(width), self.dim, seed=self.seed_), mean, scale)
        self.features_.start(d)
        self.solver_ = AWV(self.lam, vovk=False)
        self.solver_.start(self.features_.dim, outputs)

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        P = np.empty((len(X), self.outputs_))
        row = 0
        while row < len(X):  # one part after the warm-up, else up to the next rebuild
            part = slice(row, self._until_rebuild(row, len(X), weights) if self.kept_ else len(X))
            w = None if weights is None else weights[part]
            P[part] = super()._run(X[part], Y[part], w)
            if self.kept_:
                self._keep(X[part], Y[part], w)
            row = part.stop
        return P

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        if self.kept_:
            return self._run(x[None], y[None], None if weight == 1.0 else np.array([weight]))[0]
        return super()._step(x, y, weight)

    def _step_one(self, x: Any, y: Any) -> float | None:
        return Learner._step_one(self, x, y) if self.kept_ else super()._step_one(x, y)

    def _leverage(self, X: Array) -> Array:
        parts = [self.solver_.leverage(self.features_.transform(X[i : i + BLOCK])) for i in range(0, len(X), BLOCK)]
        return np.concatenate(parts) if parts else np.zeros(0)

    @property
    def _meter(self) -> Meter:
        return self.solver_.meter_

    def _until_rebuild(self, row: int, end: int, weights: Array | None) -> int:
        """Return the row after which the next rebuild is due (rows of weight 0 do not count), else `end`."""
        missing = self._next_rebuild() - len(self.kept_[0])
        if weights is None:
            return min(row + missing, end)
        counted = np.flatnonzero(weights[row:] > 0)
        return row + int(counted[missing - 1]) + 1 if len(counted) >= missing else end

    def _next_rebuild(self) -> int:
        n = len(self.kept_[0])
        return min([r for r in REBUILDS if n < r < self.warmup] + [self.warmup])

    def _keep(self, X: Array, Y: Array, weights: Array | None) -> None:
        """Store rows of the warm-up. If a rebuild is due, compute scale and width again and refit on all rows."""
        due = self._next_rebuild()
        w = np.ones(len(X)) if weights is None else weights
        for rows, new in zip(self.kept_, (X, Y, w[:, None]), strict=True):
            rows.extend(new[w > 0])
        if len(self.kept_[0]) < due:
            return
        inputs, targets, column = (rows.view for rows in self.kept_)
        loss = self.solver_.meter_.loss.copy()
        self._build(self.d_, self.outputs_, _shape(inputs, column[:, 0]))
        super()._run(inputs, targets, column[:, 0])
        meter = self.solver_.meter_  # keep the losses of the predictions, not those of the refit
        meter.columns_[SLACK] += loss - meter.loss
        meter.loss[:] = loss
        if len(inputs) >= self.warmup:
            self.kept_ = []

    def _widen(self, d: int) -> None:
        super()._widen(d)
        if self.kept_:
            X, Y, w = (rows.view for rows in self.kept_)
            self.kept_ = _rows(np.pad(X, ((0, 0), (0, d - X.shape[1]))), Y, w)

    @property
    def nbytes(self) -> int:
        return super().nbytes + sum(rows.nbytes for rows in self.kept_) if self.d_ else 0


def standardise(X: Array, mean: Array, scale: Array) -> Array:
    """Return (x - mean) / scale, clipped."""
    U = X - mean
    U /= scale
    np.maximum(U, -CLIP, out=U)
    return np.minimum(U, CLIP, out=U)


def _rows(*blocks: Array) -> list[Rows]:
    kept = [Rows(block.shape[1]) for block in blocks]
    for rows, block in zip(kept, blocks, strict=True):
        rows.extend(block)
    return kept


def _shape(X: Array, weights: Array) -> tuple[Array, Array, float]:
    """Return weighted means, standard deviations (of a constant column its size) and median distance of distinct rows.

    Neither the order of rows nor writing a row k times for a weight of k makes a difference (but for rounding).
    """
    peak = np.abs(X).max(axis=0)
    peak[peak == 0] = 1.0
    X = X / peak  # squares of columns in any unit neither overflow nor vanish
    total = weights.sum()
    mean = weights @ X / total
    scale = np.sqrt(weights @ (X - mean) ** 2 / total)
    scale[scale <= 1e-12] = 1.0
    # distinct rows, found and put in order by a random projection that is summed alike in every row
    key = (X * np.random.default_rng(0).normal(size=X.shape[1])).sum(axis=1)
    _, first, same = np.unique(key, return_index=True, return_inverse=True)
    chosen = np.unique(np.linspace(0, len(first) - 1, min(SAMPLE, len(first))).round().astype(int))
    w = np.bincount(same, weights)[chosen]
    above = np.triu_indices(len(w), 1)
    distances, pairs = _distances(standardise(X[first[chosen]], mean, scale))[above], (w[:, None] * w)[above]
    return peak * mean, peak * scale, _median(distances[distances > 0], pairs[distances > 0])


def _distances(X: Array) -> Array:
    """Return the distances between all rows; that of each pair is summed column by column, in order."""
    squared = np.zeros((len(X), len(X)))
    for column in X.T:
        squared += (column[:, None] - column) ** 2
    return np.sqrt(squared, out=squared)


def _median(values: Array, weights: Array) -> float:
    """Return the smallest value with at least half of the weight at or below it; 1 if there is none."""
    if not weights.any():
        return 1.0
    order = np.argsort(values)
    cumulated = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(cumulated, cumulated[-1] / 2)])
