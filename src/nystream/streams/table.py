"""Convert lines of a table to numbers: by a fast parser, by NumPy, or field by field."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from nystream._core.tables import rows_of_numbers
from nystream.data.cells import MISFIT, is_missing, parse_number
from nystream.runtime.params import one_of
from nystream.runtime.types import Array
from nystream.streams.columns import Choice
from nystream.streams.cutting import Block
from nystream.streams.labels import Labels
from nystream.streams.lines import Lines

__all__ = ["Fields", "Split", "SplitError", "Table"]


class Fields(NamedTuple):
    """The fields of one row and the line on which it ends (counted from 1 within what was split)."""

    line: int
    fields: list[str]


class SplitError(ValueError):
    """The error for a row that cannot be split into fields."""


Split: TypeAlias = Callable[[Iterator[str]], Iterator[Fields]]

_LINES = 4096  # lines parsed at once: enough to hide the cost of a call
_VALUES = 2**18  # but not more values than this, 2 MB, for wide tables


class Table:
    """The conversion of the lines of one table to X and Y.

    Parameters
    ----------
    source : str
        Name of the file, for messages.
    names : sequence of str
        All columns.
    choice : Choice
        Which of them are features and targets.
    coders : dict of int to Labels
        Columns that hold names.
    delimiter : str or None
        None: any white space.
    split : function
        The exact function from lines to fields, for lines that the fast parser rejects.
    special : str
        Characters that only `split` understands: a chunk with one of them is not for the fast parser, which knows
        double quotes.
    missing : "error" or "nan"
        What an absent feature becomes.
    """

    def __init__(
        self,
        source: str,
        names: Sequence[str],
        choice: Choice,
        coders: dict[int, Labels],
        delimiter: str | None,
        split: Split,
        *,
        special: str = "",
        missing: str = "error",
    ) -> None:
        one_of("missing", missing, ("error", "nan"))
        self.source = source
        self.names = names
        self.choice = choice
        self.coders = coders
        self.delimiter = delimiter
        self.split = split
        self.special = special
        self.missing = missing
        self._whole = choice.used == tuple(range(len(names)))
        self._plan = [(j, coders[j].number if j in coders else float) for j in choice.used]

    def chunks(self, lines: Lines, line: int, rows: int, live: bool = False) -> Iterator[Block]:
        """Yield blocks of the table whose first row follows line number `line`. A live source is not read ahead."""
        rows = rows if live else max(rows, min(_LINES, _VALUES // len(self.names) + 1))
        found = False
        while (read := self._read(lines, line, rows)) is not None:
            block, used = read
            line += used
            if len(block):
                found = True
                yield self._cut(block)
        if not found:
            raise ValueError(f"{self.source} has no rows")

    def _cut(self, block: Array) -> Block:
        width = len(self.choice.features)
        X = np.ascontiguousarray(block[:, :width])
        if not self.choice.targets:
            return X, np.full(len(X), math.nan)
        return X, np.ascontiguousarray(block[:, width] if self.choice.single else block[:, width:])

    def _read(self, lines: Lines, line: int, rows: int) -> tuple[Array, int] | None:
        """Return the features and targets of the lines that follow, and how many lines these were; None at the end."""
        written = lines.parsed(rows, self._written)
        if written is not None:
            return written
        chunk = list(itertools.islice(lines, rows))
        if not chunk:
            return None
        block = self._fast(chunk)
        return self._exact(chunk, lines, line) if block is None else (block, len(chunk))

    # -- the fast way ----------------------------------------------------------------------------------------------
    def _fast(self, chunk: list[str]) -> Array | None:
        """Return features, then targets; None if anything is doubtful, for `_exact`."""
        text = "".join(chunk)
        if any(mark in text for mark in self.special) or text.isspace():
            return None
        quoted = '"' in text
        if quoted and not (self._whole and all(line.count('"') % 2 == 0 for line in chunk)):
            return None  # a quoted field may run on into the next line
        if not self._whole and not self._even(chunk):
            return None  # with usecols, loadtxt would not notice a row of another length
        try:
            block: Array = np.loadtxt(
                chunk,
                delimiter=self.delimiter,
                comments=None,
                quotechar='"' if quoted else None,
                usecols=None if self._whole else self.choice.used,
                converters={j: coder.number for j, coder in self.coders.items()} or None,
                encoding=None,
                ndmin=2,
            )
        except ValueError:
            return None
        return self._sound(block) if block.shape[1] == len(self.choice.used) else None

    def _written(self, data: memoryview, lines: int) -> Array | None:
        """Parse lines with a parser that knows nothing but numbers, ten times as fast; None where it cannot."""
        if self.delimiter is None or self.coders:
            return None
        rows = rows_of_numbers(data, lines, len(self.names), self.delimiter, self.missing == "nan")
        return None if rows is None else self._sound(rows if self._whole else rows[:, self.choice.used])

    def _sound(self, block: Array) -> Array | None:
        """Return the block itself, or None if it has a value that is not finite where that is not allowed."""
        features, targets = np.split(block, [len(self.choice.features)], axis=1)
        clean = not np.isinf(features).any() if self.missing == "nan" else bool(np.isfinite(features).all())
        return block if clean and bool(np.isfinite(targets).all()) else None

    def _even(self, chunk: list[str]) -> bool:
        width = len(self.names)
        if self.delimiter is None:
            return all(len(line.split()) == width for line in chunk)
        return all(line.count(self.delimiter) == width - 1 for line in chunk)

    # -- the exact way ---------------------------------------------------------------------------------------------
    def _exact(self, chunk: list[str], more: Iterator[str], line: int) -> tuple[Array, int]:
        """Parse lines field by field; also return the lines used, since a quoted field may run on beyond the chunk."""
        rows = []
        used = 0
        suspect = "_" in "".join(chunk)  # float() takes 1_000 for a number
        try:
            for used, fields in self.split(itertools.chain(chunk, more)):
                if fields:
                    row = None if suspect or used > len(chunk) else self._plain_row(fields)
                    rows.append(self._row(fields, line + used) if row is None else row)
                if used >= len(chunk):
                    break
        except SplitError as error:
            raise ValueError(f"{self.source}:{line + used + 1}: {error}") from None
        return np.array(rows, dtype=np.float64).reshape(len(rows), len(self.choice.used)), used

    def _plain_row(self, fields: list[str]) -> list[float] | None:
        """Return the numbers of a row in which nothing is doubtful, else None."""
        if len(fields) != len(self.names):
            return None
        try:
            row = [convert(fields[j]) for j, convert in self._plan]
        except ValueError:
            return None
        return row if math.isfinite(sum(row)) else None

    def _row(self, fields: list[str], line: int) -> list[float]:
        if len(fields) != len(self.names):
            raise ValueError(f"{self.source}:{line}: has {len(fields)} fields, expected {len(self.names)}")
        row = []
        for j in self.choice.used:
            coder = self.coders.get(j)
            try:
                value = float(fields[j]) if coder is None else coder.number(fields[j])
                if not math.isfinite(value) or (coder is None and "_" in fields[j]):
                    value = self._doubtful(j, fields[j], line)
            except ValueError as error:
                value = self._doubtful(j, fields[j], line, None if coder is None else str(error))
            row.append(value)
        return row

    def _doubtful(self, j: int, text: str, line: int, reason: str | None = None) -> float:
        """Parse a number as people write it; nan for an absent feature that may be absent; else raise the error."""
        target = j in self.choice.targets
        place = f"{self.source}:{line}: {'target' if target else 'column'} {self.names[j]!r}"
        if is_missing(text):
            if self.missing == "nan" and not target:
                return math.nan
            if target:
                raise ValueError(f"{place} is missing ({text.strip()!r}); remove the row")
            raise ValueError(
                f"{place} is missing ({text.strip()!r}); remove or fill such rows, drop the column, "
                f'or pass missing="nan" to a learner that takes nan'
            )
        if reason is not None:
            raise ValueError(f"{place}: {reason}")
        number: Any = parse_number(text, ";" if self.delimiter == ";" else ".")
        if number is not MISFIT:
            return float(number)
        remedy = "pass labels=[...] if targets are classes" if target else "drop the column or encode it as numbers"
        raise ValueError(f"{place} is {text.strip()!r}, not a finite number; {remedy}")
