"""Read tables in memory as named columns, without importing a library."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from nystream.data.inputs import is_masked
from nystream.data.places import Place

__all__ = ["Column", "Table", "read", "unique_names"]

MOST_TOLD = 5
"""Largest number of renamed columns in a message."""

Column: TypeAlias = Any
"""Values of one column: an array of numbers, booleans, times or objects, or a list."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of raw columns of equal length by name.

    Parameters
    ----------
    columns : dict of str to array or list
    n : int
        Rows.
    named : bool
        False for a matrix, whose columns are known by their places alone: "0", "1", ...
    kinds : dict of str to str
        Kinds known from the types of the source; columns of strings or objects are not in it.
    places : sequence of Place or None
        Places of the rows, for messages; None: "row 0", "row 1", ...
    marks : dict of str to str
        Decimal marks of columns of strings, as far as their file shows them; see `cells.parse_number`.
    """

    columns: dict[str, Column]
    n: int
    named: bool = True
    kinds: dict[str, str] = field(default_factory=dict)
    places: Sequence[Place] | None = None
    marks: dict[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, rows: slice) -> Table:
        """Return some rows in order."""
        start, stop, _ = rows.indices(self.n)
        columns = {name: values[rows] for name, values in self.columns.items()}
        places = None if self.places is None else self.places[rows]
        return Table(columns, max(0, stop - start), self.named, self.kinds, places, self.marks)

    def renamed(self, names: Sequence[str]) -> Table:
        """Return the same columns with other names."""
        new = dict(zip(self.columns, names, strict=True))
        kinds, marks = ({new[k]: words[k] for k in new if k in words} for words in (self.kinds, self.marks))
        return Table({new[k]: v for k, v in self.columns.items()}, self.n, True, kinds, self.places, marks)

    def place(self, row: int) -> Place:
        """Return the place of a row, for messages."""
        return Place(row) if self.places is None else self.places[row]

    def labels(self, name: str) -> Column:
        """Return a column as labels, with booleans restored and None for missing ones."""
        values = self.columns[name]
        if self.kinds.get(name) != "boolean" or not isinstance(values, np.ndarray) or values.dtype.kind != "f":
            return values
        return [None if value != value else bool(value) for value in values.tolist()]

    def ordered(self, index: Any) -> Table:
        """Return the rows of an index, in its order."""
        columns = {
            name: values[index] if isinstance(values, np.ndarray) else [values[i] for i in index]
            for name, values in self.columns.items()
        }
        places = None if self.places is None else [self.places[i] for i in index]
        return Table(columns, len(index), self.named, self.kinds, places, self.marks)

    @staticmethod
    def joined(tables: Sequence[Table]) -> Table:
        """Join several tables. A column that a table lacks is missing there."""
        if len(tables) == 1:
            return tables[0]
        columns = {}
        for name in dict.fromkeys(name for table in tables for name in table.columns):
            parts = [table.columns.get(name, [None] * table.n) for table in tables]
            whole = all(isinstance(part, np.ndarray) for part in parts)
            columns[name] = np.concatenate(parts) if whole else [value for part in parts for value in part]
        places = [table.place(i) for table in tables for i in range(table.n)] if tables[0].places is not None else None
        first = tables[0]
        return Table(columns, sum(map(len, tables)), first.named, first.kinds, places, first.marks)


def read(rows: Any) -> Table:
    """Read a pandas or polars frame, an Arrow table or record batch, dicts, one dict, a structured array or a matrix.

    One dict is one row, unless all its values are lists or arrays: then they are columns. Objects with Arrow's C stream
    interface are read through pyarrow.

    Examples
    --------
    >>> read([{"a": 1.0, "b": "x"}, {"b": "y"}]).columns
    {'a': [1.0, None], 'b': ['x', 'y']}
    """
    if isinstance(rows, Table):
        return rows
    if isinstance(rows, Mapping):
        return _mapping(rows)
    if isinstance(rows, np.ndarray) or np.isscalar(rows) or isinstance(rows, np.void):
        return _array(rows)
    reader = _LIBRARIES.get(type(rows).__module__.partition(".")[0])
    if reader is not None:
        return reader(rows)
    if isinstance(rows, (list, tuple)) and rows and isinstance(rows[0], Mapping):
        return _dicts(rows)
    if hasattr(rows, "toarray"):
        raise ValueError("rows are a sparse matrix, which is not supported here; pass rows.toarray()")
    if hasattr(rows, "__arrow_c_stream__"):
        return _arrow(importlib.import_module("pyarrow").table(rows))
    return _array(rows)


def _named(columns: Iterable[tuple[Hashable, Column]], n: int, kinds: dict[str, str] | None = None) -> Table:
    listed = [(str(name), values) for name, values in columns]
    names = [name for name, _ in listed]
    found: dict[str, Column] = {}
    for name, (_, values) in zip(unique_names(names, "rows"), listed, strict=True):
        found[name] = values
    known = {name: kind for name, kind in (kinds or {}).items() if names.count(name) == 1}
    return Table(found, n, True, known)


def unique_names(names: Sequence[str], source: str, report: Callable[[str], None] | None = None) -> list[str]:
    """Return distinct column names: the second "a" becomes "a.2", with a warning, or a call of `report`."""
    if len(set(names)) == len(names):
        return list(names)
    found: dict[str, None] = {}
    taken, renamed = set(names), []
    for name in names:
        new, count = name, 1
        while new in found or (count > 1 and new in taken):
            count += 1
            new = f"{name}.{count}"
        if new != name:
            renamed.append(f"{name!r} is now {new!r}")
        found[new] = None
    shown = ", ".join(renamed[:MOST_TOLD]) + (", ..." if len(renamed) > MOST_TOLD else "")
    message = f"{source}: two or more columns have the same name: {shown}"
    if report is None:
        warnings.warn(message, UserWarning, stacklevel=3)
    else:
        report(message)
    return list(found)


def _mapping(row: Mapping[Any, Any]) -> Table:
    values = list(row.values())
    if values and all(isinstance(v, (list, tuple)) or (isinstance(v, np.ndarray) and v.ndim == 1) for v in values):
        lengths = {len(v) for v in values}
        if len(lengths) > 1:
            raise ValueError(f"columns have different lengths: {', '.join(map(str, sorted(lengths)))}")
        columns = [(name, list(v) if isinstance(v, tuple) else v) for name, v in row.items()]
        return _typed(columns, lengths.pop())
    return _named(((name, [value]) for name, value in row.items()), 1)


def _dicts(rows: Sequence[Any]) -> Table:
    names: dict[Any, None] = {}
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise ValueError(f"row {i} is a {type(row).__name__}, the first row is a dict; rows must be of one kind")
        if row.keys() != names.keys():
            names.update(dict.fromkeys(row))
    return _named(((name, [row.get(name) for row in rows]) for name in names), len(rows))


def _array(rows: Any) -> Table:
    masked = is_masked(rows)
    array = np.asarray(np.ma.filled(rows.astype(np.float64), np.nan) if masked else rows)
    fields = array.dtype.names
    if fields:
        array = np.atleast_1d(array)
        return _typed([(name, array[name]) for name in fields], len(array))
    if array.ndim == 2:
        kinds = {str(j): kind for j in range(array.shape[1])} if (kind := _kind(array.dtype)) else {}
        return Table({str(j): array[:, j] for j in range(array.shape[1])}, len(array), False, kinds)
    if array.size == 0:
        return Table({}, 0, False)
    if array.ndim == 1 and array.dtype.kind in "biuf":
        raise ValueError("rows must be two-dimensional (rows, columns), got one dimension; for one row pass row[None]")
    raise ValueError(
        f"rows must be a frame, an Arrow table, dicts, a structured array or a matrix, got {type(rows).__name__}"
    )


def _kind(dtype: np.dtype[Any]) -> str | None:
    return {"b": "boolean", "i": "number", "u": "number", "f": "number", "M": "time", "m": "number"}.get(dtype.kind)


def _typed(columns: Iterable[tuple[Hashable, Column]], n: int) -> Table:
    """Return a table of columns. The types of NumPy arrays tell their kinds."""
    listed = list(columns)
    kinds = {str(name): kind for name, v in listed if isinstance(v, np.ndarray) and (kind := _kind(v.dtype))}
    return _named(listed, n, kinds)


def _pandas(rows: Any) -> Table:
    if rows.ndim == 1:  # a series is one row of a frame, as `iterrows` gives it
        return _named(((name, [value]) for name, value in rows.items()), 1)
    kinds: dict[str, str] = {}
    columns = []
    for place, name in enumerate(rows.columns):
        series = rows.iloc[:, place]
        dtype = str(series.dtype)
        if dtype == "category":
            kinds[str(name)] = "category"
            values = series.astype(object).to_numpy()
        elif dtype in ("boolean", "bool"):
            kinds[str(name)] = "boolean"
            values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        elif dtype.startswith("datetime64"):
            kinds[str(name)] = "time"
            aware = getattr(series.dt, "tz", None) is not None
            values = (series.dt.tz_convert("UTC").dt.tz_localize(None) if aware else series).to_numpy()
        elif dtype.startswith(("int", "uint", "float")):
            kinds[str(name)] = "number"
            values = series.to_numpy()
        elif dtype.startswith(("Int", "UInt", "Float")):
            kinds[str(name)] = "number"
            values = series.to_numpy(dtype=np.float64, na_value=np.nan)
        elif dtype.startswith("timedelta"):
            kinds[str(name)] = "number"
            values = series.to_numpy()
        else:
            values = series.astype(object).to_numpy()
        columns.append((name, values))
    return _named(columns, len(rows), kinds)


_POLARS = {"Bool": "boolean", "Date": "time", "Cate": "category", "Enum": "category", "Dura": "number"}


def _polars(rows: Any) -> Table:
    if not hasattr(rows, "get_columns"):
        raise ValueError(f"rows are a polars {type(rows).__name__}; collect it into a DataFrame first")
    kinds: dict[str, str] = {}
    columns = []
    for series in rows.get_columns():
        dtype = str(series.dtype)
        if dtype.startswith(("Int", "UInt", "Float", "Decimal")):
            kinds[series.name] = "number"
            values = series.to_numpy() if not series.null_count() else series
            values = values if _is_numbers(values) else series.cast(_float64(rows)).to_numpy()
        else:
            kind = _POLARS.get(dtype[:4])
            if kind is not None:
                kinds[series.name] = kind
            values = series.to_numpy() if kind in ("time", "number") else series.to_list()
        columns.append((series.name, values))
    return _named(columns, rows.height, kinds)


def _is_numbers(values: Any) -> bool:
    return isinstance(values, np.ndarray) and values.dtype.kind in "iuf"


def _float64(frame: Any) -> Any:
    return importlib.import_module(type(frame).__module__.partition(".")[0]).Float64


_ARROW = {
    "bool": "boolean",
    "time": "time",  # timestamp[...]
    "date": "time",
    "dict": "category",
    "int": "number",
    "uint": "number",
    "floa": "number",
    "doub": "number",
    "half": "number",
    "deci": "number",
    "dura": "number",
}


def _arrow(rows: Any) -> Table:
    if not hasattr(rows, "schema") or not hasattr(rows, "num_rows"):
        raise ValueError(f"rows are a pyarrow {type(rows).__name__}; pass a table or a record batch")
    kinds: dict[str, str] = {}
    columns = []
    for place, column in enumerate(rows.schema):
        values, dtype = rows.column(place), str(column.type)
        kind = next((k for start, k in _ARROW.items() if dtype.startswith(start)), None)
        if dtype.startswith(("time32", "time64")):
            kind = None
        if kind is not None:
            kinds[column.name] = kind
        if kind == "number" and not dtype.startswith("dura"):
            numbers = values if values.null_count else values.to_numpy(zero_copy_only=False)
            values = (
                numbers if _is_numbers(numbers) else values.cast("float64", safe=False).to_numpy(zero_copy_only=False)
            )
        elif kind in ("time", "number"):
            values = (values.cast("timestamp[us]", safe=False) if kind == "time" else values).to_numpy(
                zero_copy_only=False
            )
        else:
            values = _arrow_words(values) if "string" in dtype else values.to_pylist()
        columns.append((column.name, values))
    return _named(columns, rows.num_rows, kinds)


def _arrow_words(values: Any) -> Column:
    """Return strings, or categories of strings, as objects with None for missing ones."""
    kind = str(values.type)
    if kind.startswith("dictionary<values=string,"):
        values, kind = values.cast("string"), "string"
    return values.to_numpy(zero_copy_only=False) if kind in ("string", "large_string") else values.to_pylist()


_LIBRARIES: dict[str, Callable[[Any], Table]] = {"pandas": _pandas, "polars": _polars, "pyarrow": _arrow}
