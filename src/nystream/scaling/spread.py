"""Means, deviations, medians and outlier bounds of columns."""

from __future__ import annotations

import numpy as np

from nystream.runtime.types import Array

__all__ = ["fence_outliers", "fences", "medians", "moments"]

CONSTANT = 1e-12
"""A column whose deviation is at most this part of its largest value is constant, up to rounding."""
TRIMMED = 0.025
"""Fraction of the values, at least one, that fences ignore at both ends."""
FEWEST = 5
"""Fewest values of a column that has fences."""
REACH, UNSURE = 3.0, 20.0
"""Fences lie REACH + UNSURE / n trimmed ranges beyond the trimmed range of n values."""
DOMINATED = 10.0
"""A deviation this many times that of the fenced column is caused by the few values beyond the fences."""


def moments(X: Array, w: Array | None = None) -> tuple[Array, Array]:
    """Return means and (population) deviations of the columns' finite values, 0 for a column without any.

    With weights w (n,) > 0 a row counts as w rows. The deviation is exactly 0 in a constant column, whose mean may be
    a rounding away from its value.
    """
    known = np.isfinite(X)
    counted = known if w is None else known * (w / w.max())[:, None]
    count = counted.sum(axis=0)
    count = np.where(count > 0, count, 1.0)
    peak = np.where(known, np.abs(X), 0.0).max(axis=0, initial=0.0)
    peak[peak == 0.0] = 1.0
    U = np.where(known, X / peak, 0.0)  # squares of columns in any unit neither overflow nor vanish
    mean = (U if w is None else U * counted).sum(axis=0) / count
    squares = np.where(known, U - mean, 0.0) ** 2
    deviation = np.sqrt((squares if w is None else squares * counted).sum(axis=0) / count)
    deviation[deviation <= CONSTANT] = 0.0
    return peak * mean, peak * deviation


def medians(X: Array, w: Array | None = None) -> Array:
    """Return medians of the columns' finite values, 0 for a column without any. Weights as in `moments`."""
    known = np.isfinite(X)
    if w is None and known.all():
        return np.median(X, axis=0)
    parts = [(x[k], None if w is None else w[k]) for x, k in zip(X.T, known.T, strict=True)]
    return np.array([_median(x, v) if len(x) else 0.0 for x, v in parts])


def fences(X: Array, w: Array | None = None, *, trimmed: float = TRIMMED, reach: float = REACH) -> Array:
    """Return (2, d) outlier bounds of columns: a few trimmed ranges to both sides of the trimmed range.

    The trimmed range leaves out the lowest and the highest fortieth of the values, at least one of each, so these may
    be anything without moving the fences far. If all other values are equal, the whole range is used. A constant column
    and one of fewer than 5 values have infinite fences. nan is not counted; weights as in `moments`. O(n log n) per
    column.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.scaling.spread import fences
    >>> x = np.r_[np.arange(1000.0), 1e9]
    >>> fences(x[:, None]).round().tolist()
    [[-2844.0], [3844.0]]
    """
    n = np.isfinite(X).sum(axis=0)
    order = X.argsort(axis=0) if w is not None else None
    S = np.sort(X, axis=0) if order is None else np.take_along_axis(X, order, axis=0)  # nan comes last
    if order is None or w is None:
        first = np.maximum(np.floor(trimmed * n).astype(np.intp), 1)
        last = n - 1 - first
    else:
        below = np.cumsum(np.where(np.isfinite(S), w[order], 0.0), axis=0)
        first = np.maximum((below <= trimmed * below[-1]).sum(axis=0), 1)
        last = np.minimum((below < (1 - trimmed) * below[-1]).sum(axis=0), n - 2)
    columns = np.arange(X.shape[1])
    enough = n >= FEWEST
    low = S[np.where(enough, first, 0), columns]
    high = S[np.where(enough, last, 0), columns]
    flat = enough & ~(high > low)
    low[flat], high[flat] = S[0, flat], S[n[flat] - 1, flat]
    more = (reach + UNSURE / np.maximum(n, 1)) * np.minimum(high - low, np.finfo(np.float64).max / 100)
    return np.where(enough & (high > low), [low - more, high + more], [[-np.inf], [np.inf]])


def fence_outliers(X: Array, w: Array | None = None) -> Array:
    """Return X, or a copy with outliers moved to the fences if they dominate the deviation of a column."""
    low, high = fences(X, w)
    wild = np.flatnonzero(((low > X) | (high < X)).any(axis=0))
    if not len(wild):
        return X
    fenced = np.clip(X[:, wild], low[wild], high[wild])
    made = moments(X[:, wild], w)[1] > DOMINATED * moments(fenced, w)[1]
    if not made.any():
        return X
    X = X.copy()
    X[:, wild[made]] = fenced[:, made]
    return X


def _median(x: Array, w: Array | None) -> float:
    if w is None:
        return float(np.median(x))
    order = x.argsort()
    below = np.cumsum(w[order])
    ends = np.searchsorted(below, 0.5 * below[-1], side="left"), np.searchsorted(below, 0.5 * below[-1], side="right")
    return float(0.5 * x[order[ends[0]]] + 0.5 * x[order[min(ends[1], len(x) - 1)]])
