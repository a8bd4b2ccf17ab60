"""The form of a model's rows. Requests are checked against it before they are logged, so every logged event replays."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nystream.data.batch import NUMERIC, Batch
from nystream.data.reading import Table, read
from nystream.data.schema import Schema
from nystream.data.targets import class_names
from nystream.data.targets import target_columns as label_columns
from nystream.data.values import convert
from nystream.runtime.types import Array
from nystream.serve.refusals import Refusal
from nystream.serve.rows import LoggedRows

__all__ = ["Form"]

_HINT = '; mend or drop it, or say on_error="missing"'
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
    kinds: dict[str, str] = field(init=False, compare=False)
    """Their kinds."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", self.schema.names)
        object.__setattr__(self, "task", str(self.schema.task))
        object.__setattr__(self, "kinds", {name: self.schema.columns[name] for name in self.names})

    @property
    def takes_numbers(self) -> bool:
        """Whether labels are numbers: quantities, or classes whose names are numbers."""
        return self.task != "classification" or self.fractions is not None

    @property
    def plain_numbers(self) -> frozenset[str]:
        """Columns and targets that may come as arrays of numbers: those whose decimal mark is a point."""
        numbers = [name for name, kind in self.kinds.items() if kind == "number"]
        targets = self.schema.targets if self.task == "regression" else []
        formats = self.schema.formats or {}
        return frozenset(name for name in (*numbers, *targets) if formats.get(name) != ",")

    def batch(
        self, table: Any, labels: Any, weights: Any, unknown: Callable[[list[str]], None], *, labelled: bool = True
    ) -> LoggedRows:
        """Return the checked rows, or raise a Refusal with row, column and value. Columns nobody knows go to `unknown`.

        With `labelled` labels are looked for among the columns where none are given.
        """
        quick = self._quick(table, labels, weights)
        if quick is not None:
            return quick
        try:
            found = table if isinstance(table, np.ndarray) else read(table)
            if labels is None and labelled and isinstance(found, Table):
                labels = self._targets_in(found)
            rows = LoggedRows(self._parse(found, unknown))
            self._check_missing(rows)
            rows.labels = self.labels(labels, rows.n)
            rows.weights = self._weights(weights, rows.n)
        except (ValueError, TypeError) as error:
            raise Refusal(422, one_line(error)) from None
        return rows

    def _quick(self, table: Any, labels: Any, weights: Any) -> LoggedRows | None:
        """Return the rows of the common request: a few dicts of finite numbers, with plain labels or none at all."""
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
        inputs = Batch.of_numbers(rows[0][None] if len(rows) == 1 else np.array(rows), self.kinds)
        if labels is None and self.schema.target is not None:
            labels = [row.get(self.schema.target) for row in table] if isinstance(self.schema.target, str) else None
            if labels is None:
                return None
        if labels is None or all(label is None for label in labels):
            return LoggedRows(inputs)
        if self.task == "regression":
            plain = self.outputs == 1 and all(type(y) in (float, int) and abs(y) < np.inf for y in labels)
            return LoggedRows(inputs, np.array(labels, dtype=np.float64)[:, None]) if plain else None
        plain = self.fractions is None and all(type(y) is str and y.strip() for y in labels)
        return LoggedRows(inputs, list(labels)) if plain else None

    def _targets_in(self, table: Table) -> Any:
        names = self.schema.targets
        if not names or not table.named or any(name not in table.columns for name in names):
            return None
        parts = {name: table.columns[name] for name in names}
        return parts[names[0]] if len(names) == 1 else Table(parts, table.n)

    def _parse(self, rows: Any, unknown: Callable[[list[str]], None]) -> Batch:
        """Return the parsed rows: from here to the learner, and in every replay, no cell is converted again."""
        batch = self.schema.parse(rows, report=unknown, report_missing=self._refuse_strangers)
        batch.places = None  # they are for the messages of this request
        if batch.numbers is not None:
            batch.numbers = np.ascontiguousarray(batch.matrix())
        return batch

    def _refuse_strangers(self, table: Table) -> None:
        """Refuse rows that have none of the model's columns."""
        if table.named and table.n and not any(name in table.columns for name in self.names):
            names, there = (", ".join(map(repr, list(found)[:20])) or "none" for found in (self.names, table.columns))
            raise ValueError(f"rows have none of the model's columns ({names}); they have {there}")

    def _check_missing(self, rows: LoggedRows) -> None:
        if self.missing:
            return
        X = rows.numbers
        if not np.isnan(X).any():
            return
        row, j = np.argwhere(np.isnan(X))[0].tolist()
        name = [name for name, kind in self.kinds.items() if kind in NUMERIC][j]
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

    def rows(self, batch: LoggedRows) -> list[dict[str, Any]]:
        """Return the rows of a batch as people read them."""
        columns = [
            values.astype(str).tolist() if values.dtype.kind == "M" else values.tolist()
            for values in batch.inputs.columns.values()
        ]
        return [dict(zip(self.names, values, strict=True)) for values in zip(*columns, strict=True)]

    def described(self) -> dict[str, Any]:
        """Return the form as JSON."""
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
