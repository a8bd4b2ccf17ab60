"""The last class once more: how often that was right so far, and what came instead."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nystream.params import Params
from nystream.types import Array

__all__ = ["Repeats"]

TINY = 1e-300
"""In place of a sum that is 0: with one class there is no other."""


class Repeats(Params):
    """Probabilities of the next class from the last one alone, K classes.

    The class before comes again with probability (r + 1/2) / (n + 1) after r repetitions in n rows (Krichevsky and
    Trofimov's estimate); the rest goes to the other classes by their counts, each plus 1. Before the first row all are
    alike. Labels that rarely change are forecast so with hardly more than one mistake for every change.
    """

    counts_: Array
    """(K,) rows of every class."""
    last_: int
    """The last class, -1 before the first row."""
    repeated_: int
    """Rows whose class was the one before."""

    def start(self, outputs: int) -> None:
        self.counts_ = np.zeros(outputs)
        self.last_, self.repeated_ = -1, 0

    def predict(self) -> Array:
        """(K,)"""
        return self._probabilities(
            np.array([self.last_]), np.array([float(self.repeated_)]), np.array([float(self._rows)]), self.counts_[None]
        )[0]

    def run(self, labels: Array) -> Array:
        """(n, K) probabilities before each of these labels (n,); and count them."""
        n, y = len(labels), labels.astype(np.intp)
        last = np.concatenate([[self.last_], y[:-1]])
        again = (y == last) & (last >= 0)
        counts = np.zeros((n + 1, len(self.counts_)))
        counts[0] = self.counts_
        counts[np.arange(1, n + 1), y] = 1.0
        counts = np.cumsum(counts, axis=0)
        repeated = self.repeated_ + np.concatenate([[0.0], np.cumsum(again)])
        P = self._probabilities(last, repeated[:-1], self._rows + np.arange(float(n)), counts[:-1])
        self.counts_, self.last_, self.repeated_ = counts[-1].copy(), int(y[-1]), int(repeated[-1])
        return P

    def grow(self, outputs: int) -> None:
        self.counts_ = np.concatenate([self.counts_, np.zeros(outputs - len(self.counts_))])

    @property
    def nbytes(self) -> int:
        return self.counts_.nbytes

    @property
    def _rows(self) -> int:
        return int(self.counts_.sum())

    @staticmethod
    def _probabilities(last: NDArray[np.intp], repeated: Array, rows: Array, counts: Array) -> Array:
        others = counts + 1.0
        known = np.flatnonzero(last >= 0)
        others[known, last[known]] = 0.0
        stays = np.where(last >= 0, (repeated + 0.5) / np.maximum(rows, 1), 0.0)  # n rows have n - 1 pairs
        P = others * ((1.0 - stays) / np.maximum(others.sum(axis=1), TINY))[:, None]
        P[known, last[known]] = stays[known]
        return P
