"""Numbers of the last rows, found by the row's number."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nystream.runtime.params import Params, at_least
from nystream.runtime.types import Array

__all__ = ["Past", "padded_classes", "padded_scores"]

SURE_SCORE = 10.0
"""Scores of sparse experts for a class that they did not know count as minus this."""


class Past(Params):
    """Keeps the last `size` rows of `width` numbers; rows that were never stored are 0.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.auto.drift.past import Past
    >>> past = Past(3, 1)
    >>> past.put(0, np.arange(5.0)[:, None])
    >>> past.get(3, 5).ravel().tolist()
    [3.0, 4.0]
    """

    def __init__(self, size: int, width: int) -> None:
        self.size = at_least("size", size, 1)
        self.width = at_least("width", width, 0)
        self.store_ = np.zeros((size, width))

    def put(self, row: int, values: Array) -> None:
        """Store rows from this number on."""
        if len(values) == 1:
            self.store_[row % self.size] = values[0]
            return
        skip = max(0, len(values) - self.size)
        self.store_[np.arange(row + skip, row + len(values)) % self.size] = values[skip:]

    def get(self, begin: int, end: int) -> Array:
        """Return a copy of rows `begin` to `end` - 1, in order."""
        return self.store_[np.arange(begin, end) % self.size]

    def remade(self, size: int, end: int, change: Callable[[Array], Array]) -> Past:
        """The last rows before row `end`, at most `size` of them, changed to other numbers."""
        begin = max(0, end - min(size, self.size))
        rows = change(self.get(begin, end))
        past = Past(size, rows.shape[1])
        past.put(begin, rows)
        return past

    @property
    def nbytes(self) -> int:
        return self.store_.nbytes


def padded_classes(rows: Array, new: int, value: float) -> Array:
    """Return logarithms of probabilities with columns for classes that were not known."""
    return np.pad(rows, ((0, 0), (0, new)), constant_values=value)


def padded_scores(rows: Array, C: int, new: int) -> Array:
    """Return scores (n, experts times C) of classes, C = 1 where there were two, with columns for classes that were
    not known.
    """
    known = rows.reshape(len(rows), -1, C)
    known = np.concatenate([-known, known], axis=2) if C == 1 else known
    return np.pad(known, ((0, 0), (0, 0), (0, new)), constant_values=-SURE_SCORE).reshape(len(rows), -1)
