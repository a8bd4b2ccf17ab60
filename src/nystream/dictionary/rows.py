"""A matrix that grows by rows and doubles its memory when it is full."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream.runtime.params import Params, at_least
from nystream.runtime.types import Array

__all__ = ["Rows"]

FIRST = 16
"""Rows reserved at the start."""
LINE = 64
"""Bytes of a cache line, to which the memory is aligned for vector loads."""


class Rows(Params):
    """An (n, d) float64 matrix with cheap `append` and `remove`.

    Capacity doubles when it is full, so n appends cost O(n d) in total. `view` shows the stored rows without
    a copy. The order of rows is the order of arrival until the first `remove`, which moves the last row.

    Parameters
    ----------
    d : int
        Columns, at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.dictionary import Rows
    >>> rows = Rows(2)
    >>> rows.extend(np.arange(6.0).reshape(3, 2))
    >>> rows.remove(0)
    >>> rows.view.tolist()
    [[4.0, 5.0], [2.0, 3.0]]
    """

    _store: Array
    _n: int
    _view: Array

    def __init__(self, d: int) -> None:
        self.d = at_least("d", d, 1)
        self._hold(_aligned(FIRST, d), 0)

    @property
    def n(self) -> int:
        """Rows stored."""
        return self._n

    @property
    def capacity(self) -> int:
        """Rows that fit before memory is doubled."""
        return len(self._store)

    @property
    def nbytes(self) -> int:
        """Bytes reserved."""
        return self._store.nbytes

    @property
    def view(self) -> Array:
        """The stored rows (n, d), C-ordered, without a copy. Writing to it changes the stored rows.

        Take a new view after the matrix has grown: an old view may show memory that is no longer in use.
        """
        return self._view

    def __len__(self) -> int:
        return self._n

    def append(self, x: Array | float) -> None:
        """Add one row (d,), or its only number; amortised O(d)."""
        n = self._n
        if n == len(self._store):
            self.reserve(1)
        store = self._store
        store[n] = x
        self._n, self._view = n + 1, store[: n + 1]  # as `_hold`, whose call is a third of what this costs

    @property
    def memory(self) -> Array:
        """(capacity, d) memory. Compiled rounds write behind the last row and then call `advance`."""
        return self._store

    def advance(self) -> None:
        """Store the row that was written behind the last one in `memory`."""
        n = self._n + 1
        if n > len(self._store):
            raise IndexError(f"there is no memory behind row {n - 2}; reserve it first")
        self._n, self._view = n, self._store[:n]

    def extend(self, X: Array) -> None:
        """Add the rows of X (m, d)."""
        if X.ndim != 2 or X.shape[1] != self.d:
            raise ValueError(f"rows of {self.d} numbers are stored here, got an array of shape {X.shape}")
        n = self._n + len(X)
        self.reserve(len(X))
        self._store[self._n : n] = X
        self._hold(self._store, n)

    def remove(self, i: int) -> None:
        """Remove row i; the last row takes its place. O(d)."""
        if not 0 <= i < self._n:
            raise IndexError(f"no row {i} to remove: {self._n} are stored")
        last = self._n - 1
        self._store[i] = self._store[last]
        self._hold(self._store, last)

    def truncate(self, n: int) -> None:
        """Remove all rows after the first n."""
        if not 0 <= n <= self._n:
            raise IndexError(f"cannot keep {n} rows: {self._n} are stored")
        self._hold(self._store, n)

    def widened(self, d: int) -> Rows:
        """Return a copy with d columns, in which the new ones are 0."""
        wide = Rows(d)
        wide.extend(np.pad(self._view, ((0, 0), (0, d - self.d))))
        return wide

    def reserve(self, more: int) -> None:
        """Allocate memory for this number of additional rows."""
        n, capacity = self._n + more, len(self._store)
        if n <= capacity:
            return
        while capacity < n:
            capacity *= 2
        store = _aligned(capacity, self.d)
        store[: self._n] = self._view
        self._hold(store, self._n)

    def _hold(self, store: Array, n: int) -> None:
        self._store = store
        self._n = n
        self._view = store[:n]

    def _state(self) -> dict[str, Any]:
        return {"rows_": self._view}

    def _restore(self, state: dict[str, Any]) -> None:
        self._hold(_aligned(FIRST, self.d), 0)
        self.extend(state["rows_"])


def _aligned(rows: int, d: int) -> Array:
    store = np.empty(rows * d + LINE // 8)
    start = -store.ctypes.data % LINE // 8
    return store[start : start + rows * d].reshape(rows, d)
