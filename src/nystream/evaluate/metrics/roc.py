"""The ROC curve of scores pooled over a stream of any length, in bounded memory."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nystream.runtime.types import Array

__all__ = ["ROC"]

SHIFT = 12
"""Bits of a float32 that a bin leaves out: 2^20 bins, each 2^-11 of its scores wide."""


class ROC:
    """Counts positive and negative scores in bins that are 0.05 percent of the score wide, and gives the ROC curve.

    A threshold may be put between any two bins. Scores of one bin count as equal, and equal scores count half (average
    ranks), so the area is off by at most `error`. 16 MB, O(1) per score, `area` and `curve` O(bins).

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.evaluate.metrics.roc import ROC
    >>> roc = ROC().update(np.array([False, False, True, True]), np.array([0.1, 0.4, 0.4, 0.8]))
    >>> roc.area
    0.875
    >>> [v.tolist() for v in roc.curve()[:2]]
    [[0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0]]
    """

    def __init__(self) -> None:
        self._counts = np.zeros((2, 1 << (32 - SHIFT)), dtype=np.int64)

    def update(self, positive: npt.NDArray[np.bool_], scores: npt.NDArray[Any]) -> Self:
        """Count scores (n,). Scores of rows that are true in `positive` (n,) should be larger."""
        bins = _bins(scores)
        np.add.at(self._counts[1], bins[positive], 1)
        np.add.at(self._counts[0], bins[~positive], 1)
        return self

    @property
    def counts(self) -> tuple[int, int]:
        """Negative and positive scores so far."""
        negative, positive = self._counts.sum(axis=1)
        return int(negative), int(positive)

    @property
    def area(self) -> float:
        """Chance that a positive score exceeds a negative one, ties one half; NaN without one of each."""
        negative, positive = self._counts
        below = np.cumsum(negative) - 0.5 * negative
        return _share(float(positive @ below), self.counts)

    @property
    def error(self) -> float:
        """Bound on the difference between `area` and that of the scores before they were put in bins."""
        negative, positive = self._counts.astype(np.float64)
        return _share(float(0.5 * (positive @ negative)), self.counts)

    def curve(self) -> tuple[Array, Array, Array]:
        """Return false positive rates, true positive rates and thresholds, from (0, 0) to (1, 1).

        A score is positive if it is at least the threshold; the first threshold is infinity. Rates are NaN unless both
        classes have occurred.
        """
        occupied = np.flatnonzero(self._counts.any(axis=0))[::-1]
        negative, positive = (np.r_[0.0, np.cumsum(c[occupied])] for c in self._counts)
        totals = self.counts
        with np.errstate(invalid="ignore"):
            return negative / np.float64(totals[0]), positive / np.float64(totals[1]), np.r_[np.inf, _edges(occupied)]


def _bins(scores: npt.NDArray[Any]) -> npt.NDArray[np.uint32]:
    """Return the leading bits of the scores as float32, as whole numbers that sort as the scores do."""
    with np.errstate(over="ignore"):
        single = np.asarray(scores, dtype=np.float32) + np.float32(0)  # -0 becomes 0
    if np.isnan(single).any():
        raise ValueError("scores has NaN; remove those pixels or rows first")
    bits = np.ascontiguousarray(single).view(np.uint32)
    ordered = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))
    return ordered >> np.uint32(SHIFT)


def _edges(bins: npt.NDArray[Any]) -> Array:
    """Return the smallest score of each bin."""
    ordered = bins.astype(np.uint32) << np.uint32(SHIFT)
    bits = np.where(ordered >> 31, ordered & np.uint32((1 << 31) - 1), ~ordered)
    return np.ascontiguousarray(bits.astype(np.uint32)).view(np.float32).astype(np.float64)


def _share(pairs: float, counts: tuple[int, int]) -> float:
    return pairs / counts[0] / counts[1] if counts[0] and counts[1] else float("nan")
