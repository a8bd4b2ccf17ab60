"""Inputs that are known ahead: a matrix of numbers, or rows by name with values of any kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nystream.data.reading import read
from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["Inputs"]

PREFIX = "calendar: "
"""Before names of the calendar's columns among those of the user."""


class Inputs(Params):
    """The form of a forecaster's inputs.

    Parameters
    ----------
    is_table : bool
        Whether rows are dicts (or come from a table with named columns); else they are numbers by place.
    width : int
        Columns of numbers.
    """

    def __init__(self, is_table: bool, width: int) -> None:
        self.is_table = is_table
        self.width = width

    @classmethod
    def of(cls, X: Any) -> Inputs:
        """Return the form of a first row, or of the first rows."""
        if isinstance(X, Mapping) or _has_names(X):
            return cls(True, 0)
        return cls(False, np.atleast_1d(np.asarray(X, dtype=float)).shape[-1])

    def row(self, x: Any) -> Any:
        """Convert one row to a dict or to an array of numbers."""
        if self.is_table:
            if not isinstance(x, Mapping):
                raise ValueError(f"x must be a dict as in the first row, got {x!r}")
            return {str(name): _plain(value) for name, value in x.items()}
        return self._numbers(np.asarray(x, dtype=float).reshape(1, -1))[0]

    def rows(self, X: Any) -> Any:
        """Convert several rows to a list of dicts or to a matrix."""
        if not self.is_table:
            array = np.asarray(X, dtype=float)
            return self._numbers(array[:, None] if array.ndim == 1 and self.width == 1 else np.atleast_2d(array))
        if not (isinstance(X, Mapping) or _has_names(X)):
            raise ValueError("X must have named columns as in the first row: a frame, or dicts")
        table = read(X)
        columns = {name: list(values) for name, values in table.columns.items()}
        return [{name: _plain(values[i]) for name, values in columns.items()} for i in range(table.n)]

    def missing(self) -> Any:
        """Return a row whose values are all missing."""
        return {} if self.is_table else np.full(self.width, np.nan)

    def joined(self, names: Sequence[str], calendar: Array | None, rows: Any) -> Any:
        """Return rows with the columns of the calendar before them, as the kernel learner takes them."""
        if not self.is_table:
            given = np.asarray(rows, dtype=float)
            return given if calendar is None else np.hstack([calendar, given])
        if calendar is None:
            return list(rows)
        times = [dict(zip((PREFIX + name for name in names), values, strict=True)) for values in calendar.tolist()]
        return [time | row for time, row in zip(times, rows, strict=True)]

    def _numbers(self, X: Array) -> Array:
        if X.shape[1] != self.width:
            raise ValueError(f"rows of inputs must have {self.width} columns as the first one, got {X.shape[1]}")
        if np.isinf(X).any():
            raise ValueError("inputs must be finite, or nan where they are missing")
        return X


def _has_names(X: Any) -> bool:
    if isinstance(X, np.ndarray):
        return X.dtype.names is not None
    if isinstance(X, (list, tuple)):
        return bool(X) and isinstance(X[0], Mapping)
    return hasattr(X, "columns") or hasattr(X, "schema") or hasattr(X, "__arrow_c_stream__")


def _plain(value: Any) -> Any:
    """Convert a value to a type that files can hold."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if value != value else value
