"""The last learnt rows of a model, for explanations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from nystream.data.batch import Batch
from nystream.runtime.params import Params, at_least
from nystream.runtime.types import Array
from nystream.scaling.ring import Ring

__all__ = ["KEPT", "Recent", "capacity_for"]

KEPT = 512
"""Default number of kept rows."""
MOST = 1 << 20
"""Approximate limit in bytes; fewer rows are kept of wide tables."""
FEWEST = 8
"""Fewest rows that are useful; otherwise none are kept."""
WORD = 100
"""Bytes that a category or a text counts for in that."""
LONGEST = 2000
"""Letters of a text that are kept."""
WORDS = ("category", "text")
"""Kinds that are strings."""


class Recent(Params):
    """Keeps the last `capacity` rows of typed columns, with their labels.

    Numbers and booleans are kept as numbers, times as microseconds, nan where one is missing; categories and text as
    strings or None. Blocks are as good as rows.

    Parameters
    ----------
    kinds : dict of name to kind
    outputs : int
        Numbers of a label.
    capacity : int
    """

    numbers_: Ring
    """Numbers and times, then the label."""
    words_: list[list[str | None]]
    """Strings of every column that has them, where the same row's numbers are."""

    def __init__(self, kinds: Mapping[str, str], outputs: int, capacity: int) -> None:
        self.kinds = dict(kinds)
        self.outputs = at_least("outputs", outputs, 1)
        self.capacity = at_least("capacity", capacity, 1)
        self._numbers = [name for name, kind in self.kinds.items() if kind not in WORDS]
        self._words = [name for name, kind in self.kinds.items() if kind in WORDS]
        self.numbers_ = Ring(capacity, len(self._numbers) + outputs)
        self.words_ = [[] for _ in self._words]

    def __len__(self) -> int:
        return len(self.numbers_)

    def extend(self, rows: Batch | Mapping[str, Any] | Array, Y: Array) -> None:
        """Add learnt rows, in order: a batch, typed columns, or a matrix of numbers; and labels (n, outputs)."""
        if isinstance(rows, Batch):
            return self._extend(rows.columns if rows.numbers is None else rows.numbers, Y)
        return self._extend(rows, Y)

    def _extend(self, rows: Any, Y: Array) -> None:
        skipped = max(0, len(Y) - self.capacity)
        self.numbers_.seen_ += skipped
        block = np.empty((len(Y) - skipped, self.numbers_.d))
        if not isinstance(rows, Mapping):
            block[:, : len(self._numbers)] = np.asarray(rows[skipped:])
        else:
            for j, name in enumerate(self._numbers):
                block[:, j] = _as_numbers(rows[name][skipped:])
            for kept, name in zip(self.words_, self._words, strict=True):
                self._extend_words(kept, rows[name][skipped:])
        block[:, len(self._numbers) :] = Y[skipped:]
        self.numbers_.extend(block)

    def _extend_words(self, kept: list[str | None], values: Any) -> None:
        full = min(self.capacity, self.numbers_.seen_ + len(values))
        kept.extend([None] * (full - len(kept)))
        for t, value in enumerate(values, self.numbers_.seen_):
            kept[t % self.capacity] = None if value is None else str(value)[:LONGEST]

    def step(self, x: Array, y: float) -> None:
        """Add one row of numbers with one number as its label."""
        ring = self.numbers_
        if len(ring.store_) < self.capacity:
            self.extend(x[None], np.array([[y]]))
            return
        place = ring.store_[ring.seen_ % self.capacity]
        place[:-1] = x
        place[-1] = y
        ring.seen_ += 1

    @property
    def labels(self) -> Array:
        """(n, outputs), the oldest first."""
        return self.numbers_.rows[:, len(self._numbers) :]

    @property
    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Typed columns by name, the oldest row first."""
        rows, found = self.numbers_.rows, {}
        turn = self.numbers_.seen_ % self.capacity if self.numbers_.seen_ > self.capacity else 0
        words = dict(zip(self._words, self.words_, strict=True))
        numbers = {name: rows[:, j] for j, name in enumerate(self._numbers)}
        for name, kind in self.kinds.items():
            if name in words:
                values = np.empty(len(rows), dtype=object)
                values[:] = [*words[name][turn:], *words[name][:turn]]
                found[name] = values
            else:
                found[name] = _as_times(numbers[name]) if kind == "time" else numbers[name].copy()
        return found

    def changed(self, kinds: Mapping[str, str], fill: float = np.nan, names: Mapping[str, str] | None = None) -> Recent:
        """Return the same rows for other columns: new ones contain `fill`; `names` maps old names to new ones."""
        twin = Recent(kinds, self.outputs, self.capacity)
        called = names or {}
        old = {called.get(name, name): values for name, values in self.columns.items()}
        n = len(self)
        if n:
            new = {name: np.full(n, None if kind in WORDS else fill) for name, kind in kinds.items() if name not in old}
            twin.extend({name: new[name] if name in new else old[name] for name in twin.kinds}, self.labels)
        return twin

    def without(self, columns: Mapping[str, Any], Y: Array) -> Recent:
        """Return the rows except those that are equal to one of these."""
        gone = {self._key(columns, Y, i) for i in range(len(Y))}
        own, labels = self.columns, self.labels
        left = np.array([i for i in range(len(self)) if self._key(own, labels, i) not in gone], dtype=np.intp)
        twin = Recent(self.kinds, self.outputs, self.capacity)
        if len(left):
            twin.extend({name: values[left] for name, values in own.items()}, labels[left])
        return twin

    def _key(self, columns: Mapping[str, Any], Y: Array, i: int) -> tuple[Any, ...]:
        numbers = np.array([_as_numbers(columns[name][i : i + 1])[0] for name in self._numbers] + Y[i].tolist())
        words = (columns[name][i] for name in self._words)
        return ((numbers + 0.0).tobytes(), *(None if word is None else str(word)[:LONGEST] for word in words))

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        ring = self.numbers_
        good = isinstance(ring, Ring) and ring.d == len(self._numbers) + self.outputs and ring.capacity == self.capacity
        if not good or len(self.words_) != len(self._words) or any(len(kept) != len(self) for kept in self.words_):
            raise ValueError("the rows that were kept for explanations do not fit together")

    @property
    def nbytes(self) -> int:
        return self.numbers_.nbytes + sum(8 + len(word or "") for kept in self.words_ for word in kept)


def capacity_for(kinds: Mapping[str, str], outputs: int, wanted: int = KEPT) -> int:
    """Return how many rows of such columns are kept; 0 for none."""
    row = 8 * outputs + sum(WORD if kind in WORDS else 8 for kind in kinds.values())
    capacity = min(wanted, MOST // row)
    return capacity if capacity >= min(FEWEST, wanted) else 0


def _as_numbers(values: Any) -> Any:
    """Return numbers as they are; times in microseconds, nan where one is missing."""
    values = np.asarray(values)
    if values.dtype.kind != "M":
        return values
    micro = values.astype("datetime64[us]")
    return np.where(np.isnat(micro), np.nan, micro.view(np.int64).astype(np.float64))


def _as_times(numbers: Array) -> Any:
    known = np.isfinite(numbers)
    micro = np.where(known, numbers, 0.0).astype(np.int64).view("datetime64[us]")
    return np.where(known, micro, np.datetime64("NaT", "us"))
