"""Bodies of requests as rows: JSON objects or arrays, CSV, Arrow IPC, by their Content-Type; within limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson

from nystream.data.reading import Table
from nystream.data.values import numbers_as_written
from nystream.serve.arrow import ARROW, from_arrow
from nystream.serve.form import Form, one_line
from nystream.serve.refusals import Refusal
from nystream.serve.rows import LoggedRows
from nystream.serve.settings import Limits
from nystream.streams.tabular import TextTables
from nystream.streams.text import TextBytes

__all__ = ["ARROW", "Rows", "decoded", "parsed"]

JSON = ("", "application/json", "application/x-www-form-urlencoded")
"""The last is what curl says of any `-d` without looking at it."""
CSV = ("text/csv", "application/csv")


_PLAIN = frozenset({float, int, bool, type(None)})


@dataclass(slots=True)
class Rows:
    """What a body said: rows, labels, weights, and options beside them.

    Of a large body the rows are checked already: then `batch` has them, `table`, `labels` and `weights` are None, and
    `unknown` has the columns that the model does not know.
    """

    table: Any
    n: int
    labels: Any = None
    weights: Any = None
    options: dict[str, Any] = field(default_factory=dict)
    batch: LoggedRows | None = None
    unknown: list[str] = field(default_factory=list)


def parsed(body: bytes) -> dict[str, Any]:
    """Return a JSON object."""
    found = _json(body) if body else {}
    if not isinstance(found, dict):
        raise Refusal(422, f"the body must be a JSON object, got {_kind(found)}")
    return found


def decoded(
    kind: str,
    body: bytes,
    query: Mapping[str, str],
    limits: Limits,
    form: Form | None = None,
    targets: Sequence[str] = (),
) -> Rows:
    """Return the rows of a body for a model of this form; `targets` are its own where no form is known yet.

    In tables the query says which columns are no inputs: label=NAME (with commas), weight=NAME. Labels are the model's
    targets otherwise.
    """
    media = kind.partition(";")[0].strip().lower()
    if not body:
        raise Refusal(422, "the body is empty; it must have rows")
    if media in JSON:
        return _from_json(_json(body), limits)
    if media in CSV:
        table = _from_csv(body, limits, form)
    elif media in ARROW:
        table = from_arrow(body, limits)
    else:
        raise Refusal(415, f"Content-Type {media[:60]!r} is not read; use JSON, CSV or an Arrow IPC stream")
    columns = dict(table.columns)
    labels = weights = None
    names = [name for name in query.get("label", "").split(",") if name]
    if not names and media in CSV and table.named:
        own = targets if form is None else form.schema.targets
        names = list(own) if all(name in columns for name in own) else []
    if names:
        parts = [_taken(columns, name, "label") for name in names]
        if media in CSV and (form is None or form.takes_numbers):
            parts = [_written_numbers(part, table.marks.get(name)) for part, name in zip(parts, names, strict=True)]
        labels = parts[0] if len(parts) == 1 else Table(dict(zip(names, parts, strict=True)), table.n)
    if query.get("weight"):
        weights = _written_numbers(_taken(columns, query["weight"], "weight"), table.marks.get(query["weight"]))
    if not columns:
        raise Refusal(422, "rows have no columns")
    kinds, marks = ({name: found[name] for name in columns if name in found} for found in (table.kinds, table.marks))
    return Rows(Table(columns, table.n, table.named, kinds, None, marks), table.n, labels, weights)


def _taken(columns: dict[str, Any], name: str, what: str) -> Any:
    if name not in columns:
        raise Refusal(422, f"{what}={name[:60]!r} is no column of the rows; they have {', '.join(list(columns)[:20])}")
    return columns.pop(name)


def _json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise Refusal(422, f"the body is no JSON: {error}"[:300]) from None


def _from_json(found: Any, limits: Limits) -> Rows:
    options: dict[str, Any] = {}
    if isinstance(found, dict):
        options = {
            name: value for name, value in found.items() if name not in ("rows", "row", "labels", "label", "weights")
        }
        one = "row" in found
        if one == ("rows" in found):
            raise Refusal(422, 'the body must have "rows", a list, or "row", one of them')
        rows = [found["row"]] if one else found["rows"]
        labels, weights = found.get("labels"), found.get("weights")
        if "label" in found:
            if labels is not None or not isinstance(rows, list) or len(rows) != 1:
                raise Refusal(422, '"label" is for one row; several rows have "labels"')
            labels = [found["label"]]
    else:
        rows, labels, weights = found, None, None
    if not isinstance(rows, list):
        raise Refusal(422, f"rows must be a list of objects or of lists, got {_kind(rows)}")
    if not rows:
        raise Refusal(422, "there are no rows")
    if len(rows) > limits.rows:
        raise Refusal(413, f"{len(rows)} rows are more than the {limits.rows} that one request may have")
    for what, values in (("labels", labels), ("weights", weights)):
        if values is not None and not isinstance(values, list):
            raise Refusal(422, f"{what} must be a list, got {_kind(values)}")
        if values is not None and len(values) != len(rows):
            raise Refusal(422, f"there are {len(rows)} rows and {len(values)} {what}")
    if labels is not None:
        _check_labels(labels, limits)
    return Rows(_json_rows(rows, limits), len(rows), labels, weights, options)


def _json_rows(rows: list[Any], limits: Limits) -> Any:
    if isinstance(rows[0], dict):
        for i, row in enumerate(rows):
            if not isinstance(row, dict):
                raise Refusal(422, f"row {i} is {_kind(row)}, the first row is an object")
            if not row or len(row) > limits.columns:
                raise Refusal(422, f"row {i} has {len(row)} columns; 1 to {limits.columns} are allowed")
            if not _PLAIN.issuperset(map(type, row.values())):
                for name, value in row.items():
                    _check_value(value, i, name, limits)
        if len(rows) > 1 and len(set().union(*rows)) > limits.columns:
            raise Refusal(422, f"the rows have more than {limits.columns} columns")
        return rows
    if not isinstance(rows[0], list):
        raise Refusal(422, f"row 0 is {_kind(rows[0])}; a row is an object by column name, or a list")
    width = len(rows[0])
    if not 0 < width <= limits.columns:
        raise Refusal(422, f"row 0 has {width} values; 1 to {limits.columns} are allowed")
    plain = True
    for i, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != width:
            raise Refusal(422, f"row {i} is no list of {width} values, as row 0 is")
        for j, value in enumerate(row):
            if type(value) is not float:
                _check_value(value, i, str(j), limits)
                plain = plain and type(value) is int
    if plain:
        return np.array(rows, dtype=np.float64)
    return Table({str(j): [row[j] for row in rows] for j in range(width)}, len(rows), False)


def _check_value(value: Any, row: int, name: str, limits: Limits) -> None:
    if isinstance(value, str):
        if len(value) > limits.text:
            raise Refusal(422, f"row {row}: column {name[:60]!r} has {len(value)} characters, more than {limits.text}")
    elif isinstance(value, list | dict):
        raise Refusal(422, f"row {row}: column {name[:60]!r} is {_kind(value)}; a value is a number, a text or null")


def _check_labels(labels: list[Any], limits: Limits) -> None:
    width = len(labels[0]) if isinstance(labels[0], list) else None
    for i, label in enumerate(labels):
        several = label if isinstance(label, list) else [label]
        if (len(label) if isinstance(label, list) else None) != width or not several:
            raise Refusal(422, f"row {i}: labels must all be single values, or all lists of the same length")
        for value in several:
            if isinstance(value, dict | list):
                raise Refusal(422, f"row {i}: label is {_kind(value)}; a label is a number or a name")
            if isinstance(value, str) and len(value) > min(limits.text, 200):
                raise Refusal(422, f"row {i}: label has {len(value)} characters, more than {min(limits.text, 200)}")


def _from_csv(body: bytes, limits: Limits, form: Form | None) -> Table:
    """Read CSV as `nystream run` reads a file: the same delimiters, headers, decimal marks and words for missing."""
    known = [] if form is None else [name for name in form.schema.known if not name.isdecimal()]
    try:
        tables = TextTables(TextBytes(body, "body"), known=known, report=_ignore)
        if len(tables.columns) > limits.columns:
            raise Refusal(422, f"{len(tables.columns)} columns are more than {limits.columns}")
        if form is not None:
            tables.numbers = form.plain_numbers
        parts = _take_rows(tables, limits.rows)
    except (ValueError, OSError) as error:
        raise Refusal(422, f"the CSV cannot be read: {one_line(error)}") from None
    if not parts:
        raise Refusal(422, "there are no rows")
    found = Table.joined(parts)
    for name, values in found.columns.items():
        for i, value in enumerate(values) if isinstance(values, list) else ():
            if value is not None and len(value) > limits.text:
                _check_value(value, i, name, limits)
    return found


def _take_rows(tables: TextTables, most: int) -> list[Table]:
    """Return all blocks of a table without their places; raise a Refusal where there are more rows."""
    parts: list[Table] = []
    rows = 0
    for part in tables.blocks(most + 1):  # to the end: a row that cannot be read comes after the block before it
        rows += part.n
        if rows > most:
            raise Refusal(413, f"the CSV has more than the {most} rows that one request may have")
        parts.append(Table(part.columns, part.n, part.named, part.kinds, None, part.marks))
    return parts


def _ignore(message: str) -> None:
    """Ignore the report of a renamed column: the model does not know it, and it is reported as unknown."""


def _written_numbers(values: Any, mark: str | None) -> Any:
    """Labels or weights of CSV as numbers where all of them are numbers, else as they are."""
    if not isinstance(values, list):
        return values
    found = numbers_as_written(values, mark)
    return values if any(new is None and old is not None for new, old in zip(found, values, strict=True)) else found


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
