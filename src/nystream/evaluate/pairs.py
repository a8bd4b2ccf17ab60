"""Rows in memory as tables for models, made of a part of the rows at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from nystream.data.frames import frame_columns
from nystream.data.inputs import rows_at_once
from nystream.data.items import blocks_of_items
from nystream.data.reading import Table, read
from nystream.data.schema import Schema
from nystream.data.targets import first_label, target_columns
from nystream.data.values import is_absent
from nystream.model import Model
from nystream.model.labels import labels_in

__all__ = ["are_names_with_gaps", "are_tables", "items", "labels_of_first", "tables"]


def are_tables(rows: Any, models: Sequence[Model]) -> bool:
    """Return whether models must find columns by name: rows are dicts, a frame with columns that are not numbers, or a
    frame whose columns are in another order than a model's. Other rows are matrices, whose columns have only positions.
    """
    names = _names(rows)
    schemas = [model.schema_ or model.schema for model in models]
    if not models or not names or any(s is not None and not set(s.names) <= set(names) for s in schemas):
        return False
    alike = all(s is None or s.names == names for s in schemas)
    return not alike or frame_columns(rows) is None


def are_names_with_gaps(y: Any, n: int) -> bool:
    """Return whether labels are names of classes and some are missing. Only a model takes such labels."""
    if y is None or isinstance(y, str) or (isinstance(y, np.ndarray) and y.dtype.kind in "biuf"):
        return False
    parts = target_columns(y, n)
    return len(parts) == 1 and isinstance(first_label(parts[0]), str) and any(map(is_absent, parts[0]))


def tables(rows: Any, y: Any, models: Sequence[Model], size: int) -> Iterator[tuple[Any, Any]]:
    """Yield tables of `size` rows (matrices where all columns are numbers) with their labels: y, the column that y
    names, or without y the target of the models.
    """
    n = len(rows)
    labels = None if y is None or isinstance(y, str) else _labels(y, n)
    schema = _schema(models)
    some = max(rows_at_once(len(_names(rows)) or np.shape(rows)[1]) // size, 1) * size
    for i in range(0, n, some):
        part: Any = _part(rows, i, min(i + some, n))
        part = schema.as_numbers(part) if schema is not None and labels is not None else part
        part = part if isinstance(part, np.ndarray) else read(part)
        own = labels[i : i + some] if labels is not None else None
        if isinstance(y, str):
            if y not in part.columns:
                raise ValueError(f"y={y!r} is not a column of the rows; they have {', '.join(part.columns)}")
            own = part.labels(y)
            part = Table({k: v for k, v in part.columns.items() if k != y}, part.n, True, part.kinds)
        elif y is None:
            own = next((t for m in models if (t := labels_in(part, m.schema_ or m.schema)) is not None), None)
        for j in range(0, len(part), size):
            yield part[j : j + size], None if own is None else own[j : j + size]


def items(rows: Iterator[Any], models: Sequence[Model], size: int) -> Iterator[tuple[Any, Any]]:
    """Yield blocks of `size` rows that come one by one, with labels: those of pairs, or the target of the models."""
    for block, labels in blocks_of_items(rows, size):
        part = read(block) if isinstance(block, list) else block
        own = labels
        if own is None:
            own = next((t for m in models if (t := labels_in(part, m.schema_ or m.schema)) is not None), None)
        if own is None:
            raise ValueError(
                "the rows have no labels: give pairs (row, label), or (iterator of dicts, name of the target)"
            )
        yield part, own


def labels_of_first(rows: Any, y: Any, models: Sequence[Model], count: int) -> Any:
    """Return the labels of the first rows: y, the column that y names, or the target of the models; None if there are
    none.
    """
    if y is not None and not isinstance(y, str):
        return y[:count]
    part = read(_part(rows, 0, min(count, len(rows))))
    if isinstance(y, str):
        return part.labels(y) if y in part.columns else None
    return next((t for m in models if (t := labels_in(part, m.schema_ or m.schema)) is not None), None)


def _schema(models: Sequence[Model]) -> Schema | None:
    """Return the schema that all models have, if they have one."""
    known = [model.schema_ or model.schema for model in models]
    alike = all(s is not None and known[0] is not None and s.columns == known[0].columns for s in known)
    return known[0] if alike else None


def _labels(y: Any, n: int) -> Any:
    """Return labels of n rows; those of several targets as a matrix."""
    parts = target_columns(y, n)
    return parts[0] if len(parts) == 1 else np.column_stack(parts)


def _names(rows: Any) -> list[str]:
    """Return the names of the columns of a frame, or those that the first dict has; none for all else."""
    if isinstance(rows, Sequence) and len(rows) and isinstance(rows[0], Mapping):
        return [str(name) for name in rows[0]]
    frame = len(getattr(rows, "shape", ())) == 2
    return [str(name) for name in getattr(rows, "column_names", getattr(rows, "columns", ()))] if frame else []


def _part(rows: Any, start: int, stop: int) -> Any:
    if hasattr(rows, "iloc"):
        return rows.iloc[start:stop]
    return rows.slice(start, stop - start) if hasattr(rows, "slice") else rows[start:stop]
