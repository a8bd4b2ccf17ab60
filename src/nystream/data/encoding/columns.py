"""A block of a table: one array of its kind for every column."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["KINDS", "NUMERIC", "Columns", "as_columns", "is_table", "kinds_of", "one_row"]

KINDS = ("number", "boolean", "category", "time", "text")
"""What a column may be."""
NUMERIC = ("number", "boolean")
"""Kinds that are numbers as they are."""


class Columns:
    """n rows of typed columns, ready to be encoded: float64 with nan, str or None, int64 microseconds.

    Parameters
    ----------
    content : mapping of str to array
        Numbers and booleans (nan or None is missing), str or None, datetime64 (NaT is missing). A column that is not
        there is missing in every row.
    kinds : mapping of str to str
        The kind of every column, of `KINDS`; decides the order.
    n : int, optional
        Rows, where `content` may be empty.
    """

    __slots__ = ("arrays", "kinds", "n")

    def __init__(self, content: Mapping[str, Any], kinds: Mapping[str, str], n: int | None = None) -> None:
        unknown = sorted(set(content) - set(kinds))
        if unknown:
            raise ValueError(f"column {unknown[0]!r} is not one of {', '.join(map(repr, kinds))}")
        known = {name: _typed(name, values, kinds[name]) for name, values in content.items()}
        lengths = {len(array) for array in known.values()} | ({n} if n is not None else set())
        if len(lengths) != 1:
            raise ValueError(f"columns must have the same number of rows, got {sorted(lengths)}")
        self.n, self.kinds = lengths.pop(), dict(kinds)
        self.arrays = [known[name] if name in known else _missing(kind, self.n) for name, kind in kinds.items()]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n, len(self.arrays)

    @property
    def numeric(self) -> bool:
        """Whether all columns are numbers or booleans."""
        return all(kind in NUMERIC for kind in self.kinds.values())

    def matrix(self) -> npt.NDArray[np.float64]:
        """(n, d) the columns side by side, where all of them are numbers."""
        return np.column_stack(self.arrays)

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, rows: slice | npt.NDArray[np.intp]) -> Columns:
        part = object.__new__(Columns)
        part.kinds = self.kinds
        part.arrays = [array[rows] for array in self.arrays]
        part.n = len(range(*rows.indices(self.n))) if isinstance(rows, slice) else len(rows)
        return part


def is_table(X: Any) -> bool:
    """Whether X has named columns: a mapping of names to arrays, a frame, or typed columns."""
    return isinstance(X, (Columns, Mapping)) or (hasattr(X, "items") and hasattr(X, "columns"))


def as_columns(X: Any, kinds: Mapping[str, str] | None) -> Columns:
    """Typed columns of a table, of these kinds, or where nobody said so of those that its types tell."""
    if isinstance(X, Columns):
        if kinds is not None and dict(kinds) != X.kinds:
            raise ValueError(f"columns are {X.kinds}, but {dict(kinds)} were declared")
        return X
    content = {str(name): np.asarray(values) for name, values in X.items()}
    return Columns(content, kinds_of(content) if kinds is None else kinds)


def one_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A table of one row from a dict of names to values."""
    return {name: _one(value) for name, value in row.items()}


def kinds_of(content: Mapping[str, Any]) -> dict[str, str]:
    """Kinds by the types of arrays: numbers, booleans, times; text is a category."""
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
