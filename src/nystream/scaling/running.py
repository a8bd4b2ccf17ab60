"""A running scaling of columns by Welford's recursion. The block sizes do not change a bit of it."""

from __future__ import annotations

import numpy as np

from nystream._core.inputs import all_finite, scale_rows
from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["RunningScale"]

LARGEST = 1e140
"""Largest accepted value. Sums of squares of larger values may overflow."""
PART = 256
"""Rows whose running sums are held at once."""


class RunningScale(Params):
    """Standardise each row by the mean and deviation of the rows up to and including it.

    Values are taken relative to the column's first, u = x - x_first, so that constant columns are exact::

        m_t = (u_1 + ... + u_t) / t        M_t = M_{t-1} + (u_t - m_{t-1})^2 (t - 1) / t        (Welford)

    Both are running sums, so one `accumulate` per block does them in the order of a loop over rows. A column that has
    been constant so far is divided by 1. A nan stays nan and is not counted. O(d) per row and in memory.
    """

    _all_counted: bool = False  # whether every column has had a value; once true, it stays true

    def start(self, d: int) -> None:
        """Start with no rows and d columns."""
        self._all_counted = False
        self.first_ = np.zeros(d)
        self.count_ = np.zeros(d)
        self.total_ = np.zeros(d)
        self.spread_ = np.zeros(d)

    def check(self, X: Array) -> None:
        """Raise a ValueError for numbers whose sum of squares would overflow."""
        if X.size == 0 or (X.max() <= LARGEST and X.min() >= -LARGEST):  # neither makes a matrix; with a nan both fail
            return
        bad = np.abs(X) > LARGEST
        if bad.any():
            row, column = np.argwhere(bad)[0].tolist()
            raise ValueError(
                f"x has {X[row, column]:g} at row {row}, column {column}, too large for a standard deviation; "
                "scale the inputs"
            )

    def __call__(self, X: Array) -> Array:
        """Count the rows of X in order and return each scaled by the rows up to it."""
        if bool(self.count_.all()) and X.flags.c_contiguous and all_finite(X):
            self.count_, self.total_, self.spread_ = self.count_.copy(), self.total_.copy(), self.spread_.copy()
            return scale_rows(X, self.first_, self.count_, self.total_, self.spread_)
        if len(X) <= PART:
            return self._part(X)
        scaled = np.empty_like(X)
        for i in range(0, len(X), PART):
            scaled[i : i + PART] = self._part(X[i : i + PART])
        return scaled

    def _part(self, X: Array) -> Array:
        """Do `__call__` on a few rows. Temporary memory is several times their size."""
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
        """Do `__call__` on one row (d,), bit for bit. It is faster if no value has been missing so far."""
        if not x.dot(x) < LARGEST**2:
            self.check(x[None])
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

    def mark(self) -> tuple[Array, ...]:
        """Return what `rewind` needs to forget the rows that are counted from now on."""
        first = self.first_ if self._all_counted else self.first_.copy()  # the only array that changes in place
        return first, self.count_, self.total_, self.spread_

    def rewind(self, mark: tuple[Array, ...]) -> None:
        """Go back to the state at the mark."""
        self.first_, self.count_, self.total_, self.spread_ = mark
        self._all_counted = False

    def scaled(self, X: Array) -> Array:
        """Return each row of X scaled as if it alone were the next row. Nothing is changed."""
        known = np.isfinite(X)
        U = np.where(known, X - np.where(self.count_ > 0, self.first_, X), 0.0)
        counts = self.count_ + known
        means = (self.total_ + U) / np.maximum(counts, 1.0)
        step = np.where(known, U - self.total_ / np.maximum(self.count_, 1.0), 0.0)
        spreads = self.spread_ + step * step * ((counts - 1.0) / np.maximum(counts, 1.0))
        return _scaled(X, known, U - means, spreads, counts)

    def widen(self, d: int) -> None:
        """Add columns that were 0 in every row so far."""
        new = d - len(self.count_)
        self.first_ = np.append(self.first_, np.zeros(new))
        self.count_ = np.append(self.count_, np.full(new, self.count_.max(initial=0.0)))
        self.total_ = np.append(self.total_, np.zeros(new))
        self.spread_ = np.append(self.spread_, np.zeros(new))

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""
        return 4 * self.count_.nbytes


def _scaled(X: Array, known: np.typing.NDArray[np.bool_], centred: Array, spreads: Array, counts: Array) -> Array:
    deviation = np.sqrt(spreads / np.maximum(counts, 1.0))
    deviation[spreads == 0.0] = 1.0
    Z: Array = centred / deviation
    Z[~known] = X[~known]
    return Z


def _running(start: Array, increments: Array) -> Array:
    """Return (n + 1, d) running sums: the start, then the sum after each row."""
    sums: Array = np.add.accumulate(np.vstack([start, increments]), axis=0)
    return sums
