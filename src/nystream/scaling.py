"""Scalings of columns: running (Welford's recursion, the same bits however blocks are cut) or fitted and frozen."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from nystream._core.inputs import all_finite
from nystream.params import Params, positive
from nystream.spread import medians, moments
from nystream.types import Array

__all__ = ["FrozenScale", "GlobalScale", "LogScale", "RunningScale", "StandardScale"]

PART = 256
"""Rows of which all running sums are held at once."""


class RunningScale(Params):
    """Rows minus the mean, over the deviation, of the rows up to and including each of them.

    Values are taken relative to the column's first, u = x - x_first, so that constant columns are exact::

        m_t = (u_1 + ... + u_t) / t        M_t = M_{t-1} + (u_t - m_{t-1})^2 (t - 1) / t        (Welford)

    Both are running sums, so one `accumulate` per block does them in the order of a loop over rows. A column that has
    been constant so far is divided by 1. A nan stays nan and is not counted. O(d) per row and in memory.
    """

    _all_counted: bool = False  # whether every column has had a value, once that was seen: it stays so

    def start(self, d: int) -> None:
        """Nothing seen yet, d columns."""
        self._all_counted = False
        self.first_ = np.zeros(d)
        self.count_ = np.zeros(d)
        self.total_ = np.zeros(d)
        self.spread_ = np.zeros(d)

    def __call__(self, X: Array) -> Array:
        """Count the rows of X, in order, and scale each by what was seen up to it."""
        if len(X) <= PART:
            return self._part(X)
        scaled = np.empty_like(X)
        for i in range(0, len(X), PART):
            scaled[i : i + PART] = self._part(X[i : i + PART])
        return scaled

    def _part(self, X: Array) -> Array:
        """`__call__` on a few rows: what is held for a moment is several times their size."""
        known = np.isfinite(X)
        fresh = (self.count_ == 0) & known.any(axis=0)
        self.first_[fresh] = X[known.argmax(axis=0)[fresh], fresh]
        U = np.where(known, X - self.first_, 0.0)
        counts = _running(self.count_, known.astype(np.float64))
        totals = _running(self.total_, U)
        means = totals / np.maximum(counts, 1.0)
        step = np.where(known, U - means[:-1], 0.0)
        share = (counts[1:] - 1.0) / np.maximum(counts[1:], 1.0)  # irrelevant at count 0: step is 0 there
        spreads = _running(self.spread_, step * step * share)
        self.count_, self.total_, self.spread_ = counts[-1], totals[-1], spreads[-1]
        return _scaled(X, known, U - means[1:], spreads[1:], counts[1:])

    def step(self, x: Array) -> Array:
        """`__call__` on one row (d,), to the last bit; with less ado where no value is missing, now or so far."""
        self._all_counted = self._all_counted or bool(self.count_.all())
        if not (self._all_counted and all_finite(x)):
            scaled: Array = self(x[None])[0]
            return scaled
        u = x - self.first_
        step = u - self.total_ / self.count_
        count, total = self.count_ + 1.0, self.total_ + u
        step *= step
        step *= self.count_ / count
        spread = self.spread_ + step
        self.count_, self.total_, self.spread_ = count, total, spread
        u -= total / count
        deviation = np.sqrt(spread / count)
        if not deviation.all():
            deviation[spread == 0.0] = 1.0
        u /= deviation
        return u

    def scaled(self, X: Array) -> Array:
        """Each row of X as if it came next, alone: what `__call__` would make of it. Changes nothing."""
        known = np.isfinite(X)
        U = np.where(known, X - np.where(self.count_ > 0, self.first_, X), 0.0)
        counts = self.count_ + known
        means = (self.total_ + U) / np.maximum(counts, 1.0)
        step = np.where(known, U - self.total_ / np.maximum(self.count_, 1.0), 0.0)
        spreads = self.spread_ + step * step * ((counts - 1.0) / np.maximum(counts, 1.0))
        return _scaled(X, known, U - means, spreads, counts)

    def widen(self, d: int) -> None:
        """More columns, which were 0 in every row so far."""
        new = d - len(self.count_)
        self.first_ = np.append(self.first_, np.zeros(new))
        self.count_ = np.append(self.count_, np.full(new, self.count_.max(initial=0.0)))
        self.total_ = np.append(self.total_, np.zeros(new))
        self.spread_ = np.append(self.spread_, np.zeros(new))

    @property
    def nbytes(self) -> int:
        return 4 * self.count_.nbytes


class FrozenScale(Params):
    """A scaling fitted on some rows, the same for every row after that: features computed earlier stay valid.

    `scale.fit(X)` learns it and returns itself, `scale(X)` applies it to a block (n, d) or to one row (d,) without
    changing X. A nan stays nan and is not counted; a column without a value is left as it is. Columns in any unit,
    from 1e-150 to 1e150, neither overflow nor vanish. Fitting is O(n d) (`LogScale`: O(n log n d)), a row O(d).

    With weights (n,) > 0 a row counts as so many rows in the fit.

    Subclasses give `_learn(X, weights)`, which sets `mean_` and `scale_`, and may change `_warped(X)` or `clip`.
    """

    mean_: Array
    scale_: Array
    clip: float | None = None

    def fit(self, X: Any, weights: Array | None = None) -> Self:
        """Learn the scaling from these rows (n, d), n >= 1."""
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or not len(X):
            raise ValueError(f"{type(self).__name__}.fit needs rows (n, d) with n >= 1, got shape {X.shape}")
        self._learn(X, weights)
        return self

    def __call__(self, X: Array) -> Array:
        """Scaled copies of rows."""
        if "mean_" not in self.__dict__:
            raise ValueError(f"this {type(self).__name__} was fitted on no rows yet; call fit(X) first")
        U = self._warped(X) - self.mean_
        U /= self.scale_
        if self.clip is not None:
            np.maximum(U, -self.clip, out=U)
            np.minimum(U, self.clip, out=U)
        return U

    @property
    def nbytes(self) -> int:
        return sum(value.nbytes for value in self._state().values())

    def widen(self, d: int) -> None:
        """More columns, left as they are: those that were 0 in every row so far stay 0."""
        new = d - len(self.mean_)
        self.mean_, self.scale_ = np.r_[self.mean_, np.zeros(new)], np.r_[self.scale_, np.ones(new)]

    def _learn(self, X: Array, weights: Array | None) -> None:
        raise NotImplementedError

    def _warped(self, X: Array) -> Array:
        return X


class StandardScale(FrozenScale):
    """(x - mean) / deviation of every column, clipped to [-clip, clip]; a constant column is divided by 1.

    The clip is for streams: a column that drifts away from the rows of the fit (a date, a counter) would otherwise
    carry all later rows out of the reach of every stored point.

    Parameters
    ----------
    clip : float or None, default 3.0
        In deviations; None: no clipping.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.scaling import StandardScale
    >>> scale = StandardScale(clip=2.0).fit(np.array([[1.0, 7.0], [3.0, 7.0]]))
    >>> scale(np.array([[1.0, 7.0], [99.0, 7.5]])).tolist()
    [[-1.0, 0.0], [2.0, 0.5]]
    """

    def __init__(self, clip: float | None = 3.0) -> None:
        self.clip = None if clip is None else positive("clip", clip)

    def _learn(self, X: Array, weights: Array | None) -> None:
        self.mean_, self.scale_ = moments(X, weights)
        self.scale_[self.scale_ == 0.0] = 1.0


class GlobalScale(FrozenScale):
    """(x - mean) / one number for all columns, the root of their mean variance: for columns of one unit, as pixels.

    Columns keep their relative spread, so those that hardly vary hardly count. Constant columns alone: divided by 1.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.scaling import GlobalScale
    >>> GlobalScale().fit(np.array([[0.0, -7.0], [2.0, 7.0]]))(np.array([[2.0, 7.0]])).round(3).tolist()
    [[0.2, 1.4]]
    """

    def __init__(self) -> None:
        """Nothing to choose."""

    def _learn(self, X: Array, weights: Array | None) -> None:
        self.mean_, deviation = moments(X, weights)
        peak = deviation.max()
        root = peak * np.sqrt(np.mean((deviation / peak) ** 2)) if peak else 1.0
        self.scale_ = np.full(X.shape[1], root)


class LogScale(FrozenScale):
    """Skewed columns tamed: v = sign(u) log(1 + |u|), u = (x - median) / MAD, then as `StandardScale`.

    MAD is the median of |x - median|; where more than half of a column has one value, and it is 0, the mean of
    |x - median| takes its place, and 1 in a constant column.

    Parameters
    ----------
    clip : float or None, default 3.0
        In deviations of v; None: no clipping.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.scaling import LogScale
    >>> x = np.array([[0.0], [1.0], [2.0], [3.0], [1e9]])
    >>> LogScale().fit(x)(x).round(2).tolist()
    [[-0.6], [-0.55], [-0.47], [-0.38], [1.99]]
    """

    centre_: Array
    spread_: Array

    def __init__(self, clip: float | None = 3.0) -> None:
        self.clip = None if clip is None else positive("clip", clip)

    def _learn(self, X: Array, weights: Array | None) -> None:
        self.centre_ = medians(X, weights)
        distance = np.abs(X - self.centre_)
        self.spread_ = medians(distance, weights)
        flat = np.flatnonzero(self.spread_ == 0.0)
        self.spread_[flat] = moments(distance[:, flat], weights)[0]
        self.spread_[self.spread_ == 0.0] = 1.0
        self.mean_, self.scale_ = moments(self._warped(X), weights)
        self.scale_[self.scale_ == 0.0] = 1.0

    def _warped(self, X: Array) -> Array:
        U = (X - self.centre_) / self.spread_
        return np.copysign(np.log1p(np.abs(U)), U)

    def widen(self, d: int) -> None:
        new = d - len(self.mean_)
        self.centre_, self.spread_ = np.r_[self.centre_, np.zeros(new)], np.r_[self.spread_, np.ones(new)]
        super().widen(d)


def _scaled(X: Array, known: np.typing.NDArray[np.bool_], centred: Array, spreads: Array, counts: Array) -> Array:
    deviation = np.sqrt(spreads / np.maximum(counts, 1.0))
    deviation[spreads == 0.0] = 1.0
    Z: Array = centred / deviation
    Z[~known] = X[~known]
    return Z


def _running(start: Array, increments: Array) -> Array:
    """(n + 1, d): the start, then the sums after each row, added one after the other."""
    sums: Array = np.add.accumulate(np.vstack([start, increments]), axis=0)
    return sums
