"""Sparse rows for learners of sparse inputs, from scipy's matrices or dense rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.inputs import all_finite
from nystream.runtime.types import Array

__all__ = ["MOST_COLUMNS", "NARROW", "SparseRows", "as_sparse_rows", "is_sparse"]

NARROW = 1024
"""Number of columns up to which learners of both kinds get dense rows."""

MOST_COLUMNS = 2**32
"""Columns are numbered with 32 bits."""

Places = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.uint32]


class SparseRows:
    """Holds n sparse rows of d columns. Row i has `values[begin[i]:end[i]]` in the columns `indices[begin[i]:end[i]]`.

    Slicing makes no copy of the entries. A column may occur several times in a row: its values add up.
    """

    __slots__ = ("begin", "d", "end", "indices", "values")

    def __init__(self, begin: Places, end: Places, indices: Numbers, values: Array, d: int) -> None:
        self.begin, self.end, self.indices, self.values, self.d = begin, end, indices, values, d

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.begin), self.d

    def __len__(self) -> int:
        return len(self.begin)

    def __getitem__(self, rows: slice | Places) -> SparseRows:
        return SparseRows(self.begin[rows], self.end[rows], self.indices, self.values, self.d)

    @classmethod
    def joined(cls, parts: Sequence[SparseRows]) -> SparseRows:
        """Join the rows of several blocks."""
        if len(parts) == 1:
            return parts[0]
        before = np.cumsum([0, *(len(part.values) for part in parts)]).tolist()
        return cls(
            np.concatenate([part.begin + start for part, start in zip(parts, before, strict=False)]),
            np.concatenate([part.end + start for part, start in zip(parts, before, strict=False)]),
            np.concatenate([part.indices for part in parts]),
            np.concatenate([part.values for part in parts]),
            max(part.d for part in parts),
        )

    def toarray(self) -> Array:
        """Return the rows as a dense array (n, d)."""
        X, counts = np.zeros(self.shape), self.end - self.begin
        places = np.repeat(self.begin - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))
        rows = np.repeat(np.arange(len(self)), counts)
        np.add.at(X, (rows, self.indices[places]), self.values[places])
        return X

    @classmethod
    def of_dense(cls, X: Array) -> SparseRows:
        """Return the entries of (n, d) that are not 0, by row and column."""
        n, d = X.shape
        if X.all():
            ends = np.arange(d, (n + 1) * d, d, dtype=np.int64)
            columns = np.tile(np.arange(d, dtype=np.uint32), n)
            return cls(ends - d, ends, columns, np.ascontiguousarray(X).reshape(-1), d)
        rows, places = np.nonzero(X)
        ends = np.cumsum(np.bincount(rows, minlength=n), dtype=np.int64)
        begins = np.concatenate([np.zeros(1, dtype=np.int64), ends[:-1]])
        return cls(begins, ends, places.astype(np.uint32), X[rows, places], d)


def is_sparse(X: Any) -> bool:
    """Return whether X is a matrix or an array of scipy.sparse, or sparse rows."""
    return isinstance(X, SparseRows) or (hasattr(X, "tocsr") and hasattr(X, "nnz"))


def as_sparse_rows(X: Any, d: int | None = None, name: str = "X") -> SparseRows:
    """Return the rows of a scipy.sparse matrix with finite float64 values. COO entries of one cell are added."""
    if isinstance(X, SparseRows):
        if d is not None and X.d != d:
            raise ValueError(f"{name} has {X.d} columns, but the learner was started with {d}")
        return X
    if len(X.shape) != 2:
        raise ValueError(f"{name} must be two-dimensional (rows, columns), got shape {X.shape}")
    columns = X.shape[1]
    if columns == 0:
        raise ValueError(f"{name} has 0 columns; at least one feature is needed")
    if columns > MOST_COLUMNS:
        raise ValueError(f"{name} has {columns} columns; hash them to at most {MOST_COLUMNS} first")
    if d is not None and columns != d:
        raise ValueError(f"{name} has {columns} columns, but the learner was started with {d}")
    csr = X.tocsr()
    if csr.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold real numbers, got {csr.dtype}")
    values = np.ascontiguousarray(csr.data, dtype=np.float64)
    places = np.ascontiguousarray(csr.indptr, dtype=np.int64)
    if not all_finite(values):
        at = int(np.flatnonzero(~np.isfinite(values))[0])
        row = int(np.searchsorted(places, at, side="right")) - 1
        raise ValueError(
            f"{name} has {values[at]} at row {row}, column {int(csr.indices[at])}; remove or impute NaN and infinite "
            "values first"
        )
    return SparseRows(places[:-1], places[1:], csr.indices.astype(np.uint32), values, int(columns))
