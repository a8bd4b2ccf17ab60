"""The rounds of the automatic learner: rows through experts and stackers, and what falls on row counts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from nystream.auto.bank import Bank
from nystream.auto.intervals import Intervals
from nystream.auto.memory import in_memory, most_bytes
from nystream.auto.quantities import bytes_of
from nystream.auto.recipe import Recipe
from nystream.auto.stack import Stack
from nystream.auto.tables import SHARE
from nystream.auto.targets import Targets, within
from nystream.encoding import Columns
from nystream.learners.families.tabular import TabularLearner
from nystream.learners.translator import Translator
from nystream.scaling.ring import Ring
from nystream.types import Array

__all__ = ["Rounds"]

MARGIN = 1.5
CODE_BOUNDS = (np.full((1, 1), -MARGIN), np.full((1, 1), MARGIN))
"""Scores of classes are clipped to these."""
ZERO, ONE = np.zeros(1), np.ones(1)
"""Where codes of classes are, and their unit."""


class Rounds(TabularLearner):
    """What `Auto` does with rows and labels once it has started; how it starts and what it is asked is its own."""

    memory: Any
    task: str
    seed_: int

    sized_: Recipe
    """The recipe that the budgets led to at the start; with very many classes that of the bank is smaller."""
    bank_: Bank
    stack_: Stack
    targets_: Targets | None
    """Scale and fences of the labels; of regression only."""
    intervals_: Intervals | None
    """Of regression only."""
    buffer_: list[Ring]
    """Inputs, labels or targets, and weights: all rows of the warm-up, then the last ones."""
    count_: int
    """Rows learnt; those of weight 0 are not."""
    translator_: Translator | None = None
    """Of tables and sparse rows: what makes numbers of them. None: rows are numbers."""
    kinds_: dict[str, str] | None = None
    """Of tables: the kind of every column, by name."""

    @property
    def _classes(self) -> bool:
        return self.task == "classification"

    @property
    def _dense(self) -> int:
        """Columns that the experts see."""
        return self.d_ if self.translator_ is None else self.translator_.width

    @property
    def _share(self) -> float:
        """The part of the memory that is not the translator's."""
        return 1.0 if self.translator_ is None else 1.0 - SHARE

    def _affordable(self, recipe: Recipe, d: int, outputs: int) -> Recipe:
        """The largest recipe of this shape that memory suffices for."""
        more, codes = self.stack_.more_, self._classes
        return in_memory(recipe, bytes_of(self.memory), d, outputs, codes=codes, more=more, share=self._share)

    # -- one round ---------------------------------------------------------------------------------------------------
    def _predict(self, X: Any) -> Array:
        P = np.empty((len(X), self.outputs_))
        rows = self._rows
        for i in range(0, len(X), rows):
            P[i : i + rows] = self._answer(X[i : i + rows])[0]
        return P

    def _answer(self, rows: Any) -> tuple[Array, Array]:
        """Predictions, and the experts' outputs (n, E, C) that they are made of."""
        low, high = CODE_BOUNDS if self.targets_ is None else self.targets_.bounds()
        X, answers = self.translator_.predict(rows) if self.translator_ is not None else (_matrix(rows), None)
        F = self._scores(self.bank_.predict(X, self._inner), low, high)
        P = self.stack_.predict(F, self._bounded(answers, low, high), self._shift, self._scale)
        return self._unscaled(P, low, high), F

    def _run(self, X: Any, Y: Array, weights: Array | None) -> Array:
        if weights is not None and not weights.all():
            return self._run_with_gaps(X, Y, weights)
        if self.targets_ is not None:
            Y = within(Y)
        P = np.empty((len(X), self.outputs_))
        row, most = 0, self._rows
        while row < len(X):
            part = slice(row, min(len(X), row + most, row + self._until_event()))
            w = None if weights is None else weights[part]
            P[part], dense = self._rounds(X[part], Y[part], w)
            inputs, labels, counts = self.buffer_
            inputs.extend(dense)
            labels.extend(Y[part])
            counts.extend(np.ones((part.stop - row, 1)) if w is None else w[:, None])
            self.count_ += part.stop - row
            self._event()
            row = part.stop
        return P

    def _run_with_gaps(self, X: Any, Y: Array, weights: Array) -> Array:
        """Rows of weight 0 are predicted and leave no trace."""
        P = np.empty((len(X), self.outputs_))
        some = weights > 0
        cuts = [0, *(np.flatnonzero(some[1:] != some[:-1]) + 1).tolist(), len(X)]
        for i, j in pairwise(cuts):
            P[i:j] = self._run(X[i:j], Y[i:j], weights[i:j]) if some[i] else self._predict(X[i:j])
        return P

    def _rounds(self, rows: Any, Y: Array, w: Array | None) -> tuple[Array, Array]:
        """Predictions, and the rows as the experts saw them."""
        if self.targets_ is None:
            T, (low, high) = self._coded(Y), CODE_BOUNDS
        else:
            Y = self.targets_.admitted(Y)
            T, (low, high) = self.targets_.standardised(Y), self.targets_.extended(Y)
        X, answers = self.translator_.run(rows, Y, w) if self.translator_ is not None else (_matrix(rows), None)
        F = self._scores(self.bank_.run(X, T, w, (low, high)), low, high)
        codes, labels = np.ascontiguousarray(self._codes(T)), np.ascontiguousarray(Y[:, 0])
        P, spread = self.stack_.run(F, self._bounded(answers, low, high), codes, labels, w, self._shift, self._scale)
        P = self._unscaled(P, low, high)
        if self.intervals_ is not None and spread is not None:
            self.intervals_.learn(P - Y, spread * self._scale)
        return P, X

    # -- events ------------------------------------------------------------------------------------------------------
    @property
    def _warm(self) -> bool:
        return self.count_ >= self.bank_.recipe.warmup

    @property
    def _rows(self) -> int:
        """Rows that are handled at a time."""
        return self.bank_.recipe.rows_at_once(self.outputs_)

    @property
    def _every(self) -> int:
        return self.bank_.recipe.every(self._dense, self.outputs_)

    def _until_event(self) -> int:
        """Rows until the next rebuild or refresh."""
        recipe = self.bank_.recipe
        if self._warm:
            return self._every - self.count_ % self._every
        return min(r for r in recipe.rebuilds if r > self.count_) - self.count_

    def _event(self) -> None:
        """Where a rebuild or a refresh is due, do it; what it draws depends on the seed and the row count alone."""
        recipe, t = self.bank_.recipe, self.count_
        if t in recipe.rebuilds:
            X, Y, w = self._kept()
            if self.targets_ is not None:
                self.stack_.rescale(*self.targets_.locate(Y, w))
            self.bank_.rebuild(X, self._past(Y), w, np.random.default_rng([self.seed_, t]), last=self._warm)
            if self._warm:
                self.buffer_ = [ring.resized(recipe.ring) for ring in self.buffer_]
        elif self._warm and t % self._every == 0:
            X, Y, w = self._kept()
            if self.targets_ is not None:
                self.targets_.enclose(Y, w)
            self.bank_.refresh(X, self._past(Y), w, np.random.default_rng([self.seed_, t]))

    def _kept(self) -> tuple[Array, Array, Array | None]:
        X, Y, w = (ring.rows for ring in self.buffer_)
        return X, Y, None if bool((w == 1.0).all()) else w[:, 0]

    # -- targets, scores, predictions --------------------------------------------------------------------------------
    @property
    def _inner(self) -> int:
        """Targets of the experts: for classes one that is always 1, then the codes."""
        return 1 + self.outputs_ if self._classes else self.outputs_

    def _past(self, Y: Array) -> Array:
        """What the experts are told of labels that were learnt before."""
        targets = self.targets_
        return self._coded(Y) if targets is None else targets.standardised(targets.fenced(Y))

    def _coded(self, Y: Array, classes: int = 0) -> Array:
        T = np.full((len(Y), 1 + (classes or self.outputs_)), -1.0)
        T[:, 0] = 1.0
        T[np.arange(len(Y)), 1 + Y[:, 0].astype(np.intp)] = 1.0
        return T

    @property
    def _shift(self) -> Array:
        return ZERO if self.targets_ is None else self.targets_.shift_

    @property
    def _scale(self) -> Array:
        return ONE if self.targets_ is None else self.targets_.scale_

    def _codes(self, T: Array) -> Array:
        """The columns of targets or outputs that the stack sees, (n, ..., C)."""
        if not self._classes:
            return T
        return T[..., 2:] if self.outputs_ == 2 else T[..., 1:]

    def _scores(self, F: Array, low: Array, high: Array) -> Array:
        return np.minimum(np.maximum(self._codes(F), low[:, None]), high[:, None])

    def _bounded(self, answers: Array | None, low: Array, high: Array) -> Array | None:
        """What the sparse experts say, as the stack sees it."""
        if answers is None or self.targets_ is None:
            return answers
        return np.minimum(np.maximum((answers - self._shift) / self._scale, low[:, None]), high[:, None])

    def _unscaled(self, P: Array, low: Array, high: Array) -> Array:
        """What the stack predicts in the units of the labels, within their bounds; of classes the logarithms."""
        if self.targets_ is None:
            return np.log(P)
        return self.targets_.back(np.minimum(np.maximum(P, low), high))

    # -- classes, columns ----------------------------------------------------------------------------------------------
    def _grow(self, outputs: int) -> None:
        """New classes, exactly as if they had been known; where memory does not suffice for them all, smaller experts.

        Those are fitted at once, on the rows that are kept.
        """
        recipe, translator = self.bank_.recipe, self.translator_
        wide = self._dense if translator is None else translator.width_of(outputs)
        smaller = None
        if most_bytes(recipe, wide, outputs, codes=True, more=self.stack_.more_) > self._share * bytes_of(self.memory):
            smaller = self._affordable(self.sized_, wide, outputs)  # or it is refused, and nothing has changed
        if translator is not None:
            before = self._dense
            translator.grow(outputs)
            self._widen_dense(wide, before)
        if smaller is not None:
            self._shrink(smaller, outputs)
            return
        combination = np.zeros((1 + self.outputs_, outputs - self.outputs_))
        combination[0] = -1.0
        self.bank_.add_outputs(combination)
        self.stack_.grow(outputs)

    def _shrink(self, recipe: Recipe, outputs: int) -> None:
        before, self.bank_.recipe = self.bank_.names, recipe
        capacity = recipe.ring if self._warm else recipe.warmup
        self.buffer_ = [ring.resized(capacity) for ring in self.buffer_]
        self.stack_.grow(outputs)
        if self.bank_.names != before:  # the stackers of other experts begin anew
            stack = Stack(self._classes, self.stack_.lags)
            stack.start(len(self.bank_.names), outputs, self.stack_.more_, int("change" in self.bank_.names))
            stack.lags_, self.stack_ = self.stack_.lags_, stack
        if self.bank_.experts_:
            X, Y, w = self._kept()
            rng = np.random.default_rng([self.seed_, self.count_, outputs])
            self.bank_.rebuild(X, self._coded(Y, outputs), w, rng, last=self._warm)

    def _widen_dense(self, d: int, before: int) -> None:
        """New columns were missing so far: predictions stay, and the next rebuild or refresh counts them in."""
        if d > before:
            self.buffer_[0] = self.buffer_[0].widened(d)
            self.bank_.widen(d)


def _matrix(rows: Any) -> Array:
    """Rows of numbers, perhaps in columns with names."""
    return rows.matrix() if isinstance(rows, Columns) else rows
