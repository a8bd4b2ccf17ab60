"""The base class of learners: predict, step, run, checks of rows and labels, outputs, and files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nystream import persist
from nystream._core.inputs import clean_label, is_clean_row
from nystream.data.inputs import RawBlock, as_block, as_labels, as_row, as_weights, raw_block, stretches
from nystream.learners.abilities import Abilities
from nystream.losses import Loss
from nystream.runtime.cards import card
from nystream.runtime.params import Params, checked_ahead
from nystream.runtime.types import Array, LabelKind

__all__ = ["Learner"]


class Learner(Abilities, Params):
    """An online learner: receives x, predicts, receives y, learns.

    Subclasses implement, on clean float64 input:
      `_start(d, outputs)`         allocate; called once, at the first row
      `_predict(X) -> (n, K)`      predictions of `_run` for each as the next row
      `_predict_later(X) -> (n, K)`    for a later row; only if that is not the same
      `_run(X, Y, weights) -> (n, K)`  rounds in order; Y is (n, K) real targets or (n, 1) labels
      `_step(x, y, weight) -> (K,)`    only if it is faster than a block of one
      `_step_one(x, y) -> float`       the same for one output: a compiled call that checks x and y (`OneRow`)

    and the properties `size` and `nbytes`; and they override the abilities (`Abilities`) that they have.

    A learner that contains another one, and has checked its rows already, calls `predict_clean`, `run_clean` and
    `step_clean` of the inner learner.
    """

    d_: int = 0
    outputs_: int = 1
    n_seen_: int = 0
    _plain: bool = False  # whether label and prediction are single numbers, known after the first round
    _sign: bool = False  # whether that label is -1 or +1

    # -- public methods --------------------------------------------------------------------------------------------
    def predict(self, X: Any, ahead: int | None = None) -> Array:
        """Return predictions for the rows of X: (n,), or (n, K) with K > 1 outputs. Nothing is changed.

        ahead=None: each row is a later row. ahead=1: each row is the next row, and its prediction is the one that
        `step` would return. The two differ only for learners that use the last labels, such as `Auto`.
        """
        ahead = checked_ahead(ahead)
        return self._outward(self.predict_clean(self._accepted(X), ahead))

    def step(self, x: Any, y: Any = None, weight: float = 1.0) -> Any:
        """Return the prediction for x, then learn (x, y). A float, or (K,) with K > 1 outputs.

        With weight 0 nothing is learnt; see `run`.
        """
        if self._plain and weight == 1.0:
            answer = self._step_one(x, y)
            if answer is not None:  # the most frequent case: nothing to convert, no error
                self.n_seen_ += 1
                return answer
        x = as_row(x, self.d_ or None, missing=self.missing)
        Y = as_labels(None if y is None else np.asarray(y)[None], self.labels, 1, self.classes)
        if weight != 1.0:
            as_weights([weight], 1)
        p = self.step_clean(x, Y[0], float(weight))
        return p if self.labels == "class" or len(p) > 1 else float(p[0])

    def run(self, X: Any, Y: Any = None, weights: Any = None) -> Array:
        """Do `step` for the rows of X in order, as one block, with the same predictions and the same model.

        With a multi-class loss that does not fix its classes, the score of a class not known yet is -inf.

        A row of weight 0 changes nothing: it is predicted as by `predict` with ahead=1, but not learnt and not counted
        by `n_seen`. Past rows do not decay, and a class that occurs only in such rows stays unknown.
        """
        rows = self._unconverted(X)
        X = self._accepted(X) if rows is None else rows
        Y = as_labels(Y, self.labels, len(X), self.classes)
        w = as_weights(weights, len(X))
        return self._outward(self.run_clean(X, Y, w) if rows is None else self.run_unconverted(rows, Y, w))

    # -- the same for clean rows: float64 in C order, finite unless the learner accepts nan -------------------------
    def predict_clean(self, X: Array, ahead: int | None = None) -> Array:
        """Do `predict` for a clean block; always (n, K)."""
        if not self.d_:
            return np.zeros((len(X), self._width))
        return self._predict_later(X) if ahead is None else self._predict(X)

    def step_clean(self, x: Array, y: Array, weight: float = 1.0) -> Array:
        """Do `step` for a clean row (d,) with label y (K,), or (1,) with a class number; always (K,)."""
        if self._plain and weight == 1.0 and len(y) == 1:
            p = self._step(x, y, 1.0)
            self.n_seen_ += 1
            return p
        if weight != 1.0:
            self._check_weights(weight)
            if weight == 0:
                return self._only_asked(x[None], y[None])[0]
        fresh = None if self.d_ else dict(self.__dict__)
        try:
            known = self._prepare(len(x), y[None])
            p = self._step(x, y, weight)
        except BaseException:
            self._unstart(fresh)
            raise
        self.n_seen_ += 1
        if known < self.outputs_:
            p[known:] = -np.inf
        self._shorten()
        return p

    def run_clean(self, X: Array, Y: Array, weights: Array | None = None) -> Array:
        """Do `run` for a clean block with labels (n, K), or (n, 1) class numbers; always (n, K)."""
        self._check_weights(weights)
        if len(X) == 0:
            return np.zeros((0, self._width))
        gaps = None if weights is None or weights.all() else weights  # zeros among them
        fresh = None if self.d_ else dict(self.__dict__)
        try:
            if fresh is None:  # check all rows first: they may be learnt in parts
                self._check(X, len(X) if gaps is None else int(np.count_nonzero(gaps)))
            parts: list[Array] = []
            for part in [slice(0, len(X))] if gaps is None else stretches(gaps):
                if gaps is None or gaps[part.start] > 0:
                    w = None if weights is None else weights[part]
                    parts += self._in_parts(X[part], Y[part], w, checked=fresh is None)
                else:
                    parts.append(self._only_asked(X[part], Y[part]))
        except BaseException:
            self._unstart(fresh)
            raise
        return parts[0] if len(parts) == 1 else _stacked(parts)

    def run_unconverted(self, X: RawBlock, Y: Array, weights: Array | None = None) -> Array:
        """Do `run_clean` for rows that are converted in parts. All rows are checked before the first is learnt."""
        self._check_weights(weights)
        learnt = len(X) if weights is None else int(np.count_nonzero(weights))
        fresh = None if self.d_ else dict(self.__dict__)
        parts = X.parts()
        try:
            if not X.glance() or (fresh is None and self._refuses):
                for part in parts:  # no variable for a converted part: it would keep the memory during the next part
                    if fresh is None:
                        self._check(X[part].numbers(), learnt)
                    else:
                        X[part].numbers()  # raises an error for rows that cannot be converted
            w = [None if weights is None else weights[part] for part in parts]
            return _stacked([self.run_clean(X[p].numbers(), Y[p], v) for p, v in zip(parts, w, strict=True)])
        except BaseException:
            self._unstart(fresh)
            raise

    @property
    def n_seen(self) -> int:
        """Number of learnt rows, without rows of weight 0."""
        return self.n_seen_

    @property
    def size(self) -> int:
        """Number of stored points or features."""
        raise NotImplementedError

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that the model holds."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        """Return a card for notebooks."""
        if not self.d_:
            return card(type(self).__name__, repr(self), [("rows learnt", "none yet")])
        outputs = "classes" if self.labels == "class" else "outputs"
        facts = {"rows learnt": self.n_seen, "columns": self.d_, outputs: self.outputs_, "stored": self.size}
        lines = [(name, f"{value:,}") for name, value in facts.items()]
        return card(type(self).__name__, repr(self), [*lines, ("memory", f"{self.nbytes / 1e6:.3g} MB")])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, atomically. `nystream.load` reads it, and the model continues bit for bit."""
        persist.save(self, path)

    def to_bytes(self) -> bytes:
        """Return the model as bytes in the format of `save`, for `nystream.from_bytes`."""
        return persist.to_bytes(self)

    # -- implemented by subclasses ---------------------------------------------------------------------------------
    @property
    def labels(self) -> LabelKind:
        """The kind of labels."""
        return "real"

    @property
    def classes(self) -> int | None:
        """Classes fixed by a multi-class loss; None where they grow with the labels or do not apply."""
        return None

    @property
    def multi_output(self) -> bool:
        """Whether a two-dimensional Y (several real targets) is supported."""
        return False

    @property
    def weighted(self) -> bool:
        """Whether sample weights are supported."""
        return False

    @property
    def missing(self) -> bool:
        """Whether NaN in the inputs is a missing value, and not an error."""
        return False

    @property
    def takes_tables(self) -> bool:
        """Whether rows may be typed columns of a table, `nystream.data.batch.Batch`."""
        return False

    @property
    def takes_sparse(self) -> bool:
        """Whether rows may be sparse, `nystream.data.sparse_rows.SparseRows`."""
        return False

    @property
    def takes_parts(self) -> bool:
        """Whether clean rows may be learnt in parts; False if checks depend on all labels of a block."""
        return True

    @property
    def objective(self) -> Loss | None:
        """The loss that is minimised, if there is one."""
        return None

    @property
    def link(self) -> str | None:
        """The name in `nystream.learners.links` of the function from log odds to probabilities, or None."""
        return None if self.objective is None else self.objective.link

    @property
    def separable(self) -> bool:
        """Whether K outputs are learnt as by K clones on the same rows, bit for bit."""
        return False

    @property
    def room(self) -> int | None:
        """Number of rows that can still be learnt; None without a limit."""
        return None

    @property
    def level(self) -> float | None:
        """The adapted margin or half-width of a tube; None if the learner adapts none."""
        return None

    def for_classes(self) -> Learner:
        """Return a new learner with equal parameters, except for its own setting for classes."""
        return self.clone()

    def prepare(self, X: Any, weights: Any = None) -> None:
        """Give rows, before the first round, from which the learner may take scales. Their order does not matter."""

    def name_classes(self, names: Sequence[Any]) -> None:
        """Set the names of the classes 0, 1, ... that have appeared. Few learners use them."""

    @property
    def follows_order(self) -> bool:
        """Whether the learner depends on the order of rows, so that unordered rows are shuffled first."""
        return False

    def settle(self) -> None:
        """Finish incremental tasks now, because no row follows. Most learners have none."""

    def column_shares(self, columns: Sequence[str]) -> dict[str, float] | None:
        """Return the shares of columns in learnt distances, or None without such distances.

        `columns` names the column of each input; shares are summed by column.
        """
        return None

    def held_rows(self) -> tuple[Array, Array] | None:
        """Return the last rows (n, d) and labels (n, K) that the learner stores, or None."""
        return None

    def recent_share(self) -> float | None:
        """Return the share in the next prediction of parts that use only the last rows; None if unknown."""
        return None

    def name_columns(self, kinds: Mapping[str, str]) -> None:
        """Name the columns that were learnt without names, so that columns of other kinds may be added."""
        raise ValueError(
            "all columns of this model are numbers, and so must new ones be: begin a new model, or use Auto, which "
            "takes new columns of every kind"
        )

    def _start(self, d: int, outputs: int) -> None:
        raise NotImplementedError

    def _predict(self, X: Array) -> Array:
        raise NotImplementedError

    def _predict_later(self, X: Array) -> Array:
        return self._predict(X)

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        raise NotImplementedError

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        return self._run(x[None], y[None], None if weight == 1.0 else np.array([weight]))[0]

    def _step_one(self, x: Any, y: Any) -> float | None:
        """Do `step` for one output after the start. Return None, and do nothing, unless x is clean and y a number."""
        label = clean_label(y, self._sign) if is_clean_row(x, self.d_) else None
        return None if label is None else float(self._step(x, label, 1.0)[0])

    def _check(self, X: Array, learnt: int) -> None:
        """Raise an error, before any change, for clean rows that cannot be used. n of them will be learnt."""

    @property
    def _refuses(self) -> bool:
        """Return whether `_check` may raise an error for finite rows."""
        return type(self)._check is not Learner._check

    def _grow(self, outputs: int) -> None:
        """Add outputs for classes that appear late."""
        raise TypeError(f"{self._kind} has a fixed number of outputs")

    # -- shared machinery ------------------------------------------------------------------------------------------
    def _accepted(self, X: Any) -> Any:
        """Check and convert rows of users. Learners of rows other than dense ones override it."""
        return as_block(X, self.d_ or None, missing=self.missing)

    def _unconverted(self, X: Any) -> RawBlock | None:
        """Return rows of users for conversion in parts, or None if `_accepted` converts them."""
        return raw_block(X, self.d_ or None, self.missing) if self.takes_parts else None

    def _in_parts(self, X: Array, Y: Array, weights: Array | None, *, checked: bool) -> list[Array]:
        """Do rounds of clean rows with weights above 0. Return predictions in parts."""
        parts: list[Array] = []
        row = 0
        while row < len(X):  # one part, unless a class without an output appears
            stop = self._next_new_class(Y, row)
            known = self._prepare(X.shape[1], Y[row:stop])
            if not checked:
                self._check(X[row:stop], stop - row)
            parts.append(self._run(X[row:stop], Y[row:stop], None if weights is None else weights[row:stop]))
            parts[-1][0, known:] = -np.inf
            self.n_seen_ += stop - row
            row = stop
        return parts

    def _only_asked(self, X: Array, Y: Array) -> Array:
        """Return predictions (n, K) for clean rows of weight 0. Their labels are only checked."""
        wanted = self._wanted(Y)
        return self._predict(X) if self.d_ else np.zeros((len(X), self._width if self.labels == "class" else wanted))

    @property
    def _width(self) -> int:
        """Return the number of prediction columns; before the first row, the number of known classes."""
        return self.outputs_ if self.d_ or self.labels != "class" else self.classes or 2

    def _unstart(self, fresh: dict[str, Any] | None) -> None:
        """Undo the start after an error at the first row."""
        if fresh is not None:
            self.__dict__.clear()
            self.__dict__.update(fresh)

    def _outward(self, P: Array) -> Array:
        """Return predictions in the shape for users: (n,) with one number per row."""
        return P if self.labels == "class" or P.shape[1] > 1 else P[:, 0]

    def _check_weights(self, weights: Array | float | None) -> None:
        if weights is not None and not self.weighted:
            raise ValueError(f"{self._kind} does not take weights; the least-squares learners do")

    def reserve(self, d: int, outputs: int) -> None:
        """Start for d columns, or add outputs, so that there are at least `outputs` classes."""
        if not self.d_:
            self._start(d, outputs)
            self.d_, self.outputs_ = d, outputs
        elif outputs > self.outputs_:
            self._grow(outputs)
            self.outputs_ = outputs

    def reserve_for(self, rows: Any, outputs: int) -> None:
        """Do `reserve` for clean rows of this form."""
        self.reserve(rows.shape[1], outputs)

    def _shorten(self) -> None:
        """Set, after a round, whether the next round may use the compiled single-row code."""
        self._plain, self._sign = self.outputs_ == 1 and self.labels in ("real", "sign"), self.labels == "sign"

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if self.n_seen_:
            self._shorten()

    def _gained(self, outputs: int) -> None:
        """Record that this number of outputs was added."""
        self.outputs_ += outputs
        self._plain = False

    def widen(self, d: int) -> None:
        """Add columns up to d. They count as 0 in every row so far."""
        if d < self.d_:
            raise ValueError(f"rows have {self.d_} columns; they can get more, not fewer, got d={d!r}")
        if self.d_ and d > self.d_:
            self._widen(d)
            self.d_ = d

    def widen_columns(self, kinds: Mapping[str, str]) -> None:
        """Add columns by name with their kinds. They count as missing in every row so far."""
        raise TypeError(f"{self._kind} takes rows of numbers, whose columns have no names; use widen")

    def _widen(self, d: int) -> None:
        raise TypeError(f"{self._kind} cannot take more columns once it has started; declare them beforehand")

    def _wanted(self, Y: Array) -> int:
        """Return the number of outputs that these labels need, or raise an error for a wrong number of targets."""
        if self.labels == "class":
            return self.classes or max(2, int(Y.max()) + 1)
        wanted = Y.shape[1]
        if self.d_ and wanted != self.outputs_:
            raise ValueError(f"y has {wanted} columns, but the learner was started with {self.outputs_}")
        if wanted > 1 and self.labels == "real" and not self.multi_output:
            raise ValueError(f"{self._kind} has one output; y has {wanted} columns")
        return wanted

    def _prepare(self, d: int, Y: Array) -> int:
        """Start at the first row, check the outputs, and add late classes. Return the previous number of outputs."""
        wanted, known = self._wanted(Y), self.outputs_ if self.d_ else self.classes or 2
        if not self.d_ or self.labels == "class":
            self.reserve(d, wanted)
        return known if self.labels == "class" else wanted

    def _next_new_class(self, Y: Array, row: int) -> int:
        """Return the end of the part from `row` on without classes beyond those known after its first row."""
        if self.labels != "class" or self.classes is not None:
            return len(Y)
        known = max(self.outputs_ if self.d_ else 2, int(Y[row, 0]) + 1)
        later = np.flatnonzero(Y[row:, 0] >= known)
        return row + int(later[0]) if len(later) else len(Y)


def _stacked(parts: list[Array]) -> Array:
    """Join predictions of successive parts. Classes that a part did not know have the score -inf."""
    wide = max(P.shape[1] for P in parts)
    return np.vstack([np.hstack([P, np.full((len(P), wide - P.shape[1]), -np.inf)]) for P in parts])
