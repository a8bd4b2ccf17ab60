"""CSV and its relatives, block by block."""

from __future__ import annotations

import csv as csv_module
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from nystream.params import at_least
from nystream.streams.base import Stream
from nystream.streams.columns import Column, Target, choose
from nystream.streams.cutting import Block
from nystream.streams.labels import Labels, is_missing
from nystream.streams.table import Fields, SplitError, Table, is_number
from nystream.streams.text import Pipe, TextFile

__all__ = ["DelimitedStream", "csv"]

_DELIMITERS = ("\t", ";", "|", ",")
_MOST_LINES = 1000  # that a quoted field in the first two rows may span


def csv(
    path: str | os.PathLike[str],
    target: Target = -1,
    *,
    header: bool | str = "auto",
    delimiter: str = "auto",
    drop: Column | Iterable[Column] = (),
    columns: Iterable[Column] | None = None,
    labels: Iterable[Any] | None = None,
    missing: str = "error",
) -> DelimitedStream:
    """A CSV file as a stream, in bounded memory; .gz, .bz2 and .xz are unpacked on the way.

    Parameters
    ----------
    path : path
    target : name, position, list of those, or None; default the last column
        A list gives Y of shape (n, K). None: no targets, Y is nan. A target that is not a number in the first row is
        a class: Y holds 0, 1, 2, ... in order of appearance and `stream.labels` the names.
    header : "auto", True or False
        "auto": the first line is a header if no field of it is a number.
    delimiter : "auto", a character, or " " for any white space
        "auto": the tab, semicolon, bar or comma that cuts the first two lines into equally many fields, else white
        space.
    drop : column or columns
        Left out of the features; may hold anything.
    columns : columns or None
        The features, in this order; None: all that are neither target nor dropped.
    labels : iterable or None
        The classes in order, where targets are classes whose order should not depend on the file. Numbers are
        compared by value: `labels=range(1, 8)` turns 1..7 into 0..6.
    missing : "error" or "nan"
        An empty field, NA, N/A, nan, null or ? is an error that names line and column, or nan for learners that
        take it. A missing target is always an error.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "power.csv")
    >>> _ = path.write_text("hour,load,day\\n1,20.5,mon\\n2,21.0,tue\\n3,19.5,mon\\n")
    >>> stream = csv(path, target="day")
    >>> [(X.tolist(), y.tolist()) for X, y in stream.blocks(2)]
    [([[1.0, 20.5], [2.0, 21.0]], [0.0, 1.0]), ([[3.0, 19.5]], [0.0])]
    >>> stream.columns, stream.labels
    (('hour', 'load'), ('mon', 'tue'))
    """
    return DelimitedStream(
        TextFile(path), target, header=header, delimiter=delimiter, drop=drop, columns=columns, labels=labels,
        missing=missing,
    )  # fmt: skip


class DelimitedStream(Stream):
    """A table of separated fields from any source of lines; parameters as `csv`."""

    def __init__(
        self,
        source: TextFile | Pipe,
        target: Target = -1,
        *,
        header: bool | str = "auto",
        delimiter: str = "auto",
        drop: Column | Iterable[Column] = (),
        columns: Iterable[Column] | None = None,
        labels: Iterable[Any] | None = None,
        missing: str = "error",
        flush_lines: int | None = None,
    ) -> None:
        if header not in ("auto", True, False):
            raise ValueError(f'header must be "auto", True or False, got {header!r}')
        if flush_lines is not None:
            at_least("flush_lines", flush_lines, 1)
        head = _head(source)
        if not any(map(str.strip, head)):
            raise ValueError(f"{source.name} is empty")
        mark = _delimiter(head) if delimiter == "auto" else _checked(delimiter)
        split = partial(_split, delimiter=mark)
        rows = _two_rows(head, mark, source.name)
        named = bool(header) if header != "auto" else not any(map(is_number, rows[0].fields))
        if named and len(rows) == 1:
            raise ValueError(f"{source.name} has a header but no rows")
        names = [name.strip() or str(j) for j, name in enumerate(rows[0].fields)]
        names = names if named else [str(j) for j in range(len(names))]
        choice = choose(names, target, drop, columns, source.name)
        coders = _coders(choice.targets, choice.single, rows[1 if named else 0].fields, labels)
        self._table = Table(source.name, names, choice, coders, mark, split, missing=missing)
        self._source = source
        self._first = rows[0].line if named else 0
        self._live = source.live
        self._flush = flush_lines
        super().__init__(
            source.name,
            columns=tuple(names[j] for j in choice.features) if named else None,
            d=len(choice.features),
            labels=next(iter(coders.values()), None),
        )

    def blocks(self, size: int = 1024) -> Iterator[Block]:
        """A new pass: pairs (X, Y) of `size` rows (of at most `flush_lines`, where that was given)."""
        return super().blocks(size if self._flush is None else min(size, self._flush))

    def _chunks(self, rows: int) -> Iterator[Block]:
        lines = self._source.lines()
        for _ in range(self._first):
            next(lines)
        yield from self._table.chunks(lines, self._first, rows, self._live)


def _coders(targets: Sequence[int], single: bool, row: list[str], labels: Iterable[Any] | None) -> dict[int, Labels]:
    """Classes of the target, given or (where its first value is a name) to be found."""
    if labels is not None:
        if not single or not targets:
            raise ValueError("labels needs exactly one target")
        return {targets[0]: Labels(labels)}
    if not single or not targets or targets[0] >= len(row):
        return {}
    text = row[targets[0]]
    return {} if is_number(text) or is_missing(text) else {targets[0]: Labels()}


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
