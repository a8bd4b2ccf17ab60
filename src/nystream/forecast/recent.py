"""The last values of one or several series, in bounded memory and contiguous in time."""

from __future__ import annotations

import numpy as np

from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["Recent", "ages"]


class Recent(Params):
    """The last `keep` columns of a matrix that grows to the right.

    The buffer has twice the columns that are kept. When it is full, the last ones move to its beginning, so that a
    column costs O(rows) on average and the last k columns are always one slice.

    Parameters
    ----------
    rows : int
        Series side by side.
    keep : int
        Columns that can be asked for.
    """

    def __init__(self, rows: int, keep: int) -> None:
        self.rows = rows
        self.keep = keep
        self.buffer_ = np.zeros((rows, 2 * keep))
        self.end_ = keep
        self.count_ = 0

    def push(self, column: Array | float) -> None:
        """Append a column (rows,)."""
        if self.end_ == 2 * self.keep:
            self.buffer_[:, : self.keep] = self.buffer_[:, self.keep :]
            self.end_ = self.keep
        self.buffer_[:, self.end_] = column
        self.end_ += 1
        self.count_ += 1

    def last(self, k: int) -> Array:
        """Return the last k columns (rows, k), oldest first, or as many as there are."""
        return self.buffer_[:, self.end_ - min(k, self.count_, self.keep) : self.end_]

    def aged(self, age: np.ndarray | int) -> Array:
        """Return the columns (rows, len(age)) that came `age` rows before the newest; 0 where none had come yet."""
        return self.buffer_.take(self.end_ - 1 - age, axis=1)  # columns that never came are zeros

    @property
    def nbytes(self) -> int:
        return self.buffer_.nbytes


def ages(horizon: int, season: int) -> np.ndarray:
    """Return the age of the newest label in the season's slot of each target, for steps 1 to `horizon`.

    Examples
    --------
    >>> ages(5, 3).tolist()
    [2, 1, 0, 2, 1]
    """
    h = np.arange(1, horizon + 1)
    return season * -(-h // season) - h
