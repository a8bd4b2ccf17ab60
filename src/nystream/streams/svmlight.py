"""LIBSVM (svmlight) files, block by block, as dense or sparse rows."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from nystream._core.tables import entries_of_pairs, extremes_of_pairs
from nystream.data.sparse_rows import MOST_COLUMNS, SparseRows
from nystream.runtime.params import at_least
from nystream.runtime.types import Array
from nystream.streams.base import Stream
from nystream.streams.cutting import Block
from nystream.streams.labels import Labels
from nystream.streams.lines import Lines
from nystream.streams.text import Pipe, TextFile, text_at

__all__ = ["SvmlightStream", "libsvm"]

_LINES = 2048  # lines parsed at once
_VALUES = 2**18  # but not more dense values than this, 2 MB, for wide rows
_WIDEST = 10_000_000  # features of a row
_RANKING = "has {}: ranking data is not supported; remove the qid tokens"


def libsvm(
    path: str | os.PathLike[str],
    d: int | None = None,
    *,
    zero_based: bool | str = "auto",
    labels: Iterable[float] | None = None,
) -> SvmlightStream:
    """Return a LIBSVM file, with lines ``label index:value index:value ...``, as a stream of dense rows in bounded
    memory.

    Compressed files (.gz, .bz2, .xz) are unpacked on the way. What follows # is a comment. Indices must rise within
    a line. Ranking files (qid) and several labels per line are refused.

    Parameters
    ----------
    path : path
    d : int or None
        Number of features. None: found by a quick first pass over the file, when it is first needed.
    zero_based : bool or "auto"
        Whether the first feature has index 0. "auto": if the first pass meets an index 0; with `d` given there is
        no first pass, and "auto" means False.
    labels : iterable of numbers or None
        The classes in order, to have Y as class numbers 0..K-1: `labels=range(1, 11)` turns 1..10 into 0..9. None:
        Y is what the file says.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "tiny.libsvm")
    >>> _ = path.write_text("+1 1:0.5 3:2\\n-1 2:1\\n")
    >>> X, y = libsvm(path).load()
    >>> X.tolist(), y.tolist()
    ([[0.5, 0.0, 2.0], [0.0, 1.0, 0.0]], [1.0, -1.0])
    """
    return SvmlightStream(text_at(path), d, zero_based=zero_based, labels=labels)


class _Layout(NamedTuple):
    d: int
    base: int  # index of the first feature


class _Entries(NamedTuple):
    """Rows that were read: entries of each, one after the other, labels, and the lines they stand on."""

    counts: np.typing.NDArray[np.intp]
    places: np.typing.NDArray[np.intp]
    values: Array
    y: Array
    lines: Sequence[int]

    def dense(self, d: int) -> Array:
        X = np.zeros((len(self.counts), d))
        X[np.repeat(np.arange(len(self.counts)), self.counts), self.places] = self.values
        return X

    def sparse(self, d: int) -> SparseRows:
        ends = np.cumsum(self.counts, dtype=np.int64)
        return SparseRows(ends - self.counts, ends, self.places.astype(np.uint32), np.ascontiguousarray(self.values), d)


class SvmlightStream(Stream):
    """LIBSVM lines from any source; parameters as `libsvm`."""

    def __init__(
        self,
        source: TextFile | Pipe,
        d: int | None = None,
        *,
        zero_based: bool | str = "auto",
        labels: Iterable[float] | None = None,
        flush_lines: int | None = None,
    ) -> None:
        if zero_based not in ("auto", True, False):
            raise ValueError(f'zero_based must be "auto", True or False, got {zero_based!r}')
        if flush_lines is not None:
            at_least("flush_lines", flush_lines, 1)
        self._layout: _Layout | None = None
        if d is not None:
            self._layout = _Layout(at_least("d", d, 1), 0 if zero_based is True else 1)
        elif source.live:
            raise ValueError(
                f"{source.name} cannot be searched for the number of features; pass d= (nystream run: --columns)"
            )
        if not any(map(str.strip, source.head(1))):
            raise ValueError(f"{source.name} is empty")
        self._source = source
        self._zero_based = zero_based
        self._live = source.live
        self._flush = flush_lines
        super().__init__(source.name, labels=None if labels is None else Labels(map(_number, labels)))

    @property
    def d(self) -> int:
        """Number of features. It may read the file once to find it."""
        return self._found().d

    def __repr__(self) -> str:
        return f"<stream {self.name}{': ' + str(self._layout.d) + ' columns' if self._layout else ''}>"

    def blocks(self, size: int = 1024) -> Iterator[Block]:
        """Start a new pass: yield pairs (X, Y) of `size` rows (at most `flush_lines`, if given)."""
        return super().blocks(size if self._flush is None else min(size, self._flush))

    def _found(self) -> _Layout:
        if self._layout is None:
            low, high = _extremes(self._source.lines(), self.name)
            base = 0 if self._zero_based is True or (self._zero_based == "auto" and low == 0) else 1
            if high > MOST_COLUMNS:
                raise ValueError(f"{self.name} has index {high}; hash features to at most {MOST_COLUMNS:,} first")
            self._layout = _Layout(max(high + 1 - base, 1), base)
        return self._layout

    def _chunks(self, rows: int) -> Iterator[Block]:
        d = self._found().d
        if d > _WIDEST:
            raise ValueError(
                f"{self.name} has index {d}: dense rows of so many features take {8 * d / 1e9:,.1f} GB each; "
                f"hash or select features first (at most {_WIDEST:,}), or read sparse_blocks"
            )
        rows = rows if self._live else max(rows, min(_LINES, _VALUES // d + 1))
        for entries in self._entries(rows):
            yield entries.dense(d), entries.y

    def sparse_blocks(self, size: int = 1024) -> Iterator[tuple[SparseRows, Array]]:
        """Start a new pass: yield sparse rows, which are never made dense, in blocks of `size` lines (empty lines give
        no row).

        Files may have up to 2^32 features.
        """
        at_least("size", size, 1)
        d = self._found().d
        for entries in self._entries(size):
            yield entries.sparse(d), entries.y

    def _entries(self, rows: int) -> Iterator[_Entries]:
        layout = self._found()
        lines = self._source.lines()
        line, found = 0, False
        while (read := _read(lines, rows, layout, self.name, line)) is not None:
            entries, used = read
            if self._labels is not None:
                entries = entries._replace(y=_coded(entries, self._labels, self.name))
            line += used
            if len(entries.y):
                found = True
                yield entries
        if not found:
            raise ValueError(f"{self.name} has no rows")


def _read(lines: Lines, count: int, layout: _Layout, source: str, line: int) -> tuple[_Entries, int] | None:
    """Return the rows of the lines after line number `line`, and how many these were; None at the end."""
    clean = lines.parsed(count, lambda data, n: entries_of_pairs(data, n, layout.base, layout.d))
    if clean is not None:
        entries, used = clean
        return _Entries(*entries, range(line + 1, line + 1 + used)), used
    chunk = list(itertools.islice(lines, count))
    return (_exact(chunk, layout, source, line), len(chunk)) if chunk else None


def _exact(chunk: list[str], layout: _Layout, source: str, line: int) -> _Entries:
    """Read lines token by token, where something in them is doubtful."""
    counts: list[int] = []
    index: list[int] = []
    value: list[float] = []
    y: list[float] = []
    full: list[int] = []
    for number, text in enumerate(chunk, line + 1):
        tokens = text.partition("#")[0].split()
        if not tokens:
            continue
        try:
            y.append(_finite(tokens[0], "the label"))
            found = _parsed(tokens[1:], layout)
        except ValueError as error:
            raise ValueError(f"{source}:{number}: {error}") from None
        full.append(number)
        counts.append(len(found))
        index += [place for place, _ in found]
        value += [entry for _, entry in found]
    places = np.array(index, np.intp)
    return _Entries(np.array(counts, np.intp), places, np.array(value, np.float64), np.array(y), full)


def _coded(entries: _Entries, labels: Labels, source: str) -> Array:
    values, first, where = np.unique(entries.y, return_index=True, return_inverse=True)
    codes = np.empty(len(values))
    for k, value in enumerate(values):
        try:
            codes[k] = labels.number(str(value))
        except ValueError as error:
            raise ValueError(f"{source}:{entries.lines[first[k]]}: label {error}") from None
    coded: Array = codes[where]
    return coded


def _parsed(tokens: list[str], layout: _Layout) -> list[tuple[int, float]]:
    """Return the indices and values of one line."""
    found = []
    last = layout.base - 1
    for token in tokens:
        key, colon, value = token.partition(":")
        if key == "qid":
            raise ValueError(_RANKING.format(token))
        if not colon or not key.isdecimal():
            raise ValueError(f"{token!r} is not index:value")
        index = int(key)
        if index < layout.base:
            raise ValueError("has index 0, but indices start at 1 here; pass zero_based=True")
        if index <= last:
            raise ValueError(f"index {index} comes after {last}; indices must rise within a line")
        if index - layout.base >= layout.d:
            _refuse_falling(tokens, index)
            raise ValueError(f"has index {index}, beyond the d = {layout.d} features")
        found.append((index - layout.base, _finite(value, f"the value of feature {key}")))
        last = index
    return found


def _refuse_falling(tokens: list[str], index: int) -> None:
    """Raise an error for a falling index beyond d, because d was found from the last index of each line."""
    last = tokens[-1].partition(":")[0]
    if last.isdecimal() and int(last) < index:
        raise ValueError(f"index {last} comes after {index}; indices must rise within a line")


def _number(label: Any) -> Any:
    if isinstance(label, (str, bytes)):
        raise ValueError(f"labels must be numbers, as LIBSVM labels are; got {label!r}")
    return label


def _finite(text: str, what: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value) or "_" in text:
        raise ValueError(f"{what} is {text!r}, not a finite number")
    return value


def _extremes(lines: Lines, source: str) -> tuple[int, int]:
    """Return the smallest first index, but at most 1, and the largest last index: indices rise within a line."""
    low, high, line = 1, 0, 0
    while True:
        clean = lines.parsed(_LINES, extremes_of_pairs)
        if clean is not None:
            (first, last), used = clean
            low, high = min(low, first) if first >= 0 else low, max(high, last)
            line += used
            continue
        chunk = list(itertools.islice(lines, _LINES))
        if not chunk:
            return low, high
        for number, text in enumerate(chunk, line + 1):
            first, last = _ends(text, f"{source}:{number}")
            low, high = min(low, first), max(high, last)
        line += len(chunk)


def _ends(text: str, place: str) -> tuple[int, int]:
    """Return the first and last index of a line; (1, 0) where there is none."""
    tokens = text.partition("#")[0].split(maxsplit=2)
    if len(tokens) < 2:
        return 1, 0
    start = tokens[1].partition(":")[0]
    if start == "qid":
        raise ValueError(f"{place}: {_RANKING.format(tokens[1])}")
    end = tokens[-1].rsplit(maxsplit=1)[-1].partition(":")[0]
    if not start.isdecimal() or not end.isdecimal():
        bad = tokens[-1].split()[-1] if start.isdecimal() else tokens[1]
        raise ValueError(f"{place}: {bad!r} is not index:value")
    return int(start), int(end)
