"""Rows of any kind as bodies of requests: JSON for a few, Arrow for many; and answers as arrays."""

from __future__ import annotations

import importlib
import json
import math
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from nystream.data.reading import Table, read
from nystream.data.targets import target_columns as label_columns

__all__ = ["Body", "Refused", "body", "extra", "failure", "place", "predictions"]

ARROW_FROM = 100
"""Rows from which on Arrow is the shorter and the faster."""
ARROW = "application/vnd.apache.arrow.stream"
JSON = "application/json"


class Refused(ValueError):
    """The server refused a request: `status` is the HTTP status, the message its sentence."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Body(NamedTuple):
    """Bytes, their Content-Type, and what the query says of the columns."""

    content: bytes
    kind: str
    query: dict[str, str]
    n: int


def body(rows: Any, labels: Any = None, weights: Any = None, options: dict[str, Any] | None = None) -> Body:
    """Return the body of a request."""
    table = _table(rows)
    parts = None if labels is None else label_columns(labels, table.n)
    if table.n < ARROW_FROM or not table.named:
        return _json(table, parts, weights, options or {})
    return _arrow(table, parts, weights, options or {})


def _table(rows: Any) -> Table:
    if isinstance(rows, np.ndarray) and rows.ndim == 1 and not rows.dtype.names:
        rows = rows[None]
    return read(rows)


def _json(table: Table, parts: list[Any] | None, weights: Any, options: dict[str, Any]) -> Body:
    columns = {name: _plain(values) for name, values in table.columns.items()}
    found: dict[str, Any] = {**options}
    if table.named:
        found["rows"] = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    else:
        found["rows"] = [list(values) for values in zip(*columns.values(), strict=True)]
    if parts is not None:
        plain = [_plain(part) for part in parts]
        found["labels"] = plain[0] if len(plain) == 1 else [list(row) for row in zip(*plain, strict=True)]
    if weights is not None:
        found["weights"] = _plain(weights)
    return Body(json.dumps(found, allow_nan=False).encode(), JSON, {}, table.n)


def _plain(values: Any) -> list[Any]:
    """Return values that JSON has; what is missing is null."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "M":
        return [None if np.isnat(v) else str(v) for v in values]
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    return [_value(v) for v in listed]


def _value(value: Any) -> Any:
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if value is None or isinstance(value, str | int | bool):
        return value
    if isinstance(value, np.generic):
        return _value(value.item())
    return str(value)


def _arrow(table: Table, parts: list[Any] | None, weights: Any, options: dict[str, Any]) -> Body:
    pa = extra("pyarrow")
    columns = {name: pa.array(values) for name, values in table.columns.items()}
    query = {name: _as_text(value) for name, value in options.items()}
    if parts is not None:
        names = [_free(f"label{k}" if k else "label", columns) for k in range(len(parts))]
        columns |= {name: pa.array(part) for name, part in zip(names, parts, strict=True)}
        query["label"] = ",".join(names)
    if weights is not None:
        name = _free("weight", columns)
        columns[name] = pa.array(np.asarray(weights, dtype=np.float64))
        query["weight"] = name
    found = pa.table(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, found.schema) as writer:
        writer.write_table(found)
    content: bytes = sink.getvalue().to_pybytes()
    return Body(content, ARROW, query, table.n)


def _free(name: str, columns: dict[str, Any]) -> str:
    while name in columns:
        name = "_" + name
    return name


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ",".join(value) if isinstance(value, list) else str(value)


def predictions(values: list[Any]) -> Any:
    """Convert a list of the server to what a model returns: numbers (n,) or (n, K), or names of classes."""
    kinds = set(map(type, values))
    if float in kinds and kinds <= {float, int, type(None)}:
        return np.array([math.nan if v is None else v for v in values])
    if values and isinstance(values[0], list):
        return np.array([[math.nan if v is None else v for v in row] for row in values], dtype=np.float64)
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def place(name: str, key: str | None = None) -> str:
    """Return the path of a model, or of one of its keys."""
    for part in (name, key):
        if part is not None and ("/" in part or part in ("", ".", "..")):
            raise ValueError(f"{part!r} cannot be the name or key of a model: it has a slash, or is dots alone")
    path = f"/models/{quote(name, safe='')}"
    return path if key is None else f"{path}/keys/{quote(key, safe='')}"


def extra(name: str) -> Any:
    """Import a package of the extra `client` when it is needed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ImportError(f"the client needs {name}: pip install 'nystream[client]'") from error


def failure(status: int, content: bytes) -> Refused:
    """Return the error for a refusal, with the server's words."""
    try:
        message = str(json.loads(content)["error"])
    except (ValueError, KeyError, TypeError):
        message = content[:200].decode("utf-8", "replace")
    return Refused(status, f"{message} (HTTP {status})")
