"""A batch: rows after parsing, with the names and kinds of their columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nystream.data.inputs import RawBlock
from nystream.data.places import Place
from nystream.data.sparse_rows import SparseRows
from nystream.runtime.types import Array

__all__ = ["BATCH_KINDS", "NUMERIC", "Batch", "as_batch", "is_table", "kinds_of", "one_row"]

BATCH_KINDS = ("number", "boolean", "category", "time", "text")
"""Kinds of the columns of a batch. Ignored columns are left out when rows are parsed."""
NUMERIC = ("number", "boolean")
"""Kinds whose values are numbers, so that a learner of numbers takes them as they are."""

Numbers: TypeAlias = Array | RawBlock | SparseRows
"""Rows of numbers: a matrix (n, d), a large one that is converted in parts, or sparse rows."""


class Batch:
    """Holds n parsed rows: float64 with nan for numbers and booleans, str or None for words, int64 microseconds.

    `Schema.parse` and `Model.parse` make batches from rows of any origin. Slices of a batch are batches.

    Parameters
    ----------
    content : mapping of str to array
        Numbers and booleans (nan or None is missing), str or None, datetime64 (NaT is missing). A missing column
        is missing in every row.
    kinds : mapping of str to str
        The kind of every column, of `BATCH_KINDS`; decides the order.
    n : int, optional
        Rows, where `content` may be empty.
    places : sequence of Place, optional
        Where the rows come from, for messages. None: "row 0", "row 1", ...
    bad_cells : int
        Cells that did not fit the kind of their column, and count as missing.
    """

    __slots__ = ("_arrays", "bad_cells", "kinds", "n", "numbers", "places")

    numbers: Numbers | None
    """All columns as rows of numbers, if they were parsed as such; else None."""

    def __init__(
        self,
        content: Mapping[str, Any],
        kinds: Mapping[str, str],
        n: int | None = None,
        *,
        places: Sequence[Place] | None = None,
        bad_cells: int = 0,
    ) -> None:
        unknown = sorted(set(content) - set(kinds))
        if unknown:
            raise ValueError(f"column {unknown[0]!r} is not one of {', '.join(map(repr, kinds))}")
        known = {name: _typed(name, values, kinds[name]) for name, values in content.items()}
        lengths = {len(array) for array in known.values()} | ({n} if n is not None else set())
        if len(lengths) != 1:
            raise ValueError(f"columns must have the same number of rows, got {sorted(lengths)}")
        self.n, self.kinds = lengths.pop(), dict(kinds)
        self.numbers, self.places, self.bad_cells = None, places, bad_cells
        self._arrays = [known[name] if name in known else _missing(kind, self.n) for name, kind in kinds.items()]

    @classmethod
    def of_numbers(
        cls, numbers: Numbers, kinds: dict[str, str], *, places: Sequence[Place] | None = None, bad_cells: int = 0
    ) -> Batch:
        """Return a batch of rows of numbers, whose columns are numbers or booleans; sparse rows have no kinds."""
        batch = object.__new__(cls)
        batch.n, batch.kinds, batch.numbers = len(numbers), kinds, numbers
        batch.places, batch.bad_cells, batch._arrays = places, bad_cells, []
        return batch

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and of columns."""
        return self.n, len(self._arrays) if self.numbers is None else self.numbers.shape[1]

    @property
    def inputs(self) -> Any:
        """The rows as a learner takes them: rows of numbers, or this batch where it has columns of other kinds."""
        return self if self.numbers is None else self.numbers

    @property
    def arrays(self) -> list[npt.NDArray[Any]]:
        """One array for each column, in order."""
        return self._arrays if self.numbers is None else list(self.matrix().T)

    @property
    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """The columns by name; times as datetime64[us]."""
        return {
            name: array.view("datetime64[us]") if kind == "time" else array
            for (name, kind), array in zip(self.kinds.items(), self.arrays, strict=True)
        }

    @property
    def is_numeric(self) -> bool:
        """Whether all columns are numbers or booleans."""
        return all(kind in NUMERIC for kind in self.kinds.values())

    def matrix(self) -> Array:
        """Return the columns side by side (n, d); all of them must be numbers."""
        if self.numbers is None:
            return np.column_stack(self._arrays)
        return self.numbers.toarray() if isinstance(self.numbers, SparseRows) else np.asarray(self.numbers)

    def place(self, row: int) -> Place:
        """Return the place of a row, for messages."""
        return Place(row) if self.places is None else self.places[row]

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, rows: slice | npt.NDArray[np.intp]) -> Batch:
        """Return some of the rows: a slice of them, or those with the given numbers."""
        part = object.__new__(Batch)
        part.kinds, part.bad_cells = self.kinds, 0
        part._arrays = [array[rows] for array in self._arrays]
        if isinstance(rows, slice):
            part.n = len(range(*rows.indices(self.n)))
            part.places = None if self.places is None else self.places[rows]
            part.numbers = None if self.numbers is None else self.numbers[rows]
            return part
        part.n = len(rows)
        part.places = None if self.places is None else [self.places[i] for i in rows.tolist()]
        part.numbers = None if self.numbers is None else self.numbers[rows]
        return part

    @staticmethod
    def join(parts: Sequence[Batch]) -> Batch:
        """Return the rows of several batches of the same columns as one; where they come from is left out."""
        if len(parts) == 1:
            return parts[0]
        first, bad_cells = parts[0], sum(part.bad_cells for part in parts)
        if isinstance(first.numbers, SparseRows):
            rows = [part.numbers for part in parts if isinstance(part.numbers, SparseRows)]
            return Batch.of_numbers(SparseRows.joined(rows), first.kinds, bad_cells=bad_cells)
        if first.numbers is not None:
            return Batch.of_numbers(np.vstack([part.matrix() for part in parts]), first.kinds, bad_cells=bad_cells)
        joined = object.__new__(Batch)
        joined.kinds, joined.n, joined.numbers, joined.places = first.kinds, sum(map(len, parts)), None, None
        joined.bad_cells = bad_cells
        joined._arrays = [np.concatenate(arrays) for arrays in zip(*(part._arrays for part in parts), strict=True)]
        return joined


def is_table(X: Any) -> bool:
    """Return whether X has named columns: a mapping of names to arrays, a frame, or a batch."""
    return isinstance(X, (Batch, Mapping)) or (hasattr(X, "items") and hasattr(X, "columns"))


def as_batch(X: Any, kinds: Mapping[str, str] | None) -> Batch:
    """Return a mapping or a frame as a batch of these kinds; with kinds=None the types of its arrays decide."""
    if isinstance(X, Batch):
        if kinds is not None and dict(kinds) != X.kinds:
            raise ValueError(f"columns are {X.kinds}, but {dict(kinds)} were declared")
        return X
    content = {str(name): np.asarray(values) for name, values in X.items()}
    return Batch(content, kinds_of(content) if kinds is None else kinds)


def one_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table of one row, made from a dict of names to values."""
    return {name: _one(value) for name, value in row.items()}


def kinds_of(content: Mapping[str, Any]) -> dict[str, str]:
    """Return kinds by the types of arrays: numbers, booleans, times; strings are categories."""
    out = {}
    for name, values in content.items():
        found = np.asarray(values).dtype.kind
        known = {"b": "boolean", "M": "time", "i": "number", "u": "number", "f": "number", "U": "category"}
        if found not in known and found != "O":
            raise ValueError(f"column {name!r} holds {np.asarray(values).dtype}, which has no kind of its own")
        out[str(name)] = known.get(found, "category")
    return out


def _one(value: Any) -> npt.NDArray[Any]:
    if isinstance(value, np.datetime64):
        return np.array([value])
    return np.array([value], dtype=object if value is None or isinstance(value, str) else None)


def _typed(name: str, values: Any, kind: str) -> npt.NDArray[Any]:
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"column {name!r} must be one-dimensional, got shape {array.shape}")
    if kind in ("number", "boolean"):
        return _numbers(name, array)
    if kind == "time":
        return _times(name, array)
    if array.dtype.kind == "U":
        array = array.astype(object)
    if array.dtype != object:
        raise ValueError(f"column {name!r} is of kind {kind}: it must hold text or None, got {array.dtype}")
    return _texts(name, array, kind)


def _texts(name: str, array: npt.NDArray[Any], kind: str) -> npt.NDArray[Any]:
    if set(map(type, array)) <= {str, NoneType}:
        return np.ascontiguousarray(array)
    holes = []
    for row, value in enumerate(array):
        if value is None or isinstance(value, str):
            continue
        if not (isinstance(value, float) and np.isnan(value)):
            raise ValueError(
                f"column {name!r} is of kind {kind}: it must hold text or None, got {value!r} at row {row}"
            )
        holes.append(row)  # what pandas writes for None
    if holes:
        array = array.copy()
        array[holes] = None
    return np.ascontiguousarray(array)


def _numbers(name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    try:
        numbers = np.ascontiguousarray(array, dtype=np.float64)  # None becomes nan
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {name!r} must hold numbers: {error}") from None
    if np.isinf(numbers).any():
        row = int(np.flatnonzero(np.isinf(numbers))[0])
        raise ValueError(f"column {name!r} has {numbers[row]} at row {row}; numbers must be finite, or nan if missing")
    return numbers


def _times(name: str, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if array.dtype.kind != "M" and not (array.dtype == object and all(v is None for v in array)):
        raise ValueError(f"column {name!r} is of kind time: it must hold datetime64, got {array.dtype}")
    return np.ascontiguousarray(array.astype("datetime64[us]")).view(np.int64)


def _missing(kind: str, n: int) -> npt.NDArray[Any]:
    if kind in ("number", "boolean"):
        return np.full(n, np.nan)
    return np.full(n, np.iinfo(np.int64).min) if kind == "time" else np.full(n, None, dtype=object)
