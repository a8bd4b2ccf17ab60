"""Arrow IPC bodies, streams or files, as tables. What compressed ones would grow to is known before they are opened."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from nystream.data.reading import Table, read, unique_names
from nystream.serve.refusals import Refusal
from nystream.serve.settings import Limits

__all__ = ["ARROW", "from_arrow"]

ARROW = ("application/vnd.apache.arrow.stream", "application/vnd.apache.arrow.file")
FILE = b"ARROW1\0\0"
"""What a file begins with; a stream follows."""
_FAULTS = (pa.ArrowException, ValueError, TypeError, OSError, KeyError, OverflowError, NotImplementedError)
_DICTIONARY, _RECORDS = 2, 3  # kinds of messages


def from_arrow(body: bytes, limits: Limits) -> Table:
    """Return the rows of a body, or raise a Refusal."""
    content = pa.py_buffer(body)
    if body.startswith(FILE):
        content = content.slice(len(FILE))
    try:
        _check_size(content, limits)
        table = _read(content, limits)
    except (struct.error, IndexError, *_FAULTS) as error:
        raise Refusal(422, f"the Arrow stream cannot be read: {' '.join(str(error).split())}"[:300]) from None
    if not table.num_rows:
        raise Refusal(422, "there are no rows")
    for column in table.schema:
        if pa.types.is_nested(column.type) or pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
            raise Refusal(422, f"column {column.name[:60]!r} is of type {str(column.type)[:60]}, which is no value")
    names = unique_names(table.column_names, "body", lambda message: None)  # reported where the model lacks them
    try:
        found = read(table.rename_columns(names))
    except _FAULTS as error:
        raise Refusal(422, f"the Arrow table cannot be read: {' '.join(str(error).split())}"[:300]) from None
    for name, values in found.columns.items():
        if isinstance(values, list):
            for i, value in enumerate(values):
                if isinstance(value, str) and len(value) > limits.text:
                    raise Refusal(
                        422, f"row {i}: column {name[:60]!r} has {len(value)} characters, more than {limits.text}"
                    )
    return found


def _read(content: Any, limits: Limits) -> Any:
    reader = pa.ipc.open_stream(content)
    if len(reader.schema) > limits.columns:
        raise Refusal(422, f"{len(reader.schema)} columns are more than {limits.columns}")
    batches, rows = [], 0
    for batch in reader:
        rows += batch.num_rows
        if rows > limits.rows:
            raise Refusal(413, f"more than the {limits.rows} rows that one request may have")
        batches.append(batch)
    table = pa.Table.from_batches(batches, reader.schema)
    table.validate(full=True)
    return table


def _check_size(content: Any, limits: Limits) -> None:
    size = sum(found for message in pa.ipc.MessageReader.open_stream(content) for found in _opened_sizes(message))
    if size > limits.body:
        raise Refusal(413, f"the body would be {size} bytes without its compression, more than {limits.body}")


def _opened_sizes(message: Any) -> Iterator[int]:
    """Yield the bytes that each compressed buffer of a message says it becomes.

    They are read from where the layout of the format's "Message" puts them, since pyarrow does not tell.
    """
    head = message.metadata.to_pybytes()
    table = _Table(head, _whole(head, 0, "<I"))
    kind = table.number(1, "<B")
    if kind not in (_DICTIONARY, _RECORDS):
        return
    records = table.table(2)
    if records is not None and kind == _DICTIONARY:
        records = records.table(1)
    if records is None or records.table(3) is None:  # not compressed
        return
    body = message.body
    for place, length in records.pairs(2):
        if length >= 8:
            yield max(0, _whole(body, place, "<q"))


class _Table:
    """A table of a FlatBuffer: numbers and further tables, by the number of their field."""

    def __init__(self, head: bytes, place: int) -> None:
        self._head, self._place = head, place
        self._fields = place - _whole(head, place, "<i")

    def _field(self, number: int) -> int | None:
        entry = 4 + 2 * number
        if entry >= _whole(self._head, self._fields, "<H"):
            return None
        offset = _whole(self._head, self._fields + entry, "<H")
        return self._place + offset if offset else None

    def number(self, number: int, layout: str) -> int:
        place = self._field(number)
        return 0 if place is None else _whole(self._head, place, layout)

    def table(self, number: int) -> _Table | None:
        place = self._field(number)
        return None if place is None else _Table(self._head, place + _whole(self._head, place, "<I"))

    def pairs(self, number: int) -> Iterator[tuple[int, int]]:
        """Return a list of two whole numbers each."""
        place = self._field(number)
        if place is None:
            return
        place += _whole(self._head, place, "<I")
        for i in range(_whole(self._head, place, "<I")):
            at = place + 4 + 16 * i
            yield _whole(self._head, at, "<q"), _whole(self._head, at + 8, "<q")


def _whole(content: Any, place: int, layout: str) -> int:
    if place < 0:
        raise IndexError("an offset is negative")
    found: int = struct.unpack_from(layout, content, place)[0]
    return found
