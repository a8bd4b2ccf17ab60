"""Convert labels to the numbers of a learner, and its outputs to numbers or names of classes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nystream.data.places import Place
from nystream.data.reading import Table
from nystream.data.schema import Schema
from nystream.data.targets import Counts, Places, class_names, number_classes, numbers_of
from nystream.runtime.types import Array

__all__ = ["Labels", "Scores", "answers", "labels_in", "labels_of", "nothing"]


class Labels(NamedTuple):
    """Labels of a block.

    Y (n, K) contains numbers, for classes their positions in `classes`, and nan where there is no label. For classes,
    `known` is the number of classes that had appeared before each row.
    """

    Y: Array
    classes: list[Any]
    known: Counts | None = None

    @property
    def there(self) -> Any:
        """Which rows have a label."""
        return ~np.isnan(self.Y).any(axis=1)


class Scores(NamedTuple):
    """Predictions, and the labels that they are compared with, as numbers.

    P (n, K) are the learner's outputs: -inf for classes that had not appeared at a row, nan where nothing was known at
    all. Y (n, K) are targets, or (n, 1) places of classes; nan where a row had no label.
    """

    P: Array
    Y: Array


def labels_in(table: Any, schema: Schema | None) -> Any:
    """Return the target columns of a table if the schema names them and the table has all of them; else None."""
    if schema is None or not isinstance(table, Table) or not table.named or not schema.targets:
        return None
    if any(name not in table.columns for name in schema.targets):
        return None
    parts = {name: table.labels(name) for name in schema.targets}
    return next(iter(parts.values())) if len(parts) == 1 else Table(parts, table.n)


def labels_of(
    parts: list[Any] | None,
    n: int,
    schema: Schema,
    outputs: int,
    classes: list[Any],
    places: dict[Any, int],
    at: Places | None,
) -> Labels:
    """Return the labels of n rows as numbers; `outputs` columns of nan if there are no labels to count.

    `at` is what messages call a row; None: classes may be of several kinds.
    """
    if schema.task == "novelty":
        return Labels(np.zeros((n, 1)), classes)
    if parts is None:
        known = np.full(n, len(classes)) if schema.task == "classification" else None
        return Labels(np.full((n, outputs), np.nan), classes, known)
    if schema.task == "classification":
        if len(parts) > 1:
            raise ValueError(f"several targets are regression; y has {len(parts)} columns of classes")
        Y, before, classes = number_classes(class_names(parts[0]), classes, places, at)
        return Labels(Y, classes, before)
    names = schema.targets or [f"y{k}" if k else "y" for k in range(len(parts))]
    if len(names) != len(parts):
        raise ValueError(f"y has {len(parts)} columns; the targets are {', '.join(names)}")
    return Labels(numbers_of(parts, names, at or Place), classes)


def answers(P: Array, task: str | None, classes: list[Any]) -> Any:
    """Return outputs (n, K) as predictions: numbers (n,) or (n, K), or names of classes, None for no class."""
    if task != "classification":
        return P[:, 0] if P.shape[1] == 1 else P
    found = np.full(len(P), None, dtype=object)
    names = np.empty(len(classes), dtype=object)
    names[:] = classes
    P = P[:, : len(names)]  # there may be room for more classes
    some = ~np.isnan(P).any(axis=1) if P.shape[1] else np.zeros(len(P), dtype=bool)
    found[some] = names[P[some].argmax(axis=1)] if some.any() else None
    return found


def nothing(n: int, schema: Schema | None, task: str | None) -> Any:
    """Return the predictions before the first label."""
    if task == "regression":
        targets = schema.targets if schema is not None else []
        return np.zeros((n, len(targets))) if len(targets) > 1 else np.zeros(n)
    return np.zeros(n) if task == "novelty" else np.full(n, None, dtype=object)
