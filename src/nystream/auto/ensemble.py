"""One ensemble: experts, their stack, the scale of labels, and the schedule of refits, begun at some row."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import numpy as np

from nystream._core.auto.stack import coded
from nystream.auto.expert_set import ExpertSet
from nystream.auto.recipe import Recipe
from nystream.auto.refit import Missed, Refit
from nystream.auto.rows import Answer, Learnt, Rows, plain_part_of
from nystream.auto.stack import Frame, Stack, shifted
from nystream.auto.targets import Targets
from nystream.runtime.incremental import run_to_completion
from nystream.runtime.params import Params
from nystream.runtime.types import Array
from nystream.scaling.ring import Ring

__all__ = ["Ensemble"]

MARGIN = 1.5
"""Bound on scores of classes, whose codes are -1 and +1: a score beyond it is no more certain."""
CODES = Frame(np.full((1, 1), -MARGIN), np.full((1, 1), MARGIN), np.zeros(1), np.ones(1))
"""What scores of classes are clipped to, where codes are, and their unit."""
OWED = 100
"""A rebuild or growth that waits begins at a multiple of so many rows, as soon as it may."""


class Ensemble(Params):
    """Predicts and learns dense rows. It keeps no rows: those of a refit are handed to it.

    Parameters
    ----------
    recipe : Recipe
        That the budgets led to; with very many classes that of the expert set is smaller.
    classes, lags : bool
    seed : int
    delay : int, default 0
        Rows after which labels are known.
    """

    expert_set_: ExpertSet
    stack_: Stack
    targets_: Targets | None
    """Scale and fences of the labels; of regression only."""
    outputs_: int
    d_: int
    """Columns that the experts see."""
    refitted_: int
    """Rows learnt at the last full refit."""
    count_: int
    """Rows learnt."""
    late_: Ring | None
    """The last labels, as they were learnt, which come after rows that did not know them; none without a delay."""
    begun_: int
    """Rows that had been learnt when the rebuild or refresh that is under way began; 0: none is."""
    owed_: bool
    """Whether a full refit was postponed; it stays true until the postponed refit is swapped in."""
    growing_: bool
    """Whether what is under way is a rebuild with more landmarks, after the warm-up."""
    _calm: tuple[Recipe, int] | None = None  # the recipe, and rows to be learnt before anything can be due by it
    _refit: Refit | None = None
    """It, unless the model was just read from a file: then it is done again from the rows that are kept."""

    def __init__(self, recipe: Recipe, classes: bool, lags: bool, seed: int, delay: int = 0) -> None:
        self.recipe = recipe
        self.classes = classes
        self.lags = lags
        self.seed = seed
        self.delay = delay

    def start(self, d: int, outputs: int, more: int = 0, *, first: bool = False) -> None:
        """Begin with d columns, so many targets or classes, and `more` sparse experts; `first`: the stream begins
        here.
        """
        self.d_, self.outputs_ = d, outputs
        late = self.delay > 0 and self.lags
        self.late_ = Ring(self.delay, 1 if self.classes else outputs) if late else None
        self.expert_set_ = ExpertSet(self.recipe, self.classes, self.delay if late else 0)
        self.expert_set_.start()
        self.stack_ = Stack(self.classes, self.lags)
        aside = int("change" in self.expert_set_.names)
        self.stack_.start(len(self.expert_set_.names), outputs, more, aside, first=first, late=late)
        self.targets_ = None
        if not self.classes:
            self.targets_ = Targets(outputs)
            self.targets_.start()
        self.count_ = self.refitted_ = self.begun_ = 0
        self.owed_ = self.growing_ = False

    # -- rounds ------------------------------------------------------------------------------------------------------
    def predict(self, X: Array, answers: Array | None) -> Answer:
        """Predict as `learn` does before a label. Pure."""
        frame = CODES if self.targets_ is None else self.targets_.frame()
        known = None if self.late_ is None else self._numbers(self.late_.last(self.delay))
        outputs = self.expert_set_.predict(X, self.inner, known)
        P, spread, _, core = self.stack_.predict(outputs, answers, frame, self.expert_set_.recipe.steady, known)
        return Answer(P, spread, core)

    def admitted(self, Y: Array) -> Array:
        """Return the next labels as they are to be learnt, outliers moved to the bounds. Called once for each row,
        before `learn`.
        """
        return Y if self.targets_ is None else self.targets_.admitted(Y)

    def learn(self, rows: Rows, answers: Array | None) -> Learnt:
        """Predict rows whose labels were admitted, each before its label is learnt."""
        outputs, T, frame, known = self.run_experts(rows)
        steady = self.expert_set_.recipe.steady
        return self.stack_.run(outputs, answers, T, rows.Y[:, 0], rows.w, frame, steady, known)

    def run_experts(self, rows: Rows) -> tuple[Array, Array, Frame, Array | None]:
        """Let the experts alone learn such rows. Return their outputs, the targets, the range of these, and the
        targets that become known with each row, if labels come late.
        """
        X, Y, w = rows
        T, frame = (coded(Y, self.outputs_), CODES) if self.targets_ is None else self.targets_.entered(Y)
        known = None if self.late_ is None else self._known(Y, self.late_)
        outputs = self.expert_set_.run(X, T, w, frame[:2], known)
        self.count_ += len(X)
        return outputs, T, frame, known

    def _known(self, Y: Array, late: Ring) -> Array:
        """Return (n, K) targets that become known with each of these rows."""
        known = shifted(Y, self.delay, late.last(self.delay))
        late.extend(Y)
        return self._numbers(known)

    def _numbers(self, Y: Array) -> Array:
        """Return labels as targets; nan where there is none."""
        if self.targets_ is not None:
            return self.targets_.standardised(Y)
        return np.where(np.isnan(Y), np.nan, coded(np.nan_to_num(Y), self.outputs_))

    # -- events ------------------------------------------------------------------------------------------------------
    @property
    def warm(self) -> bool:
        """Whether the warm-up is over."""
        return self.count_ >= self.expert_set_.recipe.warmup and not self.owed_

    @property
    def rows_at_once(self) -> int:
        return self.expert_set_.recipe.rows_at_once(self.outputs_)

    @property
    def every(self) -> int:
        """Rows between partial refits."""
        return self.expert_set_.recipe.every(self.d_, self.outputs_)

    @property
    def capacity(self) -> int:
        """Rows to keep for the refits to come, and for the one under way."""
        recipe = self.expert_set_.recipe
        if recipe.grows:
            recipe = self.larger
            return recipe.warmup + recipe.late
        return (recipe.ring if self.warm and self.begun_ != recipe.warmup else recipe.warmup) + recipe.late

    def until_event(self) -> int:
        """Return how many rows remain until the next refit begins, or until one that waits can begin."""
        if self.warm:
            events = [self.every - self.count_ % self.every]
            if grows := self.expert_set_.recipe.grows:
                events.append(grows[0] - self.count_ if grows[0] > self.count_ else OWED - self.count_ % OWED)
            return min(events)
        waits = [OWED - self.count_ % OWED] if self.owed_ else []
        return min([*(r - self.count_ for r in self.expert_set_.recipe.rebuilds if r > self.count_), *waits])

    @property
    def due(self) -> bool:
        """Whether a refit is due after the row learnt last."""
        recipe = self.expert_set_.recipe
        if self._calm is not None and self.count_ < self._calm[1] and self._calm[0] is recipe and not self.owed_:
            return False  # the common round
        self._calm = None if self._outgrown or self._usual_due else (recipe, self.count_ + self.until_event())
        return self._calm is None

    @property
    def _outgrown(self) -> bool:
        """Return whether there are enough rows for more landmarks, and these may come now."""
        grows = self.expert_set_.recipe.grows
        if not grows or self.begun_ or not self.warm or self.count_ < grows[0]:
            return False
        return self.count_ == grows[0] or self.count_ % OWED == 0

    @property
    def larger(self) -> Recipe:
        """Return the sizes after the next growth, or after all growths whose rows have passed while it had to wait."""
        recipe = self.expert_set_.recipe.grown()
        while recipe.grows and recipe.grows[0] <= (self.begun_ if self.growing_ else self.count_):
            recipe = recipe.grown()
        return recipe

    @property
    def _usual_due(self) -> bool:
        recipe = self.expert_set_.recipe
        if self.growing_:
            return False
        if self.owed_ and not self.begun_ and self.count_ % OWED == 0:
            return True
        if self.count_ > recipe.warmup:
            return not self.owed_ and self.count_ % self.every == 0
        return self.count_ in recipe.rebuilds

    def ahead(self, n: int, last: Callable[[int], Rows]) -> int:
        """Return the rows, at most n, that can be learnt before `attend` has to be called; their slices of a refit
        are done now.

        `last` gives the last rows. Where one row at a time is learnt, `attend` alone is enough.
        """
        n = min(n, self.until_event())
        if self.begun_:
            since, refit = self.count_ - self.begun_, self._underway(last)
            n = min(n, self._late - since)
            refit.build(since + n)
            n = n if refit.level is None else min(n, refit.level - since)
        return n

    def attend(
        self,
        last: Callable[[int], Rows],
        *,
        refreshes: bool = True,
        grows: bool = True,
        alone: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> bool:
        """Go on with the refit under way after rows were learnt, and begin the one that is due.

        Returns whether one was begun or taken up. Without `refreshes` none is begun, and a rebuild waits; without
        `grows` more landmarks do. `alone` is entered where what predicts changes, which takes little time unless the
        recipe does not spread its rebuilds.
        """
        changed = self.begun_ > 0 and self._go_on(last, alone)
        growing = grows and self._outgrown
        if not growing and not self._usual_due:
            return changed
        if not growing and not refreshes:
            self.owed_ = self.owed_ or not self.warm or self.count_ == self.expert_set_.recipe.warmup
        else:
            self.growing_ = growing
            with alone():
                self._begin(last)
            if self.begun_:
                self._go_on(last, alone)
            changed = True
        return changed

    def _go_on(self, last: Callable[[int], Rows], alone: Callable[[], AbstractContextManager[None]]) -> bool:
        """Do the slices of the refit under way that the rows since its beginning bring. Return whether it was
        swapped in.
        """
        since, refit = self.count_ - self.begun_, self._underway(last)
        late = since > 0 and (self._usual_due or since >= self._late)
        self._work(refit, last, late)
        if not late and since != refit.level:
            return False
        with alone():
            self._take_up(refit)
        return True

    def finish(self, last: Callable[[int], Rows]) -> None:
        """Do all remaining work of the refit under way, so that `settle` may swap it in at any time."""
        if self.begun_:
            self._work(self._underway(last), last, True)

    def settle(self, last: Callable[[int], Rows]) -> None:
        """Finish the refit under way and swap it in now."""
        if self.begun_:
            self.finish(last)
            self._take_up(self._underway(last))

    def _work(self, refit: Refit, last: Callable[[int], Rows], whole: bool) -> None:
        since = self.count_ - self.begun_
        refit.build(np.inf if whole else since)
        refit.catch_up(since, lambda i, j: self._missed(refit, last, i, j), all_of_them=whole)

    @property
    def _looks_back(self) -> int:
        """Return the last rows before its beginning that the refit looks at."""
        recipe = self.larger if self.growing_ else self.expert_set_.recipe
        return min(self.begun_, recipe.warmup if self._rebuilds else recipe.ring)

    @property
    def _late(self) -> int:
        """Return the rows after which the refit under way is swapped in, at the latest."""
        return (self.larger if self.growing_ else self.expert_set_.recipe).late

    @property
    def _rebuilds(self) -> bool:
        """Return whether a full refit is under way."""
        return self.owed_ or self.growing_ or self.begun_ in self.expert_set_.recipe.rebuilds

    def _begin(self, last: Callable[[int], Rows]) -> None:
        self.begun_ = self.count_
        rows = last(self._looks_back)
        if self._rebuilds:
            self.expert_set_.freeze(whole=not self.expert_set_.recipe.spread)
        else:
            if self.targets_ is not None:
                self.targets_.enclose(rows.Y, rows.w)
            if not self.expert_set_.followers:
                self.begun_ = 0
                return
        self._refit = self._new_refit(rows)
        if not self.expert_set_.recipe.spread:
            self.settle(last)

    def _underway(self, last: Callable[[int], Rows]) -> Refit:
        """Return the refit under way, begun again if the model was read from a file."""
        if self._refit is None:
            since = self.count_ - self.begun_
            rows = last(since + self._looks_back)
            self._refit = self._new_refit(plain_part_of(rows, slice(0, len(rows.X) - since)))
        return self._refit

    def _new_refit(self, rows: Rows) -> Refit:
        """Return a refit from the rows before its beginning; random draws depend on the seed and the row count
        alone.
        """
        X, Y, w = rows
        targets, rescaled = copy.deepcopy(self.targets_), None
        if targets is not None and self._rebuilds:
            rescaled = targets.locate(Y, w)
        elif targets is not None:
            targets.enclose(Y, w)
        T = coded(Y, self.outputs_) if targets is None else targets.standardised(targets.tamed(Y))
        rng = np.random.default_rng([self.seed, self.begun_])
        if self._rebuilds:
            factor = 1.0 if rescaled is None else rescaled[0]
            fresh = self.expert_set_.successor(self.larger if self.growing_ else self.expert_set_.recipe, factor)
            work = fresh.rebuilding(X, T, w, rng, last=self.begun_ >= fresh.recipe.warmup)
        else:
            fresh = self.expert_set_.following()
            work = fresh.refreshing(X, T, w, rng)
        more = fresh.recipe.landmarks > self.expert_set_.recipe.landmarks
        return Refit(work, fresh, targets, rescaled, growing=self.growing_ and more)

    def _missed(self, refit: Refit, last: Callable[[int], Rows], i: int, j: int) -> Missed:
        """Return rows i to j - 1 since the beginning of the refit, as it learns them."""
        before = 0 if self.late_ is None else min(self.delay, self.begun_ + i)
        rows = last(self.count_ - self.begun_ - i + before)
        X, Y, w = plain_part_of(rows, slice(before, before + j - i))
        known = None if self.late_ is None else shifted(Y, self.delay, rows.Y[:before])
        targets = refit.targets
        if targets is None:
            return Missed(X, coded(Y, self.outputs_), w, CODES[:2], None if known is None else self._numbers(known))
        T, frame = targets.entered(targets.admitted(Y))
        known = None if known is None else targets.standardised(targets.tamed(known))
        return Missed(X, T, w, frame[:2], known)

    def _take_up(self, refit: Refit) -> None:
        if not self._rebuilds:
            self.expert_set_.adopt(refit.expert_set)
        else:
            self.expert_set_ = refit.expert_set
            self.stack_.recent_[:], self.refitted_ = 0.0, self.count_
            if refit.targets is not None and refit.rescaled is not None:
                self.targets_ = refit.targets
                self.stack_.rescale(*refit.rescaled)
        self.begun_, self.owed_, self.growing_, self._refit = 0, False, False, None

    def regain(self, recipe: Recipe) -> None:
        """Use as many landmarks as these sizes from the next full refit on: memory is no longer shared."""
        if not self.begun_:
            self.expert_set_.recipe = self.expert_set_.recipe.as_large(recipe)

    # -- classes, columns --------------------------------------------------------------------------------------------
    def grow(self, outputs: int) -> None:
        """Add classes, exactly as if they had been known. No refit may be under way."""
        combination = np.zeros((1 + self.outputs_, outputs - self.outputs_))
        combination[0] = -1.0
        self.expert_set_.add_outputs(combination)
        self.stack_.grow(outputs)
        self.outputs_ = outputs

    def shrink(self, recipe: Recipe, outputs: int, last: Callable[[int], Rows]) -> None:
        """Add classes with smaller experts, fitted at once on the last rows. No refit may be under way."""
        before, self.expert_set_.recipe = self.expert_set_.names, recipe
        self.stack_.grow(outputs)
        self.outputs_ = outputs
        if self.expert_set_.names != before:  # the stackers of other experts begin anew
            stack = Stack(self.classes, self.stack_.lags)
            aside, late = int("change" in self.expert_set_.names), self.late_ is not None
            stack.start(len(self.expert_set_.names), outputs, self.stack_.more_, aside, late=late)
            stack.lags_ = self.stack_.lags_
            self.stack_ = stack
        if self.expert_set_.experts_:
            rows, rng = last(self.capacity), np.random.default_rng([self.seed, self.count_, outputs])
            self.expert_set_ = self.expert_set_.successor(recipe)
            run_to_completion(self.expert_set_.rebuilding(rows.X, coded(rows.Y, outputs), rows.w, rng, last=self.warm))

    def widen(self, d: int) -> None:
        """Add columns that were missing so far: predictions stay, the next refit uses them. No refit may be under
        way.
        """
        self.expert_set_.widen(d)
        self.d_ = d

    @property
    def nbytes(self) -> int:
        underway = 0 if self._refit is None else self._refit.expert_set.nbytes
        parts = (self.expert_set_, self.stack_, self.targets_, self.late_)
        return sum(part.nbytes for part in parts if part is not None) + underway

    # -- targets --------------------------------------------------------------------------------
    @property
    def inner(self) -> int:
        """The number of targets of the experts: for classes one that is always 1, then the codes."""
        return 1 + self.outputs_ if self.classes else self.outputs_
