"""Scalings of columns that are fitted on some rows and then frozen."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from nystream.runtime.params import Params, positive
from nystream.runtime.types import Array
from nystream.scaling.spread import medians, moments

__all__ = ["FrozenScale", "GlobalScale", "LogScale", "StandardScale"]


class FrozenScale(Params):
    """A scaling that is fitted once and then frozen, so that features computed earlier stay valid.

    `scale.fit(X)` learns it and returns itself, `scale(X)` applies it to a block (n, d) or to one row (d,) without
    changing X. A nan stays nan and is not counted; a column without a value is left as it is. Columns in any unit,
    from 1e-150 to 1e150, neither overflow nor vanish. Fitting is O(n d) (`LogScale`: O(n log n d)), a row O(d).

    With weights (n,) > 0 a row counts as so many rows in the fit.

    Subclasses define `_learn(X, weights)`, which sets `mean_` and `scale_`. They may also set `clip`, or
    set `warps` and define `_warped(X)`.
    """

    mean_: Array
    scale_: Array
    clip: float | None = None
    warps: ClassVar[bool] = False
    """Whether `_warped` changes anything."""

    def fit(self, X: Any, weights: Array | None = None) -> Self:
        """Learn the scaling from these rows (n, d), n >= 1."""
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or not len(X):
            raise ValueError(f"{type(self).__name__}.fit needs rows (n, d) with n >= 1, got shape {X.shape}")
        self._learn(X, weights)
        return self

    def __call__(self, X: Array) -> Array:
        """Return scaled copies of rows."""
        if "mean_" not in self.__dict__:
            raise ValueError(f"this {type(self).__name__} is not fitted yet; call fit(X) first")
        U = self._warped(X) - self.mean_
        U /= self.scale_
        if self.clip is not None:
            np.maximum(U, -self.clip, out=U)
            np.minimum(U, self.clip, out=U)
        return U

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""
        return sum(value.nbytes for value in self._state().values())

    def widen(self, d: int) -> None:
        """Add columns that are not scaled, because they were 0 in every row so far."""
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
    """(x - mean) / s with one s, the root of the mean variance: for columns of one unit, such as pixels.

    Columns keep their relative spread. If all columns are constant, s = 1.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.scaling import GlobalScale
    >>> GlobalScale().fit(np.array([[0.0, -7.0], [2.0, 7.0]]))(np.array([[2.0, 7.0]])).round(3).tolist()
    [[0.2, 1.4]]
    """

    def __init__(self) -> None:
        """Create the scaling. It has no parameters."""

    def _learn(self, X: Array, weights: Array | None) -> None:
        self.mean_, deviation = moments(X, weights)
        peak = deviation.max()
        root = peak * np.sqrt(np.mean((deviation / peak) ** 2)) if peak else 1.0
        self.scale_ = np.full(X.shape[1], root)


class LogScale(FrozenScale):
    """v = sign(u) log(1 + |u|) with u = (x - median) / MAD, then `StandardScale`: for skewed columns.

    MAD is the median of |x - median|. If it is 0, because more than half of a column has one value, it is replaced by
    the mean of |x - median|, and by 1 in a constant column.

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

    warps: ClassVar[bool] = True
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
        size = np.abs(U)
        return np.copysign(np.log1p(size, out=size), U, out=size)

    def widen(self, d: int) -> None:
        new = d - len(self.mean_)
        self.centre_, self.spread_ = np.r_[self.centre_, np.zeros(new)], np.r_[self.spread_, np.ones(new)]
        super().widen(d)
