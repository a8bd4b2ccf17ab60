"""Linear models of sparse rows. Columns are hashed to the records of a table of fixed size."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from nystream._core.sparse import SparseRounds
from nystream.data.sparse_rows import SparseRows, as_sparse_rows, is_sparse
from nystream.learners.base import Learner
from nystream.losses import Loss, as_loss
from nystream.runtime.params import affordable, at_least, one_of
from nystream.runtime.types import Array, LabelKind

__all__ = ["SparseLearner"]

LOSSES = ("squared", "logistic", "softmax")
MOST_BITS = 30
"""Most bits of the table, whose 2^30 records already take several gigabytes."""
LARGEST = 1e70
"""Largest accepted value. Squares of products of larger values overflow."""
SMALLEST = 4
"""Fewest bits of the table, whatever the number of classes."""


class SparseLearner(Learner):
    """A linear model in a table of records, one for each place of hashed columns and one for the constant.

    Column c < 2^bits has the place c. A later column has the place of its hash (the final mix of MurmurHash3, a
    bijection of 32 bits), and a pair of columns that of MurmurHash3 of both. If classes come late and the table would
    exceed `max_bytes`, it is folded: places that differ only in their highest bit are united. Rows are dense, or any
    matrix of `scipy.sparse`, which is never made dense.

    Subclasses have the parameters `loss`, `bits`, `pairs` and `max_bytes` and implement the first methods below.
    """

    bits: int
    pairs: bool
    max_bytes: int
    loss: str

    table_: Array
    """(places + 1, ...) records."""
    moments_: Array
    """(K, 5) weight, mean, sum of squares around it, least and largest label; for the squared loss only."""

    # -- implemented by subclasses -----------------------------------------------------------------------------------
    def _shape(self, outputs: int) -> tuple[int, ...]:
        """Return the shape of a record."""
        raise NotImplementedError

    def _bind(self) -> None:
        """Connect the compiled code to the arrays of the state."""
        raise NotImplementedError

    def _rounds(self, rows: SparseRows, Y: Array | None, weights: Array | None) -> Array:
        """Return predictions (n, K), and learn if labels are given."""
        raise NotImplementedError

    def _folded(self, one: Array, two: Array) -> Array:
        """Return the records after uniting those that now share a place."""
        raise NotImplementedError

    def _widened(self, records: Array, outputs: int) -> Array:
        """Return the records with room for more classes."""
        raise NotImplementedError

    # -- parameters --------------------------------------------------------------------------------------------------
    def _checked(self) -> None:
        one_of("loss", self.loss, LOSSES)
        at_least("bits", self.bits, SMALLEST)
        at_least("max_bytes", self.max_bytes, 1)
        if self.bits > MOST_BITS:
            raise ValueError(f"bits must be at most {MOST_BITS}, got {self.bits!r}")

    @property
    def labels(self) -> LabelKind:
        return as_loss(self.loss).labels

    @property
    def multi_output(self) -> bool:
        return self.loss == "squared"

    @property
    def takes_sparse(self) -> bool:
        return True

    @property
    def weighted(self) -> bool:
        return True

    @property
    def separable(self) -> bool:
        return self.loss == "squared"

    @property
    def objective(self) -> Loss:
        return as_loss(self.loss)

    # -- rows of users ---------------------------------------------------------------------------------------------
    def _accepted(self, X: Any) -> Any:
        return as_sparse_rows(X, self.d_ or None) if is_sparse(X) else super()._accepted(X)

    def rounds(self, rows: SparseRows, Y: Array | None = None, weights: Array | None = None) -> Array:
        """Return predictions (n, K) for checked rows, and learn if labels are given. Classes are known, weights are
        above 0, and `n_seen` does not count the rows."""
        return self._rounds(rows, None if Y is None else np.ascontiguousarray(Y), weights)

    def step(self, x: Any, y: Any = None, weight: float = 1.0) -> Any:
        """Return the prediction for x, dense (d,) or scipy.sparse (1, d), then learn (x, y)."""
        if not is_sparse(x):
            return super().step(x, y, weight)
        if x.shape[0] != 1:
            raise ValueError(f"x must be one row, got shape {x.shape}; for many rows use run")
        p = self.run(x, None if y is None else np.asarray(y)[None], None if weight == 1.0 else [weight])[0]
        return float(p) if np.ndim(p) == 0 else p

    # -- classes -----------------------------------------------------------------------------------------------------
    def for_classes(self) -> Learner:
        """Return a copy with the softmax loss, unless the loss is one for classes."""
        loss = "softmax" if self.loss == "squared" else self.loss
        return type(self)(**{**self.clone().get_params(deep=False), "loss": loss})

    def why_not(self, ability: str) -> str | None:
        if ability == "probabilities" and self.loss != "softmax":
            return f"loss={self.loss!r} gives one number per row; use loss='softmax' for probabilities of classes"
        return super().why_not(ability)

    def probabilities(self, X: Any, ahead: int | None = None) -> Array:
        """Return probabilities (n, K) of the classes, with rows that sum to 1."""
        self._require("probabilities")
        P = self.predict(X, ahead)
        P = np.exp(P - P.max(axis=1, keepdims=True))
        return P / P.sum(axis=1, keepdims=True)

    # -- rounds ------------------------------------------------------------------------------------------------------
    def _start(self, d: int, outputs: int) -> None:
        bits = self.bits
        while bits > SMALLEST and self._bytes(bits, outputs) > self.max_bytes:
            bits -= 1
        affordable(self._bytes(bits, outputs), f"{type(self).__name__} with {outputs} outputs", "take fewer bits")
        self.table_ = np.zeros((2**bits + 1, *self._shape(outputs)))
        self.moments_ = np.zeros((outputs if self.loss == "squared" else 0, 5))
        self._begin(outputs)
        self._bind()

    def _begin(self, outputs: int) -> None:
        """Start the state of a subclass besides the table."""

    def _check(self, X: Array | SparseRows, learnt: int) -> None:
        rows = self._sparse(X)
        if len(rows) and rows.values.size and max(rows.values.max(), -rows.values.min()) > LARGEST:
            for t, (begin, end) in enumerate(zip(rows.begin.tolist(), rows.end.tolist(), strict=True)):
                far = np.flatnonzero(np.abs(rows.values[begin:end]) > LARGEST)
                if len(far):
                    value, column = rows.values[begin + far[0]], rows.indices[begin + far[0]]
                    raise ValueError(
                        f"x has {value:g} at row {t}, column {column}, too large to be squared; divide the column"
                    )

    def _sparse(self, X: Array | SparseRows) -> SparseRows:
        return X if isinstance(X, SparseRows) else SparseRows.of_dense(X)

    def _predict(self, X: Array | SparseRows) -> Array:
        return self._rounds(self._sparse(X), None, None)

    def _run(self, X: Array | SparseRows, Y: Array, weights: Array | None) -> Array:
        return self._rounds(self._sparse(X), np.ascontiguousarray(Y), weights)

    @property
    def _compiled(self) -> SparseRounds:
        """Return the compiled rounds on the present table."""
        raise NotImplementedError

    def _step_one(self, x: Any, y: Any) -> float | None:
        p = self._compiled.one_dense(x, y, self.d_, LARGEST)
        return super()._step_one(x, y) if p is None else p

    def _grow(self, outputs: int) -> None:
        """Add classes that start at 0. If there is no room for them, the table is folded first."""
        table = self.table_
        while len(table) > 2**SMALLEST + 1 and 8 * len(table) * int(np.prod(self._shape(outputs))) > self.max_bytes:
            half = len(table) // 2
            table = np.concatenate([self._folded(table[:half], table[half:-1]), table[-1:]])
        self.table_ = self._widened(table, outputs)
        self._bind()

    def _widen(self, d: int) -> None:
        """Do nothing: new columns have their places already."""

    def _bytes(self, bits: int, outputs: int) -> int:
        return 8 * (2**bits + 1) * int(np.prod(self._shape(outputs)))

    @property
    def size(self) -> int:
        """Number of used places, including that of the constant."""
        return int(np.count_nonzero(self._touched())) if self.d_ else 0

    @property
    def nbytes(self) -> int:
        return sum(v.nbytes for v in self.__dict__.values() if isinstance(v, np.ndarray))

    # -- files: only records that were touched -----------------------------------------------------------------------
    def _touched(self) -> npt.NDArray[np.bool_]:
        return np.any(self.table_.reshape(len(self.table_), -1) != 0.0, axis=1)

    def _state(self) -> dict[str, Any]:
        state = super()._state()
        if "table_" in state:
            places = np.flatnonzero(self._touched())
            state |= {"table_": self.table_[places], "places_": places, "records_": len(self.table_)}
        return state

    def _restore(self, state: dict[str, Any]) -> None:
        if "table_" in state:
            table = np.zeros((state["records_"], *state["table_"].shape[1:]))
            table[state["places_"]] = state["table_"]
            extra = ("places_", "records_")
            state = {k: table if k == "table_" else v for k, v in state.items() if k not in extra}
        super()._restore(state)
        if "table_" in state:
            self._bind()
