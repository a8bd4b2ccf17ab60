"""Learners whose rows may be typed tables, sparse rows, or matrices of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

import numpy as np

from nystream.data.batch import Batch, as_batch, is_table, one_row
from nystream.data.inputs import RawBlock, as_block, as_row
from nystream.data.sparse_rows import SparseRows, as_sparse_rows, is_sparse
from nystream.learners.base import Learner
from nystream.runtime.types import Array

__all__ = ["Opening", "TabularLearner"]

Opening: TypeAlias = dict[str, str] | Literal["sparse"] | None
"""The form of the first rows: columns with kinds, sparse rows, or (None) rows of numbers."""


class TabularLearner(Learner):
    """A learner whose rows may be a matrix, a mapping of names to arrays (a dict, a frame), a `Batch`, or a matrix of
    `scipy.sparse`. One row is a dict of names to values, numbers (d,), or sparse (1, d).

    All rows have the form of the first ones. Columns of a table are found by name.
    """

    _first: Opening = None  # of the block that is being learnt

    @property
    def takes_tables(self) -> bool:
        return True

    @property
    def takes_sparse(self) -> bool:
        return True

    @property
    def opening(self) -> Opening:
        """The form that rows must have, as far as it is known."""
        raise NotImplementedError

    def reserve_for(self, rows: Any, outputs: int) -> None:
        """Do `reserve` for rows of this form."""
        self._first = opening_of(rows)
        self.reserve(rows.shape[1], outputs)

    def step(self, x: Any, y: Any = None, weight: float = 1.0) -> Any:
        """Return the prediction for one row (a dict of names to values, numbers, or sparse), then learn it."""
        if type(x) is np.ndarray and self.opening is None:  # the most frequent case
            return super().step(x, y, weight)
        if isinstance(x, Mapping):
            x = one_row(x)
        elif is_sparse(x):
            if x.shape[0] != 1:
                raise ValueError(f"x must be one row, got shape {x.shape}; for many rows use run")
        elif not isinstance(x, Batch):
            if self.opening is None:
                return super().step(x, y, weight)
            x = as_row(x, self.d_ or None, missing=True)[None]
        p = self.run(x, None if y is None else np.asarray(y)[None], None if weight == 1.0 else [weight])[0]
        return float(p) if np.ndim(p) == 0 else p

    def run_clean(self, X: Any, Y: Array, weights: Array | None = None) -> Array:
        self._first = opening_of(X)
        return super().run_clean(X, Y, weights)

    def _accepted(self, X: Any) -> Any:
        opening = self.opening
        if is_sparse(X):
            return self._accepted_sparse(X, opening)
        if is_table(X):
            if self.d_ and not isinstance(opening, dict):
                what = "sparse rows" if opening == "sparse" else f"rows of {self.d_} numbers without names"
                raise ValueError(f"X has named columns, but the learner was started with {what}")
            return as_batch(X, opening if isinstance(opening, dict) else None)
        if isinstance(opening, dict):
            X = as_block(X, len(opening), missing=True)
            return Batch(dict(zip(opening, X.T, strict=True)), opening)
        if opening == "sparse":
            return SparseRows.of_dense(as_block(X, self.d_))
        return as_block(X, self.d_ or None, missing=self.missing)

    def _unconverted(self, X: Any) -> RawBlock | None:
        return None if self.opening is not None or is_table(X) else super()._unconverted(X)

    def _accepted_sparse(self, X: Any, opening: Opening) -> Any:
        if isinstance(opening, dict):
            raise ValueError("X is sparse, but the learner was started with named columns")
        if self.d_ and opening is None:
            return as_block(X.toarray(), self.d_, missing=self.missing)
        return as_sparse_rows(X, self.d_ or None)


def opening_of(X: Any) -> Opening:
    """Return the form of the rows."""
    return X.kinds if isinstance(X, Batch) else "sparse" if isinstance(X, SparseRows) else None
