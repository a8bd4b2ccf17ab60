"""Bodies of requests as rows: JSON objects or arrays, CSV, Arrow IPC, by their Content-Type; within limits."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import orjson

from nystream.data.reading import Table
from nystream.serve.arrow import ARROW, from_arrow
from nystream.serve.refusals import Refusal
from nystream.serve.rows import Batch
from nystream.serve.settings import Limits

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
    batch: Batch | None = None
    unknown: list[str] = field(default_factory=list)


def parsed(body: bytes) -> dict[str, Any]:
    """A JSON object."""
    found = _json(body) if body else {}
    if not isinstance(found, dict):
        raise Refusal(422, f"the body must be a JSON object, got {_kind(found)}")
    return found


def decoded(kind: str, body: bytes, query: Mapping[str, str], limits: Limits) -> Rows:
    """Rows of a body. In tables the query says which columns are no inputs: label=NAME (with commas), weight=NAME."""
    media = kind.partition(";")[0].strip().lower()
    if not body:
        raise Refusal(422, "the body is empty; it must have rows")
    if media in JSON:
        return _from_json(_json(body), limits)
    if media in CSV:
        table = _from_csv(body, limits)
    elif media in ARROW:
        table = from_arrow(body, limits)
    else:
        raise Refusal(415, f"Content-Type {media[:60]!r} is not read; use JSON, CSV or an Arrow IPC stream")
    columns = dict(table.columns)
    labels = weights = None
    names = [name for name in query.get("label", "").split(",") if name]
    if names:
        parts = [_taken(columns, name, "label") for name in names]
        labels = parts[0] if len(parts) == 1 else Table(dict(zip(names, parts, strict=True)), table.n)
    if query.get("weight"):
        weights = _taken(columns, query["weight"], "weight")
    if not columns:
        raise Refusal(422, "rows have no columns")
    kinds = {name: kind for name, kind in table.kinds.items() if name in columns}
    return Rows(Table(columns, table.n, True, kinds), table.n, labels, weights)


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


def _from_csv(body: bytes, limits: Limits) -> Table:
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Refusal(422, f"the CSV is no UTF-8: byte {error.start}") from None
    try:
        lines = list(csv.reader(io.StringIO(text), strict=True))
    except csv.Error as error:
        raise Refusal(422, f"the CSV cannot be read: {error}") from None
    lines = [line for line in lines if line]
    if len(lines) < 2:
        raise Refusal(422, "the CSV must have a line of names and at least one row")
    names, rows = lines[0], lines[1:]
    if len(rows) > limits.rows:
        raise Refusal(413, f"{len(rows)} rows are more than the {limits.rows} that one request may have")
    if len(names) > limits.columns or len(set(names)) < len(names):
        raise Refusal(422, f"the CSV must have at most {limits.columns} columns with different names")
    for i, row in enumerate(rows):
        if len(row) != len(names):
            raise Refusal(422, f"row {i} has {len(row)} values, the line of names has {len(names)}")
    columns: dict[str, Any] = {}
    for j, name in enumerate(names):
        values = [row[j] for row in rows]
        longest = max(map(len, values))
        if longest > limits.text:
            place = next(i for i, value in enumerate(values) if len(value) == longest)
            raise Refusal(422, f"row {place}: column {name[:60]!r} has {longest} characters, more than {limits.text}")
        columns[name] = _numbers(values)
    return Table(columns, len(rows))


def _numbers(values: list[str]) -> Any:
    """A column of a CSV file as numbers where all of it is plainly numbers, else as it is."""
    if any("_" in value for value in values):  # Python takes 1_000 for a number
        return values
    try:
        found = np.array(values, dtype=np.float64)
    except ValueError:
        return values
    return found if np.isfinite(found).all() else values


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
