"""How a candidate begins at a change point, which mixture predicts during its warm start, and how it begins again."""

from __future__ import annotations

from nystream.auto.drift.alarm import NEVER, Found
from nystream.auto.drift.archive import USUAL
from nystream.auto.drift.beside import Beside
from nystream.auto.drift.block import Block, Surroundings
from nystream.auto.drift.change_point import first_of_new
from nystream.auto.drift.inputs import PLACES, centred, location
from nystream.auto.drift.mixture import Handover, Heard
from nystream.auto.drift.past import Past
from nystream.auto.drift.promotion import LOOK_BACK
from nystream.auto.drift.replay import end_of, losses_of
from nystream.auto.drift.suspicion import BACK
from nystream.auto.drift.warm_start import WarmStart
from nystream.auto.ensemble import Ensemble
from nystream.auto.recipe import Recipe
from nystream.auto.rows import Learnt, Rows, part_of
from nystream.runtime.types import Array

__all__ = ["Beginning"]

RETURNED = 30
"""Rows of a young one's age up to which it is looked again whether a regime is back."""
RECALLED = 64
"""Rows that models of regimes that were left are shown after an alarm, all together."""


class Beginning(Beside):
    """Starts candidates after an alarm, or when the change point is estimated again."""

    def _begun(
        self, old: Ensemble, found: Found, recipe: Recipe, block: Block, row: int, around: Surroundings
    ) -> list[Learnt]:
        """Begin the warm start of a candidate at the change point. Until it ends, learners of few rows are mixed
        with the incumbent.

        What one of before whose regime is back makes of the rows of the block, if there is one.
        """
        t, n = self.count_, len(block.admitted)
        end = t - row + n
        since = max(found.since, t - self.reach_, 0)
        first = max(0, t - self.reach_)
        around.believe(end - since, end - t)
        rows = around.last(end - first)
        sides: list[Learnt] = []
        if self.archive_ is not None:
            sides = self._recalled(part_of(rows, slice(since - first, None)), since, t, end, old)
            known = max(since - USUAL, self.begun_, t - max(self.reach_, LOOK_BACK))
            self.archive_.alarmed(since, self.losses_.get(known, since)[:, 0])
        self.suspicion_.end()
        self.columns_known_ = False
        self.alarm_.start()
        self.steady_.start()
        self._catches_up(
            old, since, recipe, part_of(rows, slice(0, t - first)), [one.P[: len(one.P) - (end - t)] for one in sides]
        )
        return [end_of(one, n) for one in sides]

    def _begun_again(self, old: Ensemble, block: Block, row: int, around: Surroundings) -> list[Learnt] | None:
        """Begin the candidate again if it began too early, or if a regime is back after all; None if neither is so.
        Return the predictions of the recalled model for the rows of the block, if there is one.
        """
        assert self.young_ is not None
        t, n, first = self.count_, len(block.admitted), max(0, self.count_ - self.reach_)
        rows = around.last(t - row + n - first)
        past = part_of(rows, slice(0, t - first))
        since = self._put_again(t, past.Y if old.targets_ is None else old.targets_.fenced(past.Y))
        late = part_of(rows, slice(since - first, None))
        sides = self._recalled(late, since, t, t - row + n, old) if t - self.since_ <= RETURNED else []
        if since == self.since_ and not sides:
            return None
        recipe, self.young_ = self.young_.recipe, None
        self.records_.note(change=since)
        self._catches_up(old, since, recipe, past, [one.P[: len(one.P) - (n - row)] for one in sides])
        return [end_of(one, n) for one in sides]

    def _catches_up(self, old: Ensemble, since: int, recipe: Recipe, rows: Rows, back: list[Array]) -> None:
        """Begin the warm start of a candidate from row `since`. `rows`: the last rows up to now; `back`: predictions
        of a recalled model for the last of them, if there is one.
        """
        t = self.count_
        young = Ensemble(recipe, self.classes, old.lags, old.seed, old.delay)
        young.start(old.d_, old.outputs_, old.stack_.more_)
        mixed = t - len(back[0]) if back else since
        late = max(mixed, t - BACK)
        self.handover_ = self._handed(old, rows, late, t, back[0][late - mixed :] if back else None)
        kept = min(max(recipe.ring, recipe.warmup) + recipe.late, self.predicted_[0].size) - self.ahead
        self.coming_ = WarmStart(since, t, min(t + self.late, since + kept) if recipe.spread else t)
        past = Past(self.predicted_[0].size, old.outputs_) if back else None
        if past is not None:
            past.put(mixed, back[0])
        admitted = Past(max(0, self.coming_.latest - t) + self.ahead, rows.Y.shape[1])
        mixture, _ = self._mixture(old, rows, since, t, young=True, woken=bool(back))
        self.coming_.start(young, mixture, mixed, admitted, past)
        self.since_, self.born_ = since, NEVER
        self.used_ += t - since

    def _recalled(self, late: Rows, since: int, t: int, end: int, old: Ensemble) -> list[Learnt]:
        """Return the predictions of a recalled model for the last rows up to `end`; rows up to t decide whether its
        regime is back.
        """
        if self.archive_ is None or not self.archive_.retired_:
            return []
        first = max(since, t - RECALLED // len(self.archive_.retired_))
        rows, losses = part_of(late, slice(first - since, None)), self.losses_.get(first, t)[:, 0]
        answers = (
            None if self.answers_ is None else self.answers_.get(first, end).reshape(end - first, old.stack_.more_, -1)
        )
        back = self.archive_.back(rows, answers, losses, losses_of)
        if back is None:
            return []
        self.records_.note(regime=back[0])
        return [back[1]]

    def _put_again(self, t: int, labels: Array) -> int:
        """Return the change point as estimated at row t, from the labels of the last rows up to there."""
        assert self.handover_ is not None
        n, first = min(t - self.since_, self.few), self.since_ - (t - len(labels))
        usual = self._usual(labels[:first], self.since_)
        if usual is None and not self.classes:
            return self.since_
        old = self.predicted_[0].get(self.since_, self.since_ + n)[:, : self.outputs_]
        gains = self.handover_.gains_of_old(old, labels[first : first + n], usual)
        return self.since_ + first_of_new(gains, self.records_.running.row - 1 - self.since_)  # before the alarm

    def _handed(self, old: Ensemble, rows: Rows, since: int, end: int, woken: Array | None = None) -> Handover:
        """Return a mixture without a candidate that has learnt rows `since` to `end`; `rows` are the last ones up to
        there.
        """
        mixture, labels = self._mixture(old, rows, since, end, young=False, woken=woken is not None)
        part = slice(len(labels) - (end - since), None)
        past, own = part_of(rows, part), self.predicted_[0].get(since, end)
        core = None if self.classes else own[:, old.outputs_ :]
        mixture.run(Heard(past.X, own[:, : old.outputs_], core, None, woken), labels[part], past.w)
        return mixture

    def _mixture(
        self, old: Ensemble, rows: Rows, since: int, end: int, *, young: bool, woken: bool
    ) -> tuple[Handover, Array]:
        """Return a new mixture, whose scales come from the last rows up to `end`, and the labels of these rows as
        they were learnt.
        """
        mixture = Handover(self.classes, self.few, young, woken)
        labels = rows.Y if old.targets_ is None else old.targets_.fenced(rows.Y)
        before = len(labels) - (end - since)
        where = centred(location(rows.X[-PLACES:]), rows.X[before:])
        mixture.start(labels, old.outputs_, where, self._usual(labels[:before], since))
        return mixture, labels
