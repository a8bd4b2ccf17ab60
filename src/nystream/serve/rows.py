"""Rows as they are logged and learnt: checked, in one layout, so that a replay repeats the same arithmetic."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import orjson

from nystream.data.batch import NUMERIC, Batch
from nystream.runtime.types import Array

__all__ = ["PIECE", "LoggedRows", "batch_of", "count_rows", "first_piece"]

_HEAD = struct.Struct("<IIIIBI")
PIECE = 64
"""Rows of a piece where nothing else is said."""
FIRST = 8
"""Rows of the first pieces of a model; its first rows may take some milliseconds each."""
WIDE = 512
"""Columns from which on first pieces are shorter still."""
WORDS = ("category", "text")
_LABELS, _WEIGHTS = 1, 2
"""Flags of the packed head: labels that are numbers follow, weights follow."""
_NO_LABELS = 0
"""Columns of numeric labels of a batch that has none."""


@dataclass(slots=True)
class LoggedRows:
    """Rows of one event: parsed once, by the schema of their model, with labels and weights beside them.

    Parameters
    ----------
    inputs : Batch
        The parsed rows, as the model takes them.
    labels : (n, K) float64, list of names of classes, or None
    weights : (n,) or None
    predictions : list or None
        What was predicted for these rows when nobody knew their labels.
    """

    inputs: Batch
    labels: Any = None
    weights: Array | None = None
    predictions: list[Any] | None = None
    piece: int = PIECE
    """Rows that are learnt at once; logged with the rows, so that a replay has the same cuts."""

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.inputs)

    @property
    def nbytes(self) -> int:
        """Bytes in memory, about."""
        n, d = self.inputs.shape
        if self.inputs.numbers is not None:
            return 8 * n * (d + 2)
        words = [array for array in self.inputs.arrays if array.dtype == object]
        texts = sum(sum(len(v) for v in array if v is not None) + 60 * n for array in words)
        return 8 * n * (d - len(words) + 2) + texts

    @property
    def numbers(self) -> Array:
        """The columns of numbers and booleans (n, d) in the schema's order; nan is missing."""
        if self.inputs.numbers is not None:
            return self.inputs.matrix()
        kinds = self.inputs.kinds.values()
        found = [array for array, kind in zip(self.inputs.arrays, kinds, strict=True) if kind in NUMERIC]
        return np.ascontiguousarray(np.column_stack(found)) if found else np.empty((self.n, 0))

    def pieces(self) -> Iterator[LoggedRows]:
        """Yield the same rows in pieces of `piece` rows."""
        if self.n <= self.piece:
            yield self
            return
        for start in range(0, self.n, self.piece):
            yield self.part(slice(start, start + self.piece))

    def part(self, rows: slice) -> LoggedRows:
        """Some of the rows."""
        return LoggedRows(
            self.inputs[rows],
            None if self.labels is None else self.labels[rows],
            None if self.weights is None else self.weights[rows],
            None if self.predictions is None else self.predictions[rows],
        )

    def pack(self) -> bytes:
        """Return the rows as bytes: little-endian float64, and JSON for what is no number."""
        numbers = self.numbers
        n, d = numbers.shape
        numeric = isinstance(self.labels, np.ndarray)
        flags = (_LABELS if numeric else 0) | (_WEIGHTS if self.weights is not None else 0)
        other: dict[str, Any] = {}
        if self.inputs.numbers is None:
            named = list(zip(self.inputs.kinds.items(), self.inputs.arrays, strict=True))
            words = {name: array.tolist() for (name, kind), array in named if kind in WORDS}
            times = {name: array.tolist() for (name, kind), array in named if kind == "time"}
            other = {name: values for name, values in (("words", words), ("times", times)) if values}
        if self.labels is not None and not numeric:
            other["labels"] = self.labels
        if self.predictions is not None:
            other["predictions"] = self.predictions
        text = orjson.dumps(other, option=orjson.OPT_SERIALIZE_NUMPY) if other else b""
        parts = [
            _HEAD.pack(n, d, self.piece, self.labels.shape[1] if numeric else _NO_LABELS, flags, len(text)),
            text,
            numbers.astype("<f8", copy=False).tobytes(),
        ]
        if numeric:
            parts.append(self.labels.astype("<f8", copy=False).tobytes())
        if self.weights is not None:
            parts.append(self.weights.astype("<f8", copy=False).tobytes())
        return b"".join(parts)

    @classmethod
    def unpack(cls, blob: bytes, kinds: dict[str, str]) -> LoggedRows:
        """Read what `pack` wrote; `kinds` are those of the columns in use (`Form.kinds`)."""
        n, d, piece, outputs, flags, size = _HEAD.unpack_from(blob)
        at = _HEAD.size
        other = orjson.loads(blob[at : at + size]) if size else {}
        values = np.frombuffer(blob, "<f8", offset=at + size).astype(np.float64)
        numbers, at = np.ascontiguousarray(values[: n * d].reshape(n, d)), n * d
        labels: Any = other.get("labels")
        if flags & _LABELS:
            labels, at = values[at : at + n * outputs].reshape(n, outputs), at + n * outputs
        weights = values[at : at + n] if flags & _WEIGHTS else None
        inputs = batch_of(numbers, other.get("words", {}), other.get("times", {}), kinds)
        return cls(inputs, labels, weights, other.get("predictions"), piece)

    @classmethod
    def joined(cls, parts: list[LoggedRows]) -> LoggedRows:
        """Join the rows of several requests to one model, one after the other."""
        together = cls(Batch.join([part.inputs for part in parts]))
        if all(part.predictions is not None for part in parts):
            together.predictions = [p for part in parts for p in part.predictions or []]
        return together


def batch_of(numbers: Array, words: dict[str, Any], times: dict[str, Any], kinds: dict[str, str]) -> Batch:
    """Return the batch of these columns: numbers (n, d) in order, words by name, times by name in microseconds."""
    n, d = numbers.shape
    numeric = [name for name, kind in kinds.items() if kind in NUMERIC]
    if d != len(numeric) or words.keys() | times.keys() != kinds.keys() - set(numeric):
        raise ValueError("rows in the log have other columns than their model")
    if d == len(kinds):
        return Batch.of_numbers(numbers, kinds)
    content: dict[str, Any] = {name: numbers[:, j] for j, name in enumerate(numeric)}
    for name, texts in words.items():
        content[name] = np.empty(n, dtype=object)
        content[name][:] = texts
    for name, values in times.items():
        content[name] = np.array(values, dtype=np.int64).view("datetime64[us]")
    return Batch(content, kinds, n)


def count_rows(blob: bytes) -> int:
    """Return the number of rows in what `LoggedRows.pack` wrote."""
    n: int = _HEAD.unpack_from(blob)[0]
    return n


def first_piece(columns: int) -> int:
    """Return the rows of a model's first pieces, before the time of a row is known: fewer of wide rows."""
    return max(1, min(FIRST, FIRST * WIDE // max(1, columns)))
