"""Rows as they are logged and learnt: checked, in one layout, so that a replay repeats the same arithmetic."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from nystream.runtime.types import Array

__all__ = ["PIECE", "Batch", "first_piece"]

_HEAD = struct.Struct("<IIIIBI")
PIECE = 64
"""Rows of a piece where nothing else is said."""
FIRST = 8
"""Rows of the first pieces of a model; its first rows may take some milliseconds each."""
WIDE = 512
"""Columns from which on first pieces are shorter still."""
_LABELS, _WEIGHTS = 1, 2
"""Flags of the packed head: labels that are numbers follow, weights follow."""
_NO_LABELS = 0
"""Columns of numeric labels of a batch that has none."""


@dataclass(slots=True)
class Batch:
    """Rows that fit the schema of their model.

    Parameters
    ----------
    numbers : (n, d) float64 in C order
        The columns that are numbers or booleans, in the schema's order; nan for missing.
    words : dict of name to list of str or None
        Categories and texts.
    times : dict of name to int64 (n,)
        Microseconds since 1970; the smallest integer for missing.
    labels : (n, K) float64, list of names of classes, or None
    weights : (n,) or None
    predictions : list or None
        What was predicted for these rows when nobody knew their labels.
    """

    numbers: Array
    words: dict[str, list[Any]] = field(default_factory=dict)
    times: dict[str, npt.NDArray[np.int64]] = field(default_factory=dict)
    labels: Any = None
    weights: Array | None = None
    predictions: list[Any] | None = None
    piece: int = PIECE
    """Rows that are learnt at once; logged with the rows, so that a replay has the same cuts."""

    @property
    def n(self) -> int:
        """Rows."""
        return len(self.numbers)

    @property
    def nbytes(self) -> int:
        """Bytes in memory, about."""
        texts = sum(sum(len(v) for v in values if v is not None) + 60 * len(values) for values in self.words.values())
        return self.numbers.nbytes + texts + 8 * self.n * (len(self.times) + 2)

    def pieces(self) -> Iterator[Batch]:
        """The same rows in pieces of `piece` rows."""
        if self.n <= self.piece:
            yield self
            return
        for start in range(0, self.n, self.piece):
            yield self.part(slice(start, start + self.piece))

    def part(self, rows: slice) -> Batch:
        """Some of the rows."""
        return Batch(
            np.ascontiguousarray(self.numbers[rows]),
            {name: values[rows] for name, values in self.words.items()},
            {name: np.ascontiguousarray(values[rows]) for name, values in self.times.items()},
            None if self.labels is None else self.labels[rows],
            None if self.weights is None else self.weights[rows],
            None if self.predictions is None else self.predictions[rows],
        )

    def pack(self) -> bytes:
        """The rows as bytes: little-endian float64, and JSON for what is no number."""
        n, d = self.numbers.shape
        numeric = isinstance(self.labels, np.ndarray)
        flags = (_LABELS if numeric else 0) | (_WEIGHTS if self.weights is not None else 0)
        other: dict[str, Any] = {}
        if self.words:
            other["words"] = self.words
        if self.times:
            other["times"] = {name: values.tolist() for name, values in self.times.items()}
        if self.labels is not None and not numeric:
            other["labels"] = self.labels
        if self.predictions is not None:
            other["predictions"] = self.predictions
        text = orjson.dumps(other, option=orjson.OPT_SERIALIZE_NUMPY) if other else b""
        parts = [
            _HEAD.pack(n, d, self.piece, self.labels.shape[1] if numeric else _NO_LABELS, flags, len(text)),
            text,
            self.numbers.astype("<f8", copy=False).tobytes(),
        ]
        if numeric:
            parts.append(self.labels.astype("<f8", copy=False).tobytes())
        if self.weights is not None:
            parts.append(self.weights.astype("<f8", copy=False).tobytes())
        return b"".join(parts)

    @classmethod
    def unpack(cls, blob: bytes) -> Batch:
        """What `pack` wrote."""
        n, d, piece, outputs, flags, size = _HEAD.unpack_from(blob)
        at = _HEAD.size
        other = orjson.loads(blob[at : at + size]) if size else {}
        values = np.frombuffer(blob, "<f8", offset=at + size).astype(np.float64)
        numbers, at = values[: n * d].reshape(n, d), n * d
        labels: Any = other.get("labels")
        if flags & _LABELS:
            labels, at = values[at : at + n * outputs].reshape(n, outputs), at + n * outputs
        return cls(
            np.ascontiguousarray(numbers),
            other.get("words", {}),
            {name: np.array(v, dtype=np.int64) for name, v in other.get("times", {}).items()},
            labels,
            values[at : at + n] if flags & _WEIGHTS else None,
            other.get("predictions"),
            piece,
        )

    @classmethod
    def joined(cls, batches: list[Batch]) -> Batch:
        """The rows of several batches of one model, one after the other."""
        first = batches[0]
        together = cls(
            np.ascontiguousarray(np.vstack([b.numbers for b in batches])),
            {name: [v for b in batches for v in b.words[name]] for name in first.words},
            {name: np.concatenate([b.times[name] for b in batches]) for name in first.times},
        )
        if all(b.predictions is not None for b in batches):
            together.predictions = [p for b in batches for p in b.predictions or []]
        return together


def first_piece(columns: int) -> int:
    """Return the rows of a model's first pieces, before the time of a row is known: fewer of wide rows."""
    return max(1, min(FIRST, FIRST * WIDE // max(1, columns)))
