"""All past examples with their coordinates in a growing span, for exact least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream.dictionary.rows import Rows
from nystream.kernels.base import Kernel
from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["History"]

FIRST = 16
"""Rows and columns reserved at the start."""


class History(Params):
    """Points, labels, weights and coordinates (n, m) of the rounds so far.

    A new atom is a new column: its coordinate in every past row, O(n (m + d)). Memory doubles in either direction
    when it is full; O(n (m + d + K)) for n rounds.

    Parameters
    ----------
    kernel : Kernel
    """

    points_: Rows
    labels_: Rows
    weights_: Rows
    _store: Array
    _m: int

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def start(self, d: int, outputs: int) -> None:
        """Start without rows, for rows of d columns."""
        self.points_, self.labels_, self.weights_ = Rows(d), Rows(outputs), Rows(1)
        self._store, self._m = np.zeros((FIRST, FIRST)), 0

    @property
    def n(self) -> int:
        """Number of stored rounds."""
        return self.points_.n

    @property
    def labels(self) -> Array:
        """(n, K)."""
        return self.labels_.view

    @property
    def weights(self) -> Array:
        """(n,)."""
        return self.weights_.view[:, 0]

    @property
    def coordinates(self) -> Array:
        """(n, m), a view."""
        return self._store[: self.n, : self._m]

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""
        return self._store.nbytes + self.points_.nbytes + self.labels_.nbytes + self.weights_.nbytes

    def extend(self, X: Array, Y: Array, Z: Array, weights: Array | None = None) -> None:
        """Append rounds: rows, labels, their coordinates (of which the first m columns are used), weights."""
        start, stop = self.n, self.n + len(X)
        self._reserve(stop, self._m)
        self._store[start:stop, : self._m] = Z[:, : self._m]
        self.points_.extend(X)
        self.labels_.extend(Y)
        self.weights_.extend(np.ones((len(X), 1)) if weights is None else weights[:, None])

    def column(self, x: Array, z: Array, delta: float) -> Array:
        """Return the coordinates (n,) of the past rows along an atom x with coordinates (z, delta)."""
        if not self.n:
            return np.zeros(0)
        return (self.kernel.row(self.points_.view, x) - self.coordinates @ z) / delta

    def append_column(self, column: Array) -> None:
        """Append one coordinate to every past row."""
        self._reserve(self.n, self._m + 1)
        self._store[: self.n, self._m] = column
        self._m += 1

    def add_outputs(self, combination: Array) -> None:
        """Add outputs whose past labels are combinations (K, new) of the existing ones."""
        labels = Rows(self.labels.shape[1] + combination.shape[1])
        labels.extend(np.hstack([self.labels, self.labels @ combination]))
        self.labels_ = labels

    def widen(self, d: int) -> None:
        """Add columns that were 0 in all rows so far, up to d."""
        self.points_ = self.points_.widened(d)

    def _reserve(self, rows: int, columns: int) -> None:
        shape = _doubled(self._store.shape[0], rows), _doubled(self._store.shape[1], columns)
        if shape != self._store.shape:
            store = np.zeros(shape)
            store[: self.n, : self._m] = self.coordinates
            self._store = store

    def _state(self) -> dict[str, Any]:
        state = super()._state()
        return {**state, "coordinates_": self.coordinates} if state else state

    def _restore(self, state: dict[str, Any]) -> None:
        state = dict(state)
        coordinates = state.pop("coordinates_", None)
        super()._restore(state)
        if coordinates is not None:
            self._m = coordinates.shape[1]
            self._store = np.zeros([_doubled(FIRST, wanted) for wanted in coordinates.shape])
            self._store[: self.n, : self._m] = coordinates


def _doubled(capacity: int, wanted: int) -> int:
    while capacity < wanted:
        capacity *= 2
    return capacity
