"""Access to the arrays of data frames of numbers, without copies and without importing a library."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nystream._core.inputs import all_finite
from nystream.runtime.types import Array

__all__ = ["Chunks", "Column", "Picked", "are_finite", "frame_columns", "join_columns", "matrix_of"]

Picked: TypeAlias = slice | npt.NDArray[np.intp]
"""Some rows: from one to another, or these in this order."""
AT_ONCE = 1 << 16
"""Numbers that are tested for finiteness at once."""


class Chunks:
    """A column of numbers in several consecutive arrays. Selected rows are one array.

    Parameters
    ----------
    arrays : list of (n,) arrays
    """

    def __init__(self, arrays: Sequence[npt.NDArray[Any]]) -> None:
        self.arrays = [piece for piece in arrays if len(piece)] or list(arrays[:1])
        self.ends = np.cumsum([len(piece) for piece in self.arrays])
        self.dtype = self.arrays[0].dtype

    def __len__(self) -> int:
        return int(self.ends[-1])

    def __getitem__(self, rows: Picked) -> npt.NDArray[Any]:
        if not isinstance(rows, slice):
            return self._picked(rows)
        start, stop, _ = rows.indices(len(self))
        found = []
        for k in range(int(np.searchsorted(self.ends, start, "right")), len(self.arrays)):
            begin = int(self.ends[k]) - len(self.arrays[k])
            if begin >= stop:
                break
            found.append(self.arrays[k][max(start - begin, 0) : stop - begin])
        return found[0] if len(found) == 1 else np.concatenate(found or [self.arrays[0][:0]])

    def _picked(self, index: npt.NDArray[np.intp]) -> npt.NDArray[Any]:
        found = np.empty(len(index), dtype=self.dtype)
        where = np.searchsorted(self.ends, index, "right")
        for k in np.unique(where):
            here = where == k
            found[here] = self.arrays[k][index[here] - (self.ends[k] - len(self.arrays[k]))]
        return found


Column: TypeAlias = "npt.NDArray[Any] | Chunks"


def matrix_of(frame: Any) -> npt.NDArray[Any] | None:
    """Return the matrix behind a pandas frame of numbers, or None."""
    if not hasattr(frame, "iloc") or len(getattr(frame, "shape", ())) != 2 or 0 in frame.shape:
        return None
    row, column = np.asarray(frame.iloc[:1]), np.asarray(frame.iloc[:, 0])
    if row.dtype.kind not in "iuf" or not np.shares_memory(row, column):
        return None
    return np.asarray(frame)


def frame_columns(frame: Any) -> dict[str, Column] | None:
    """Return the columns by name of a frame or an Arrow table of numbers without other missing values than nan; else
    None."""
    reader = _READERS.get(type(frame).__module__.partition(".")[0])
    if reader is None or len(getattr(frame, "shape", ())) != 2:
        return None
    found: dict[str, Column] = {}
    for name, arrays in reader(frame):
        if arrays is None or any(array.dtype.kind not in "iuf" for array in arrays) or str(name) in found:
            return None
        found[str(name)] = arrays[0] if len(arrays) == 1 else Chunks(arrays)
    return found or None


def join_columns(columns: Sequence[Column]) -> Callable[[Picked], Array]:
    """Return a function that makes rows (n, d) from some rows of columns."""

    def take(picked: Picked) -> Array:
        n = len(columns[0][picked])
        X = np.empty((n, len(columns)))
        for j, column in enumerate(columns):
            X[:, j] = column[picked]
        return X

    return take


def are_finite(columns: Iterable[Any]) -> bool:
    """Return whether all numbers of columns or matrices are finite, tested in parts."""
    return all(_is_finite(array) for column in columns for array in _arrays(column))


def _arrays(column: Any) -> Sequence[npt.NDArray[Any]]:
    return column.arrays if isinstance(column, Chunks) else [column]


def _is_finite(array: npt.NDArray[Any]) -> bool:
    if array.dtype.kind in "biu":
        return True
    array = array.T if array.flags.f_contiguous else array
    if array.dtype == np.float64 and array.flags.c_contiguous and array.dtype.isnative:
        return bool(all_finite(array))
    rows = max(1, AT_ONCE * len(array) // max(1, array.size))
    return all(bool(np.isfinite(array[i : i + rows]).all()) for i in range(0, len(array), rows))


Read: TypeAlias = "Iterable[tuple[Any, list[npt.NDArray[Any]] | None]]"
"""Names of columns with their arrays; None for columns that are not numbers."""


def _pandas(frame: Any) -> Read:
    for place, name in enumerate(frame.columns):
        series = frame.iloc[:, place]
        yield name, [series.to_numpy()] if isinstance(series.dtype, np.dtype) else None


def _polars(frame: Any) -> Read:
    if not hasattr(frame, "get_columns"):
        return
    for series in frame.get_columns():
        plain = series.dtype.is_numeric() and not str(series.dtype).startswith("Dec") and not series.null_count()
        yield series.name, [piece.to_numpy() for piece in series.get_chunks()] if plain else None


def _arrow(table: Any) -> Read:
    for place, name in enumerate(table.schema.names):
        column = table.column(place)
        plain = str(column.type).startswith(("int", "uint", "float", "double", "halffloat")) and not column.null_count
        pieces = getattr(column, "chunks", [column])
        yield name, [piece.to_numpy() for piece in pieces] if plain and pieces else None


_READERS: dict[str, Callable[[Any], Read]] = {"pandas": _pandas, "polars": _polars, "pyarrow": _arrow}
