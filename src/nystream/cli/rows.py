"""Rows and labels of any source: files, pipes, streams, datasets and generators."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from nystream.data.batch import Batch
from nystream.data.reading import Table
from nystream.data.schema import Schema
from nystream.data.sparse_rows import MOST_COLUMNS, NARROW, SparseRows
from nystream.model import Model
from nystream.registry import find
from nystream.runtime.deferred import Deferred
from nystream.streams import Stream, open_stream
from nystream.streams.columns import choose
from nystream.streams.svmlight import SvmlightStream
from nystream.streams.tabular import Tables, open_tables
from nystream.streams.text import Pipe, pipe_at

__all__ = [
    "DATASET",
    "NEVER_SPARSE",
    "Pair",
    "RowSource",
    "StreamSource",
    "TableSource",
    "dense_up_to",
    "join",
    "open_rows",
    "pick",
    "width_of",
]

datasets: Any = Deferred("nystream.datasets")
DATASET = "dataset:"
"""Prefix of a source that names a public dataset."""
NEVER_SPARSE = MOST_COLUMNS
"""Number of columns up to which rows are made dense for a saved model of dense rows."""
LESS_NARROW = 10_000
"""Number of columns up to which sparse rows are made dense for learners of dense rows."""


Pair: TypeAlias = tuple[Any, Any]
"""Rows and their labels. Labels are one sequence, a table of several targets, or None."""


class RowSource:
    """A source of rows and labels, read block by block.

    Attributes
    ----------
    name : str
    columns : list of str
        All but the targets.
    targets : list of str
        Those of a stream of numbers have no names: the list is empty.
    total : int or None
    task : str or None
        What the source itself says of its targets.
    numeric : bool
        Whether blocks are matrices of numbers.
    named : bool
        Whether columns have names of their own, or are known by their places.
    ahead : bool
        Whether the next blocks may be read while one is learnt: not where rows come as they are written.
    """

    name: str
    columns: list[str]
    targets: list[str]
    total: int | None = None
    endless: bool = False
    task: str | None = None
    numeric: bool = False
    ahead: bool = False
    named: bool = True

    def expect(self, numbers: Iterable[str]) -> None:
        """Declare columns of numbers: later blocks may have arrays for them instead of text."""

    def skip_unreadable(self) -> None:
        """Skip rows that cannot be split into cells, and keep their errors in `unreadable`."""

    @property
    def unreadable(self) -> list[str]:
        """The errors of skipped rows."""
        return []

    def blocks(self, size: int) -> Iterator[Pair]:
        raise NotImplementedError


class TableSource(RowSource):
    """The rows of a file of columns; the target is the last one unless another is named, or None is wanted.

    Columns of a file without a header are known by their places "0", "1", ..., or, where a `schema` has other names, by
    the names of that schema in its order.
    """

    def __init__(
        self, tables: Tables, target: Sequence[str] | None, *, wanted: bool = True, schema: Schema | None = None
    ) -> None:
        self._tables = tables
        self.name = tables.name
        self.total = tables.n
        self.ahead = not tables.live
        self.named = tables.named
        self.targets, self._names = [], tables.columns
        late = any(name not in tables.columns and not name.lstrip("-").isdecimal() for name in target or ())
        names = tables.first_columns() if late else tables.columns
        if wanted:
            own = None if schema is None else schema.targets
            if schema is not None and not tables.named and list(target or ()) == own and own[0] not in tables.columns:
                target = None
            choice = choose(names, list(target) if target else -1, (), None, tables.name)
            if schema is not None and not tables.named:
                self._names = names = _names_by_place(tables, choice.targets, schema)
            self.targets = [names[j] for j in choice.targets]
        self.columns = [name for name in names if name not in self.targets]

    def expect(self, numbers: Iterable[str]) -> None:
        own = dict(zip(self._names, self._tables.columns, strict=True))
        self._tables.numbers = frozenset(own.get(name, name) for name in numbers)

    def skip_unreadable(self) -> None:
        self._tables.skips = True

    @property
    def unreadable(self) -> list[str]:
        return self._tables.unreadable

    def blocks(self, size: int) -> Iterator[Pair]:
        for table in self._tables.blocks(size):
            known = table if self._names is self._tables.columns else table.renamed(self._names)
            yield known, self._labels(known)

    def _labels(self, table: Table) -> Any:
        if not self.targets:
            return None
        there = table.columns
        parts = {name: table.labels(name) if name in there else [None] * table.n for name in self.targets}
        return next(iter(parts.values())) if len(parts) == 1 else Table(parts, table.n, places=table.places)


def _names_by_place(tables: Tables, targets: Sequence[int], schema: Schema) -> list[str]:
    """Return the names of a file's columns without a header, which are those of a model in its order."""
    d, every = len(tables.columns), schema.known
    if d != len(every):
        raise ValueError(
            f"{tables.name} has {d} columns without names; the model has {len(every)} with its target: "
            f"{', '.join(every)}"
        )
    if set(every) == set(tables.columns):
        return tables.columns
    columns, own = iter(schema.columns), dict(zip(targets, schema.targets, strict=False))
    return [own[j] if j in own else next(columns) for j in range(d)]


class StreamSource(RowSource):
    """The rows of a stream of numbers: blocks are matrices, labels numbers or the names that the stream has."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.name = stream.name
        self.total = stream.n
        self.endless = stream.endless
        self.task = stream.task
        self.numeric = True
        self.columns = list(stream.columns or ())
        self.targets = []

    def blocks(self, size: int) -> Iterator[Pair]:
        for X, Y in self._stream.blocks(size):
            names = self._stream.labels
            labels = Y if names is None else [None if y != y else names[int(y)] for y in Y.tolist()]
            yield X, labels


class SparseSource(RowSource):
    """The rows of a wide LIBSVM file, which are never made dense."""

    def __init__(self, stream: SvmlightStream) -> None:
        self._stream = stream
        self.name = stream.name
        self.numeric = True
        self.columns, self.targets = [], []

    def blocks(self, size: int) -> Iterator[Pair]:
        yield from self._stream.sparse_blocks(size)


class _Around(RowSource):
    """A source that changes the rows of another source."""

    def __init__(self, rows: RowSource) -> None:
        self.__dict__.update(rows.__dict__)
        self._rows = rows

    def skip_unreadable(self) -> None:
        self._rows.skip_unreadable()

    @property
    def unreadable(self) -> list[str]:
        return self._rows.unreadable


class _Taken(_Around):
    """The first rows of another source."""

    def __init__(self, rows: RowSource, n: int) -> None:
        super().__init__(rows)
        self._n = n
        self.endless = False
        self.total = n if rows.endless else None if rows.total is None else min(n, rows.total)

    def expect(self, numbers: Iterable[str]) -> None:
        self._rows.expect(numbers)

    def blocks(self, size: int) -> Iterator[Pair]:
        left = self._n
        for rows, labels in self._rows.blocks(min(size, left)):
            yield rows[:left], None if labels is None else labels[:left]
            left -= len(rows)
            if left <= 0:
                return


class _Shuffled(_Around):
    """All rows of another source in random order, held in memory."""

    def __init__(self, rows: RowSource, seed: int) -> None:
        super().__init__(rows)
        self._seed = seed

    def blocks(self, size: int) -> Iterator[Pair]:
        if self.endless:
            raise ValueError(f"{self.name} is endless and cannot be shuffled")
        parts = list(self._rows.blocks(1024))
        rows, labels = join([rows for rows, _ in parts]), join([labels for _, labels in parts])
        order = np.random.default_rng(self._seed).permutation(len(rows))
        for i in range(0, len(order), size):
            index = order[i : i + size]
            yield pick(rows, index), pick(labels, index)


def dense_up_to(learners: Sequence[str | None]) -> int:
    """Return up to how many columns rows of LIBSVM files are made dense, for learners by name."""
    sparse = all(find(name.strip()).example.takes_sparse for name in learners if name)
    return NARROW if sparse else LESS_NARROW


def width_of(model: Model | None) -> int | None:
    """Return the number of columns of the sparse rows that a saved model takes."""
    schema = None if model is None else model.schema_ or model.schema
    return None if schema is None else schema.width


def open_rows(
    spec: str,
    *,
    target: Sequence[str] | None = None,
    wanted: bool = True,
    width: int | None = None,
    rows: int | None = None,
    shuffle: int | None = None,
    data: Path | None = None,
    dense: int = NARROW,
    header: bool | None = None,
    model: Model | None = None,
) -> RowSource:
    """Open a file, standard input ("-"), a named pipe, a dataset or a generator.

    `wanted` says whether there is a target to learn, `dense` up to how many columns rows of LIBSVM files become dense,
    `header` whether the first line of a text file has names (None: found out), `model` for which model the rows are.
    """
    found = _opened(spec, target, wanted, width, data, dense, header, model)
    if shuffle is not None:
        found = _Shuffled(found, shuffle)
    if rows is not None:
        return _Taken(found, rows)
    if found.endless:
        raise ValueError(f"{found.name} is endless; say how many rows to take with --rows")
    return found


def _opened(
    spec: str,
    target: Sequence[str] | None,
    wanted: bool,
    width: int | None,
    data: Path | None,
    dense: int,
    header: bool | None,
    model: Model | None,
) -> RowSource:
    if spec.startswith(DATASET):
        if target:
            raise ValueError(f"{spec} knows its target; leave out --target")
        name, _, part = spec.removeprefix(DATASET).partition(":")
        return StreamSource(datasets.stream(name, part or "all", data=data))
    pipe = Pipe() if spec == "-" else pipe_at(spec)
    schema = None if model is None else model.schema_ or model.schema
    known = None if schema is None else [name for name in schema.known if not name.isdecimal()]
    tables = open_tables(pipe if pipe is not None else spec, "auto" if header is None else header, known)
    if tables is not None:
        return TableSource(tables, target, wanted=wanted, schema=schema)
    options: dict[str, Any] = {} if width is None else {"d": width}
    if pipe is not None:
        return _from(SvmlightStream(pipe, **options), dense)
    if target:
        asked = [int(t) if t.lstrip("-").isdigit() else t for t in target]
        options["target"] = asked[0] if len(asked) == 1 else asked
    elif not wanted and not _generated(spec):
        options["target"] = None
    found = _from(open_stream(spec, missing="nan", **options), dense)
    found.ahead = os.path.isfile(spec)
    return found


def _from(stream: Stream, dense: int) -> RowSource:
    if isinstance(stream, SvmlightStream) and stream.d > dense:
        return SparseSource(stream)
    return StreamSource(stream)


def _generated(spec: str) -> bool:
    return not os.path.exists(spec) or spec.lower().endswith((".libsvm", ".svmlight", ".svm"))


def join(parts: list[Any]) -> Any:
    """Return one block of several: of tables, batches, sparse rows, arrays or lists; None where there are none."""
    if not parts or parts[0] is None:
        return None
    if isinstance(parts[0], Table):
        return Table.joined(parts)
    if isinstance(parts[0], SparseRows):
        return SparseRows.joined(parts)
    if isinstance(parts[0], Batch):
        return Batch.join(parts)
    return [value for part in parts for value in part] if isinstance(parts[0], list) else np.concatenate(parts)


def pick(values: Any, index: Any) -> Any:
    """Return the rows, or the labels, with these numbers; None where there are none."""
    if isinstance(values, Table):
        return values.ordered(index)
    if values is None or isinstance(values, (np.ndarray, SparseRows, Batch)):
        return values if values is None else values[index]
    return [values[i] for i in index]
