"""A ring buffer of the last rows of a stream."""

from __future__ import annotations

import numpy as np

from nystream._core.inputs import put
from nystream.runtime.params import Params, at_least
from nystream.runtime.types import Array

__all__ = ["Ring"]

FIRST = 64
"""Rows that memory is first allocated for. It doubles until the capacity is reached."""


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
        """Return the bytes of a full ring."""
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
        """The rows, oldest first. Do not write to them."""
        if self.seen_ <= self.capacity:
            return self.store_[: self.seen_]
        return np.roll(self.store_, -(self.seen_ % self.capacity), axis=0)

    def last(self, n: int) -> Array:
        """Return the last n rows, or all of them, oldest first. Do not write to them."""
        n = min(n, len(self))
        if self.seen_ <= self.capacity:
            return self.store_[self.seen_ - n : self.seen_]
        return self.store_[np.arange(self.seen_ - n, self.seen_) % self.capacity]

    def replace(self, X: Array) -> None:
        """Replace the last n rows by these, where n is at most the number of rows in the ring."""
        self.store_[np.arange(self.seen_ - len(X), self.seen_) % self.capacity] = X

    def resized(self, capacity: int) -> Ring:
        """Return a ring of another capacity with the last rows of this one."""
        ring = Ring(capacity, self.d)
        ring.extend(self.rows)
        return ring

    def widened(self, d: int) -> Ring:
        """Return a ring with the same rows and new columns, in which every value is missing."""
        ring = Ring(self.capacity, d)
        ring.extend(np.pad(self.rows, ((0, 0), (0, d - self.d)), constant_values=np.nan))
        return ring

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""
        return self.store_.nbytes
