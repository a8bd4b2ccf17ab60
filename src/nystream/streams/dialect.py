"""How a text file is divided into fields: its delimiter, its header, the names of its columns."""

from __future__ import annotations

import csv as csv_module
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from nystream.streams.table import Fields, Split, SplitError, is_number
from nystream.streams.text import Pipe, TextFile

__all__ = ["Dialect", "dialect"]

_DELIMITERS = ("\t", ";", "|", ",")
_MOST_LINES = 1000  # that a quoted field in the first two rows may span


class Dialect(NamedTuple):
    """What the first lines of a file say.

    `delimiter` is None for any white space, `first` the number of the line that ends the header, 0 without one, and
    `row` the fields of the first row after it.
    """

    delimiter: str | None
    names: list[str]
    named: bool
    first: int
    row: list[str]

    @property
    def split(self) -> Split:
        """Lines to fields."""
        return partial(_split, delimiter=self.delimiter)


def dialect(source: TextFile | Pipe, header: bool | str = "auto", delimiter: str = "auto") -> Dialect:
    """Look at the first two rows; parameters as `csv`."""
    if header not in ("auto", True, False):
        raise ValueError(f'header must be "auto", True or False, got {header!r}')
    head = _head(source)
    if not any(map(str.strip, head)):
        raise ValueError(f"{source.name} is empty")
    mark = _delimiter(head) if delimiter == "auto" else _checked(delimiter)
    rows = _two_rows(head, mark, source.name)
    named = bool(header) if header != "auto" else not any(map(is_number, rows[0].fields))
    if named and len(rows) == 1:
        raise ValueError(f"{source.name} has a header but no rows")
    names = [name.strip() or str(j) for j, name in enumerate(rows[0].fields)]
    names = names if named else [str(j) for j in range(len(names))]
    return Dialect(mark, names, named, rows[0].line if named else 0, rows[1 if named else 0].fields)


def _head(source: TextFile | Pipe) -> list[str]:
    """Lines that hold the first two rows: two, unless a quoted field in them runs on."""
    count = 2
    head = source.head(count)
    while "".join(head).count('"') % 2 and count < _MOST_LINES:
        count *= 2
        head = source.head(count)
    return head


def _two_rows(head: list[str], delimiter: str | None, source: str) -> list[Fields]:
    rows: list[Fields] = []
    line = 0
    try:
        for row in _split(iter(head), delimiter):
            line = row.line
            if row.fields:
                rows.append(row)
            if len(rows) == 2:
                break
    except SplitError as error:
        raise ValueError(f"{source}:{line + 1}: {error}") from None
    return rows


def _delimiter(head: list[str]) -> str | None:
    """The mark that cuts the first two rows into equally many fields, more than one; white space else."""
    for mark in _DELIMITERS:
        try:
            widths = [len(row.fields) for row in _two_rows(head, mark, "")]
        except ValueError:
            continue  # with this mark, quotes stand where they may not
        if len(set(widths)) == 1 and widths[0] > 1:
            return mark
    text = "".join(head)
    # Rows of unequal length: take the most frequent mark, and let the table say which row is wrong.
    return max(_DELIMITERS, key=text.count) if any(mark in text for mark in _DELIMITERS) else None


def _checked(delimiter: str) -> str | None:
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n':
        raise ValueError(f'delimiter must be "auto" or one character (" " for any white space), got {delimiter!r}')
    return None if delimiter == " " else delimiter


def _split(lines: Iterator[str], delimiter: str | None) -> Iterator[Fields]:
    """Fields of each row; none for a blank line. A quoted field may hold delimiters and line ends."""
    if delimiter is None:
        for number, line in enumerate(lines, 1):
            yield Fields(number, [field.strip('"') for field in line.split()])
        return
    reader = csv_module.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
    while True:
        try:
            fields = next(reader, None)
        except csv_module.Error as error:
            raise SplitError(f"a quoted field is not closed or not followed by {delimiter!r} ({error})") from None
        if fields is None:
            return
        yield Fields(reader.line_num, [] if len(fields) == 1 and not fields[0].strip() else fields)
