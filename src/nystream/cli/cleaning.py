"""Handling of cells that do not fit their columns, and of missing or unknown columns."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from nystream.cli.rows import Pair, pick
from nystream.data.places import BadCell, BadRow, Place
from nystream.data.reading import Table
from nystream.data.schema import Schema
from nystream.data.sparse_rows import SparseRows
from nystream.runtime.params import one_of
from nystream.runtime.types import Array

__all__ = ["POLICIES", "Cleaner", "check_columns", "checked_policy", "naming_the_option"]

POLICIES = ("stop", "missing", "skip")
SHOWN = 20
"""Names of columns that a message lists."""


def checked_policy(word: str) -> str:
    """Check the value of --on-error, and list the choices where it is wrong."""
    return str(one_of("--on-error", word, POLICIES))


class Cleaner:
    """A parser of blocks that handles cells that do not fit the kinds of their columns.

    A cell that does not fit is handled by the policy: with "stop" the rows before it are given and then `BadCell` is
    raised, with "missing" the cell counts as missing, with "skip" its row is left out. Rows that cannot be split into
    cells are handled by the reader.

    Parameters
    ----------
    schema : Schema
        Of the inputs.
    targets : names of the targets; of numbers without a name "y"
    numeric : bool
        Whether labels are numbers.
    whole : bool
        Whether labels must be whole numbers, because the classes are.
    policy : "stop", "missing" or "skip"
    name : str or None
        What messages call a source whose rows have no places of their own.
    """

    def __init__(
        self,
        schema: Schema,
        targets: Sequence[str] = (),
        *,
        numeric: bool = True,
        whole: bool = False,
        policy: str = "stop",
        name: str | None = None,
    ) -> None:
        self._schema = schema
        self._targets = list(targets) or ["y"]
        self._numeric, self._whole = numeric, whole
        self._policy, self._name = policy, name
        self._seen = 0
        formats = {name: mark for name in self._targets if (mark := schema.format_of(name)) is not None}
        self._labels = Schema(self._targets, formats=formats or None)
        self._unknown: set[str] = set()
        self.bad_cells = 0
        self.bad_rows = 0
        self.first = ""

    def clean(self, rows: Any, labels: Any) -> Iterator[Pair]:
        """Parse a block of rows, and convert its labels; nothing comes where no row is left."""
        table = self._table(rows)
        batch = self._schema.parse(rows if table is None else table, on_error="missing", report=self._report)
        bad = self._bad_rows(self._schema, table) if batch.bad_cells and table is not None else []
        cells = batch.bad_cells
        label_table = self._label_table(labels, table)
        if label_table is not None:
            labels, label_cells, bad_labels = self._numbers(label_table)
            cells, bad = cells + label_cells, bad + bad_labels
        if not bad:
            self._seen += len(batch)
            yield batch, labels
            return
        bad = sorted(set(bad))
        if self._policy == "stop":
            if bad[0]:
                yield batch[: bad[0]], None if labels is None else labels[: bad[0]]
            raise self._error(bad[0], table, label_table)
        self.first = self.first or self._error(bad[0], table, label_table).problem
        self._seen += len(batch)
        if self._policy == "missing":
            self.bad_cells += cells
            yield batch, labels
            return
        self.bad_rows += len(bad)
        left = np.setdiff1d(np.arange(len(batch)), bad)
        if len(left):
            yield batch[left], pick(labels, left)

    def _numbers(self, table: Table) -> tuple[Array, int, list[int]]:
        """Return labels as numbers, how many of them do not fit, and the rows of these; they count as missing."""
        batch = self._labels.parse(table, on_error="missing", report=_ignore)
        Y = batch.matrix()
        Y = Y[:, 0] if Y.shape[1] == 1 else Y
        bad = self._bad_rows(self._labels, table) if batch.bad_cells else []
        fractions = np.flatnonzero(np.isfinite(Y) & (np.floor(Y) != Y)) if self._whole else np.zeros(0, dtype=int)
        if len(fractions):
            Y = Y.copy()
            Y[fractions] = np.nan
        return Y, batch.bad_cells + len(fractions), [*bad, *fractions.tolist()]

    def summary(self, unreadable: Sequence[str] = ()) -> list[str]:
        """Return lines that count cells and rows not learnt as they are; `unreadable` are rows of the reader."""
        lines = []
        if self.bad_cells:
            cells = "1 cell does not fit its column and counts"
            if self.bad_cells > 1:
                cells = f"{self.bad_cells:,} cells do not fit their columns and count"
            lines.append(f"{cells} as missing; the first: {self.first}")
        skipped = self.bad_rows + len(unreadable)
        if skipped:
            first = self.first if self.bad_rows else unreadable[0]
            rows = "1 row was" if skipped == 1 else f"{skipped:,} rows were"
            lines.append(f"{rows} skipped; the first: {first}")
        return lines

    def _table(self, rows: Any) -> Table | None:
        """Return the rows whose cells must be looked at; None: all of them fit."""
        if isinstance(rows, SparseRows) or self._schema.width is not None:
            return None
        if isinstance(rows, Table):
            return rows
        if not np.isinf(rows).any() or rows.shape[1] != len(self._schema.names):
            return None
        return Table({name: rows[:, j] for j, name in enumerate(self._schema.names)}, len(rows))

    def _label_table(self, labels: Any, table: Table | None) -> Table | None:
        """Return labels that are numbers as a table; None where there are none."""
        if labels is None or not self._numeric:
            return None
        places, marks = (table.places, table.marks) if table is not None else (None, {})
        if isinstance(labels, Table):
            return Table(labels.columns, labels.n, places=places, marks=marks)
        if isinstance(labels, np.ndarray) and labels.ndim == 2:
            if np.isinf(labels).any():
                row = int(np.flatnonzero(np.isinf(labels).any(axis=1))[0])
                raise BadCell(self._place(row), "y", float("inf"), "finite number")
            return None
        return Table({self._targets[0]: labels}, len(labels), places=places, marks=marks)

    def _bad_rows(self, schema: Schema, table: Table) -> list[int]:
        """Find the rows with a cell that does not fit, by halves."""
        found, parts = [], [(0, table.n)]
        while parts:
            i, j = parts.pop()
            if not schema.columns_of(table[i:j], on_error="missing", report=_ignore)[2]:
                continue
            if j - i == 1:
                found.append(i)
            else:
                parts += [(i, (i + j) // 2), ((i + j) // 2, j)]
        return found

    def _error(self, row: int, table: Table | None, labels: Table | None) -> BadCell:
        """Return the error for the first bad cell of a row."""
        for schema, rows in ((self._schema, table), (self._labels, labels)):
            if rows is not None:
                try:
                    schema.columns_of(rows[row : row + 1], report=_ignore)
                except BadCell as error:
                    return BadCell(self._place(row, rows), error.column, error.value, error.wanted)
        assert labels is not None
        name = self._targets[0]
        value = labels.columns[name][row]
        return BadCell(self._place(row, labels), name, value, "whole number, as the classes before it are")

    def _place(self, row: int, rows: Table | None = None) -> Place:
        """Return where a row of this block is."""
        return Place(self._seen + row, self._name) if rows is None or rows.places is None else rows.place(row)

    def _report(self, names: list[str]) -> None:
        """Say once that a column is not known; a target is not an input."""
        new = [name for name in names if name not in self._unknown and name not in self._targets]
        if new:
            self._unknown.update(new)
            print(f"nystream: {_unknown(new)}", file=sys.stderr, flush=True)


@contextmanager
def naming_the_option() -> Iterator[None]:
    """Refuse a bad cell with a message that says how to go on without it."""
    try:
        yield
    except BadCell as error:
        raise ValueError(
            f"{error.problem}; correct it, or choose --on-error missing (the cell counts as missing) or --on-error "
            "skip (its row is left out)"
        ) from error
    except BadRow as error:
        raise ValueError(f"{error}; correct it, or choose --on-error skip (the row is left out)") from error


def check_columns(schema: Schema, table: Table, name: str) -> None:
    """Say on standard error which of the model's columns a source lacks; refuse a source that has none of them.

    Of a source without a header, say that its columns are taken in the order of the model's names.
    """
    wanted, columns = schema.names, list(table.columns)
    if not table.named:
        if not all(column.isdecimal() for column in wanted):
            print(
                f"nystream: {name} has no header: its columns are taken in the order of the model, {_listed(wanted)}",
                file=sys.stderr,
                flush=True,
            )
        return
    missing = [column for column in wanted if column not in columns]
    if wanted and len(missing) == len(wanted):
        raise ValueError(
            f"{name} has none of the columns of the model ({_listed(wanted)}); its columns are {_listed(columns)}"
        )
    if missing:
        count = f"{len(missing)} of the {len(wanted)} columns"
        print(
            f"nystream: {name} lacks {count} of the model, which count as missing: {_listed(missing)}",
            file=sys.stderr,
            flush=True,
        )


def _unknown(names: Sequence[str]) -> str:
    return f"the model does not know {'column' if len(names) == 1 else 'columns'} {_listed(names)}: not used"


def _listed(names: Sequence[str]) -> str:
    more = f", ... ({len(names)} in all)" if len(names) > SHOWN else ""
    return (", ".join(names[:SHOWN]) or "none") + more


def _ignore(names: list[str]) -> None:
    """Do nothing: unknown columns were reported before."""
