"""The form of a model's rows. Requests are checked against it before they are logged, so every logged event replays."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nystream.data.reading import Table, read
from nystream.data.schema import Schema
from nystream.data.targets import class_names
from nystream.data.targets import target_columns as label_columns
from nystream.data.values import convert
from nystream.runtime.types import Array
from nystream.serve.refusals import Refusal
from nystream.serve.rows import Batch

__all__ = ["Form"]

_HINT = '; mend or drop it, or say on_error="missing"'
NUMERIC = ("number", "boolean")
LARGEST_CLASS = 2**53
"""Whole numbers up to here are exact as float64, so that a class has one name in JSON, in Arrow and in the log."""
FEW = 64
"""Rows that are looked at one by one; of more, whole columns are quicker."""


@dataclass(frozen=True)
class Form:
    """Columns, target, task and what the learner takes, known once and for all from the first labelled row on.

    Parameters
    ----------
    schema : Schema
        With a task.
    outputs : int
        Targets of a row.
    missing, weighted : bool
        Whether the learner takes missing values, and weights.
    fractions : bool or None
        Of classes: None if they are names, else whether some are no whole numbers.
    """

    schema: Schema
    outputs: int
    missing: bool
    weighted: bool
    fractions: bool | None = None
    names: list[str] = field(init=False, compare=False)
    """The columns in use, in order."""
    task: str = field(init=False, compare=False)
    has_numbers_only: bool = field(init=False, compare=False)
    """Whether a batch's `numbers` are the rows as the model takes them."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", self.schema.names)
        object.__setattr__(self, "task", str(self.schema.task))
        kinds = self.schema.columns.values()
        object.__setattr__(self, "has_numbers_only", all(kind == "number" for kind in kinds))

    def batch(
        self, table: Any, labels: Any, weights: Any, unknown: Callable[[list[str]], None], *, labelled: bool = True
    ) -> Batch:
        """The rows checked, or a Refusal that names row, column and value. Columns nobody knows go to `unknown`.

        With `labelled` labels are looked for among the columns where none are given.
        """
        quick = self._quick(table, labels, weights)
        if quick is not None:
            return quick
        try:
            found = table if isinstance(table, np.ndarray) else read(table)
            if labels is None and labelled and isinstance(found, Table):
                labels = self._targets_in(found)
            batch = self._inputs(found, unknown)
            self._check_missing(batch.numbers)
            batch.labels = self.labels(labels, batch.n)
            batch.weights = self._weights(weights, batch.n)
        except (ValueError, TypeError) as error:
            raise Refusal(422, one_line(error)) from None
        return batch

    def _quick(self, table: Any, labels: Any, weights: Any) -> Batch | None:
        """The common request: a few rows, dicts of finite numbers, with plain labels or none at all."""
        if weights is not None or not isinstance(table, list) or self.task == "novelty":
            return None
        if not 0 < len(table) <= FEW or (isinstance(labels, list) and len(labels) != len(table)):
            return None
        if labels is not None and not isinstance(labels, list):
            return None
        rows = []
        for row in table:
            x = self.schema.row(row) if isinstance(row, dict) else None
            if x is None:
                return None
            rows.append(x)
        X = rows[0][None] if len(rows) == 1 else np.array(rows)
        if labels is None and self.schema.target is not None:
            labels = [row.get(self.schema.target) for row in table] if isinstance(self.schema.target, str) else None
            if labels is None:
                return None
        if labels is None or all(label is None for label in labels):
            return Batch(X)
        if self.task == "regression":
            plain = self.outputs == 1 and all(type(y) in (float, int) and abs(y) < np.inf for y in labels)
            return Batch(X, labels=np.array(labels, dtype=np.float64)[:, None]) if plain else None
        plain = self.fractions is None and all(type(y) is str and y.strip() for y in labels)
        return Batch(X, labels=list(labels)) if plain else None

    def _targets_in(self, table: Table) -> Any:
        names = self.schema.targets
        if not names or not table.named or any(name not in table.columns for name in names):
            return None
        parts = {name: table.columns[name] for name in names}
        return parts[names[0]] if len(names) == 1 else Table(parts, table.n)

    def _inputs(self, table: Any, unknown: Callable[[list[str]], None]) -> Batch:
        if isinstance(table, np.ndarray):
            X = self.schema.matrix(table)
            if X is not None:
                return Batch(X)
        columns, n, _ = self.schema.columns_of(table, report=unknown)
        kinds = self.schema.columns
        numbers = [columns[name] for name in self.schema.names if kinds[name] in NUMERIC]
        words = {name: columns[name].tolist() for name in columns if kinds[name] in ("category", "text")}
        times = {name: columns[name].astype(np.int64) for name in columns if kinds[name] == "time"}
        X = np.ascontiguousarray(np.column_stack(numbers), dtype=np.float64) if numbers else np.empty((n, 0))
        return Batch(X, words, times)

    def _check_missing(self, X: Array) -> None:
        if self.missing or not np.isnan(X).any():
            return
        row, j = np.argwhere(np.isnan(X))[0].tolist()
        name = [name for name in self.schema.names if self.schema.columns[name] in NUMERIC][j]
        raise ValueError(f"row {row}: column {name!r} is missing, and this model's learner takes no missing values")

    def labels(self, labels: Any, n: int) -> Any:
        """Numbers (n, K) with nan where missing, names of classes with None where missing, or None for none at all."""
        if self.task == "novelty" or labels is None:
            return None
        parts = label_columns(labels, n)
        if self.task == "classification":
            if len(parts) > 1:
                raise ValueError(f"labels have {len(parts)} columns; a model of classes has one")
            return self._classes(class_names(parts[0]))
        names = self.schema.targets or [f"label {k}" if k else "label" for k in range(self.outputs)]
        if len(parts) != self.outputs:
            raise ValueError(f"labels have {len(parts)} columns; the model has {self.outputs}: {', '.join(names)}")
        return np.column_stack([convert(p, "number", name)[0] for p, name in zip(parts, names, strict=True)])

    def _classes(self, names: list[Any]) -> list[Any]:
        for row, name in enumerate(names):
            if name is None:
                continue
            if isinstance(name, str) != (self.fractions is None):
                kinds = ("a name", "numbers") if isinstance(name, str) else ("a number", "names")
                raise ValueError(f"row {row}: label {name!r} is {kinds[0]}, the classes of this model are {kinds[1]}")
            if not isinstance(name, str) and not abs(name) <= LARGEST_CLASS:
                raise ValueError(f"row {row}: label {name:g} is too large for the name of a class")
            if self.fractions is False and isinstance(name, float):
                raise ValueError(f"row {row}: label {name!r} is no whole number, as the classes of this model are")
        return names

    def _weights(self, weights: Any, n: int) -> Array | None:
        if weights is None:
            return None
        if not self.weighted:
            raise ValueError("this model's learner does not take weights; the least-squares learners do")
        w: Array = convert(weights, "number", "weight")[0]
        if len(w) != n:
            raise ValueError(f"weights must have one number for each of the {n} rows, got {len(w)}")
        bad = ~(w >= 0)
        if bad.any():
            row = int(bad.argmax())
            raise ValueError(f"row {row}: weight is {w[row]}; a weight is at least 0")
        return np.ascontiguousarray(w)

    def table(self, batch: Batch) -> Any:
        """Rows of a batch as the model takes them."""
        if self.has_numbers_only:
            return batch.numbers
        columns: dict[str, Any] = {}
        place = 0
        for name in self.schema.names:
            kind = self.schema.columns[name]
            if kind in NUMERIC:
                columns[name], place = np.ascontiguousarray(batch.numbers[:, place]), place + 1
            elif kind == "time":
                columns[name] = batch.times[name].view("datetime64[us]")
            else:
                columns[name] = batch.words[name]
        return Table(columns, batch.n, True, {n: k for n, k in self.schema.columns.items() if k != "ignored"})

    def rows(self, batch: Batch) -> list[dict[str, Any]]:
        """Rows of a batch as people read them."""
        found = self.table(batch)
        names = self.schema.names
        if isinstance(found, np.ndarray):
            return [dict(zip(names, row, strict=True)) for row in found.tolist()]
        columns = [
            c.astype(str).tolist() if getattr(c, "dtype", None) is not None and c.dtype.kind == "M" else list(c)
            for c in found.columns.values()
        ]
        return [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)]

    def described(self) -> dict[str, Any]:
        """The form as JSON."""
        return {
            "columns": dict(self.schema.columns),
            "target": self.schema.target,
            "task": self.schema.task,
            "classes": self.schema.classes,
            "formats": self.schema.formats,
            "outputs": self.outputs,
            "missing": self.missing,
            "weighted": self.weighted,
            "fractions": self.fractions,
        }

    @classmethod
    def from_described(cls, found: dict[str, Any]) -> Form:
        """Return the form that `described` wrote."""
        schema = Schema(
            found["columns"], found["target"], found["task"], found["classes"], formats=found.get("formats")
        )
        return cls(schema, found["outputs"], found["missing"], found["weighted"], found["fractions"])

    def with_learner(self, *, missing: bool, weighted: bool) -> Form:
        """Return the same form for another learner."""
        return replace(self, missing=missing, weighted=weighted)


def one_line(error: Exception) -> str:
    """Return the message of an error as one sentence for a client."""
    return " ".join(str(error).replace(_HINT, "").split())[:500]


def near(name: str, names: list[str]) -> str:
    """Return a hint at a name that was perhaps meant."""
    found = difflib.get_close_matches(name, names, 1)
    return f"; did you mean {found[0]!r}?" if found else ""
