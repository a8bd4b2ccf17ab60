"""The changes of a stream: when a young generation begins beside the old one, how both predict, and which one stays."""

from __future__ import annotations

import numpy as np

from nystream.auto.changes.alarm import NEVER, Found, Heat
from nystream.auto.changes.beginning import Beginning
from nystream.auto.changes.block import Block, Last, Surroundings
from nystream.auto.changes.catching_up import Known, Told
from nystream.auto.changes.inputs import QUIET, moved
from nystream.auto.changes.memory import Afforded
from nystream.auto.changes.mixture import Handover, Heard
from nystream.auto.changes.record import Alarm
from nystream.auto.changes.replay import (
    Side,
    end_of,
    joined,
    learnt,
    losses_of,
    part_of,
    rest_of,
    said,
    spread_of,
    whole,
)
from nystream.auto.changes.suspicion import HINT, odds
from nystream.auto.changes.verdict import LOOK_BACK, SURE, advantage, of_use, verdict
from nystream.auto.changes.watch import heats_of, watch_one
from nystream.auto.generation import Generation, Learnt
from nystream.types import Array

__all__ = ["CREDIT", "Changes"]

FIRST = 50
"""Rows whose losses are not looked at: before labels have a scale, they can be larger than all others by far."""
CALM = 200
"""Rows of a young one's age before which no other is begun."""
CREDIT = (1500, 0.15)
"""Rows that young ones may have run: so many, and this part of all rows."""
SETTLED = 4200
"""Rows of an old one's age from which on falling losses are news: before, it is still learning."""
COMPARED, AGE = 1000, 200
"""Rows before a change that columns are compared with, and rows since that there have to be."""
CAUSES = {"rise": "loss", "steady": "experts", "fall": "gain", "alert": "inputs"}


class Changes(Beginning):
    """Everything falls on rows and losses, row by row. Within a block generations and mixture may run ahead of a
    decision, since none of them depends on it, so nothing depends on how blocks are cut.
    """

    # -- a block -----------------------------------------------------------------------------------------------------
    def follow(self, old: Generation, block: Block, around: Surroundings) -> tuple[Generation, Array, Array | None]:
        """The generation that is the old one after the block, what is predicted for its rows, and the disagreement."""
        n, t0 = len(block.admitted), self.count_
        near = watch_one(self, old, block, self.begun_ + SETTLED - 1) if n == 1 and t0 >= FIRST else None
        if near is not None:  # the common round
            alone: Side = block.learnt.P, block.learnt.spread
            if self.suspicion_.mixture_ is not None or max(near[0], near[2]) >= HINT:
                alone = self._covered(slice(0, 1), heats_of(near), alone, old, block.learnt, block, around.last)
            self.count_ += 1
            return old, *alone
        L = np.zeros((n, 3))
        sides = [block.learnt]
        shown: Side = rest_of(block.learnt, 0)
        L[:, 0] = L[:, 2] = losses_of(old, shown[0], block.admitted)
        self.predicted_[0].put(t0, said(block.learnt))
        if self.answers_ is not None and block.answers is not None:
            self.answers_.put(t0, block.answers.reshape(n, -1))
        if self.coming_ is not None:
            sides += [] if self.woken is None else [learnt(self.woken, block.rows, block.answers)[0]]
            shown = self._awaited(old, sides, block, L, 0, around, shown)
        elif self.handover_ is not None:
            others = [sides[0] if one is None else learnt(one, block.rows, block.answers)[0] for one in self._others]
            sides += others
            self.predicted_[1].put(t0, said(sides[1]))
            shown = self._mixed(old, sides, block, L, slice(0, n))
        self.losses_.put(t0, L)
        alerts = self.inputs_.alerts(block.rows.X, t0, around.last, self.reach_)
        row = watched = min(n, max(0, FIRST - t0))  # and rows that the alarm on steady experts has seen
        self.count_ = t0 + row
        sounded: Found | None = None  # by that alarm, at the last row that it has seen
        heats = [Heat(np.zeros(n), np.zeros(n, dtype=np.int64)) for _ in range(2)]
        while row < n:
            while len(alerts) > 1 and alerts[1][1] <= t0 + row:
                alerts.pop(0)
            stop, falls = min(n, self._next_check(t0 + row) - t0), self.begun_ + SETTLED - 1
            if self.two:
                falls = NEVER
            elif sounded is None and watched < n:
                heat = heats[1].of(slice(watched, n))
                seen, sounded = self.steady_.see(sides[0].steady[watched:], t0 + watched, heat=heat)
                watched += seen
            if len(alerts) > 1:
                stop = min(stop, alerts[1][1] - t0)
            stop = min(stop, watched) if sounded is not None else stop
            losses, heat = np.ascontiguousarray(L[row:stop, 2]), heats[0].of(slice(row, stop))
            seen, found = self.alarm_.see(losses, t0 + row, falls_from=falls, alert=alerts[0][1:], heat=heat)
            if self.handover_ is None:
                shown = self._covered(slice(row, row + seen), heats, shown, old, sides[0], block, around.last)
            row += seen
            t = self.count_ = t0 + row
            self.used_ += seen if self.two else 0
            if found is not None and found.cause == "alert":
                found, alerts[0] = found._replace(since=alerts[0][0]), QUIET
            if sounded is not None and row == watched:
                found, sounded = found or sounded._replace(cause="steady"), None
            begins = None if found is None else self._answered(found, old, around)
            if found is not None and begins is not None:
                if self.young_ is not None:  # what it could show so far decides
                    better = advantage(*self._compared(t)[:2], t - self.since_)[0] >= SURE
                    old, sides = self._ended(old, sides, L, "promoted" if better else "replaced")
                self._part()
                self._record(found, "watched")
                sides = sides[:1]
                self.refreshes_ = begins.refreshes
                sides += self._begun(old, found, begins.recipe, block, row, around)
                shown = self._awaited(old, sides, block, L, row, around, shown)
                self.losses_.put(t0, L)
                sounded = None
            elif self._looks_at(t) and (again := self._begun_again(old, block, row, around)) is not None:
                sides = [sides[0], *again]
                shown = self._awaited(old, sides, block, L, row, around, shown)
                self.losses_.put(t0, L)
            elif self._next_check(t - 1) == t:
                outcome = self._judged(t, t0 + n, around)
                if outcome is not None and self.young_ is not None:
                    old, sides = self._ended(old, sides, L, outcome)
                    watched = row
                if outcome is not None and self.handover_ is None:
                    L[row:, 2] = L[row:, 0]
                    shown = joined(shown, rest_of(sides[0], row), row)
                    self.losses_.put(t0, L)
        self.inputs_.alert_ = alerts[-1]
        return old, *shown

    def _mixed(self, old: Generation, sides: list[Learnt], block: Block, L: Array, part: slice) -> Side:
        """What is predicted together for a part of the block; losses are put in their places."""
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
        self, old: Generation, sides: list[Learnt], block: Block, L: Array, row: int, around: Surroundings, shown: Side
    ) -> Side:
        """What is predicted from a row of the block on while a young generation catches up, and once it is level."""
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
        """The young generation is level."""
        coming = self.coming_
        assert coming is not None
        self.young_, self.handover_, self.born_ = coming.generation_, coming.mixture_, coming.seen_
        self.coming_ = None

    def _known(self, old: Generation, end: int, last: Last) -> Known:
        """What is known of rows up to `end`, the last ones."""

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

    def _told(self, old: Generation) -> Told:
        def told(row: int, side: Learnt, labels: Array) -> None:
            self.predicted_[1].put(row, said(side))
            losses = self.losses_.get(row, row + len(labels))
            losses[:, 1] = losses_of(old, side.P, labels)
            self.losses_.put(row, losses)

        return told

    def settle(self, old: Generation, last: Last) -> None:
        """A young generation that catches up is to be level now."""
        if self.coming_ is not None:
            self.coming_.finish(self._known(old, self.count_, last), self._told(old))
            self._joins()

    def _covered(
        self, part: slice, heats: list[Heat], shown: Side, old: Generation, side: Learnt, block: Block, last: Last
    ) -> Side:
        """What is predicted for a part of the block with one generation, suspicious rows otherwise."""
        t0, n = self.count_ - part.start, len(block.admitted)

        def begin(since: int, end: int) -> Handover:
            first = max(0, end - self.reach_)
            rows = part_of(last(t0 + n - first), slice(0, end - first))
            since = max(since, first)
            mixture = self._handed(old, rows, since, end)
            mixture.doubt(odds(self.losses_.get(max(first, self.begun_), end)[:, 0], end - since))
            return mixture

        def mixed(mixture: Handover, part: slice) -> Side:
            rows, core = part_of(block.rows, part), None if side.core is None else side.core[part]
            own: Side = side.P[part], None if side.spread is None else side.spread[part]
            P, share = mixture.run(Heard(rows.X, own[0], core, None), block.admitted[part], rows.w)
            return P, spread_of(P, share, own, own)

        return self.suspicion_.cover(part, t0, heats, [self.alarm_, self.steady_], begin, mixed, shown)

    def _compared(self, t: int) -> tuple[Array, Array, Array]:
        """Losses of the last rows up to t: of the old one, the young one, the mixture."""
        losses = self.losses_.get(t - min(t, LOOK_BACK), t)
        return losses[:, 0], losses[:, 1], losses[:, 2]

    # -- a young generation begins, and one of two ends ----------------------------------------------------------------
    def _answered(self, found: Found, old: Generation, around: Surroundings) -> Afforded | None:
        """The young generation that this alarm begins; None where it is only reported."""
        t, begins = self.count_, None
        if self.coming_ is not None or t < self.born_ or (self.young_ is not None and t - self.since_ < CALM):
            outcome = "repeated"
        elif self.used_ > CREDIT[0] + CREDIT[1] * t:
            outcome = "no credit"
        else:
            begins, outcome = around.afford(old), "no memory"
        if begins is None:
            (self.steady_ if found.cause == "steady" else self.alarm_).quieten()
            self._record(found, outcome)
        return begins

    def _record(self, found: Found, outcome: str) -> None:
        t, cause = self.count_, CAUSES[found.cause]
        since = max(found.since, t - self.reach_, 0)
        self.records_.add(Alarm(t, since, cause, outcome, t, found.before, found.after, ()))

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
        """Which columns are distributed otherwise since the change."""
        self.columns_known_ = True
        n = min(COMPARED, self.since_, self.reach_ - (t - self.since_))
        if n < AGE // 2:
            return
        X = around.last(end - self.since_ + n).X[: n + t - self.since_]
        self.records_.note(columns=moved(X[:n], X[n:], around.names()))

    def _ended(self, old: Generation, sides: list[Learnt], L: Array, outcome: str) -> tuple[Generation, list[Learnt]]:
        """One generation goes on alone."""
        assert self.young_ is not None
        self.records_.note(outcome=outcome, until=self.count_)
        if outcome == "promoted":
            old, sides = self.young_, sides[1:]
            self.begun_ = self.since_
            self.predicted_.reverse()
            for losses in (L, self.losses_.store_):
                losses[:, :2] = losses[:, 1::-1].copy()
            if old.outputs_ > 1 and not self.classes:  # losses have other units
                self.alarm_.start()
        self.young_ = None
        if self.regimes_ is not None:
            self.regimes_.ended(left=outcome == "promoted")
        if outcome != "promoted" or self.woken is None:
            self._part()
        self.refreshes_ = True
        self.steady_.start()
        return old, sides[:1]

    def _part(self) -> None:
        """The old generation predicts alone."""
        self.handover_ = None
        if self.regimes_ is not None:
            self.regimes_.woken_ = None


def _side(side: Learnt, part: slice) -> Side:
    """Its predictions for some rows."""
    return side.P[part], None if side.spread is None else side.spread[part]
