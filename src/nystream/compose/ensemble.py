"""The base class of learners that combine several regression learners."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from nystream._core.kernels import RowPanel
from nystream.compose.panel import Panel
from nystream.learners.base import Learner
from nystream.losses import Loss, Squared
from nystream.losses.label_bound import LabelBound
from nystream.runtime.types import Array

__all__ = ["Ensemble", "check_learners"]

BLOCK = 256
"""Rows that the learners process at a time. Their predictions and shared kernel values are in memory meanwhile."""


class Ensemble(LabelBound, Learner):
    """An ensemble of clones of `learners` on the same rows, for labels within [-bound, bound].

    Subclasses have the parameters `learners`, `bound` and `threads` and call `_begin` in `_start`. `_mixed` combines
    the predictions (n, K, N) of the N learners with the weights `shares`. `_compiled` does it for one row of compiled
    learners.
    """

    learners: Sequence[Learner]
    bound: float
    threads: int | None
    _bound_name = "bound"
    experts_: list[Learner]
    _panel: Panel
    _row: RowPanel | None = None  # compiled code for one row through all learners and `_mixed`, if possible

    @property
    def experts(self) -> list[Learner]:
        """The trained learners in the order of `learners`; empty before the first row."""
        return self.experts_ if self.d_ else []

    def _begin(self, d: int, outputs: int) -> None:
        experts = [learner.clone() for learner in self.learners]
        for expert in experts:
            expert.reserve(d, outputs)
        self.void_ = False
        self._hold(experts)

    @property
    def multi_output(self) -> bool:
        return all(learner.multi_output for learner in self.learners)

    def _wanted(self, Y: Array) -> int:
        for i, learner in enumerate(self.learners):
            if Y.shape[1] > 1 and not learner.multi_output:
                raise ValueError(f"y has {Y.shape[1]} columns, but learners[{i}], a {learner._kind}, has one output")
        return super()._wanted(Y)

    @property
    def objective(self) -> Loss | None:
        return Squared()

    @property
    def room(self) -> int | None:
        rooms = [learner.room for learner in self.experts or self.learners]
        return min((room for room in rooms if room is not None), default=None)

    def shares(self) -> Array:
        """Return the weights of the learners in the next prediction: (N,), or (N, K) for K > 1 outputs."""
        raise NotImplementedError

    def weights(self) -> dict[str, float]:
        """Return the weights of the learners by number and kind, averaged over outputs."""
        shares = self.shares().reshape(len(self.learners), -1).mean(axis=1).tolist()
        names = [f"{i} {learner._kind}" for i, learner in enumerate(self.learners, 1)]
        return dict(zip(names, shares, strict=True))

    def _mixed(self, Q: Array, Y: Array | None = None) -> Array:
        """Return predictions (n, K) from those of the learners (n, K, N). Learn if labels Y (n, K) are given."""
        raise NotImplementedError

    def _compiled(self, learners: list[Any], groups: list[list[int]], told: list[Any]) -> RowPanel:
        """Return compiled code for one row through these learners (`RowPanel`) and `_mixed`."""
        raise NotImplementedError

    def _predict(self, X: Array) -> Array:
        return self._predicted(X, 1)

    def _predict_later(self, X: Array) -> Array:
        return self._predicted(X, None)

    def _predicted(self, X: Array, ahead: int | None) -> Array:
        P = np.empty((len(X), self.outputs_))
        for i in range(0, len(X), BLOCK):
            P[i : i + BLOCK] = self._mixed(self._panel.predict(X[i : i + BLOCK], ahead))
        return P

    def _check(self, X: Array, learnt: int) -> None:
        self._check_room(learnt)
        for expert in self.experts_:
            expert._check(X, learnt)

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        self._check(x[None], 1)
        self._note_labels(y, stacklevel=5)
        return self._mixed(self._panel.step(x, y), y[None])[0]

    def _step_one(self, x: Any, y: Any) -> float | None:
        row = self._row or self._bound()
        p = None if row is None else row.one_row(x, y, self._limit)  # no warning up to this row
        if p is None:
            self._row = None  # learners may have been given new arrays
            p = super()._step_one(x, y)
        return p

    def _bound(self) -> RowPanel | None:
        """Return the present learners in compiled form, or None if one of them needs Python."""
        parts = self._panel.compiled()
        self._row = None if parts is None else self._compiled(*parts)
        return self._row

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        self._note_labels(Y, stacklevel=5)
        P = np.empty_like(Y)
        for i in range(0, len(X), BLOCK):
            part = slice(i, i + BLOCK)
            P[part] = self._mixed(self._panel.run(X[part], Y[part], self.threads), Y[part])
        return P

    @property
    def _label_bound(self) -> float:
        return self.bound

    def _check_room(self, rows: int) -> None:
        for i, expert in enumerate(self.experts_):
            if expert.room is not None and rows > expert.room:
                raise ValueError(
                    f"learners[{i}], a {type(expert).__name__}, has room for {expert.room} more points, not for {rows}"
                )

    def _widen(self, d: int) -> None:
        experts = copy.deepcopy(self.experts_)  # an error of one learner must not change the others
        for expert in experts:
            expert.widen(d)
        self._hold(experts)

    def _hold(self, experts: list[Learner]) -> None:
        self.experts_, self._panel, self._row = experts, Panel(experts), None

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if "experts_" in state:
            self._hold(self.experts_)

    @property
    def size(self) -> int:
        """Number of stored points or features of all learners."""
        return sum(expert.size for expert in self.experts)

    @property
    def nbytes(self) -> int:
        own = sum(value.nbytes for value in self._state().values() if isinstance(value, np.ndarray))
        return own + sum(expert.nbytes for expert in self.experts)


def check_learners(learners: Sequence[Learner], purpose: str) -> None:
    """Raise an error unless this is a list of regression learners."""
    if not isinstance(learners, (list, tuple)) or not learners:
        raise ValueError(f"learners must be a list of at least one learner, got {learners!r}")
    for i, learner in enumerate(learners):
        if not isinstance(learner, Learner):
            raise ValueError(f"learners[{i}] must be a learner such as PKAWV, got {learner!r}")
        if learner.labels != "real":
            raise ValueError(
                f"learners[{i}], {learner!r}, learns labels of kind {learner.labels!r}; {purpose} is for regression: "
                "give it a regression loss"
            )
