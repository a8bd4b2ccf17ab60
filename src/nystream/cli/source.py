"""Batches of a source, with kinds of columns, task and kernel width from its first rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from nystream.cli.cleaning import Cleaner, check_columns
from nystream.cli.rows import Pair, RowSource, join
from nystream.data.batch import Batch
from nystream.data.cells import MISFIT, parse_number
from nystream.data.encoding import Encoder
from nystream.data.kinds import Look, look_at
from nystream.data.places import BadCell
from nystream.data.reading import Table
from nystream.data.schema import Schema
from nystream.data.sparse_rows import SparseRows
from nystream.data.targets import class_names, first_label, number_classes, target_columns
from nystream.data.task import MOST_CLASSES, TASKS, TaskChoice, choose_task
from nystream.data.values import convert, numbers_as_written
from nystream.learners.translator import Translator
from nystream.model import Model
from nystream.runtime.types import Array
from nystream.scaling.distance import median_distance
from nystream.streams.ahead import ahead

__all__ = ["PEEK", "ParsedSource", "first_blocks", "numeric_labels", "open_source", "typed_labels"]

PEEK = 1024
"""Number of rows that are read before learning starts, a few more than `Schema.of` uses."""
WIDTH_ROWS = 400
"""Rows between which distances are measured for a kernel width: their median hardly moves with more."""


@dataclass
class ParsedSource:
    """Rows of a source with their schema. `blocks` gives all of them once, labels as a model takes them."""

    rows: RowSource
    schema: Schema
    first: list[Pair]
    """The first batches with their labels."""
    rest: Iterator[Pair]
    cleaner: Cleaner
    raw: list[Pair]
    """The first blocks as they came, with their labels."""
    reason: str | None = None
    """Why the task was chosen; None: nobody had to choose."""
    target_looks: list[Look] = field(default_factory=list)
    """The inferred looks of the first labels, one for each target."""

    @property
    def name(self) -> str:
        return self.rows.name

    @property
    def task(self) -> str:
        return str(self.schema.task)

    @property
    def total(self) -> int | None:
        """The number of rows, where the source knows it."""
        return self.rows.total

    @property
    def d(self) -> int:
        """The number of columns in use."""
        return self.schema.width or len(self.schema.names)

    @property
    def has_labels(self) -> bool:
        """Whether rows come with labels; novelty detection does without."""
        return self.first[0][1] is not None

    def blocks(self, size: int) -> Iterator[tuple[Batch, Any]]:
        """Read all rows once, in batches of at most `size` rows with their labels."""
        rest = ahead(self.rest) if self.rows.ahead else self.rest
        for batch, labels in chain(self.first, rest):
            for i in range(0, len(batch), size):
                yield batch[i : i + size], None if labels is None else labels[i : i + size]

    def numbers(self) -> Array:
        """Return the first rows as a learner of numbers gets them: see `Encoded` for other columns."""
        batch = join([batch for batch, _ in self.first])[:PEEK]
        if batch.numbers is not None and not isinstance(batch.numbers, SparseRows):
            return np.asarray(batch.numbers)
        is_sparse = batch.numbers is not None
        n, is_classes = len(batch), self.task == "classification"
        labels = join([labels for _, labels in self.first])[:n]
        if is_classes:
            Y, _, names = number_classes(class_names(target_columns(labels, n)[0]), [], {}, None)
        else:
            Y, names = np.asarray(labels, dtype=np.float64).reshape(n, -1), []
        there = np.flatnonzero(~np.isnan(Y).any(axis=1))
        has_experts = is_sparse or "text" in batch.kinds.values()
        translator = Translator(is_classes, experts=has_experts, encoder=Encoder(fill=True), max_bytes=2**20)
        outputs = max(2, len(names)) if is_classes else Y.shape[1]
        translator.start(None if is_sparse else batch.kinds, outputs)
        return translator.run(batch.inputs[there], np.ascontiguousarray(Y[there])).dense

    def width(self, standardized: bool = False) -> float:
        """Return a kernel width on the scale of the first rows, or of these rows once standardised."""
        X = self.numbers()
        X = X[~np.isnan(X).any(axis=1)]
        if standardized and len(X):
            spread = X.std(axis=0)
            X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        return median_distance(X[:WIDTH_ROWS])


def open_source(
    rows: RowSource,
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
) -> ParsedSource:
    """Look at the first rows, at one block only where neither `look` nor an unknown task asks for more.

    The schema is that of the `model`, if there is one; otherwise the first rows tell it. Cells that do not fit their
    columns are handled by the `policy` (see `Cleaner`).
    """
    if task not in (None, *TASKS):
        raise ValueError(f"--task is {', '.join(TASKS[:-1])} or {TASKS[-1]}, not {task!r}")
    if policy != "stop":
        rows.skip_unreadable()
    is_known = model is not None or (rows.numeric and bool(task or rows.task))
    raw, rest = first_blocks(rows.blocks(block), 1 if is_known and not look else PEEK)
    if not raw:
        raise ValueError(f"{rows.name} has no rows")
    labels = join([labels for _, labels in raw])
    head = join([rows for rows, _ in raw])[:PEEK], None if labels is None else labels[:PEEK]
    looks = _target_looks(*head, rows.targets)
    if model is not None:
        schema, numeric = _of_model(model, rows, *head, looks)
        classes, reason = model.classes, None
    else:
        schema, numeric, classes, reason = _inferred(rows, head, looks, task, kinds or {}, drop, columns, day_first)
    rows.expect(_plain_numbers(schema, rows.targets if numeric else ()))
    is_whole = schema.task == "classification" and all(isinstance(name, int | None) for name in classes)
    cleaner = Cleaner(schema, rows.targets, numeric=numeric, whole=is_whole, policy=policy, name=rows.name)
    first, rest = _clean_first(cleaner, raw, rest)
    parsed: Iterator[Pair] = (pair for block in rest for pair in cleaner.clean(*block))
    if schema.task == "novelty" and rows.targets:
        if not numeric:
            raise ValueError(
                f"the target of novelty detection is 1 for a novel row and 0 for others; {rows.name} has names"
            )
        first, parsed = [_signed(pair) for pair in first], map(_signed, parsed)
    return ParsedSource(rows, schema, first, parsed, cleaner, raw, reason, looks)


def _inferred(
    rows: RowSource,
    head: Pair,
    looks: list[Look],
    task: str | None,
    kinds: Mapping[str, str],
    drop: Sequence[str],
    columns: Sequence[str] | None,
    day_first: bool,
) -> tuple[Schema, bool, list[Any], str | None]:
    """Infer from the first rows: the schema, whether labels are numbers, the classes, and the reason for the task."""
    numeric = _are_numbers(rows.targets, looks, kinds)
    labels = typed_labels(*head, rows.targets, numeric, tolerant=True)
    task, reason = task or rows.task, None
    if task is None and any(kinds.get(name) in ("category", "boolean") for name in rows.targets):
        task, reason = "classification", "--kind says that the target is no number"
    if task is None:
        task, reason = _chosen_task(rows, *head, numeric)
    if task != "novelty":
        _check_labels(rows.name, task, labels, numeric)
    schema = _schema_of(rows, head[0], task, kinds, drop, columns, day_first)
    classes = class_names(target_columns(labels, len(head[0]))[0]) if task == "classification" else []
    return schema, numeric, classes, reason


def _signed(pair: Pair) -> Pair:
    """Return labels of novelty as metrics take them: known rows, which have high scores, are +1 and novel ones -1."""
    batch, labels = pair
    if labels is None:
        return pair
    Y = np.asarray(labels, dtype=np.float64)
    return batch, np.where(np.isnan(Y), np.nan, np.where(Y > 0, -1.0, 1.0))


def _clean_first(cleaner: Cleaner, raw: list[Pair], rest: Iterator[Pair]) -> tuple[list[Pair], Iterator[Pair]]:
    """Parse the first blocks, and return them with the blocks after them. An error comes after the rows before it."""
    ready: list[Pair] = []
    for block in raw:
        try:
            for pair in cleaner.clean(*block):  # one by one: what comes before an error is kept
                ready.append(pair)  # noqa: PERF402
        except BadCell as error:
            if not ready:
                raise
            return ready, _raised(error)
    return ready, rest


def _target_looks(rows: Any, labels: Any, targets: Sequence[str]) -> list[Look]:
    """Look at the labels of each target once; without names they are numbers."""
    if labels is None:
        return []
    parts = list(labels.columns.values()) if isinstance(labels, Table) else target_columns(labels, len(labels))
    marks = rows.marks if isinstance(rows, Table) else {}
    names = [*targets, *[""] * (len(parts) - len(targets))]
    return [look_at(part, mark=marks.get(name)) for name, part in zip(names, parts, strict=False)]


def numeric_labels(labels: Any) -> bool:
    """Return whether labels are numbers, perhaps written as text."""
    return all(look.kind == "number" for look in _target_looks(None, labels, ()))


def _are_numbers(targets: Sequence[str], looks: Sequence[Look], kinds: Mapping[str, str]) -> bool:
    """Return whether labels are numbers: as the kinds of the targets say, or as the labels look."""
    given = {kinds[name] for name in targets if name in kinds}
    if given - {"number", "category", "boolean"}:
        raise ValueError(f"a target is a number, a category or a boolean, not of kind {min(given - {'number'})}")
    return given == {"number"} if given else all(look.kind == "number" for look in looks)


def _plain_numbers(schema: Schema, targets: Sequence[str]) -> list[str]:
    """Return the columns that may come as arrays of numbers: those whose decimal mark is a point."""
    kinds = schema.columns if schema.width is None else {}
    formats = schema.formats or {}
    numbers = [*(name for name, kind in kinds.items() if kind == "number"), *targets]
    return [name for name in numbers if formats.get(name) != ","]


def _schema_of(
    rows: RowSource,
    table: Any,
    task: str,
    kinds: Mapping[str, str],
    drop: Sequence[str],
    columns: Sequence[str] | None,
    day_first: bool,
) -> Schema:
    """Infer the schema from the first rows."""
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
    """Return names of columns; a word that is not a name may be several, separated by commas."""
    return [name for word in words for name in ([word] if word in table.columns else word.split(","))]


def _of_model(model: Model, rows: RowSource, table: Any, labels: Any, looks: Sequence[Look]) -> tuple[Schema, bool]:
    """Return the schema that the model has, and whether labels are numbers to it."""
    schema = model.schema_ or model.schema
    if schema is None or schema.task is None:
        raise ValueError("the model has learnt nothing yet; begin a new one")
    asked, own = rows.targets if schema.task != "novelty" else [], schema.targets
    if asked and own and asked != own:
        raise ValueError(
            f"the model predicts {', '.join(map(repr, own))}, not {', '.join(map(repr, asked))}; name its own target, "
            "or begin a new model (leave out --initial)"
        )
    if isinstance(table, Table):
        check_columns(schema, table, rows.name)
    numeric = schema.task != "classification" or not all(isinstance(name, str) for name in model.classes)
    are_numbers = all(look.kind == "number" for look in looks)
    if labels is not None and numeric != are_numbers and _has_labels(labels):
        if schema.task == "regression":
            remedy = "begin a new model (leave out --initial), because this one predicts numbers"
            _check_labels(rows.name, "regression", labels, numeric=False, remedy=remedy)
        kinds = ("names", "numbers") if numeric else ("numbers", "names")
        raise ValueError(
            f"the targets of {rows.name} are {kinds[0]}, the classes of the model are {kinds[1]} "
            f"({', '.join(map(str, model.classes[:5]))}); begin a new model (leave out --initial)"
        )
    return schema, numeric


def _has_labels(labels: Any) -> bool:
    """Return whether there is a label at all."""
    return any(first_label(part) is not None for part in target_columns(labels, len(labels)))


def typed_labels(
    rows: Any,
    labels: Any,
    targets: Sequence[str],
    numeric: bool,
    formats: Mapping[str, str] | None = None,
    tolerant: bool = False,
) -> Any:
    """Return labels as numbers, where they are that; else as they are. `tolerant`: one that does not fit is missing.

    `rows` tell where the labels are and how they are written, `formats` are those of a schema.
    """
    if labels is None or not numeric or isinstance(labels, np.ndarray):
        return labels
    place = rows.place if isinstance(rows, Table) else None
    marks = {**(formats or {}), **(rows.marks if isinstance(rows, Table) else {})}
    if isinstance(labels, Table):
        parts = [
            convert(part, "number", name, place=place, tolerant=tolerant, format=marks.get(name))[0]
            for name, part in labels.columns.items()
        ]
        return np.column_stack(parts)
    name = targets[0] if targets else "y"
    return convert(labels, "number", name, place=place, tolerant=tolerant, format=marks.get(name))[0]


def _chosen_task(rows: RowSource, table: Any, labels: Any, numeric: bool) -> tuple[str, str]:
    """Choose the task from the first labels; return it with the reason."""
    if labels is None:
        raise ValueError(f"{rows.name} has no target")
    parts = list(labels.columns.values()) if isinstance(labels, Table) else target_columns(labels, len(table))
    if numeric and not rows.numeric:
        mark = table.marks.get(rows.targets[0]) if isinstance(table, Table) and rows.targets else None
        parts = [numbers_as_written(part, mark) for part in parts]
    if rows.numeric and len(parts) == 1 and set(np.unique(parts[0]).tolist()) == {-1.0, 1.0}:
        return TaskChoice("classification", "the labels are -1 and 1, as files of numbers alone write two classes")
    choice = choose_task(parts, whole_floats=rows.numeric)
    if choice is None:
        target = f" in the target column {rows.targets[0]!r}" if rows.targets else ""
        other = "choose another column with --target, or say the task" if rows.targets else "say it"
        raise ValueError(
            f"none of the first {len(table):,} rows of {rows.name} has a label{target}, which would tell the task: "
            f"{other} with --task ({', '.join(TASKS)})"
        )
    return choice


def _check_labels(name: str, task: str, labels: Any, numeric: bool, remedy: str = "say --task classification") -> None:
    """Refuse labels of the wrong kind."""
    if labels is None:
        raise ValueError(f"{name} has no target")
    if task == "regression":
        if not numeric:
            found = class_names(target_columns(labels, len(labels))[0])
            names = list(dict.fromkeys(str(v) for v in found if v is not None))
            names = [text for text in names if parse_number(text) is MISFIT] or names
            raise ValueError(
                f"the targets of {name} are not all finite numbers ({', '.join(names[:5])}): correct them, or {remedy}"
            )
        return
    parts = target_columns(labels, len(labels))
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


def first_blocks(blocks: Iterator[Pair], rows: int) -> tuple[list[Pair], Iterator[Pair]]:
    """Read the first blocks, until there are so many rows; return them and the blocks after them.

    An error of the source after some rows is raised after them here too, so that they are not lost.
    """
    found: list[Pair] = []
    while sum(len(some) for some, _ in found) < rows:
        try:
            block = next(blocks, None)
        except (ValueError, OSError) as error:
            if not found:
                raise
            return found, _raised(error)
        if block is None:
            break
        found.append(block)
    return found, blocks


def _raised(error: Exception) -> Iterator[Pair]:
    """Give no blocks, and then raise the error."""
    yield from ()
    try:
        raise error
    finally:
        del error  # else this frame and the error hold each other
