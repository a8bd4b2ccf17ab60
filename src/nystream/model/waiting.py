"""Rows that wait for their labels: each as plain values, with what was predicted for it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["WAITING", "plain_answer", "plain_row", "rows_of"]

WAITING = 10_000
"""Rows that wait for their labels at most, where nothing else is said: about ten megabytes of narrow rows."""


def plain_row(row: Any) -> dict[str, Any] | list[float]:
    """One row as values that a model file can have: a dict of names to values, or a list of numbers."""
    if not isinstance(row, Mapping) and hasattr(row, "to_dict") and getattr(row, "ndim", 0) == 1:
        row = row.to_dict()  # a pandas Series
    if isinstance(row, Mapping):
        return {str(name): _plain(value) for name, value in row.items()}
    try:
        numbers = np.asarray(row, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty((0, 0))
    if numbers.ndim != 1:
        raise TypeError(f"remember takes one row, a dict of names to values or numbers (d,); got {type(row).__name__}")
    return [float(number) for number in numbers]


def rows_of(row: dict[str, Any] | list[float]) -> Any:
    """The row as a block of one."""
    return [row] if isinstance(row, dict) else np.array([row], dtype=np.float64)


def plain_answer(answer: Any) -> Any:
    """A prediction as values that a model file can have."""
    return answer.tolist() if isinstance(answer, (np.ndarray, np.generic)) else answer


def _plain(value: Any) -> Any:
    """A value of a row; times as text in ISO form, which every reader of times takes."""
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else str(value)
    if isinstance(value, (datetime.datetime, datetime.date)):  # pandas' Timestamp and NaT are datetimes too
        return value.isoformat() if value == value else None
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"remember takes numbers, strings, booleans, times and None; got {value!r}")
