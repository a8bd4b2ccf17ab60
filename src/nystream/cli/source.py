"""What a source holds: its first rows tell kinds of columns, the task and a kernel width, before anything is learnt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from nystream._core.inputs import all_finite
from nystream.cli.cleaning import Cleaner, check_columns
from nystream.cli.rows import Block, Rows
from nystream.data.cells import MISFIT
from nystream.data.encoding import Columns, Encoder
from nystream.data.kinds import looked
from nystream.data.places import BadCell
from nystream.data.reading import Table
from nystream.data.schema import Schema
from nystream.data.sparse_rows import SparseRows
from nystream.data.targets import class_names, columns_of, first_label, numbered
from nystream.data.task import MOST_CLASSES, TASKS, TaskChoice, choose_task
from nystream.data.values import converted, number
from nystream.learners.translator import Translator
from nystream.model import Model
from nystream.runtime.types import Array
from nystream.scaling.distance import median_distance
from nystream.streams.ahead import ahead

__all__ = ["PEEK", "Source", "as_written", "first_blocks", "numeric_labels", "opened", "typed_labels"]

PEEK = 1024
"""Rows looked at before learning starts, in however large blocks they come."""
DIGITS = 19
"""Digits of a whole number in text from which on it is read as a float."""
WIDE = 400
"""Rows between which distances are measured for a kernel width."""


@dataclass
class Source:
    """Rows with their schema. `blocks` gives all of them once, labels as a model takes them."""

    rows: Rows
    schema: Schema
    first: list[Block]
    rest: Iterator[Block]
    cleaner: Cleaner
    raw: list[Block]
    """The first blocks as they came."""
    reason: str | None = None
    """Why the task was chosen; None: nobody had to choose."""

    @property
    def name(self) -> str:
        return self.rows.name

    @property
    def task(self) -> str:
        return str(self.schema.task)

    @property
    def total(self) -> int | None:
        """Rows, where the source knows."""
        return self.rows.total

    @property
    def d(self) -> int:
        """Columns in use."""
        return self.schema.width or len(self.schema.names)

    def blocks(self, size: int) -> Iterator[tuple[Any, Any]]:
        """One pass, in blocks of at most `size` rows. A source is read once."""
        rest = ahead(self.rest) if self.rows.ahead else self.rest
        for block in chain(self.first, rest):
            for i in range(0, len(block.rows), size):
                labels = None if block.labels is None else block.labels[i : i + size]
                yield block.rows[i : i + size], labels

    def numbers(self) -> Array:
        """The first rows as a learner of numbers gets them: see `Encoded` for others."""
        rows = _joined([block.rows for block in self.first])[:PEEK]
        if isinstance(rows, SparseRows):
            return self._translated(rows, None)
        columns, n, _ = self.schema.columns_of(rows, on_error="missing", report=lambda names: None)
        if self.schema.numeric:
            X: Array = self.schema.encoder().encode(columns, n)
            return X
        kinds = {name: self.schema.columns[name] for name in self.schema.names}
        return self._translated(Columns(columns, kinds, n), kinds)

    def _translated(self, rows: Any, kinds: dict[str, str] | None) -> Array:
        n, classes = len(rows), self.task == "classification"
        labels = _joined([block.labels for block in self.first])[:n]
        if classes:
            Y, _, names = numbered(class_names(columns_of(labels, n)[0]), [], {}, None)
        else:
            Y, names = np.asarray(labels, dtype=np.float64).reshape(n, -1), []
        there = np.flatnonzero(~np.isnan(Y).any(axis=1))
        translator = Translator(
            classes, experts=kinds is None or "text" in kinds.values(), encoder=Encoder(fill=True), max_bytes=2**20
        )
        translator.start(kinds, max(2, len(names)) if classes else Y.shape[1])
        return translator.run(rows[there], np.ascontiguousarray(Y[there])).dense

    def width(self, standardized: bool = False) -> float:
        """A kernel width on the scale of the first rows, or of what they are once standardised."""
        X = self.numbers()
        X = X[~np.isnan(X).any(axis=1)]
        if standardized and len(X):
            spread = X.std(axis=0)
            X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        return median_distance(X[:WIDE])


def opened(
    rows: Rows,
    *,
    task: str | None = None,
    model: Model | None = None,
    block: int = 256,
    look: bool = True,
    kinds: Mapping[str, str] | None = None,
    drop: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    day_first: bool = False,
    policy: str = "stop",
) -> Source:
    """Look at the first rows, at one block only where neither `look` nor an unknown task asks for more.

    The schema is that of the `model`, if there is one, and is told from the rows otherwise. Cells that do not fit their
    columns are handled by the `policy` (see `Cleaner`).
    """
    if task not in (None, *TASKS):
        raise ValueError(f"--task is {', '.join(TASKS[:-1])} or {TASKS[-1]}, not {task!r}")
    if policy != "stop":
        rows.skip_unreadable()
    pieces = rows.blocks(block)
    known = model is not None or (rows.numeric and bool(task or rows.task))
    first, pieces = first_blocks(pieces, 1 if known and not look else PEEK)
    if not first:
        raise ValueError(f"{rows.name} has no rows")
    labels = _joined([b.labels for b in first])
    whole = Block(_joined([b.rows for b in first])[:PEEK], None if labels is None else labels[:PEEK])
    if model is not None:
        schema, numeric = _of_model(model, rows, whole)
        classes, reason = model.classes, None
    else:
        numeric = _are_numbers(whole.labels, rows.targets, kinds or {})
        labels = typed_labels(whole, rows.targets, numeric, tolerant=True)
        said = task or rows.task
        task, reason = (said, None) if said is not None else _chosen_task(rows, whole, numeric)
        if task != "novelty":
            _check_labels(rows.name, task, labels, numeric)
        schema = _schema_of(rows, whole, task, kinds, drop, columns, day_first)
        classes = class_names(columns_of(labels, len(whole.rows))[0]) if task == "classification" else []
    rows.expect(_plain_numbers(schema, rows.targets if numeric else ()))
    whole_classes = schema.task == "classification" and all(isinstance(name, int | None) for name in classes)
    cleaner = Cleaner(schema, rows.targets, numeric=numeric, whole=whole_classes, policy=policy, name=rows.name)
    ready, pieces = _cleaned(cleaner, first, pieces)
    clean = (part for block in pieces for part in cleaner.clean(block))
    rest: Iterator[Block] = (Block(_plain(part.rows, schema), part.labels) for part in clean)
    if schema.task == "novelty" and rows.targets:
        if not numeric:
            raise ValueError(
                f"the target of novelty detection is 1 for a novel row and 0 for others; {rows.name} has names"
            )
        ready, rest = [_signed(block) for block in ready], map(_signed, rest)
    return Source(rows, schema, ready, rest, cleaner, first, reason)


def _signed(block: Block) -> Block:
    """Labels of novelty as metrics take them: known rows, which have high scores, are +1 and novel ones -1."""
    if block.labels is None:
        return block
    Y = np.asarray(block.labels, dtype=np.float64)
    return Block(block.rows, np.where(np.isnan(Y), np.nan, np.where(Y > 0, -1.0, 1.0)))


def _cleaned(cleaner: Cleaner, first: list[Block], rest: Iterator[Block]) -> tuple[list[Block], Iterator[Block]]:
    """The first blocks with typed columns, and the blocks after them. Rows before a bad cell come before its error."""
    ready: list[Block] = []
    for block in first:
        try:
            for part in cleaner.clean(block):  # one by one: what comes before an error is kept
                ready.append(part)  # noqa: PERF402
        except BadCell as error:
            if not ready:
                raise
            return ready, _raised(error)
    return ready, rest


def _are_numbers(labels: Any, targets: Sequence[str], kinds: Mapping[str, str]) -> bool:
    """Whether labels are numbers: as the kinds of the targets say, or as the labels look."""
    given = {kinds[name] for name in targets if name in kinds}
    if given - {"number", "category", "boolean"}:
        raise ValueError(f"a target is a number, a category or a boolean, not of kind {min(given - {'number'})}")
    return given == {"number"} if given else numeric_labels(labels)


def _plain_numbers(schema: Schema, targets: Sequence[str]) -> list[str]:
    """Columns that may come as arrays of numbers: those whose decimal mark is a point."""
    kinds = schema.columns if schema.width is None else {}
    numbers = [*(name for name, kind in kinds.items() if kind == "number"), *targets]
    return [name for name in numbers if schema.format_of(name) != ","]


def _schema_of(
    rows: Rows,
    whole: Block,
    task: str,
    kinds: Mapping[str, str] | None,
    drop: Sequence[str],
    columns: Sequence[str] | None,
    day_first: bool,
) -> Schema:
    """The schema that the first rows tell."""
    table = whole.rows
    targets: Any = rows.targets[0] if len(rows.targets) == 1 else rows.targets or None
    if isinstance(table, SparseRows):
        if kinds or drop or columns:
            raise ValueError(f"{rows.name}: columns of sparse rows have no names; leave out --kind, --drop, --columns")
        return Schema({}, None, task, width=table.d)
    if not isinstance(table, Table):
        names = rows.columns or [str(j) for j in range(table.shape[1])]
        if not (kinds or drop or columns):
            return Schema(names, None, task)
        table = Table({name: table[:, j] for j, name in enumerate(names)}, len(table))
    only = _listed(columns or (), table) or None
    dropped = _listed(drop, table)
    return Schema.of(table, targets, kinds, dropped, columns=only, task=task, day_first=day_first)


def _listed(words: Sequence[str], table: Table) -> list[str]:
    """Names of columns; a word that is none may be several with commas."""
    return [name for word in words for name in ([word] if word in table.columns else word.split(","))]


def _of_model(model: Model, rows: Rows, whole: Block) -> tuple[Schema, bool]:
    """The schema that the model has; whether labels are numbers to it."""
    schema = model.schema_ or model.schema
    if schema is None or schema.task is None:
        raise ValueError("the model has learnt nothing yet; begin a new one")
    asked, own = rows.targets if schema.task != "novelty" else [], schema.targets
    if asked and own and asked != own:
        raise ValueError(
            f"the model predicts {', '.join(map(repr, own))}, not {', '.join(map(repr, asked))}; name its own target, "
            "or begin a new model (leave out --initial)"
        )
    if isinstance(whole.rows, Table) and whole.rows.named:
        check_columns(schema, list(whole.rows.columns), rows.name)
    numeric = schema.task != "classification" or not all(isinstance(name, str) for name in model.classes)
    if whole.labels is not None and numeric != numeric_labels(whole.labels) and _some(whole.labels):
        if schema.task == "regression":
            _check_labels(rows.name, "regression", whole.labels, numeric=False)
        kinds = ("names", "numbers") if numeric else ("numbers", "names")
        raise ValueError(
            f"the targets of {rows.name} are {kinds[0]}, the classes of the model are {kinds[1]} "
            f"({', '.join(map(str, model.classes[:5]))}); begin a new model (leave out --initial)"
        )
    return schema, numeric


def _some(labels: Any) -> bool:
    """Whether there is a label at all."""
    return any(first_label(part) is not None for part in columns_of(labels, len(labels)))


def numeric_labels(labels: Any) -> bool:
    """Whether labels are numbers, perhaps written as text."""
    if labels is None:
        return True
    parts = list(labels.columns.values()) if isinstance(labels, Table) else columns_of(labels, len(labels))
    return all(looked(part).kind == "number" for part in parts)


def _plain(rows: Any, schema: Schema) -> Any:
    """A table of arrays as the matrix that a model of numbers wants, if it could say nothing about any value of it."""
    if not isinstance(rows, Table) or not schema.numeric or not set(rows.columns) <= {*schema.columns, *schema.targets}:
        return rows
    columns = [rows.columns.get(name) for name in schema.names]
    if not all(isinstance(values, np.ndarray) and values.dtype == np.float64 for values in columns):
        return rows
    X = np.empty((rows.n, len(columns)))
    for j, values in enumerate(columns):
        X[:, j] = values
    return X if all_finite(X) and schema.matrix(X) is not None else rows


def typed_labels(
    block: Block,
    targets: Sequence[str],
    numeric: bool,
    formats: Mapping[str, str] | None = None,
    tolerant: bool = False,
) -> Any:
    """Labels as numbers, where they are that; else as they are. `tolerant`: one that does not fit is missing.

    `formats` are those of a schema.
    """
    if block.labels is None or not numeric or isinstance(block.labels, np.ndarray):
        return block.labels
    place = block.rows.place if isinstance(block.rows, Table) else None
    marks = {**(formats or {}), **(block.rows.marks if isinstance(block.rows, Table) else {})}
    if isinstance(block.labels, Table):
        parts = [
            converted(part, "number", name, place=place, tolerant=tolerant, format=marks.get(name))[0]
            for name, part in block.labels.columns.items()
        ]
        return np.column_stack(parts)
    name = targets[0] if targets else "y"
    return converted(block.labels, "number", name, place=place, tolerant=tolerant, format=marks.get(name))[0]


def _chosen_task(rows: Rows, whole: Block, numeric: bool) -> tuple[str, str]:
    """The task that the first labels tell, and the reason."""
    if whole.labels is None:
        raise ValueError(f"{rows.name} has no target")
    several = isinstance(whole.labels, Table)
    parts = list(whole.labels.columns.values()) if several else columns_of(whole.labels, len(whole.rows))
    if numeric and not rows.numeric:
        mark = whole.rows.marks.get(rows.targets[0]) if isinstance(whole.rows, Table) and rows.targets else None
        parts = [[as_written(value, mark) for value in part] for part in parts]
    if rows.numeric and len(parts) == 1 and set(np.unique(parts[0]).tolist()) == {-1.0, 1.0}:
        return TaskChoice("classification", "the labels are -1 and 1, as files of numbers alone write two classes")
    choice = choose_task(parts, whole_floats=rows.numeric)
    if choice is None:
        raise ValueError(
            f"none of the first {len(whole.rows):,} rows of {rows.name} has a label, which would tell the task: say it "
            f"with --task ({', '.join(TASKS)})"
        )
    return choice


def as_written(value: Any, mark: str | None = None) -> Any:
    """A number in text as an int where it is written as one; None where it is no number."""
    if isinstance(value, str):
        text = value.strip()
        if text.removeprefix("-").removeprefix("+").isdigit() and len(text) < DIGITS:
            return int(text)
        found = number(text) if mark is None else number(text, mark)
        return None if found is MISFIT else found
    return value


def _check_labels(name: str, task: str, labels: Any, numeric: bool) -> None:
    """Refuse labels of the wrong kind."""
    if labels is None:
        raise ValueError(f"{name} has no target")
    if task == "regression":
        if not numeric:
            names = dict.fromkeys(str(v) for v in class_names(columns_of(labels, len(labels))[0]) if v is not None)
            raise ValueError(
                f"the targets of {name} are names ({', '.join(list(names)[:5])}), not numbers: that is classification"
            )
        return
    parts = columns_of(labels, len(labels))
    if len(parts) > 1:
        raise ValueError(f"several targets are regression; {name} has {len(parts)}")
    if numeric:
        Y = np.asarray(parts[0], dtype=np.float64)
        values = np.unique(Y[~np.isnan(Y)])
        if len(values) > MOST_CLASSES and bool((values != np.floor(values)).any()):
            raise ValueError(
                f"{name} has {len(values)} different targets among its first {len(Y)}, such as {values[0]:g}: these "
                "are no classes, that is regression"
            )


def first_blocks(pieces: Iterator[Block], rows: int) -> tuple[list[Block], Iterator[Block]]:
    """The first blocks, until there are so many rows, and the blocks after them.

    What the source raises after some rows is raised after them here too, so that they are not lost.
    """
    found: list[Block] = []
    while sum(len(b.rows) for b in found) < rows:
        try:
            piece = next(pieces, None)
        except (ValueError, OSError) as error:
            if not found:
                raise
            return found, _raised(error)
        if piece is None:
            break
        found.append(piece)
    return found, pieces


def _raised(error: Exception) -> Iterator[Block]:
    """No blocks, and then the error."""
    yield from ()
    try:
        raise error
    finally:
        del error  # else this frame and the error hold each other


def _joined(parts: list[Any]) -> Any:
    if not parts or parts[0] is None:
        return None
    if isinstance(parts[0], Table):
        return Table.joined(parts)
    if isinstance(parts[0], SparseRows):
        return SparseRows.joined(parts)
    return [v for part in parts for v in part] if isinstance(parts[0], list) else np.concatenate(parts)
