"""The first rows of a model without a schema, which decide the kinds of its columns."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from nystream.data.kinds import look_at
from nystream.data.places import BadCell
from nystream.data.reading import Table
from nystream.data.schema import Schema
from nystream.data.values import is_absent
from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["FirstRows"]

LOOKS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 50, 100, 200, 500, 1000)
"""Numbers of rows after which the kind of every column is looked at again; `Schema.of` looks at 1,000 rows too."""
ROWS = LOOKS[-1]
"""Rows after which kinds are final."""
CELLS, LETTERS = 1 << 16, 1 << 20
"""Kinds are final earlier in wide tables and long texts: after so many cells, or letters of strings."""
REPLAYED = 10 * ROWS
"""Rows that may be learnt again in all, so that a column that keeps changing costs a bounded time."""
MEASURED, LEVELS = ("number", "boolean", "time"), ("category", "text")
ZERO_TIME = datetime.datetime(1970, 1, 1)
MICROSECOND = datetime.timedelta(microseconds=1)


class FirstRows(Params):
    """Keeps the first rows as they came, with labels and weights, until the kinds of all columns are final.

    A kind is looked at again when a cell does not fit it, when a column shows its first value, and after 1, 2, ..., 10,
    20, 50, 100, 200, 500 and 1,000 rows. It changes to what `Schema.of` says of all cells so far, if all of them fit
    that; strings of digits become a category when a string comes that is no number. A column with a time, or a number
    that has a fraction (not written as a string), becomes no category: there a cell that does not fit is an error. The
    result depends on the rows alone, and not on how they are cut into blocks.
    """

    cells_: dict[str, list[Any]]
    """Cells of every column: None, bool, int, float, str, or ("time", microseconds since 1970)."""
    labels_: list[list[Any]]
    """Labels of every row, one for each target; none where labels were not given."""
    weights_: list[float]
    fixed_: dict[str, str]
    """Columns whose kind is final: their source has types, or somebody declared them."""
    n_: int
    letters_: int
    replayed_: int
    """Rows that were learnt again, or would have been if all rows had come one by one."""

    def __init__(self) -> None:
        self.cells_, self.labels_, self.weights_, self.fixed_ = {}, [], [], {}
        self.n_ = self.letters_ = self.replayed_ = 0

    def __len__(self) -> int:
        return self.n_

    @property
    def is_full(self) -> bool:
        """Whether the kinds are final."""
        cells = self.n_ * len(self.cells_)
        return self.n_ >= ROWS or cells >= CELLS or self.letters_ >= LETTERS or self.replayed_ >= REPLAYED

    @property
    def looks_next(self) -> bool:
        """Whether the kinds are inferred again with the next row."""
        return self.n_ + 1 in LOOKS

    @property
    def nbytes(self) -> int:
        return 8 * self.n_ * (len(self.cells_) + 2) + self.letters_

    # -- rows ----------------------------------------------------------------------------------------------------------
    def extend(self, table: Table, labels: list[Any] | None, weights: Array | None) -> None:
        """Add learnt rows, until there are enough of them."""
        columns = {name: _listed(values) for name, values in table.columns.items()}
        parts = [_listed(part) for part in labels or ()]
        for i in range(table.n):
            if self.is_full:
                return
            row = {name: values[i] for name, values in columns.items()}
            self.add(row, [part[i] for part in parts], 1.0 if weights is None else float(weights[i]))

    def add(self, row: Mapping[str, Any], labels: list[Any], weight: float = 1.0) -> None:
        """Add one learnt row."""
        for name, value in row.items():
            kept = self.cells_.setdefault(name, [None] * self.n_)
            kept.append(_cell(value))
            self.letters_ += len(value) if isinstance(value, (str, bytes)) else 0
        self.n_ += 1
        for kept in self.cells_.values():
            if len(kept) < self.n_:
                kept.append(None)
        self.labels_.append([_cell(label) for label in labels])
        self.weights_.append(weight)

    def rename(self, names: Mapping[str, str]) -> None:
        """Rename columns."""
        self.cells_ = {names.get(name, name): cells for name, cells in self.cells_.items()}
        self.fixed_ = {names.get(name, name): kind for name, kind in self.fixed_.items()}

    def replay(self) -> tuple[Table, Any, Array]:
        """Return the rows, their labels (None: there are none) and their weights, to be learnt again."""
        columns = {name: [_value(cell) for cell in cells] for name, cells in self.cells_.items()}
        targets = max(map(len, self.labels_), default=0)
        labels: Any = None
        if targets == 1:
            labels = [_value(row[0]) if row else None for row in self.labels_]
        elif targets:
            labels = np.array([[_value(label) for label in row] or [None] * targets for row in self.labels_], object)
        return Table(columns, self.n_), labels, np.array(self.weights_)

    # -- kinds ---------------------------------------------------------------------------------------------------------
    def review(self, table: Table, schema: Schema) -> tuple[Schema, int]:
        """Return the schema after the next rows of a table, which may have other kinds, other formats or more columns;
        and the number of rows that are learnt again for it if they come one by one. Pure.
        """
        replayed: set[int] = set()
        n = min(self.n_ + table.n, ROWS)
        is_look = any(self.n_ < count <= n for count in LOOKS)
        columns, formats, looks = dict(schema.columns), dict(schema.formats or {}), dict(getattr(schema, "looks_", {}))
        for name in table.columns:
            if name in schema.targets or name in self.fixed_:
                continue
            kept, new = self.cells_.get(name, [None] * self.n_), _listed(table.columns[name])[: n - self.n_]
            has_values = any(cell is not None for cell in kept)
            if has_values and name in columns and not is_look and _fit(name, new, columns[name], formats.get(name)):
                continue  # nothing new
            cells = [*map(_value, kept), *new]
            column = _Column(name, columns.get(name), formats.get(name))
            column.follow(cells, self.n_)
            replayed |= column.changes
            if column.kind is None:
                continue
            columns[name] = column.kind
            formats.pop(name, None)
            if column.format is not None:
                formats[name] = column.format
            if column.look is not None:
                looks[name] = column.look
        if set(columns.values()) == {"ignored"}:  # ids are better than nothing to learn from
            columns = {name: schema.columns.get(name, "category") for name in columns}
        same = columns == schema.columns and formats == (schema.formats or {})
        if same and looks == getattr(schema, "looks_", {}):
            return schema, sum(replayed)
        found = schema.described(columns=columns, formats=formats or None)
        found.looks_ = looks
        return found, sum(replayed)


class _Column:
    """The kind of one column, and how its times are written."""

    def __init__(self, name: str, kind: str | None, format: str | None) -> None:
        self.name, self.kind, self.format = name, kind, format
        self.look: list[Any] | None = None
        """An example and the share missing, once the column was looked at again."""
        self.changes: set[int] = set()
        """Rows that there were when the kind changed."""

    def follow(self, cells: list[Any], start: int) -> None:
        """Go through the cells from `start` on, those before it being known."""
        at = start
        for stop, is_look in _stops(cells, start, self.kind is None):
            while self.kind is not None and (bad := self._first_misfit(cells[at:stop])) is not None:
                at += bad + 1
                self._change(cells[:at], has_misfit=True)
            at = stop
            if is_look:
                self._change(cells[:stop])

    def _change(self, cells: list[Any], has_misfit: bool = False) -> None:
        """Take the kind that these cells say, if all of them fit it."""
        look = look_at(cells, name=self.name)
        if look.kind == "nested":
            raise ValueError(f"column {self.name!r} holds lists or dicts ({look.example}); drop it, or unfold it first")
        kind, format = look.kind, look.format
        self.look = [look.example, look.missing, look.note]
        if self.kind in MEASURED and kind in LEVELS and any(map(_is_measured, cells)):
            return  # the cell that does not fit is refused, or counts as missing
        before = self.kind, self.format
        if self.kind is None or _fit(self.name, cells, kind, format):
            self.kind, self.format = kind, format
        elif has_misfit and _are_codes(cells[:-1]):
            self.kind, self.format = "category", None
        if (self.kind, self.format) != before:
            self.changes.add(len(cells) - 1)

    def _first_misfit(self, cells: list[Any]) -> int | None:
        assert self.kind is not None
        if _fit(self.name, cells, self.kind, self.format):
            return None
        return next(i for i, cell in enumerate(cells) if not _fit(self.name, [cell], self.kind, self.format))


def _stops(cells: list[Any], start: int, is_new: bool) -> Iterator[tuple[int, bool]]:
    """Yield the numbers of rows after `start` at which to stop, and whether to look at the kind there."""
    looks = {count for count in LOOKS if start < count <= len(cells)}
    if is_new or all(map(is_absent, cells[:start])):
        looks |= {next((i + 1 for i in range(start, len(cells)) if not is_absent(cells[i])), len(cells))}
    for stop in sorted(looks | {len(cells)}):
        yield stop, stop in looks


def _fit(name: str, cells: Sequence[Any], kind: str, format: str | None) -> bool:
    """Return whether all cells are of the kind."""
    if kind in ("ignored", "category", "text"):
        return True
    try:
        _one_column(name, kind, format).columns_of(Table({name: list(cells)}, len(cells)))
    except BadCell:
        return False
    return True


@lru_cache(maxsize=256)
def _one_column(name: str, kind: str, format: str | None) -> Schema:
    return Schema({name: kind}, formats=None if format is None else {name: format})


def _is_measured(cell: Any) -> bool:
    """Return whether a cell is no level of a category: a number with a fraction, or a time that is not a string."""
    if isinstance(cell, (float, np.floating)):
        return not float(cell).is_integer() and not is_absent(cell)
    return isinstance(cell, (datetime.date, np.datetime64))


def _are_codes(cells: list[Any]) -> bool:
    """Return whether these are strings of digits, as codes and identifiers are written, and not all missing."""
    there = [cell for cell in cells if not is_absent(cell)]
    return bool(there) and all(isinstance(cell, str) and cell.strip().isdigit() for cell in there)


def _listed(values: Any) -> list[Any]:
    """Return the values of a column, or of labels, one by one; times of an array in microseconds."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
        values = values.astype(f"{'datetime' if values.dtype.kind == 'M' else 'timedelta'}64[us]")
    for method in ("to_pylist", "tolist", "to_list"):
        if hasattr(values, method):
            return list(getattr(values, method)())
    return list(values)


def _cell(value: Any) -> Any:
    """Convert a value to a form that files hold."""
    if value is None or type(value) in (bool, int, str):
        return value
    if isinstance(value, np.generic) and not isinstance(value, (np.datetime64, np.timedelta64)):
        value = value.item()
    if is_absent(value):
        return None
    if isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, np.timedelta64):
        return float(value / np.timedelta64(1, "s"))
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.UTC).replace(tzinfo=None)
        return ("time", (value - ZERO_TIME) // MICROSECOND)
    if isinstance(value, datetime.date):
        return ("time", (datetime.datetime(value.year, value.month, value.day) - ZERO_TIME) // MICROSECOND)
    return str(value)


def _value(cell: Any) -> Any:
    """Return the value that a cell was made from."""
    return ZERO_TIME + cell[1] * MICROSECOND if isinstance(cell, tuple) else cell
