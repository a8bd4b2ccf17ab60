"""The result of an evaluation: readings, settings, and their output as files and tables."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from nystream.evaluate.metrics.base import Direction
from nystream.evaluate.table import align, figures
from nystream.runtime.cards import card

__all__ = ["Column", "Result", "check_form", "dumps", "loads", "write"]

Column: TypeAlias = npt.NDArray[Any]

SHOWN, CARD = 20, 10
"""Rows of a printed table and of a card: readings are left out evenly beyond this, never the last."""


@dataclass(frozen=True, eq=False)
class Result:
    """One learner's evaluation.

    Attributes
    ----------
    name : str
        The name given, else that of the learner's class.
    learner : str
        The learner's constructor call (its repr).
    columns : dict of str to array
        `n`, the number of rows at each reading (whole numbers), then a column for each metric.
    directions : dict of str to "lower" or "higher"
        Which values are better, for each metric.
    meta : dict
        `rows`, `seconds` (inside the learner), `interrupted`, `every`, `block`, `delay`, `seed`, `versions`.
    """

    name: str
    learner: str
    columns: dict[str, Column]
    directions: dict[str, Direction] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, column: str) -> Column:
        if column not in self.columns:
            raise KeyError(f"{column!r} was not measured; {self.name} has {', '.join(self.columns)}")
        return self.columns[column]

    @property
    def metrics(self) -> list[str]:
        """The columns without `n`."""
        return [column for column in self.columns if column != "n"]

    @property
    def final(self) -> dict[str, float]:
        """The last reading of each metric; NaN if there was none."""
        return {m: float(self.columns[m][-1]) if len(self.columns[m]) else math.nan for m in self.metrics}

    @property
    def rows(self) -> int:
        """Rows evaluated."""
        return int(self.meta["rows"])

    @property
    def seconds(self) -> float:
        """Seconds spent inside the learner."""
        return float(self.meta["seconds"])

    @property
    def interrupted(self) -> bool:
        """Whether the evaluation was stopped from the keyboard."""
        return bool(self.meta.get("interrupted", False))

    def table(self, rows: int = SHOWN) -> str:
        """Return the readings as aligned text: about `rows` of them, evenly spaced, always with the last."""
        kept = self._kept(rows)
        return align(list(self.columns), [figures(column[kept]) for column in self.columns.values()])

    def _kept(self, rows: int) -> list[int]:
        """Return the places of about so many readings, evenly spaced, with the last among them."""
        n = len(self.columns["n"])
        return sorted(range(n - 1, -1, -max(1, math.ceil(n / max(1, rows)))))

    def __str__(self) -> str:
        stopped = ", interrupted" if self.interrupted else ""
        return f"{self.name}: {self.rows} rows, {self.seconds:.3g} s{stopped}\n{self.table()}"

    def __repr__(self) -> str:
        last = ", ".join(f"{k}={v:.5g}" for k, v in self.final.items())
        return f"<Result {self.name}: n={self.rows}{', ' + last if last else ''}>"

    def _repr_html_(self) -> str:
        """Return a card for notebooks."""
        kept, stopped = self._kept(CARD), ", interrupted" if self.interrupted else ""
        cells = [figures(column[kept]) for column in self.columns.values()]
        facts = [("rows", f"{self.rows:,}{stopped}"), ("seconds in the learner", f"{self.seconds:.3g}")]
        return card(self.name, self.learner, facts, list(self.columns), list(zip(*cells, strict=True)))

    def to_dict(self) -> dict[str, Any]:
        """Return plain lists, numbers and strings."""
        columns = {name: values.tolist() for name, values in self.columns.items()}
        return {
            "name": self.name,
            "learner": self.learner,
            "columns": columns,
            "directions": dict(self.directions),
            "meta": self.meta,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Read the output of `to_dict`."""
        try:
            columns = {k: np.array([_float(x) for x in v], dtype=np.float64) for k, v in content["columns"].items()}
            if len({len(column) for column in columns.values()}) != 1 or "n" not in columns:
                raise ValueError("columns must be of one length, and 'n' one of them")
            columns["n"] = columns["n"].astype(np.int64)
            return cls(content["name"], content["learner"], columns, content["directions"], content["meta"])
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"not a result of an evaluation: {error!r}") from None

    def to_json(self) -> str:
        """Return standard JSON: NaN is null, infinities are the strings "inf" and "-inf"."""
        return dumps(self.to_dict())

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the output of `to_json`."""
        return cls.from_dict(loads(text))

    def to_csv(self) -> str:
        """Return CSV with a header and one line for each reading, numbers in full precision; name, learner and meta are
        left out.
        """
        lines = io.StringIO()
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(self.lines())
        return lines.getvalue()

    def lines(self) -> list[list[str]]:
        """Return the readings as text that reads back to the same numbers."""
        return [[_number(v) for v in row] for row in zip(*self.columns.values(), strict=True)]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file; the extension chooses: .json holds everything, .csv the columns."""
        write(path, {".json": self.to_json, ".csv": self.to_csv})


def check_form(path: str | os.PathLike[str], forms: Iterable[str] = (".json", ".csv")) -> str:
    """Return the extension of a path, or raise a ValueError if it is not a known format."""
    extension = Path(path).suffix.lower()
    if extension not in forms:
        raise ValueError(f"cannot tell the format of {os.fspath(path)!r}; end it with {' or '.join(forms)}")
    return extension


def write(path: str | os.PathLike[str], forms: Mapping[str, Any]) -> None:
    """Write a file in the format of its extension."""
    extension = check_form(path, forms)
    Path(path).write_text(forms[extension](), encoding="utf-8", newline="\n")


def dumps(content: Any) -> str:
    """Return JSON that every reader accepts."""
    return json.dumps(_plain(content), allow_nan=False, ensure_ascii=False) + "\n"


def loads(text: str) -> Any:
    """Read the output of `dumps`."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    return [_plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def _float(value: Any) -> float:
    """Return a number of a column; null stands for NaN, the strings "inf" and "-inf" for infinities."""
    return math.nan if value is None else float(value)


def _number(value: float) -> str:
    """Return the shortest text that reads back to the same number, without a decimal point where none is needed."""
    whole = math.isfinite(value) and value == math.floor(value) and abs(value) < 2**53
    return str(int(value)) if whole else repr(float(value))
