"""Streams over arrays and data frames that are already in memory (or mapped into it)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from nystream.data.frames import frame_columns, join_columns, matrix_of
from nystream.data.inputs import ROWS_TO_CONVERT, RawBlock, rows_at_once
from nystream.runtime.types import Array
from nystream.streams.base import Stream, Task
from nystream.streams.cutting import Block
from nystream.streams.labels import Labels

__all__ = ["ArrayStream", "arrays", "as_stream"]


def arrays(
    X: Any,
    y: Any = None,
    *,
    columns: Iterable[str] | None = None,
    labels: Iterable[Any] | None = None,
    task: Task | None = None,
) -> ArrayStream:
    """Return a stream over arrays, or over a pandas or polars frame.

    Parameters
    ----------
    X : (n, d) array of numbers, or a data frame
        A frame gives the names of the columns; a column of text is an error that names it.
    y : (n,) or (n, K) array, a series, the name of a column of the frame X, or None
        Text gives classes: Y holds 0..K-1 in order of appearance and `stream.labels` the names. None: Y is nan.
    columns : iterable of str or None
        Names for the columns of an array.
    labels : iterable or None
        The classes in order, where y holds classes.
    task : "regression", "classification" or None
        A hint for those who read the stream.

    Examples
    --------
    >>> stream = arrays([[0.0, 1.0], [2.0, 3.0]], ["no", "yes"])
    >>> X, y = stream
    >>> y.tolist(), stream.labels
    ([0.0, 1.0], ('no', 'yes'))
    """
    if _is_frame(X):
        if isinstance(y, str):
            X, y = _without(X, y)
        names = tuple(str(name) for name in X.columns)
        return ArrayStream(
            X if frame_columns(X) is not None else _frame_values(X),
            y,
            columns=columns or names,
            labels=labels,
            task=task,
        )
    if isinstance(y, str):
        raise ValueError(f"y={y!r} names a column, but X is not a data frame; pass the values of y")
    if hasattr(X, "toarray"):
        raise ValueError("X is a sparse matrix; pass X.toarray(), or write it to a LIBSVM file and stream that")
    return ArrayStream(X, y, columns=columns, labels=labels, task=task)


def as_stream(source: Any) -> Stream:
    """Return a `Stream` for a stream, any object with `blocks(size)`, or a pair (X, y)."""
    if isinstance(source, Stream):
        return source
    if callable(getattr(source, "blocks", None)):
        return _Foreign(source)
    if isinstance(source, tuple) and len(source) == 2:
        return arrays(*source)
    raise ValueError(f"a stream, an object with blocks(size), or a pair (X, y) is needed, got {type(source).__name__}")


class ArrayStream(Stream):
    """A stream over X (n, d) and y. Blocks are converted to float64 one at a time, without a copy if they are float64
    already.

    Parameters as `arrays`.
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        columns: Iterable[str] | None = None,
        labels: Iterable[Any] | None = None,
        task: Task | None = None,
        name: str = "arrays",
    ) -> None:
        values = _in_parts(X)
        if len(values.shape) != 2 or values.shape[1] == 0:
            raise ValueError(f"X must have rows and columns, got shape {values.shape}")
        names = None if columns is None else tuple(columns)
        if names is not None and len(names) != values.shape[1]:
            raise ValueError(f"columns has {len(names)} names for the {values.shape[1]} columns of X")
        coder, targets = _targets(y, len(values), labels)
        self.X = values
        self.y = targets
        super().__init__(name, columns=names, d=values.shape[1], n=len(values), task=task, labels=coder)

    def _chunks(self, rows: int) -> Iterator[Block]:
        if isinstance(self.X, RawBlock):
            rows = max(rows, rows_at_once(self.X.shape[1]))
        for start in range(0, len(self.X), rows):
            part = slice(start, start + rows)
            yield _floats(self.X[part]), _floats(self.y[part])

    def load(self) -> Block:
        """Return the arrays as float64, without a copy if they are float64 already."""
        return _floats(self.X), _floats(self.y)

    def _arrays(self) -> tuple[Any, Any]:
        return self.X.numbers() if isinstance(self.X, RawBlock) else self.X, self.y


class _Foreign(Stream):
    """Another object with `blocks(size)`."""

    def __init__(self, source: Any) -> None:
        super().__init__(type(source).__name__)
        self._source = source

    def _chunks(self, rows: int) -> Iterator[Block]:
        for X, Y in self._source.blocks(rows):
            yield _floats(X), _floats(Y)


def _targets(y: Any, n: int, labels: Iterable[Any] | None) -> tuple[Labels | None, Any]:
    """Return how y was coded, and y as numbers."""
    if y is None:
        return None, np.full(n, np.nan)
    values = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if values.ndim not in (1, 2) or len(values) != n:
        raise ValueError(f"y must have one target for each of the {n} rows of X, got shape {values.shape}")
    text = values.dtype.kind in "OUS" and any(isinstance(value, (str, bytes)) for value in values.flat)
    if not text and labels is None:
        return None, _checked(values, "y")
    coder = Labels(labels)
    return coder, coder.encode(values, "y")


def _in_parts(X: Any) -> Any:
    """Return rows that are converted block by block where they are many in lists or columns; else the array."""
    if isinstance(X, list) and len(X) > ROWS_TO_CONVERT and isinstance(X[0], (list, tuple)):
        d = len(X[0])
        if d and set(map(len, X)) == {d}:
            _checked(X[:ROWS_TO_CONVERT], "X")  # most mistakes are in all rows
            return RawBlock((len(X), d), lambda rows: _floats(_checked(X[rows], "X")))
    matrix, columns = matrix_of(X), frame_columns(X)
    if matrix is not None or columns is None:
        return _checked(X if matrix is None else matrix, "X")
    sources = list(columns.values())
    return RawBlock((len(X), len(sources)), join_columns(sources), sources=sources)


def _checked(value: Any, name: str) -> Any:
    """Check that a value holds numbers, of any real dtype, and return it as an array.

    The check is made now, so that the error does not come in the middle of a pass.
    """
    array = np.asarray(value)
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind != "O":
        raise ValueError(f"{name} must hold numbers, got dtype {array.dtype}")
    try:
        return np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must hold numbers: {error}") from None


def _floats(values: Any) -> Array:
    return np.ascontiguousarray(values, dtype=np.float64)


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "to_numpy")


def _without(frame: Any, name: str) -> tuple[Any, Any]:
    """Return the frame without one column, and that column."""
    names = list(frame.columns)
    if name not in names:
        raise ValueError(f"y={name!r} is not a column of X; it has {', '.join(map(str, names))}")
    return frame[[other for other in names if other != name]], frame[name]


def _frame_values(frame: Any) -> Any:
    """Return the (n, d) numbers of a frame. Mixed columns come one by one, so that an error can name the column."""
    values = frame.to_numpy()
    if values.dtype.kind in "biuf":
        return values
    parts = []
    for name in frame.columns:
        try:
            parts.append(_checked(frame[name].to_numpy(), f"column {name!r} of X"))
        except ValueError as error:
            raise ValueError(f"{error}; drop or encode it") from None
    return np.column_stack(parts)
