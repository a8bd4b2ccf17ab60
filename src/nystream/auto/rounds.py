"""The rounds of the automatic learner: rows through generations of experts, and what falls on row counts."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any
from weakref import ref

import numpy as np

from nystream._core.inputs import clean_label, is_clean_row
from nystream.auto.budget import bytes_of, largest_bytes
from nystream.auto.changes.block import Block, Surroundings
from nystream.auto.changes.memory import fit_together
from nystream.auto.parts import Parts
from nystream.auto.retold import tell_anew
from nystream.auto.rows import Rows
from nystream.auto.targets import within
from nystream.data.batch import Batch
from nystream.data.inputs import stretches
from nystream.runtime.types import Array

__all__ = ["Rounds"]

ONE = np.ones((1, 1))
"""The weight of one row that has none."""
FEW = 32
"""Rows of a block while other threads ask: they wait for its end."""


class Rounds(Parts):
    """What `Auto` does with rows and labels once it has started; how it starts and what it is asked is its own."""

    def step(self, x: Any, y: Any = None, weight: float = 1.0) -> Any:
        """The prediction for one row (a dict of names to values, numbers, or sparse) made before y is read; then
        learn it."""
        plain = weight == 1.0 and self.d_ and self.translator_ is None and self.kinds_ is None
        if plain and is_clean_row(x, self.d_):
            label = clean_label(y, False)
            known = label is not None and (label.item() in range(self.outputs_) if self._classes else self._plain)
            if label is not None and known:  # the common round: a number, or a class that is known
                p = self._run(x[None], label[None], None)[0]
                self.n_seen_ += 1
                return p if self._classes else float(p[0])
        return super().step(x, y, weight)

    # -- one round ---------------------------------------------------------------------------------------------------
    def _predict(self, X: Any) -> Array:
        return self._predicted(X, 1)

    def _predict_later(self, X: Any) -> Array:
        return self._predicted(X, None)

    def _predicted(self, X: Any, ahead: int | None) -> Array:
        with self._turns.reading():
            P = np.empty((len(X), self.outputs_))
            rows = self._rows
            for i in range(0, len(X), rows):
                P[i : i + rows] = self._answer(X[i : i + rows], ahead)[0]
        return P

    def _answer(self, rows: Any, ahead: int | None = 1) -> tuple[Array, Array | None, Array]:
        """Predictions for next or later rows, for targets how far the experts disagree (n, K), and rows as the experts
        see them."""
        X, answers = self.translator_.predict(rows) if self.translator_ is not None else (_matrix(rows), None)
        if ahead is None:
            return *self.steady_.predict(self.old_, X, answers), X
        own = self.old_.predict(X, answers)
        P, spread = own[:2] if self.changes_ is None else self.changes_.predict(own, X, answers)
        P = P if self.guard_ is None else self.guard_.predict(P)
        return P if self.recalibration_ is None else self.recalibration_.predict(P), spread, X

    def _quantiles(self, rows: Any, levels: Array, ahead: int | None) -> Array:
        """(n, K, Q)"""
        assert self.intervals_ is not None
        with self._turns.reading():
            found, some = np.empty((len(rows), self.outputs_, len(levels))), self._rows
            for i in range(0, len(rows), some):
                P, spread, X = self._answer(rows[i : i + some], ahead)
                assert spread is not None
                law = self.steady_ if ahead is None else self.intervals_
                found[i : i + some] = law.quantiles(X, P, spread, levels)
        return found

    def _run(self, X: Any, Y: Array, weights: Array | None) -> Array:
        if weights is not None and not weights.all():
            return self._run_with_gaps(X, Y, weights)
        if not self._classes:
            Y = within(Y)
        if len(X) == 1:  # nothing can fall within it
            return self._rounds(X, Y, weights)
        P = np.empty((len(X), self.outputs_))
        row = 0
        while row < len(X):
            n = min(len(X) - row, self._rows, FEW if self._turns.asked else len(X))
            n = max(1, self._ready(Y[row : row + n]))
            n = min(n, self.steady_.until_cut())
            if self.changes_ is not None:
                n = min(n, self.changes_.until_cut())
            for generation in (*self._generations, *self.steady_.generations):
                n = generation.ahead(n, self._last)
            part = slice(row, row + n)
            P[part] = self._rounds(X[part], Y[part], None if weights is None else weights[part])
            row = part.stop
        return P

    def _run_with_gaps(self, X: Any, Y: Array, weights: Array) -> Array:
        """Rows of weight 0 are predicted and leave no trace."""
        P = np.empty((len(X), self.outputs_))
        for part in stretches(weights):
            w = weights[part]
            P[part] = self._run(X[part], Y[part], w) if w[0] > 0 else self._predict(X[part])
        return P

    def _rounds(self, rows: Any, Y: Array, w: Array | None) -> Array:
        """Predictions for rows within which no rebuild or refresh begins or is taken up."""
        with self._whole.writing():
            told, heard = (Y, None) if self._ready(Y) else self._told(rows, Y)
            return self._round(rows, Y, told, heard, w)

    def _ready(self, Y: Array) -> int:
        """How many of the next labels can be learnt as they are, together; 0: the first has to be looked at."""
        if self.tails_ is None or self.old_.targets_ is None:
            return len(Y)
        return self.tails_.plain(Y, *self._usual)

    def _told(self, rows: Any, Y: Array) -> tuple[Array, Array | None]:
        """What is learnt of one row's labels (1, K), and what alarms measure losses by, if that is not it.

        What is kept of those before may change for the next rebuild, unless one is under way: it looks at them.
        """
        assert self.tails_ is not None and self.targets_ is not None  # noqa: PT018
        low, high = self._usual
        outside = ((low > Y) | (high < Y))[0]
        p = self._answer(rows)[0][0]
        told, before = self.tails_.told(Y[0], p, outside, self.targets_.scale_)
        heard = self.tails_.heard(Y[0], p)
        underway = self._coming is not None or any(generation.begun_ for generation in self._generations)
        if len(before) and not underway:
            before = before[-len(self.buffer_[1]) :]
            kept = self.buffer_[1].last(len(before))
            self.buffer_[1].replace(np.where(np.isnan(before), kept, before))
        return told[None], None if heard is None else heard[None]

    def _believe(self, Y: Array, rows: int, after: int) -> None:
        """Labels of so many last rows, Y the last of them, are kept as they came, unless tails were long before.

        What is under way looks at them: then they stay as they are.
        """
        if self.tails_ is None or not self.tails_.changed(rows, len(Y), after):
            return
        labels = np.concatenate((self.tails_.labels_.last(max(0, rows - len(Y))), Y))[-rows:]
        if not any(generation.begun_ for generation in self._generations):
            self.buffer_[1].replace(labels[-len(self.buffer_[1]) :])

    def _round(self, rows: Any, Y: Array, told: Array, heard: Array | None, w: Array | None) -> Array:
        # references are weak: an ensemble that is replaced gives up its memory
        living = [ref(generation) for generation in (*self._generations, *self.steady_.generations)]
        turn = self._turns.writing
        with turn():
            P = self._learnt(rows, Y, told, heard, w)
        generations, changes, lasting = self._generations, self.changes_, self.steady_.generations
        moved = [ref(generation) for generation in (*generations, *lasting)] != living
        alone = len(generations) == 1
        if self.tails_ is not None:
            self.tails_.see(P, Y)
            if alone and self.old_.count_ in self.old_.bank_.recipe.rebuilds:
                moved = tell_anew(self.old_, self.tails_, self.buffer_[1], self._last, turn) or moved
        coming = changes is not None and changes.coming_ is not None
        for generation in generations:
            if (generation.begun_ or generation.due) and ref(generation) in living:
                refreshes, grows = generation is not self.old_ or self._refreshes, alone and not coming
                moved = generation.attend(self._last, refreshes=refreshes, grows=grows, alone=turn) or moved
        for generation in lasting:
            if (generation.begun_ or generation.due) and ref(generation) in living:
                moved = generation.attend(self._last, alone=turn) or moved
        if moved or coming:
            with turn():
                self._keep()
        if changes is not None:
            changes.copy(self.old_)
        if self.steady_.due:
            with turn():
                self.steady_.attend(self.old_)
        return P

    def _learnt(self, rows: Any, Y: Array, told: Array, heard: Array | None, w: Array | None) -> Array:
        """Predictions for rows, which are learnt by all that lives: `told` is what it is told of the labels Y, `heard`
        what alarms are."""
        old = self.old_
        own = old.admitted(told)
        admitted = own if own is told else self._of_either(told, own)
        X, answers = self.translator_.run(rows, admitted, w) if self.translator_ is not None else (_matrix(rows), None)
        learnt = old.learn(Rows(X, own, w), answers)
        P, spread = learnt.P, learnt.spread
        inputs, labels, weights = self.buffer_
        inputs.extend(X)
        labels.extend(told)
        weights.extend(_ones(len(X)) if w is None else w[:, None])
        self.count_ += len(X)
        if self.changes_ is not None:
            heard = None if heard is None else np.where(np.isnan(heard), admitted, heard)
            block = Block(Rows(X, told, w), admitted, answers, learnt, heard)
            self.old_, P, spread = self.changes_.follow(old, block, partial(self._around, Y))
        if self.guard_ is not None:
            P = self.guard_.run(P, admitted[:, 0] if self._classes else admitted, w)
        seen = admitted
        if told is not Y and old.targets_ is not None:
            seen = old.targets_.fenced(Y)  # intervals are to cover labels as they come
        if self.intervals_ is not None and spread is not None:
            self.intervals_.learn(X, P, seen - P, spread, w)
        self.steady_.learn(X, seen, told, w, answers)
        if self.old_ is not old:
            self.steady_.replace(old, self.old_)
        if self.recalibration_ is not None:
            P = self.recalibration_.run(P, np.ascontiguousarray(Y[:, 0]), w)
        return P

    def _around(self, Y: Array) -> Surroundings:
        """What changes may ask for while they follow a block with these labels."""
        return Surroundings(self._last, self._beside, self._column_names, partial(self._believe, Y))

    def _of_either(self, told: Array, own: Array) -> Array:
        """Labels as both generations hear them: what is wild for the old one alone, after a change, is not."""
        if self._young is None or self._young.targets_ is None:
            return own
        low, high = self._young.targets_.fences_
        return np.where((low <= told) & (told <= high), told, own)

    @property
    def _refreshes(self) -> bool:
        """Whether memory suffices to rebuild or refresh the old generation now."""
        return self.changes_ is None or self.changes_.refreshes_

    # -- rows that are kept ------------------------------------------------------------------------------------------
    @property
    def _rows(self) -> int:
        """Rows that are handled at a time."""
        return min(generation.rows_at_once for generation in self._generations)

    def _keep(self) -> None:
        """As many rows as the generations may ask for, and one that begins; one that is alone may be of full size."""
        if self._young is None and self._coming is None:
            self.old_.regain(self.sized_)
        capacity = max(generation.capacity for generation in (*self._generations, *self.steady_.generations))
        if self.changes_ is not None:
            capacity = max(capacity, self.changes_.reach_ + min(self._rows, self.old_.every))
            if self._coming is not None:
                capacity = max(capacity, self._coming.latest - self._coming.since + self.changes_.ahead)
        if capacity != self.buffer_[0].capacity:
            self.buffer_ = [ring.resized(capacity) for ring in self.buffer_]

    def _last(self, n: int) -> Rows:
        """The last rows, at most n."""
        X, Y, w = (ring.last(n) for ring in self.buffer_)
        return Rows(X, Y, None if bool((w == 1.0).all()) else w[:, 0])

    def _kept(self) -> Rows:
        return self._last(len(self.buffer_[0]))

    def _column_names(self) -> list[str]:
        """Of the columns that the experts see."""
        if self.translator_ is not None:
            return self.translator_.layout_
        return list(self.kinds_) if self.kinds_ is not None else [str(j) for j in range(self.d_)]

    # -- other threads -------------------------------------------------------------------------------------------------
    def _state(self) -> dict[str, Any]:
        """Where another thread learns, a copy of one moment."""
        if self._whole.mine:
            return super()._state()
        with self._whole.reading():
            state = copy.deepcopy(super()._state())
            return {**state, "n_seen_": state["count_"]} if self.d_ else state

    def reserve(self, d: int, outputs: int) -> None:
        if self.d_ and outputs <= self.outputs_:
            return
        with self._whole.writing():
            for generation in (*self._generations, *self.steady_.generations) if self.d_ else []:
                generation.finish(self._last)
            with self._turns.writing():
                super().reserve(d, outputs)

    def widen(self, d: int) -> None:
        with self._whole.writing(), self._turns.writing():
            super().widen(d)

    # -- classes, columns ----------------------------------------------------------------------------------------------
    def _grow(self, outputs: int) -> None:
        """New classes, exactly as if they had been known; where memory does not suffice for them all, smaller experts.

        Those are fitted at once, on the rows that are kept. A young generation ends before that.
        """
        recipe, translator, budget = self.bank_.recipe, self.translator_, self._share * bytes_of(self.memory)
        wide = self._dense if translator is None else translator.width_of(outputs)
        smaller = None
        if largest_bytes(recipe, wide, outputs, codes=True, more=self._more) > budget:
            smaller = self._affordable(self.sized_, wide, outputs)  # or it is refused, and nothing has changed
        self._settle()
        self.steady_.flush(self.old_)
        if translator is not None:
            before = self._dense
            translator.grow(outputs)
            self._widen_dense(wide, before)
        self.sized_ = self._growing(self.sized_ if smaller is None else smaller, wide, outputs)
        young, fit = self._young, smaller is None
        if young is not None and fit:
            recipe, left = young.bank_.recipe, self._for_generations
            fit = fit_together(self.old_, recipe, wide, outputs, left, self._more)
        if smaller is None:
            self.old_.grow(outputs)
        else:
            self.old_.shrink(smaller, outputs, self._last)
        for generation in self._generations:
            generation.bank_.recipe = self._growing(generation.bank_.recipe, wide, outputs)
        if self.changes_ is not None:
            self.changes_.grow(outputs, *self._reach(outputs), self.old_.rows_at_once, fits=fit)
        self.steady_.grow(self.old_, outputs)
        self._keep()

    def _settle(self) -> None:
        """Finish the rebuilds and refreshes that are under way, and let a young generation be level."""
        if self.changes_ is not None:
            self.changes_.settle(self.old_, self._last)
        for generation in (*self._generations, *self.steady_.generations):
            generation.settle(self._last)

    def _widen_dense(self, d: int, before: int) -> None:
        """New columns were missing so far: predictions stay, and the next rebuild or refresh counts them in."""
        if d > before:
            self._settle()
            self.buffer_[0] = self.buffer_[0].widened(d)
            self.old_.widen(d)
            if self.changes_ is not None:
                self.changes_.widen(d)
            if self.intervals_ is not None:
                self.intervals_.widen(d)
            self.steady_.widen(self.old_, d)


def _ones(n: int) -> Array:
    """(n, 1) weights of rows that have none."""
    return ONE if n == 1 else np.ones((n, 1))


def _matrix(rows: Any) -> Array:
    """Rows of numbers, perhaps in columns with names."""
    return rows.matrix() if isinstance(rows, Batch) else rows
