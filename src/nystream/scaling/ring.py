"""The last rows of a stream, in one piece of memory."""

from __future__ import annotations

import numpy as np

from nystream._core.inputs import put
from nystream.runtime.params import Params, at_least
from nystream.runtime.types import Array

__all__ = ["Ring"]

FIRST = 64
"""Rows that memory is taken for at first; it doubles up to the capacity."""


class Ring(Params):
    """Keeps the last `capacity` rows of d numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.scaling.ring import Ring
    >>> ring = Ring(3, 1)
    >>> ring.extend(np.arange(5.0)[:, None])
    >>> ring.rows.tolist()
    [[2.0], [3.0], [4.0]]
    """

    def __init__(self, capacity: int, d: int) -> None:
        self.capacity = at_least("capacity", capacity, 1)
        self.d = at_least("d", d, 1)
        self.store_ = np.zeros((min(FIRST, capacity), d))
        self.seen_ = 0

    def __len__(self) -> int:
        return min(self.seen_, self.capacity)

    @staticmethod
    def nbytes_for(capacity: int, d: int) -> float:
        """Bytes of a full one."""
        return 8.0 * capacity * d

    def extend(self, X: Array) -> None:
        """Add the rows of X (n, d), in order."""
        if len(X) == 1 and len(self.store_) == self.capacity:
            put(self.store_, self.seen_ % self.capacity, X)
            self.seen_ += 1
            return
        X, self.seen_ = X[-self.capacity :], self.seen_ + max(0, len(X) - self.capacity)
        room = len(self.store_)
        if self.seen_ + len(X) > room and room < self.capacity:
            while room < min(self.seen_ + len(X), self.capacity):
                room = min(2 * room, self.capacity)
            self.store_ = np.vstack([self.store_, np.zeros((room - len(self.store_), self.d))])
        self.store_[(self.seen_ + np.arange(len(X))) % self.capacity] = X
        self.seen_ += len(X)

    @property
    def rows(self) -> Array:
        """The rows, the oldest first; not to be written to."""
        if self.seen_ <= self.capacity:
            return self.store_[: self.seen_]
        return np.roll(self.store_, -(self.seen_ % self.capacity), axis=0)

    def last(self, n: int) -> Array:
        """The last n rows, or all, the oldest first; not to be written to. A copy where the ring has gone round."""
        n = min(n, len(self))
        if self.seen_ <= self.capacity:
            return self.store_[self.seen_ - n : self.seen_]
        return self.store_[np.arange(self.seen_ - n, self.seen_) % self.capacity]

    def replace(self, X: Array) -> None:
        """Others in place of the last n rows, at most as many as there are."""
        self.store_[np.arange(self.seen_ - len(X), self.seen_) % self.capacity] = X

    def resized(self, capacity: int) -> Ring:
        """A ring of another capacity with the last rows of this one."""
        ring = Ring(capacity, self.d)
        ring.extend(self.rows)
        return ring

    def widened(self, d: int) -> Ring:
        """The same rows, in whose new columns every value is missing."""
        ring = Ring(self.capacity, d)
        ring.extend(np.pad(self.rows, ((0, 0), (0, d - self.d)), constant_values=np.nan))
        return ring

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""
        return self.store_.nbytes
