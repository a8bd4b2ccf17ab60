"""Blocks from rows of a generator or another iterator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

__all__ = ["as_pairs", "blocks_of_items", "is_iterator"]


ROW = (Mapping, list, tuple, np.ndarray)
"""Types of a row."""


def _is_pair(item: Any) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], ROW)


def is_iterator(rows: Any) -> bool:
    """Return whether rows are an iterator, which can be read only once."""
    return isinstance(rows, Iterator) and not hasattr(rows, "blocks")


def as_pairs(stream: Any) -> Any:
    """Return (iterator of dicts, name of their target) as an iterator of pairs (row, label), and all else as it is."""
    if not (isinstance(stream, tuple) and len(stream) == 2 and is_iterator(stream[0])):
        return stream
    if not isinstance(stream[1], str):
        raise ValueError(
            "rows of an iterator bring their labels: give an iterator of pairs (row, label), or (iterator of dicts, "
            "name of the target)"
        )
    return _pairs(*stream)


def _pairs(rows: Iterator[Any], target: str) -> Iterator[tuple[Any, Any]]:
    for i, row in enumerate(rows):
        if not isinstance(row, Mapping) or (i == 0 and target not in row):
            held = f"has {', '.join(map(str, row))}" if isinstance(row, Mapping) else f"is a {type(row).__name__}"
            raise ValueError(f"y={target!r} is not in item {i} of the iterator: it {held}")
        yield {name: value for name, value in row.items() if name != target}, row.get(target)


def blocks_of_items(items: Iterator[Any], size: int) -> Iterator[tuple[Any, list[Any] | None]]:
    """Yield blocks of at most `size` rows with their labels, or None without labels.

    Items are dicts, rows of numbers, or pairs (row, label) of these; the first item decides which. A block of dicts is
    a list, a block of rows of numbers a matrix.
    """
    start, pairs, named = 0, False, False
    while some := list(islice(items, size)):
        if start == 0:
            pairs = _is_pair(some[0])
            named = isinstance(some[0][0] if pairs else some[0], Mapping)
        for i, item in enumerate(some):
            row = item[0] if pairs and _is_pair(item) else item
            if _is_pair(item) != pairs or isinstance(row, Mapping) != named or not isinstance(row, ROW):
                wanted = ("dict" if named else "row of numbers") if not pairs else "pair (row, label)"
                raise ValueError(
                    f"item {start + i} of the iterator is a {type(item).__name__}, the first one is a {wanted}; items "
                    "must be dicts, rows of numbers, or pairs (row, label), all of one kind"
                )
        rows: Any = [item[0] for item in some] if pairs else some
        yield rows if named else np.asarray(rows), [item[1] for item in some] if pairs else None
        start += len(some)
