"""Files of named columns of any kind as tables, block by block: separated text, JSON lines, Parquet, Feather."""

from __future__ import annotations

import importlib
import itertools
import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any, TypeVar, overload

from nystream._core.tables import rows_of_numbers
from nystream.data.cells import ABSENT, decimal_mark
from nystream.data.kinds import LOOK
from nystream.data.places import BadRow, Place
from nystream.data.reading import Table, read
from nystream.runtime.params import at_least
from nystream.streams.dialect import Dialect, dialect
from nystream.streams.json_array import items_of_array
from nystream.streams.lines import Lines
from nystream.streams.pipe import line_format
from nystream.streams.text import COMPRESSED, Pipe, TextBytes, TextFile

__all__ = ["ArrowTables", "JsonTables", "Tables", "TextTables", "open_tables"]

NULLS = frozenset(form for word in ABSENT for form in (word, word.upper(), word.capitalize(), "NaN", "None"))
"""Fields of text files that stand for an absent value of any kind, in the ways they are written. Python writes None."""
TEXT = (".csv", ".tsv", ".txt", ".data")
JSON = (".jsonl", ".ndjson", ".json")
ARROW = (".parquet", ".pq", ".feather", ".arrow")
DAMAGED = (OSError, ValueError, KeyError, TypeError, OverflowError, MemoryError, NotImplementedError)
"""What pyarrow raises for files that are not what they say, its own errors among them."""
_ROWS = 1024
"""Rows of a block where the caller does not say how many."""
T = TypeVar("T")


class Tables:
    """A source of tables with the same columns. Every call of `blocks` starts a new pass, except on a pipe.

    Attributes
    ----------
    name : str
    columns : list of str
        In their order; those of JSON lines are the keys of the first line, and later ones may have more.
    named : bool
        Whether the source has names, or "0", "1", ... stand for them.
    n : int or None
        Rows, where known.
    live : bool
        Whether rows arrive as they are written, so that no more rows than needed are awaited.
    numbers : frozenset of str
        Columns that are known to be numbers, and may come as arrays of them instead of text; may be set at any time.
    """

    name: str
    columns: list[str]
    named: bool = True
    n: int | None = None
    live: bool = False
    numbers: frozenset[str] = frozenset()
    skips: bool = False
    """Whether rows that cannot be split into cells are skipped; otherwise they are an error."""

    @property
    def unreadable(self) -> list[str]:
        """The errors of skipped rows."""
        return self.__dict__.setdefault("_unreadable", [])

    def _refuse(self, message: str) -> None:
        """Skip a row that cannot be split into cells, or raise."""
        if not self.skips:
            raise BadRow(message)
        self.unreadable.append(message)

    def blocks(self, size: int = _ROWS) -> Iterator[Table]:
        """Yield tables of `size` rows; the last one may be shorter."""
        raise NotImplementedError

    def first_columns(self) -> list[str]:
        """Return the columns, and those that appear in the first 1,000 rows."""
        return self.columns


class TextTables(Tables):
    """Tables of separated text. Every field is a string, None if it is absent.

    The first rows show the decimal marks of the columns, see `Table.marks`. Parameters as `dialect`.
    """

    def __init__(
        self,
        source: TextFile | TextBytes | Pipe,
        header: bool | str = "auto",
        delimiter: str = "auto",
        known: Collection[str] | None = None,
        report: Callable[[str], None] | None = None,
    ) -> None:
        self._source = source
        self._dialect: Dialect = dialect(source, header, delimiter, known, report)
        self.name = source.name
        self.columns = self._dialect.names
        self.named = self._dialect.named
        self.live = source.live
        self._marks: dict[str, str] | None = None

    def blocks(self, size: int = _ROWS) -> Iterator[Table]:
        at_least("size", size, 1)
        lines = self._source.lines()
        line = self._dialect.first
        for _ in range(line):
            next(lines)
        rows: list[list[str]] = []
        places: list[int] = []
        while True:
            table = None if rows else self._numbers(lines, size, line)
            if table is not None:
                line += table.n
                yield table
                continue
            chunk, failure = lines.take(size - len(rows))
            try:
                line = self._add_rows(chunk, lines, line, rows, places) if chunk else line
            except (ValueError, OSError) as error:
                failure = error
            if failure is not None:
                lines.close()
                if rows:  # what came before is given first
                    yield self._table(rows, places)
                try:
                    raise failure
                finally:
                    failure = None  # else this frame and the error hold each other
            if not chunk:
                break
            if len(rows) == size:
                yield self._table(rows, places)
                rows, places = [], []
        if rows:
            yield self._table(rows, places)

    def _numbers(self, lines: Lines, size: int, line: int) -> Table | None:
        """Return the rows after line number `line`; None unless all columns are numbers and nothing is doubtful."""
        mark = self._dialect.delimiter
        if mark is None or not self.numbers.issuperset(self.columns) or "," in (self._marks or {}).values():
            return None
        try:
            found = lines.parsed(size, lambda data, n: rows_of_numbers(data, n, len(self.columns), mark, True))
        except (ValueError, OSError):
            return None  # the lines before the damage are read one by one
        if found is None:
            return None
        values, n = found
        places = _Places(self.name, range(line + 1, line + 1 + n))
        return Table(dict(zip(self.columns, values.T, strict=True)), n, self.named, {}, places)

    def _add_rows(
        self, chunk: list[str], more: Iterator[str], line: int, rows: list[list[str]], places: list[int]
    ) -> int:
        """Add the fields of the lines after line number `line`, and the number of each row's last line.

        Returns the number of the last line that was read: a quoted field may run on beyond the chunk.
        """
        used = 0
        found, error = self._dialect.split_chunk(chunk, more)
        for used, fields in found:
            if fields and len(fields) != len(self.columns):
                self._refuse(f"{self.name}:{line + used}: has {len(fields)} fields, expected {len(self.columns)}")
            elif fields:
                rows.append(fields)
                places.append(line + used)
        if error is not None:
            raise ValueError(f"{self.name}:{line + used + 1}: {error}") from None
        return line + used

    def _table(self, rows: list[list[str]], numbers: list[int]) -> Table:
        columns = {}
        for name, fields in zip(self.columns, zip(*rows, strict=True), strict=True):
            columns[name] = [None if (field := text.strip()) in NULLS else field for text in fields]
        if self._marks is None:
            self._marks = self._shown_marks(columns)
        return Table(columns, len(rows), self.named, {}, _Places(self.name, numbers), self._marks)

    def _shown_marks(self, columns: Mapping[str, Sequence[str | None]]) -> dict[str, str]:
        """Return the decimal marks that the first rows show, of a file with more rows than were asked for.

        A column that leaves it open has the mark of all others, if these agree.
        """
        if not self.live:
            head = self._source.head(LOOK)
            if self._dialect.delimiter == "," and not any('"' in line for line in head):
                return {}  # no comma can be within a field
            columns = self._split_columns(head[self._dialect.first :])
        found = {name: mark for name, values in columns.items() if (mark := decimal_mark(values)) is not None}
        agreed = set(found.values())
        if agreed == {","}:
            return dict.fromkeys(self.columns, ",")
        rest = ";" if self._dialect.delimiter == ";" else None
        return found if rest is None else {name: found.get(name, rest) for name in self.columns}

    def _split_columns(self, lines: list[str]) -> dict[str, list[str]]:
        """Return the fields of some lines by column, up to the first line that cannot be read."""
        found: dict[str, list[str]] = {name: [] for name in self.columns}
        for _, fields in self._dialect.split_chunk(lines, iter(()))[0]:
            for name, field in zip(self.columns, fields, strict=False):
                found[name].append(field)
        return found


class JsonTables(Tables):
    """Tables of JSON: one object on each line, or one array of objects."""

    def __init__(self, source: TextFile | Pipe) -> None:
        self._source = source
        self.name = source.name
        self.live = source.live
        head = [line for line in source.head(1) if line.strip()]
        if not head:
            raise ValueError(f"{source.name} is empty")
        self._begun: Iterator[tuple[dict[str, Any], int]] | None = None  # rows of a pipe that was looked at
        self._is_array = head[0].lstrip().startswith("[")
        if not self._is_array:
            first = self._object(head[0], 1)
            assert first is not None  # nothing is left out yet
            self.columns = [str(key) for key in first]
            return
        rows = self._rows()
        first_item = next(rows, None)
        if first_item is None:
            raise ValueError(f"{source.name} is an empty JSON array")
        self.columns = [str(key) for key in first_item[0]]
        self._begun = itertools.chain([first_item], rows) if self.live else None

    def blocks(self, size: int = _ROWS) -> Iterator[Table]:
        at_least("size", size, 1)
        found, self._begun = self._begun or self._rows(), None
        while True:
            some, failure = _taken(found, size)
            if some:
                places = _Places(self.name, [number for _, number in some], not self._is_array)
                yield Table(read([row for row, _ in some]).columns, len(some), True, {}, places)
            if failure is not None:
                try:
                    raise failure
                finally:
                    failure = None  # else this frame and the error hold each other
            if not some:
                return

    def first_columns(self) -> list[str]:
        if self.live:
            return self.columns
        rows, _ = _taken(self._rows(), LOOK)
        return list(dict.fromkeys([*self.columns, *(str(key) for row, _ in rows for key in row)]))

    def _rows(self) -> Iterator[tuple[dict[str, Any], int]]:
        """Yield objects with the numbers of their lines, or with their places in an array."""
        with closing(self._source.lines()) as lines:
            if self._is_array:
                places = ((item, f"{self.name}, row {i}", i) for i, item in enumerate(items_of_array(lines, self.name)))
                found = ((self._checked(item, place), i) for item, place, i in places)
            else:
                found = ((self._object(line, i), i) for i, line in enumerate(lines, 1) if line.strip())
            for row, number in found:
                if row is not None:
                    yield row, number

    def _object(self, line: str, number: int) -> dict[str, Any] | None:
        """Return the object of a line; None where it is none and bad lines are left out."""
        try:
            found = json.loads(line)
        except (json.JSONDecodeError, RecursionError, ValueError) as error:
            self._refuse(
                f"{self.name}:{number}: is not JSON ({error}); there must be one object on each line, or one array"
            )
            return None
        return self._checked(found, f"{self.name}:{number}")

    def _checked(self, found: Any, place: str) -> dict[str, Any] | None:
        if not isinstance(found, dict):
            self._refuse(f"{place}: is a JSON {type(found).__name__}; every row must be an object")
            return None
        return found


class ArrowTables(Tables):
    """Tables of Parquet and Feather (Arrow) files; needs pyarrow."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self.name = os.path.basename(self._path)
        with self._opened() as file:
            try:
                self.columns = list(_arrow_names(file))
            except UnicodeDecodeError:
                raise ValueError(f"{self.name} is damaged: the name of a column is not UTF-8") from None
            self.n = file.metadata.num_rows if self._parquet else None

    @property
    def _parquet(self) -> bool:
        return self._path.lower().endswith((".parquet", ".pq"))

    def blocks(self, size: int = _ROWS) -> Iterator[Table]:
        at_least("size", size, 1)
        start = 0
        with self._opened() as file:
            for batch in self._batches(file, size):
                table = read(batch)
                places = _Places(self.name, range(start, start + table.n), are_lines=False)
                start += table.n
                whole = Table(table.columns, table.n, True, table.kinds, places)
                for i in range(0, table.n, size):
                    yield whole[i : i + size]

    def _batches(self, file: Any, size: int) -> Iterator[Any]:
        try:
            parts = (
                file.iter_batches(batch_size=size)
                if self._parquet
                else (file.get_batch(i) for i in range(file.num_record_batches))
            )
            for batch in parts:
                batch.validate(full=True)
                yield batch
        except DAMAGED as error:
            raise ValueError(f"{self.name} is damaged: {' '.join(str(error).split())}") from None

    def _opened(self) -> Any:
        with open(self._path, "rb"):  # a file that is not there is the operating system's error, not pyarrow's
            pass
        try:
            module = importlib.import_module("pyarrow.parquet" if self._parquet else "pyarrow.ipc")
        except ImportError:
            raise ImportError("reading Parquet and Feather needs pyarrow: pip install nystream[parquet]") from None
        try:
            return module.ParquetFile(self._path) if self._parquet else module.open_file(self._path)
        except DAMAGED as error:
            kind = "Parquet" if self._parquet else "Feather"
            raise ValueError(f"{self.name} is not a {kind} file: {' '.join(str(error).split())}") from None


def open_tables(
    spec: str | os.PathLike[str] | Pipe, header: bool | str = "auto", known: Collection[str] | None = None
) -> Tables | None:
    """Open the tables of a file, by its extension or its first lines, or of a pipe; return None for formats with only
    numbers.

    `header` and `known` names are those of `dialect`, for text.
    """
    if isinstance(spec, Pipe):
        return _by_lines(spec, header, known)
    path = os.fspath(spec)
    if not os.path.isfile(path):
        return None
    stem, extension = os.path.splitext(path.lower())
    if extension in COMPRESSED:
        extension = os.path.splitext(stem)[1]
    if extension in ARROW:
        return ArrowTables(path)
    if extension in JSON:
        return JsonTables(TextFile(path))
    if extension in (".npy", ".npz", ".arff", ".libsvm", ".svmlight", ".svm"):
        return None
    text = TextFile(path)
    if extension in TEXT and not _is_json(text.head(2)):
        return TextTables(text, header, known=known)
    return _by_lines(text, header, known)


def _by_lines(source: TextFile | Pipe, header: bool | str, known: Collection[str] | None) -> Tables | None:
    head = source.head(2)
    if _is_json(head):
        return JsonTables(source)
    return TextTables(source, header, known=known) if line_format(head) == "csv" else None


def _is_json(head: list[str]) -> bool:
    """Return whether lines begin with an object, or with an array of objects."""
    return re.match(r"\s*(\{|\[\s*(\{|$))", "".join(head)) is not None


class _Places(Sequence[Place]):
    """The places of rows of a file, made when they are asked for."""

    def __init__(self, file: str, numbers: Sequence[int], are_lines: bool = True) -> None:
        self._file, self._numbers, self._are_lines = file, numbers, are_lines

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, row: int) -> Place: ...
    @overload
    def __getitem__(self, row: slice) -> _Places: ...
    def __getitem__(self, row: int | slice) -> Place | _Places:
        if isinstance(row, slice):
            return _Places(self._file, self._numbers[row], self._are_lines)
        return Place(self._numbers[row], self._file, self._are_lines)


def _taken(items: Iterator[T], count: int) -> tuple[list[T], Exception | None]:
    """Return the next items, and the error that ended them before there were so many."""
    found: list[T] = []
    try:
        for item in itertools.islice(items, count):
            found.append(item)  # noqa: PERF402 (one by one: what comes before an error is kept)
    except (ValueError, OSError) as error:
        return found, error
    return found, None


def _arrow_names(file: Any) -> list[str]:
    schema = file.schema_arrow if hasattr(file, "schema_arrow") else file.schema
    return [str(name) for name in schema.names]
