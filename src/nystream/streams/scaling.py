"""Running standardisation: Welford's recursion, a block at a time, equal to the last bit however blocks are cut."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nystream.streams.cutting import Block
from nystream.types import Array

__all__ = ["standardized"]


def standardized(chunks: Iterator[Block]) -> Iterator[Block]:
    """Each row minus the mean and over the deviation of the rows up to and including it."""
    scale: _Scale | None = None
    for X, Y in chunks:
        scale = scale or _Scale(X.shape[1])
        yield scale(X), Y


class _Scale:
    """Count, sum and sum of squared deviations per column, of values taken relative to the column's first.

    With u = x - x_first, exact for constant columns::

        m_t = (u_1 + ... + u_t) / t        M_t = M_{t-1} + (u_t - m_{t-1})^2 (t - 1) / t        (Welford)

    Both are running sums, so one `accumulate` per block does them in the order of a loop over rows.
    """

    def __init__(self, d: int) -> None:
        self.first = np.zeros(d)
        self.count = np.zeros(d)
        self.total = np.zeros(d)
        self.spread = np.zeros(d)

    def __call__(self, X: Array) -> Array:
        known = np.isfinite(X)
        fresh = (self.count == 0) & known.any(axis=0)
        self.first[fresh] = X[known.argmax(axis=0)[fresh], fresh]
        U = np.where(known, X - self.first, 0.0)
        counts = _running(self.count, known.astype(np.float64))
        totals = _running(self.total, U)
        means = totals / np.maximum(counts, 1.0)
        step = np.where(known, U - means[:-1], 0.0)
        share = (counts[1:] - 1.0) / np.maximum(counts[1:], 1.0)  # irrelevant at count 0: step is 0 there
        spreads = _running(self.spread, step * step * share)
        self.count, self.total, self.spread = counts[-1], totals[-1], spreads[-1]
        deviation = np.sqrt(spreads[1:] / np.maximum(counts[1:], 1.0))
        deviation[spreads[1:] == 0.0] = 1.0
        Z: Array = (U - means[1:]) / deviation
        Z[~known] = X[~known]
        return Z


def _running(start: Array, increments: Array) -> Array:
    """(n + 1, d): the start, then the sums after each row, added one after the other."""
    sums: Array = np.add.accumulate(np.vstack([start, increments]), axis=0)
    return sums
