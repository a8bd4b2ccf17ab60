"""Area under the ROC curve: exact for the first scores, then by bins with a certified error."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream.evaluate.metrics.base import Direction, Metric
from nystream.evaluate.metrics.pairs import as_scores
from nystream.runtime.params import at_least
from nystream.runtime.types import Array

__all__ = ["AUC"]

BINS = 4096
"""Number of bins that replace stored scores."""


class AUC(Metric):
    """The probability that a random row of class +1 has a larger score than one of class -1; ties count one half.

    A cumulative AUC cannot be exact in bounded memory. The first `limit` rows are stored and give the exact value. Then
    the scores are put in 4096 bins, cut at quantiles of the scores stored, and only counts are kept. Two rows of one
    bin count as a tie, so with a_b and c_b rows of the two classes in bin b the value is off by at most

        error = 1/2 sum_b a_b c_b / (sum_b a_b  sum_b c_b)

    which is about 1e-4 while scores stay distributed as in the first `limit` rows; it grows if they move away from
    there, and the attribute `error` always tells it. `Windowed(AUC(), size)` is exact for every size.

    Cost: O(1) a row to update while exact and O(log bins) after; `value` sorts, O(limit log limit), while exact.

    Parameters
    ----------
    limit : int, default 32768
        Rows that are stored, 24 bytes each.

    Examples
    --------
    >>> AUC().update([-1, 1, -1, 1], [0.1, 0.4, 0.35, 0.8]).value
    1.0
    """

    name = "auc"
    direction: Direction = "higher"
    stored_: Array
    n_: int
    edges_: Array | None
    bins_: Array
    broken_: bool

    def __init__(self, limit: int = 32768) -> None:
        self.limit = at_least("limit", limit, 1)
        super().__init__()

    @property
    def value(self) -> float:
        return float("nan") if self.broken_ else _area(*self._groups())

    @property
    def error(self) -> float:
        """Bound on |value - exact value|: 0 while scores are stored."""
        if self.edges_ is None:
            return 0.0
        pos, neg = self.bins_
        return float(0.5 * (pos @ neg) / (pos.sum() * neg.sum())) if pos.any() and neg.any() else 0.0

    def reset(self) -> None:
        self.stored_ = np.zeros((0, 3))
        self.n_ = 0
        self.edges_ = None
        self.bins_ = np.zeros((2, 0))
        self.broken_ = False

    def _groups(self) -> tuple[Array, Array]:
        if self.edges_ is None:
            return _ties(self.stored_[: self.n_])
        return self.bins_[0], self.bins_[1]

    def _terms(self, Y: Any, P: Any) -> Array:
        return np.column_stack(as_scores(Y, P, self.name))

    def _absorb(self, T: Array, w: Array) -> None:
        self.broken_ = self.broken_ or bool(np.isnan(T[:, 1]).any())
        rows = np.column_stack((T, w))
        if self.edges_ is None:
            room = self.limit - self.n_
            self._store(rows[:room])
            if len(rows) <= room:
                return
            rows = rows[room:]
            self._bin()
        self._count(rows)

    def _store(self, rows: Array) -> None:
        need = self.n_ + len(rows)
        if need > len(self.stored_):  # grow by doubling
            grown = np.empty((min(self.limit, max(need, 2 * len(self.stored_))), 3))
            grown[: self.n_] = self.stored_[: self.n_]
            self.stored_ = grown
        self.stored_[self.n_ : need] = rows
        self.n_ = need

    def _bin(self) -> None:
        scores = np.sort(self.stored_[: self.n_, 1])
        self.edges_ = np.unique(scores[:: max(1, len(scores) // BINS)])  # a score that repeats often is an edge
        self.bins_ = np.zeros((2, len(self.edges_) + 1))
        self._count(self.stored_[: self.n_])
        self.stored_ = np.zeros((0, 3))

    def _count(self, rows: Array) -> None:
        assert self.edges_ is not None
        place = np.searchsorted(self.edges_, rows[:, 1], side="right")
        np.add.at(self.bins_, (1 - rows[:, 0].astype(np.intp), place), rows[:, 2])

    def _over(self, T: Array, w: Array) -> float:
        return float("nan") if np.isnan(T[:, 1]).any() else _area(*_ties(np.column_stack((T, w))))


def _ties(rows: Array) -> tuple[Array, Array]:
    """Return the weights of the two classes in each group of equal scores, by rising score."""
    if not len(rows):
        return np.zeros(0), np.zeros(0)
    rows = rows[np.argsort(rows[:, 1], kind="stable")]
    starts = np.flatnonzero(np.r_[True, rows[1:, 1] != rows[:-1, 1]])
    pos = rows[:, 0] * rows[:, 2]
    return np.add.reduceat(pos, starts), np.add.reduceat(rows[:, 2] - pos, starts)


def _area(pos: Array, neg: Array) -> float:
    """Return P(score of a positive > score of a negative) + 1/2 P(same group); pos, neg are weights by rising score."""
    both = pos.sum() * neg.sum()
    below = np.cumsum(neg) - neg
    return float(pos @ (below + 0.5 * neg) / both) if both > 0 else float("nan")
