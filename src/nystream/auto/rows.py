"""Rows on their way through `Auto`: a block of them, predictions for them, and the buffer of the last ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nystream.runtime.params import Params
from nystream.runtime.types import Array
from nystream.scaling.ring import Ring

__all__ = ["Answer", "Learnt", "RowBuffer", "Rows", "part_of", "plain_part_of"]


class Rows(NamedTuple):
    """Rows as the experts see them."""

    X: Array
    """(n, D)"""
    Y: Array
    """(n, K) targets, or (n, 1) numbers of classes."""
    w: Array | None
    """Weights above 0; None: all are 1."""


class Learnt(NamedTuple):
    """Predictions for rows that were learnt after them, in the units of the labels."""

    P: Array
    """(n, K) predictions, of classes logarithms of probabilities."""
    spread: Array | None
    """(n, K) for targets the experts' disagreement, their standard deviation."""
    steady: Array
    """(n,) the least squared error, standardised or of codes, of an expert that does not forget."""
    core: Array | None
    """(n, K) for targets the mean output of the experts that do not forget, or of all if there are none."""


class Answer(NamedTuple):
    """The predictions of an ensemble for rows whose labels are not known."""

    P: Array
    spread: Array | None
    core: Array | None


def part_of(rows: Rows, part: slice) -> Rows:
    """Return some of the rows."""
    return Rows(rows.X[part], rows.Y[part], None if rows.w is None else rows.w[part])


def plain_part_of(rows: Rows, part: slice) -> Rows:
    """Return some of the rows; weights that are all 1 become None."""
    some = part_of(rows, part)
    return some if some.w is None or not bool((some.w == 1.0).all()) else some._replace(w=None)


ONE = np.ones((1, 1))
"""The weight of one row that has none."""


class RowBuffer(Params):
    """The last rows as the experts see them, with the labels that were learnt and their weights."""

    inputs_: Ring
    labels_: Ring
    weights_: Ring

    def start(self, capacity: int, d: int, labels: int) -> None:
        self.inputs_, self.labels_, self.weights_ = (Ring(capacity, width) for width in (d, labels, 1))

    def __len__(self) -> int:
        return len(self.inputs_)

    def extend(self, X: Array, Y: Array, w: Array | None) -> None:
        """Add rows, and drop the oldest ones if there is no room."""
        self.inputs_.extend(X)
        self.labels_.extend(Y)
        self.weights_.extend(w[:, None] if w is not None else ONE if len(X) == 1 else np.ones((len(X), 1)))

    def last(self, n: int) -> Rows:
        """Return the last rows, at most n."""
        X, Y, w = self.inputs_.last(n), self.labels_.last(n), self.weights_.last(n)
        return Rows(X, Y, None if bool((w == 1.0).all()) else w[:, 0])

    def resize(self, capacity: int) -> None:
        """Keep so many of the last rows from now on."""
        if capacity != self.inputs_.capacity:
            self.inputs_ = self.inputs_.resized(capacity)
            self.labels_ = self.labels_.resized(capacity)
            self.weights_ = self.weights_.resized(capacity)

    def widen(self, d: int) -> None:
        """Accept rows with d columns; the new ones were missing so far."""
        self.inputs_ = self.inputs_.widened(d)

    @property
    def nbytes(self) -> int:
        return self.inputs_.nbytes + self.labels_.nbytes + self.weights_.nbytes
