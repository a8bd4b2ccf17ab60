"""CSV and similar files, block by block."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from nystream.data.cells import is_number
from nystream.runtime.params import at_least
from nystream.streams.base import Stream
from nystream.streams.columns import Column, Target, choose
from nystream.streams.cutting import Block
from nystream.streams.dialect import dialect
from nystream.streams.labels import Labels, is_missing_field
from nystream.streams.table import Table
from nystream.streams.text import Pipe, TextFile, text_at

__all__ = ["DelimitedStream", "csv"]


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
    """Read a CSV file as a stream, in bounded memory. .gz, .bz2, .xz, .zst and .zip are unpacked.

    Parameters
    ----------
    path : path
    target : name, position, list of those, or None; default the last column
        A list gives Y of shape (n, K). None: no targets, Y is nan. A target that is not a number in the first row is
        a class: Y holds 0, 1, 2, ... in order of appearance and `stream.labels` the names.
    header : "auto", True or False
        "auto": the first line is a header if no field of it is a number or a date; or if its numbers are years, or 0,
        1, 2, ..., and one of its words stands above a number.
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
        An empty field, NA, N/A, nan, null, none, - or ? is an error that names line and column, or nan for learners
        that take it. A missing target is always an error.

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
        text_at(path), target, header=header, delimiter=delimiter, drop=drop, columns=columns, labels=labels,
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
        if flush_lines is not None:
            at_least("flush_lines", flush_lines, 1)
        found = dialect(source, header, delimiter)
        names = found.names
        choice = choose(names, target, drop, columns, source.name)
        coders = _coders(choice.targets, choice.single, found.row, labels)
        self._table = Table(source.name, names, choice, coders, found.delimiter, found.split, missing=missing)
        self._source = source
        self._first = found.first
        self._live = source.live
        self._flush = flush_lines
        super().__init__(
            source.name,
            columns=tuple(names[j] for j in choice.features) if found.named else None,
            d=len(choice.features),
            labels=next(iter(coders.values()), None),
        )

    def blocks(self, size: int = 1024) -> Iterator[Block]:
        """Start a new pass: yield pairs (X, Y) of `size` rows (at most `flush_lines`, if given)."""
        return super().blocks(size if self._flush is None else min(size, self._flush))

    def _chunks(self, rows: int) -> Iterator[Block]:
        lines = self._source.lines()
        for _ in range(self._first):
            next(lines)
        yield from self._table.chunks(lines, self._first, rows, self._live)


def _coders(targets: Sequence[int], single: bool, row: list[str], labels: Iterable[Any] | None) -> dict[int, Labels]:
    """Return the coders of targets that are classes: given, or found because the first value is a name."""
    if labels is not None:
        if not single or not targets:
            raise ValueError("labels needs exactly one target")
        return {targets[0]: Labels(labels)}
    if not single or not targets or targets[0] >= len(row):
        return {}
    text = row[targets[0]]
    return {} if is_number(text) or is_missing_field(text) else {targets[0]: Labels()}
