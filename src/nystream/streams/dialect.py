"""The dialect of a text file: delimiter, header and column names."""

from __future__ import annotations

import csv as csv_module
import itertools
import re
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import NamedTuple

from nystream.data.cells import is_missing, is_value
from nystream.data.reading import unique_names
from nystream.streams.table import Fields, Split, SplitError
from nystream.streams.text import Pipe, TextBytes, TextFile

__all__ = ["Dialect", "dialect"]

_DELIMITERS = ("\t", ";", "|", ",")
_SEPARATOR = re.compile(r'"?sep=([;,|\t])"?', re.IGNORECASE)
"""A line before the header in which spreadsheets say the delimiter."""
_MOST_LINES = 1000  # that a quoted field in the first two rows may span


class Dialect(NamedTuple):
    """The dialect found in the first lines of a file.

    `delimiter` is None for any white space, `first` the number of lines before the first row, and `row` its fields.
    """

    delimiter: str | None
    names: list[str]
    named: bool
    first: int
    row: list[str]

    @property
    def split(self) -> Split:
        """The function that splits lines into fields."""
        return partial(_split, delimiter=self.delimiter)

    def split_chunk(self, chunk: list[str], more: Iterator[str]) -> tuple[list[Fields], SplitError | None]:
        """Split the lines of a chunk; a quoted field at its end may take lines from `more`.

        Returns the rows up to the first that cannot be split, and the error of that one or None.
        """
        rows: list[Fields] = []
        try:
            for row in _split(itertools.chain(chunk, more), self.delimiter):
                rows.append(row)
                if row.line >= len(chunk):
                    break
        except SplitError as error:
            return rows, error
        return rows, None


def dialect(
    source: TextFile | TextBytes | Pipe,
    header: bool | str = "auto",
    delimiter: str = "auto",
    known: Collection[str] | None = None,
    report: Callable[[str], None] | None = None,
) -> Dialect:
    """Return the dialect of a file from its first two rows; parameters as `csv`.

    `known` are names of columns that a header is expected to have, if any are: with them the first row is a header if
    it has one of them. `report` is called with a message where columns were renamed; None: it is a warning.
    """
    if header not in ("auto", True, False):
        raise ValueError(f'header must be "auto", True or False, got {header!r}')
    head = _head(source, 2)
    said = _SEPARATOR.fullmatch(head[0].strip()) if head else None
    if said is not None:
        head = _head(source, 3)[1:]
        delimiter = said[1] if delimiter == "auto" else delimiter
    if not any(map(str.strip, head)):
        raise ValueError(f"{source.name} is empty")
    mark = _delimiter(head) if delimiter == "auto" else _checked(delimiter)
    rows = _two_rows(head, mark, source.name)
    named = bool(header) if header != "auto" else _is_header([row.fields for row in rows], known)
    if named and len(rows) == 1:
        raise ValueError(f"{source.name} has a header but no rows")
    names = [name.strip() or str(j) for j, name in enumerate(rows[0].fields)]
    names = unique_names(names, source.name, report) if named else [str(j) for j in range(len(names))]
    first = (rows[0].line if named else 0) + (said is not None)
    return Dialect(mark, names, named, first, rows[1 if named else 0].fields)


def _is_header(rows: list[list[str]], known: Collection[str] | None) -> bool:
    """Return whether the first row contains names.

    It does if it has no number and no time, or if its numbers are years or count on (0, 1, 2) beside a word above a
    number.
    """
    first = [field.strip() for field in rows[0]]
    if known is not None and any(field in known for field in first):
        return True
    values = [is_value(field) for field in first]
    if not any(values):
        return True
    if len(rows) < 2 or len(set(first)) < len(first) or len(rows[1]) != len(first):
        return False
    numbers = [field for field, has_value in zip(first, values, strict=True) if has_value]
    if not all(field.isdecimal() for field in numbers):
        return False
    whole = list(map(int, numbers))
    counting = whole == list(range(whole[0], whole[0] + len(whole))) and whole[0] in (0, 1)
    if not counting and not all(1900 <= year <= 2100 for year in whole):
        return False
    pairs = zip(first, values, rows[1], strict=True)
    return any(not value and not is_missing(field) and is_value(below) for field, value, below in pairs)


def _head(source: TextFile | TextBytes | Pipe, count: int) -> list[str]:
    """Return the lines of the first `count` rows: so many, unless a quoted field continues."""
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
    """Return the mark that splits the first two rows into equally many fields (more than one), else white space."""
    for mark in _DELIMITERS:
        try:
            widths = [len(row.fields) for row in _two_rows(head, mark, "")]
        except ValueError:
            continue  # with this mark, quotes are in wrong places
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
    """Yield the fields of each row; none for a blank line. A quoted field may hold delimiters and line ends."""
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
