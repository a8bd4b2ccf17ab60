"""Where the rows come from: a file, standard input, a dataset or a generator, and what kind of labels they carry."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from nystream import datasets
from nystream.streams import Stream, open_stream
from nystream.types import Array

__all__ = ["Source", "median_distance", "opened"]

DATASET = "dataset:"
"""What a source begins with that names a public dataset."""
PEEK = 1000
"""Rows looked at before learning starts, to tell classes from numbers and to choose a kernel width."""
MOST_CLASSES = 20
"""Whole-number targets with more values than this among the first rows are taken for regression."""
ENOUGH = 20
"""Rows from which on two fractional targets, and no third, are taken for classes."""


@dataclass
class Source:
    """A stream whose first rows were looked at; `blocks` gives all of them, labels as numbers a learner takes.

    Missing values are nan, or refused if there is a `refusal`: who does not take them, and what can be done.
    """

    stream: Stream
    task: str
    first: tuple[Array, Array]
    rest: Iterator[tuple[Array, Array]]
    names: list[Any] = field(default_factory=list)
    refusal: str | None = None

    def blocks(self, size: int) -> Iterator[tuple[Array, Array]]:
        """One pass, in blocks of at most `size` rows. A source is read once."""
        row = 0
        for X, Y in chain([self.first], self.rest):
            if self.refusal is not None:
                self._check(X, row)
            for i in range(0, len(X), size):
                yield X[i : i + size], self._numbered(Y[i : i + size])
            row += len(X)

    @classmethod
    def of(
        cls,
        stream: Stream,
        task: str | None = None,
        names: list[Any] | None = None,
        block: int = 256,
        look: bool = True,
    ) -> Source:
        """Look at a stream's first rows; at one block only where neither `look` nor the task asks for more."""
        if task not in (None, "regression", "classification"):
            raise ValueError(f"--task is regression or classification, not {task!r}")
        pieces = stream.blocks(block)
        X, Y = _first_rows(pieces, PEEK if look or not (task or stream.task) else 1)
        if not len(X):
            raise ValueError(f"{stream.name} has no rows")
        task = task or stream.task or _guess(Y)
        _check_labels(stream, task, Y)
        return cls(stream, task, (X, Y), pieces, names if names is not None else [])

    @property
    def total(self) -> int | None:
        """Rows, where the source knows."""
        return self.stream.n

    @property
    def d(self) -> int:
        """Columns."""
        return self.first[0].shape[1]

    def width(self, standardized: bool = False) -> float:
        """A kernel width on the scale of the first rows, or of what they are once standardised."""
        X = self.first[0]
        X = X[~np.isnan(X).any(axis=1)]
        if standardized and len(X):
            spread = X.std(axis=0)
            X = (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        return median_distance(X)

    def _check(self, X: Array, start: int) -> None:
        holes = np.argwhere(np.isnan(X))
        if len(holes):
            row, j = holes[0].tolist()
            column = repr(self.stream.columns[j]) if self.stream.columns else j + 1
            raise ValueError(f"{self.stream.name}, row {start + row + 1}: column {column} is missing; {self.refusal}")

    def _numbered(self, Y: Array) -> Array:
        """Class values as their places in `names`, which grows as new ones appear."""
        if self.task != "classification":
            return Y
        if bool(np.isnan(Y).any()):
            raise ValueError(f"{self.stream.name} has rows without a label; remove them")
        labels = self.stream.labels
        values = [labels[int(y)] for y in Y] if labels is not None else [_plain(y) for y in Y.tolist()]
        place = {name: k for k, name in enumerate(self.names)}
        for value in values:
            if value not in place:
                place[value] = len(self.names)
                self.names.append(value)
        return np.array([place[value] for value in values], dtype=np.float64)


def opened(
    spec: str,
    *,
    task: str | None,
    names: list[Any] | None = None,
    rows: int | None = None,
    shuffle: int | None = None,
    block: int = 256,
    standardize: bool = False,
    look: bool = True,
    data: Path | None = None,
    **options: Any,
) -> Source:
    """Open a stream, missing values as nan, and look at its first rows."""
    known = spec.startswith(DATASET)
    stream = _dataset(spec, data, options) if known else open_stream(spec, missing="nan", **options)
    if shuffle is not None:
        stream = stream.shuffle(shuffle)
    if rows is not None:
        stream = stream.take(rows)
    elif stream.endless:
        raise ValueError(f"{stream.name} is endless; say how many rows to take with --rows")
    return Source.of(stream.standardize() if standardize else stream, task, names, block, look)


def _dataset(spec: str, data: Path | None, options: dict[str, Any]) -> Stream:
    """`dataset:NAME`, or `dataset:NAME:PART`."""
    if options:
        raise ValueError(f"{spec} knows its columns and its target; leave out --target and --columns")
    name, _, part = spec.removeprefix(DATASET).partition(":")
    return datasets.stream(name, part or "all", data=data)


def median_distance(X: Array) -> float:
    """Median of the non-zero distances between at most 400 rows: a kernel width on the scale of the data."""
    X = X[:400]
    if not len(X):
        return 1.0
    squares = np.maximum((X * X).sum(1)[:, None] + (X * X).sum(1) - 2 * X @ X.T, 0)
    apart = squares[np.triu_indices(len(X), 1)]
    apart = apart[apart > 1e-12 * max(float(squares.max()), 1e-300)]
    return float(np.sqrt(np.median(apart))) if len(apart) else 1.0


def _first_rows(pieces: Iterator[tuple[Array, Array]], rows: int) -> tuple[Array, Array]:
    """The first blocks, until there are so many rows."""
    blocks: list[tuple[Array, Array]] = []
    for X, Y in pieces:
        blocks.append((X, Y))
        if sum(len(X) for X, _ in blocks) >= rows:
            break
    if not blocks:
        return np.empty((0, 1)), np.empty(0)
    return np.concatenate([X for X, _ in blocks]), np.concatenate([Y for _, Y in blocks])


def _check_labels(stream: Stream, task: str, Y: Array) -> None:
    """Refuse labels of the wrong kind."""
    if task == "regression":
        if stream.labels is not None:
            raise ValueError(
                f"the targets of {stream.name} are names ({', '.join(map(str, stream.labels[:5]))}), not numbers: that "
                "is classification"
            )
        return
    if Y.ndim == 2:
        raise ValueError(f"several targets are regression; {stream.name} has {Y.shape[1]}")
    values = np.unique(Y)
    if len(values) > MOST_CLASSES and bool((values != np.floor(values)).any()):
        raise ValueError(
            f"{stream.name} has {len(values)} different targets among its first {len(Y)}, such as {values[0]:g}: these "
            "are no classes, that is regression"
        )


def _guess(Y: Array) -> str:
    """A few whole numbers are classes; so are two values of any kind, where there are rows enough to tell."""
    if Y.ndim == 2:
        return "regression"
    values = np.unique(Y)
    whole = bool((values == np.floor(values)).all())
    two = len(values) == 2 and len(Y) >= ENOUGH
    return "classification" if two or (whole and len(values) <= MOST_CLASSES) else "regression"


def _plain(y: float) -> Any:
    """3.0 is shown, and kept, as 3."""
    return int(y) if float(y).is_integer() else y
