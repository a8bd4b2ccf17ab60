"""Convert input of users to contiguous, finite float64, or raise a clear error. Inner loops check nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, starmap
from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.inputs import all_finite, is_clean_row
from nystream.data.frames import Picked, are_finite, frame_columns, join_columns, matrix_of
from nystream.runtime.types import Array, LabelKind

__all__ = [
    "RawBlock",
    "as_block",
    "as_examples",
    "as_labels",
    "as_levels",
    "as_row",
    "as_weights",
    "is_masked",
    "raw_block",
    "rows_at_once",
    "rows_of",
    "stretches",
]

MOST_CLASSES = 100_000
"""Largest class number: a learner has an output for every class up to the largest."""
ROWS_TO_CONVERT = 1024
"""Rows converted at once are a multiple of this, and so of the blocks of every learner: no bit depends on it."""
NUMBERS_TO_CONVERT = 1 << 17
"""Approximate number of values that are converted at once, so that they stay in the cache."""


def as_block(X: Any, d: int | None = None, name: str = "X", missing: bool = False, first: int = 0) -> Array:
    """Return an (n, d) block as C-ordered float64, copied only if necessary. `missing`: NaN is allowed.

    `first`: the number of its first row, for messages.
    """
    block = _numbers(X, name)
    if block.ndim == 1:
        raise ValueError(
            f"{name} must be two-dimensional (rows, columns), got one dimension; for one row pass {name}[None]"
        )
    if block.ndim != 2:
        raise ValueError(f"{name} must be two-dimensional (rows, columns), got shape {block.shape}")
    if block.shape[1] == 0:
        raise ValueError(f"{name} has 0 columns; at least one feature is needed")
    if d is not None and block.shape[1] != d:
        raise ValueError(f"{name} has {block.shape[1]} columns, but the learner was started with {d}")
    if not all_finite(block) and not (missing and not np.isinf(block).any()):
        row, column = np.argwhere(np.isinf(block) if missing else ~np.isfinite(block))[0]
        raise ValueError(
            f"{name} has {block[row, column]} at row {first + row}, column {column}; "
            "remove or impute NaN and infinite values first"
        )
    return block


class RawBlock:
    """Rows (n, d) of numbers that are converted in parts, so that no second matrix is in memory.

    `rows[i:j]` are some of them, still unconverted.

    Parameters
    ----------
    shape : rows and columns
    take : callable
        Some rows, of a slice or of an index, as clean numbers.
    index : slice or array of int, optional
        Which of the rows that `take` knows, in which order; None: all.
    sources : sequence of arrays, optional
        All the numbers that `take` knows: whether they are finite is then seen without converting them.
    """

    finite: bool = False
    """Whether all numbers are known to be finite."""

    def __init__(
        self,
        shape: tuple[int, int],
        take: Callable[[Picked], Array],
        index: Picked | None = None,
        sources: Sequence[Any] | None = None,
    ) -> None:
        self.shape = shape
        self._take = take
        self._sources = sources
        self._index = slice(0, shape[0]) if index is None else index

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Picked) -> RawBlock:
        if not isinstance(rows, slice):
            return self.picked(rows)
        start, stop, _ = rows.indices(len(self))
        known = self._index
        some = slice(known.start + start, known.start + stop) if isinstance(known, slice) else known[start:stop]
        return self._some(stop - start, some)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.numbers()

    def numbers(self) -> Array:
        """Return all rows, converted."""
        return self._take(self._index)

    def look(self) -> bool:
        """Check all rows once. Return whether no number is infinite."""
        if self.glance():
            return True
        self.finite = True
        for part in self.parts():
            X = self[part].numbers()
            if not all_finite(X):
                self.finite = False
                if np.isinf(X).any():
                    return False
        return True

    def glance(self) -> bool:
        """Check once, without conversion, whether all numbers are finite."""
        if not self.finite and self._sources is not None:
            self.finite = are_finite(self._sources)
            self._sources = None
        return self.finite

    def picked(self, index: npt.NDArray[np.intp]) -> RawBlock:
        """Return the rows of an index, in its order."""
        known = self._index
        return self._some(len(index), index + known.start if isinstance(known, slice) else known[index])

    def _some(self, n: int, index: Picked) -> RawBlock:
        found = RawBlock((n, self.shape[1]), self._take, index, self._sources)
        found.finite = self.finite
        return found

    def parts(self) -> list[slice]:
        """Yield the parts that are converted at once."""
        rows = rows_at_once(self.shape[1])
        return [slice(i, min(i + rows, len(self))) for i in range(0, len(self), rows)]


def rows_at_once(d: int) -> int:
    """Return the number of rows of d columns that are converted at once."""
    return max(NUMBERS_TO_CONVERT // max(d, 1) // ROWS_TO_CONVERT, 1) * ROWS_TO_CONVERT


def rows_of(X: Any) -> tuple[tuple[int, int], Callable[[Picked], Any]] | None:
    """Return the shape of a matrix or a frame, and a function that takes some of its rows; None for anything else,
    because lists need several times as much memory as their numbers.
    """
    if isinstance(X, np.ndarray):
        plain = type(X) in (np.ndarray, np.memmap) and X.ndim == 2 and X.dtype.kind in "biuf"
        return (X.shape, X.__getitem__) if plain else None
    if not hasattr(X, "__array__") or len(getattr(X, "shape", ())) != 2 or hasattr(X, "toarray"):
        return None
    if hasattr(X, "iloc"):
        return X.shape, X.iloc.__getitem__
    if hasattr(X, "slice"):  # polars, Arrow
        return X.shape, lambda rows: _sliced(X, rows)
    return None


def _sliced(X: Any, rows: Picked) -> Any:
    if isinstance(rows, slice):
        return X.slice(rows.start, rows.stop - rows.start)
    return X.take(rows) if hasattr(X, "take") else X[rows]


def raw_block(X: Any, d: int | None = None, missing: bool = False, *, infinite: bool = False) -> RawBlock | None:
    """Return rows that are converted a part at a time, or None if `as_block` should take the rows. It should take few
    rows, rows that need no copy, and anything that is not a matrix. With `infinite`, infinite numbers are allowed.
    """
    found = rows_of(X)
    if found is None or found[0][0] <= rows_at_once(found[0][1]):
        return None
    matrix = X if isinstance(X, np.ndarray) else matrix_of(X)
    if matrix is not None and matrix.dtype == np.float64 and matrix.flags.c_contiguous and matrix.flags.aligned:
        return None
    shape, rows = found if matrix is None else (matrix.shape, matrix.__getitem__)
    columns = None if matrix is not None else frame_columns(X)
    if columns is not None:
        rows = join_columns(list(columns.values()))
    sources = [matrix] if matrix is not None else None if columns is None else list(columns.values())

    def take(picked: Picked) -> Array:
        if infinite:
            return np.ascontiguousarray(rows(picked), dtype=np.float64)
        first = picked.start if isinstance(picked, slice) else 0
        return as_block(rows(picked), shape[1] if d is None else d, missing=missing, first=first)

    return RawBlock(shape, take, sources=sources)


def as_row(x: Any, d: int | None = None, name: str = "x", missing: bool = False) -> Array:
    """Return a row (d,), without a copy if it is clean. `missing`: NaN is allowed."""
    if d is not None and is_clean_row(x, d):
        return x
    row = _numbers(x, name)
    if row.ndim != 1:
        raise ValueError(f"{name} must be one row of numbers, got shape {row.shape}; for many rows use run")
    return as_block(row[None], d, name, missing)[0]


def as_labels(Y: Any, kind: LabelKind, n: int, classes: int | None = None, name: str = "y") -> Array:
    """Return labels of n rows as float64 (n, K), where K = 1 except for several real targets."""
    if kind == "none":
        return np.zeros((n, 1))
    if Y is None:
        raise ValueError(f"{name} is missing: this learner needs labels")
    labels = _numbers(Y, name)
    if labels.ndim == 0 or labels.ndim > 2 or labels.shape[0] != n:
        raise ValueError(f"{name} must have one label for each of the {n} rows, got shape {labels.shape}")
    if labels.ndim == 1:
        labels = labels[:, None]
    elif labels.shape[1] == 0:
        raise ValueError(f"{name} has 0 columns")
    elif kind != "real" and labels.shape[1] != 1:
        raise ValueError(f"{name} must be one column of labels for this loss, got {labels.shape[1]} columns")
    if not all_finite(labels):
        row = int(np.argwhere(~np.isfinite(labels))[0, 0])
        raise ValueError(f"{name} has {labels[row].tolist()} at row {row}; labels must be finite")
    if kind == "sign":
        _refuse(
            labels,
            np.abs(labels) != 1,
            name,
            "-1 or +1",
            "the facades in nystream.sklearn and nystream.river map other labels",
        )
    elif kind == "class":
        bad = (labels < 0) | (labels != np.floor(labels))
        _refuse(
            labels,
            bad,
            name,
            "a class number 0, 1, 2, ...",
            "the facades in nystream.sklearn and nystream.river map other labels",
        )
        if classes is not None:
            _refuse(
                labels, labels >= classes, name, f"below the loss's {classes} classes", "give the loss more classes"
            )
        _refuse(labels, labels >= MOST_CLASSES, name, f"below {MOST_CLASSES}", "number the classes 0, 1, 2, ...")
    return labels


def as_levels(q: Any) -> Array:
    """Return levels (Q,) of quantiles, one or several numbers between 0 and 1, in order."""
    try:
        levels = np.array(q, dtype=np.float64, ndmin=1)
    except (TypeError, ValueError):
        levels = np.empty(0)
    if levels.ndim != 1 or not len(levels) or not bool(((levels > 0.0) & (levels < 1.0)).all()):
        raise ValueError(f"q must be a number greater than 0 and less than 1, or a list of such, got {q!r}")
    return levels


def as_weights(weights: Any, n: int) -> Array | None:
    """Return weights (n,) >= 0, or None if all are 1."""
    if weights is None:
        return None
    w = _numbers(weights, "weights")
    if w.shape != (n,):
        raise ValueError(f"weights must have one number for each of the {n} rows, got shape {w.shape}")
    if not all_finite(w) or bool((w < 0).any()):
        raise ValueError("weights must be finite and at least 0")
    return w


def as_examples(X: Any, y: Any, weights: Any) -> tuple[Array, Array, Array | None]:
    """Return rows (n, d), real labels (n, K) and weights (n,) or None, without rows of weight 0."""
    X = as_block(X)
    Y, w = as_labels(y, "real", len(X)), as_weights(weights, len(X))
    return (X, Y, None) if w is None else (X[w > 0], Y[w > 0], w[w > 0])


def is_masked(value: Any) -> bool:
    """Return whether this is a masked array, without importing numpy.ma."""
    return "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray)


def _numbers(value: Any, name: str) -> Array:
    if hasattr(value, "toarray"):
        raise ValueError(f"{name} is a sparse matrix, which is not supported; pass {name}.toarray()")
    if is_masked(value):
        value = np.ma.filled(np.ma.asarray(value, dtype=np.float64), np.nan)
    try:
        array = np.asarray(value)
        if array.dtype == object and any(v is None for v in array.flat):
            raise ValueError(f"{name} has missing values (None); remove or impute them first")
        if array.dtype.kind not in "biufO":
            complaint = "; complex data not supported" if array.dtype.kind == "c" else ""
            raise TypeError(f"{name} must hold real numbers, got {array.dtype}{complaint}")
        return np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        if name in str(error):
            raise ValueError(str(error)) from None
        raise ValueError(f"{name} must be an array of numbers with rows of equal length: {error}") from None


def _refuse(labels: Array, bad: np.typing.NDArray[np.bool_], name: str, wanted: str, remedy: str) -> None:
    if bad.any():
        row = int(np.argwhere(bad)[0, 0])
        raise ValueError(f"{name} must be {wanted}; got {labels[row, 0]:g} at row {row} ({remedy})")


def stretches(weights: Array) -> Iterator[slice]:
    """Yield alternating stretches of rows of weight 0 and other rows."""
    some = weights > 0
    yield from starmap(slice, pairwise([0, *(np.flatnonzero(some[1:] != some[:-1]) + 1).tolist(), len(weights)]))
