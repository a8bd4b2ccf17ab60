"""Drift handling: starts a candidate after an alarm, mixes it with the incumbent, and keeps the better of the two."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from nystream.auto.drift.alarm import NEVER, Found, Heat
from nystream.auto.drift.beginning import Beginning
from nystream.auto.drift.block import Block, Course, Last, Surroundings
from nystream.auto.drift.inputs import ALERT, QUIET, Shift, moved
from nystream.auto.drift.memory import Afforded
from nystream.auto.drift.mixture import Handover, Heard
from nystream.auto.drift.promotion import LOOK_BACK, SURE, advantage, of_use, verdict
from nystream.auto.drift.records import CREDIT, Alarm, own_columns
from nystream.auto.drift.replay import (
    Side,
    end_of,
    joined,
    learnt,
    losses_of,
    rest_of,
    said,
    spread_of,
    whole,
)
from nystream.auto.drift.suspicion import HINT, Hottest, hottest_of, odds
from nystream.auto.drift.warm_start import Known, Told
from nystream.auto.drift.watch import hottest_in, watch_one
from nystream.auto.ensemble import Ensemble
from nystream.auto.rows import Learnt, part_of
from nystream.runtime.types import Array

__all__ = ["CREDIT", "DriftHandler"]

FIRST = 50
"""Rows whose losses are not looked at: before labels have a scale, they can be larger than all others by far."""
CALM = 200
"""Rows of a young one's age before which no other is begun."""
SETTLED = 4200
"""Rows of the incumbent's age from which on falling losses, and those of experts that never forget, are news. Before,
it is still learning, and each full refit replaces these experts: they err less just after it than long after it."""
COMPARED, AGE = 1000, 200
"""Rows before a change that columns are compared with, and rows since that there have to be."""
CAUSES = {
    "rise": "higher loss",
    "steady": "higher loss of steady experts",
    "fall": "lower loss",
    "inputs": "shifted inputs",
}
"""What a record calls the cause of an alarm."""


class DriftHandler(Beginning):
    """Follows the stream row by row and decides by row counts and losses alone. Within a block, ensembles and the
    mixture may run ahead of a decision, because none of them depends on it. So results do not depend on how blocks
    are cut.
    """

    # -- a block -----------------------------------------------------------------------------------------------------
    def follow(
        self, old: Ensemble, block: Block, surroundings: Callable[[], Surroundings]
    ) -> tuple[Ensemble, Array, Array | None]:
        """Follow a block of learnt rows. Return the incumbent after the block, the predictions for its rows, and the
        disagreement.
        """
        if len(block.admitted) == 1 and self.count_ >= FIRST:
            alone = self._row_alone(old, block, surroundings)
            if alone is not None:
                return old, *alone
        around = surroundings()
        course = self._predicted(old, block, around)
        while course.row < len(block.admitted):
            found = self._watched(course, block, around)
            begins = None if found is None else self._answered(found, course.old, around)
            if found is not None and begins is not None:
                self._begins(course, found, begins, block, around)
            elif not self._looks_again(course, block, around) and self._next_check(self.count_ - 1) == self.count_:
                self._decides(course, block, around)
        self.inputs_.alert_ = course.shifts[-1][:3]
        return course.old, *course.shown

    def _row_alone(self, old: Ensemble, block: Block, around: Callable[[], Surroundings]) -> Side | None:
        """Follow one row in the common case: one ensemble and no alarm. Return None, and do nothing, in any other
        case.
        """
        near = watch_one(self, old, block, self.begun_ + SETTLED)
        if near is None:
            return None
        alone: Side = block.learnt.P, block.learnt.spread
        if self.suspicion_.mixture_ is not None or max(near[0], near[2]) >= HINT:
            alone = self._covered(slice(0, 1), hottest_in(near), alone, old, block.learnt, block, around().last)
        self.count_ += 1
        return alone

    def _predicted(self, old: Ensemble, block: Block, around: Surroundings) -> Course:
        """Predict the block as if nothing were decided in it; its first rows are not watched."""
        n, t0 = len(block.admitted), self.count_
        shown, losses, sides = rest_of(block.learnt, 0), np.zeros((n, 3)), [block.learnt]
        losses[:, 0] = losses[:, 2] = losses_of(old, shown[0], block.admitted)
        self.predicted_[0].put(t0, said(block.learnt))
        if self.answers_ is not None and block.answers is not None:
            self.answers_.put(t0, block.answers.reshape(n, -1))
        if self.coming_ is not None:
            sides += [] if self.woken is None else [learnt(self.woken, block.rows, block.answers)[0]]
            shown = self._awaited(old, sides, block, losses, 0, around, shown)
        elif self.handover_ is not None:
            others = [sides[0] if one is None else learnt(one, block.rows, block.answers)[0] for one in self._others]
            sides += others
            self.predicted_[1].put(t0, said(sides[1]))
            shown = self._mixed(old, sides, block, losses, slice(0, n))
        self.losses_.put(t0, losses)
        shifts = self.inputs_.shifts(block.rows.X, t0, around.last, self.reach_)
        row = min(n, max(0, FIRST - t0))
        self.count_ = t0 + row
        heats = [Heat(np.zeros(n), np.zeros(n, dtype=np.int64)) for _ in range(2)]
        return Course(t0, old, sides, shown, losses, shifts, heats, row, row)

    def _watched(self, course: Course, block: Block, around: Surroundings) -> Found | None:
        """Watch the rows up to the next one at which something may be decided; return the alarm that sounds there."""
        row, t0, shifts = course.row, course.since, course.shifts
        while len(shifts) > 1 and shifts[1].row <= t0 + row:
            shifts.pop(0)
            self._warn(course, around)
        if block.heard is not None:
            course.watched = len(block.heard)  # how wrong experts are is measured by labels that were cut
        elif not self.two:
            self._watch_steady(course)
        stop = min(len(block.admitted), self._next_check(t0 + row) - t0)
        if len(shifts) > 1:
            stop = min(stop, shifts[1].row - t0)
        if t0 + row < shifts[0].until:
            stop = row + 1  # after each row one asks whether the loss confirms the shift
        stop = stop if course.sounded is None else min(stop, course.watched)
        losses, heat = self._measured(course, block, slice(row, stop)), course.heats[0].of(slice(row, stop))
        falls = NEVER if self.two else self.begun_ + SETTLED
        seen, found = self.alarm_.see(losses, t0 + row, falls_from=falls, heat=heat)
        if self.handover_ is None:
            part, side = slice(row, row + seen), course.sides[0]
            hottest = hottest_of(course.heats, part)
            course.shown = self._covered(part, hottest, course.shown, course.old, side, block, around.last)
        course.row += seen
        self.count_ += seen
        self.used_ += seen if self.two else 0
        if self.count_ <= shifts[0].until and (found is not None or self.alarm_.confirms(shifts[0].since, self.count_)):
            found, shifts[0] = found or self.alarm_.found(shifts[0].since, self.count_, "inputs"), Shift(*QUIET)
        if course.sounded is not None and course.row == course.watched:
            found, course.sounded = found or course.sounded._replace(cause="steady"), None
        return found

    def _warn(self, course: Course, around: Surroundings) -> None:
        """Note a shift of the inputs as a warning, unless an alarm or a warning has just told of it."""
        shift, names = course.shifts[0], around.names()
        if self.records_.is_recent(shift.row - ALERT):
            course.shifts[0] = Shift(*QUIET)
            return
        columns = own_columns(names[j] for j in shift.columns)
        row = shift.row + 1
        self.records_.add(Alarm(row, shift.since, CAUSES["inputs"], "unconfirmed", row, math.nan, math.nan, columns))

    def _measured(self, course: Course, block: Block, part: slice) -> Array:
        """Return the losses of the predictions in the measure of the detector."""
        if block.heard is None:
            return np.ascontiguousarray(course.losses[part, 2])
        return losses_of(course.old, course.shown[0][part], block.heard[part])

    def _watch_steady(self, course: Course) -> None:
        """Run the detector on the experts that never forget ahead, up to the row at which it sounds."""
        n = len(course.losses)
        course.watched = watched = max(course.watched, min(n, self.begun_ + SETTLED - course.since))
        if course.sounded is None and watched < n:
            heat, errors = course.heats[1].of(slice(watched, n)), course.sides[0].steady[watched:]
            seen, course.sounded = self.steady_.see(errors, course.since + watched, heat=heat)
            course.watched += seen

    def _begins(self, course: Course, found: Found, begins: Afforded, block: Block, around: Surroundings) -> None:
        """Begin a candidate after an alarm. If there is one already, its losses so far decide which of the two
        stays.
        """
        t = self.count_
        if self.young_ is not None:
            better = advantage(*self._compared(t)[:2], t - self.since_)[0] >= SURE
            self._end(course, "promoted" if better else "superseded")
        self._part()
        self._record(found, "running")
        self.refreshes_ = begins.refreshes
        others = self._begun(course.old, found, begins.recipe, block, course.row, around)
        self._await(course, others, block, around)
        course.sounded = None

    def _looks_again(self, course: Course, block: Block, around: Surroundings) -> bool:
        """Estimate the change point again. Return whether the candidate begins again."""
        if not self._looks_at(self.count_):
            return False
        others = self._begun_again(course.old, block, course.row, around)
        if others is None:
            return False
        self._await(course, others, block, around)
        return True

    def _await(self, course: Course, others: list[Learnt], block: Block, around: Surroundings) -> None:
        """Predict the rest of the block with a candidate that has just begun and a recalled model."""
        course.sides = [course.sides[0], *others]
        sides, losses = course.sides, course.losses
        course.shown = self._awaited(course.old, sides, block, losses, course.row, around, course.shown)
        self.losses_.put(course.since, losses)

    def _decides(self, course: Course, block: Block, around: Surroundings) -> None:
        """Run the promotion test. Where one ensemble is left, it predicts the rest of the block alone."""
        outcome = self._judged(self.count_, course.since + len(block.admitted), around)
        if outcome is not None and self.young_ is not None:
            self._end(course, outcome)
            course.watched = course.row
        if outcome is not None and self.handover_ is None:
            row, losses = course.row, course.losses
            losses[row:, 2] = losses[row:, 0]
            course.shown = joined(course.shown, rest_of(course.sides[0], row), row)
            self.losses_.put(course.since, losses)

    def _mixed(self, old: Ensemble, sides: list[Learnt], block: Block, L: Array, part: slice) -> Side:
        """Return the mixed predictions for a part of the block, and store their losses."""
        assert self.handover_ is not None
        rows, Y, young = part_of(block.rows, part), block.admitted[part], self.handover_.young
        (A, a), (B, b) = (_side(sides[k], part) for k in (0, int(young)))
        back = sides[-1].P[part] if len(sides) > 1 + young else None
        core = None if sides[0].core is None else sides[0].core[part]
        P, share = self.handover_.run(Heard(rows.X, A, core, B if young else None, back), Y, rows.w)
        if young:
            L[part, 1] = losses_of(old, B, Y)
        L[part, 2] = losses_of(old, P, Y)
        return P, spread_of(P, share, (A, a), (B, b))

    def _awaited(
        self, old: Ensemble, sides: list[Learnt], block: Block, L: Array, row: int, around: Surroundings, shown: Side
    ) -> Side:
        """Return the predictions from a row of the block on, during the warm start of the candidate and after it."""
        assert self.coming_ is not None
        n, coming, t0 = len(block.admitted), self.coming_, self.count_ - row
        end = t0 + n
        self.losses_.put(t0, L)
        coming.admitted_.put(t0 + row, block.admitted[row:])
        if coming.back_ is not None:
            coming.back_.put(t0 + row, sides[-1].P[row:])
        known, told = self._known(old, end, around.last), self._told(old)
        level = coming.catch_up(end, known, told)
        stop = coming.seen_ - t0
        shown = joined(shown, self._mixed(old, sides, block, L, slice(row, stop)), row)
        L[:stop, 1] = self.losses_.get(t0, t0 + stop)[:, 1]
        if level:
            self._joins()
            parts = [Learnt(*(None if A is None else A[:0] for A in sides[0]))]  # type: ignore[arg-type]
            while coming.learnt_ < end:
                parts.append(coming.learn(end - coming.learnt_, known)[0])
            side = whole(parts)
            self.predicted_[1].put(t0 + stop, said(side))
            sides.insert(1, end_of(side, n))
            shown = joined(shown, self._mixed(old, sides, block, L, slice(stop, n)), stop)
        return shown

    def _joins(self) -> None:
        """End the warm start: the candidate has learnt all rows since the change point."""
        coming = self.coming_
        assert coming is not None
        self.young_, self.handover_, self.born_ = coming.ensemble_, coming.mixture_, coming.seen_
        self.coming_ = None

    def _known(self, old: Ensemble, end: int, last: Last) -> Known:
        """Return the stored rows up to `end`, the last ones."""

        def predicted(i: int, j: int) -> tuple[Array, Array | None]:
            own = self.predicted_[0].get(i, j)
            return own[:, : old.outputs_], None if self.classes else own[:, old.outputs_ :]

        def fenced(Y: Array) -> Array:
            return Y if old.targets_ is None else old.targets_.fenced(Y)

        return Known(
            lambda i, j: part_of(last(end - i), slice(0, j - i)),
            lambda i, j: self._answers(i, j, old.stack_.more_),
            predicted,
            fenced,
        )

    def _told(self, old: Ensemble) -> Told:
        def told(row: int, side: Learnt, labels: Array) -> None:
            self.predicted_[1].put(row, said(side))
            losses = self.losses_.get(row, row + len(labels))
            losses[:, 1] = losses_of(old, side.P, labels)
            self.losses_.put(row, losses)

        return told

    def settle(self, old: Ensemble, last: Last) -> None:
        """Finish the warm start of the candidate now."""
        if self.coming_ is not None:
            self.coming_.finish(self._known(old, self.count_, last), self._told(old))
            self._joins()

    def _covered(
        self, part: slice, hottest: Hottest, shown: Side, old: Ensemble, side: Learnt, block: Block, last: Last
    ) -> Side:
        """Return the predictions of one ensemble for a part of the block, hedged in suspicious rows."""
        t0, n = self.count_ - part.start, len(block.admitted)

        def begin(since: int, end: int) -> Handover:
            first = max(0, end - self.reach_)
            rows = part_of(last(t0 + n - first), slice(0, end - first))
            since = max(since, first)
            mixture = self._handed(old, rows, since, end)
            mixture.doubt(odds(self.losses_.get(max(first, self.begun_), end)[:, 0], end - since))
            return mixture

        def mixed(mixture: Handover, part: slice) -> Side:
            rows, admitted, said = block.rows, block.admitted, side
            if part.stop - part.start < n:
                rows, admitted = part_of(rows, part), admitted[part]
                said = Learnt(*(None if A is None else A[part] for A in side))  # type: ignore[arg-type]
            P, share = mixture.run(Heard(rows.X, said.P, said.core, None), admitted, rows.w)
            return P, spread_of(P, share, said[:2], said[:2])

        return self.suspicion_.cover(part, t0, hottest, [self.alarm_, self.steady_], begin, mixed, shown)

    def _compared(self, t: int) -> tuple[Array, Array, Array]:
        """Return the losses of incumbent, candidate and mixture over the last rows up to t."""
        losses = self.losses_.get(t - min(t, LOOK_BACK), t)
        return losses[:, 0], losses[:, 1], losses[:, 2]

    # -- a candidate begins, and one of two ends ----------------------------------------------------------------
    def _answered(self, found: Found, old: Ensemble, around: Surroundings) -> Afforded | None:
        """Return the candidate that this alarm starts; None where the alarm is only reported."""
        t, begins = self.count_, None
        if self.coming_ is not None or t < self.born_ or (self.young_ is not None and t - self.since_ < CALM):
            outcome = "repeated"
        elif self.used_ > CREDIT[0] + CREDIT[1] * t:
            outcome = "over budget"
        else:
            begins, outcome = around.afford(old), "no memory"
        if begins is None:
            (self.steady_ if found.cause == "steady" else self.alarm_).quieten()
            self._record(found, outcome)
        return begins

    def _record(self, found: Found, outcome: str) -> None:
        """Note an alarm. A warning of a shift that it confirms is no longer one."""
        t, loss = self.count_, "log loss" if self.classes else "squared error"
        loss += " over the targets' variances" if self.outputs_ > 1 and not self.classes else ""
        since = max(found.since, t - self.reach_, 0)
        warning = self.records_.take_warning(t - ALERT - 1)
        cause = CAUSES["inputs" if found.cause == "rise" and warning is not None else found.cause]
        columns = () if warning is None else warning.columns
        self.records_.add(Alarm(t, since, cause, outcome, t, found.before, found.after, columns, loss=loss))

    def _judged(self, t: int, end: int, around: Surroundings) -> str | None:
        age = t - self.since_
        if not self.columns_known_ and age >= AGE:
            self._compare_columns(t, end, around)
        old, young, mixed = self._compared(t)
        if self.woken is None:
            return verdict(old, young, mixed, age, t - self.born_)
        if t - self.born_ < self.ahead:  # rows of the block in which it was woken
            return None
        if self.young_ is not None:  # which need not be as good as what both are together
            return verdict(old, young, young, age, t - self.born_)
        if of_use(old, mixed, age):
            return None
        self._part()
        return "parted"

    def _compare_columns(self, t: int, end: int, around: Surroundings) -> None:
        """Return the columns whose distribution differs since the change point."""
        self.columns_known_ = True
        n = min(COMPARED, self.since_, self.reach_ - (t - self.since_))
        if n < AGE // 2:
            return
        X = around.last(end - self.since_ + n).X[: n + t - self.since_]
        columns = own_columns(moved(X[:n], X[n:], around.names()))
        if columns:
            self.records_.note(columns=columns)

    def _end(self, course: Course, outcome: str) -> None:
        """Go on with one ensemble."""
        assert self.young_ is not None
        self.records_.note(outcome=outcome, until=self.count_)
        if outcome == "promoted":
            course.old, course.sides = self.young_, course.sides[1:]
            self.begun_ = self.since_
            self.predicted_.reverse()
            for losses in (course.losses, self.losses_.store_):
                losses[:, :2] = losses[:, 1::-1].copy()
            if course.old.outputs_ > 1 and not self.classes:  # losses have other units
                self.alarm_.start()
        course.sides = course.sides[:1]
        self.young_ = None
        if self.archive_ is not None:
            self.archive_.ended(left=outcome == "promoted")
        if outcome != "promoted" or self.woken is None:
            self._part()
        self.refreshes_ = True
        self.steady_.start()

    def _part(self) -> None:
        """Let the incumbent predict alone."""
        self.handover_ = None
        if self.archive_ is not None:
            self.archive_.woken_ = None


def _side(side: Learnt, part: slice) -> Side:
    """Its predictions for some rows."""
    return side.P[part], None if side.spread is None else side.spread[part]
