"""The changes of a stream: when a young generation begins beside the old one, how both predict, and which one stays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from nystream.auto.changes.alarm import NEVER, Found, Heat, RankAlarm
from nystream.auto.changes.inputs import PLACES, QUIET, InputAlarm, location, moved
from nystream.auto.changes.memory import Afforded
from nystream.auto.changes.mixture import LEAST, Handover, Heard
from nystream.auto.changes.past import Past, padded_classes, padded_scores
from nystream.auto.changes.record import Alarm, Records
from nystream.auto.changes.replay import Side, end_of, joined, learnt, part_of, replayed, rest_of, said, spread_of
from nystream.auto.changes.suspicion import Suspicion
from nystream.auto.changes.verdict import CHECK, LOOK_BACK, SURE, advantage, verdict
from nystream.auto.generation import Answer, Generation, Learnt, Rows
from nystream.auto.recipe import Recipe
from nystream.params import Params, at_least
from nystream.types import Array

__all__ = ["CREDIT", "REACH", "Block", "Changes", "Surroundings"]

REACH = 1700
"""Rows back that a change is put, and a young generation begun, at most."""
FIRST = 50
"""Rows whose losses are not looked at: before labels have a scale, they can be larger than all others by far."""
CALM = 200
"""Rows of a young one's age before which no other is begun."""
STEADY_BAR = 1e6
"""Of the alarm on experts that do not forget. It is higher: slow drift, which others follow, raises their loss too."""
CREDIT = (1500, 0.15)
"""Rows that young ones may have run: so many, and this part of all rows."""
SETTLED = 4200
"""Rows of an old one's age from which on falling losses are news: before, it is still learning."""
COMPARED, AGE = 1000, 200
"""Rows before a change that columns are compared with, and rows since that there have to be."""
CAUSES = {"rise": "loss", "steady": "experts", "fall": "gain", "alert": "inputs"}


Last: TypeAlias = Callable[[int], Rows]


class Block(NamedTuple):
    """Rows that the old generation has just learnt, with what it predicted and how far its experts disagreed."""

    rows: Rows
    admitted: Array
    """Labels as the old generation learnt them."""
    answers: Array | None
    learnt: Learnt


class Surroundings(NamedTuple):
    """What lies with the learner around it."""

    last: Last
    """The last rows that are kept, up to the end of the block."""
    afford: Callable[[Generation], Afforded | None]
    """The young generation that there can be beside this one; None: memory does not suffice."""
    names: Callable[[], list[str]]
    """Of the columns that the experts see."""


class Changes(Params):
    """Everything falls on rows and losses, row by row. Within a block generations and mixture may run ahead of a
    decision, since none of them depends on it, so nothing depends on how blocks are cut.

    Parameters
    ----------
    classes : bool
    reach : int
        Rows back that a young generation can begin.
    ahead : int
        Rows of a block, at most.
    few : int, default 300
        Rows that the novice of a mixture learns.
    """

    alarm_: RankAlarm
    steady_: RankAlarm
    """On the loss of experts that do not forget; while there is one generation."""
    inputs_: InputAlarm
    young_: Generation | None
    handover_: Handover | None
    suspicion_: Suspicion
    losses_: Past
    """Of the old generation, the young one, and what was predicted."""
    predicted_: list[Past]
    """Predictions of the old generation and of the young one; for targets, then what their steady experts say."""
    answers_: Past | None
    count_: int
    begun_: int
    """The row at which the old generation begins."""
    since_: int
    """The row at which the young one begins."""
    born_: int
    """Rows that had been learnt when it was begun."""
    used_: int
    """Rows that young ones have run."""
    refreshes_: bool
    """Whether the old generation can be refreshed: memory may not suffice for that while both live."""
    records_: Records

    def __init__(self, classes: bool, reach: int, ahead: int, few: int = 300) -> None:
        self.classes = classes
        self.reach = at_least("reach", reach, 1)
        self.ahead = at_least("ahead", ahead, 1)
        self.few = at_least("few", few, 1)

    def start(self, outputs: int, answers: tuple[int, int] | None) -> None:
        """For so many targets or classes, and answers of this shape for each row."""
        size = self.reach + self.ahead
        self.alarm_, self.steady_ = RankAlarm(self.classes, REACH), RankAlarm(True, REACH, STEADY_BAR)
        self.inputs_ = InputAlarm(REACH)
        for alarm in (self.alarm_, self.steady_, self.inputs_):
            alarm.start()
        self.young_ = self.handover_ = None
        self.suspicion_ = Suspicion()
        self.losses_ = Past(max(size, LOOK_BACK + self.ahead), 3)
        self.predicted_ = [Past(size, outputs * (1 if self.classes else 2)) for _ in range(2)]
        self.answers_ = None if answers is None else Past(size, answers[0] * answers[1])
        self.outputs_ = outputs
        self.reach_ = self.reach
        self.count_ = self.begun_ = self.since_ = self.born_ = self.used_ = 0
        self.columns_known_ = self.refreshes_ = True
        self.records_ = Records()

    def alarms(self) -> list[Alarm]:
        return self.records_.alarms

    # -- a block -----------------------------------------------------------------------------------------------------
    def follow(self, old: Generation, block: Block, around: Surroundings) -> tuple[Generation, Array, Array | None]:
        """The generation that is the old one after the block, what is predicted for its rows, and the disagreement."""
        n, t0 = len(block.admitted), self.count_
        L = np.zeros((n, 3))
        sides = [block.learnt]
        shown: Side = rest_of(block.learnt, 0)
        L[:, 0] = L[:, 2] = self._losses(old, shown[0], block.admitted)
        self.predicted_[0].put(t0, said(block.learnt))
        if self.answers_ is not None and block.answers is not None:
            self.answers_.put(t0, block.answers.reshape(n, -1))
        if self.young_ is not None:
            sides.append(learnt(self.young_, block.rows, block.answers)[0])
            self.predicted_[1].put(t0, said(sides[1]))
            shown = self._mixed(old, sides, block, L, 0)
        self.losses_.put(t0, L)
        alerts = self.inputs_.alerts(block.rows.X, t0, around.last, self.reach_)
        row = watched = min(n, max(0, FIRST - t0))  # and rows that the alarm on steady experts has seen
        self.count_ = t0 + row
        sounded: Found | None = None  # by that alarm, at the last row that it has seen
        heats = [Heat(np.zeros(n), np.zeros(n, dtype=np.int64)) for _ in range(2)]
        while row < n:
            while len(alerts) > 1 and alerts[1][1] <= t0 + row:
                alerts.pop(0)
            stop, falls = n, self.begun_ + SETTLED - 1
            if self.young_ is not None:
                stop, falls = min(n, self._next_check(t0 + row) - t0), NEVER
            elif sounded is None and watched < n:
                heat = heats[1].of(slice(watched, n))
                seen, sounded = self.steady_.see(sides[0].steady[watched:], t0 + watched, heat=heat)
                watched += seen
            if len(alerts) > 1:
                stop = min(stop, alerts[1][1] - t0)
            stop = min(stop, watched) if sounded is not None else stop
            losses, heat = np.ascontiguousarray(L[row:stop, 2]), heats[0].of(slice(row, stop))
            seen, found = self.alarm_.see(losses, t0 + row, falls_from=falls, alert=alerts[0][1:], heat=heat)
            if self.young_ is None:
                shown = self._covered(slice(row, row + seen), heats, shown, old, sides[0], block, around.last)
            row += seen
            t = self.count_ = t0 + row
            self.used_ += seen if self.young_ is not None else 0
            if found is not None and found.cause == "alert":
                found, alerts[0] = found._replace(since=alerts[0][0]), QUIET
            if sounded is not None and row == watched:
                found, sounded = found or sounded._replace(cause="steady"), None
            begins = None if found is None else self._answered(found, old, around)
            if found is not None and begins is not None:
                if self.young_ is not None:  # what it could show so far decides
                    better = advantage(*self._compared(t)[:2], t - self.since_)[0] >= SURE
                    old, sides = self._ended(old, sides, L, "promoted" if better else "replaced")
                self.refreshes_ = begins.refreshes
                sides.append(self._begun(old, found, begins.recipe, block, L, row, around))
                shown = joined(shown, self._mixed(old, sides, block, L, row), row)
                self.losses_.put(t0, L)
                sounded = None
            elif self.young_ is not None and self._next_check(t - 1) == t:
                outcome = self._judged(t, t0 + n, around)
                if outcome is not None:
                    old, sides = self._ended(old, sides, L, outcome)
                    L[row:, 2] = L[row:, 0]
                    shown = joined(shown, rest_of(sides[0], row), row)
                    self.losses_.put(t0, L)
                    watched = row
        self.inputs_.alert_ = alerts[-1]
        return old, *shown

    def _losses(self, old: Generation, P: Array, Y: Array) -> Array:
        """(n,) log losses, or squared errors; of several targets the mean in units of their variances."""
        if self.classes:
            right = P[np.arange(len(P)), Y[:, 0].astype(np.intp)]
            return np.asarray(-np.maximum(right, math.log(LEAST)))
        squares = (P - Y) ** 2
        if squares.shape[1] == 1 or old.targets_ is None:
            return squares[:, 0]
        return np.asarray((squares / old.targets_.scale_**2).mean(axis=1))

    def _mixed(self, old: Generation, sides: list[Learnt], block: Block, L: Array, row: int) -> Side:
        """What both predict together from a row of the block on; losses are put in their places."""
        assert self.handover_ is not None
        (A, a), (B, b) = (rest_of(side, row) for side in sides)
        rows, Y = part_of(block.rows, slice(row, None)), block.admitted[row:]
        core = None if sides[0].core is None else sides[0].core[row:]
        P, share = self.handover_.run(Heard(rows.X, A, core, B), Y, rows.w)
        L[row:, 1], L[row:, 2] = self._losses(old, B, Y), self._losses(old, P, Y)
        return P, spread_of(P, share, (A, a), (B, b))

    def _covered(
        self, part: slice, heats: list[Heat], shown: Side, old: Generation, side: Learnt, block: Block, last: Last
    ) -> Side:
        """What is predicted for a part of the block with one generation, suspicious rows otherwise."""
        t0, n = self.count_ - part.start, len(block.admitted)

        def begin(since: int, end: int) -> Handover:
            first = max(0, end - self.reach_)
            rows = part_of(last(t0 + n - first), slice(0, end - first))
            return self._handed(old, rows, max(since, first), end, None)

        def mixed(mixture: Handover, part: slice) -> Side:
            rows, core = part_of(block.rows, part), None if side.core is None else side.core[part]
            own: Side = side.P[part], None if side.spread is None else side.spread[part]
            P, share = mixture.run(Heard(rows.X, own[0], core, None), block.admitted[part], rows.w)
            return P, spread_of(P, share, own, own)

        return self.suspicion_.cover(part, t0, heats, [self.alarm_, self.steady_], begin, mixed, shown)

    def _handed(self, old: Generation, rows: Rows, since: int, end: int, young: Array | None) -> Handover:
        """A mixture that has learnt rows `since` to `end`; `rows`, the last ones up to there, tell the scales."""
        mixture = Handover(self.classes, self.few, young is not None)
        labels = rows.Y if old.targets_ is None else old.targets_.fenced(rows.Y)
        mixture.start(labels, old.outputs_, location(rows.X[-PLACES:]))
        part = slice(len(labels) - (end - since), None)
        past, own = part_of(rows, part), self.predicted_[0].get(since, end)
        core = None if self.classes else own[:, old.outputs_ :]
        mixture.run(Heard(past.X, own[:, : old.outputs_], core, young), labels[part], past.w)
        return mixture

    def _compared(self, t: int) -> tuple[Array, Array, Array]:
        """Losses of the last rows up to t: of the old one, the young one, the mixture."""
        losses = self.losses_.get(t - min(t, LOOK_BACK), t)
        return losses[:, 0], losses[:, 1], losses[:, 2]

    # -- a young generation begins, and one of two ends ----------------------------------------------------------------
    def _answered(self, found: Found, old: Generation, around: Surroundings) -> Afforded | None:
        """The young generation that this alarm begins; None where it is only reported."""
        t, begins, outcome = self.count_, None, "watched"
        if self.young_ is not None and t - self.since_ < CALM:
            outcome = "repeated"
        elif self.used_ > CREDIT[0] + CREDIT[1] * t:
            outcome = "no credit"
        else:
            begins = around.afford(old)
            outcome = "watched" if begins is not None else "no memory"
        if begins is None:
            (self.steady_ if found.cause == "steady" else self.alarm_).quieten()
        since = max(found.since, t - self.reach_, 0)
        alarm = Alarm(t, since, CAUSES[found.cause], outcome, t, found.before, found.after, ())
        self.records_.add(alarm)
        return begins

    def _begun(
        self, old: Generation, found: Found, recipe: Recipe, block: Block, L: Array, row: int, around: Surroundings
    ) -> Learnt:
        """Begin a young generation at the change and let it learn all rows since, to the end of the block."""
        t, n = self.count_, len(block.admitted)
        t0, end = t - row, t - row + n
        since = max(found.since, t - self.reach_, 0)
        first = max(0, t - self.reach_)
        rows = around.last(end - first)
        young = Generation(recipe, self.classes, old.lags, old.seed)
        young.start(old.d_, old.outputs_, old.stack_.more_)
        answers = None
        if self.answers_ is not None and block.answers is not None:
            answers = self.answers_.get(since, end).reshape(end - since, *block.answers.shape[1:])
        side, Y = replayed(young, part_of(rows, slice(since - first, None)), answers)
        P, past = side.P, slice(0, t - since)
        self.predicted_[1].put(since, said(side))
        rows = part_of(rows, slice(0, t - first))
        handover = self._handed(old, rows, since, t, P[past])
        self.suspicion_.end()
        losses = self.losses_.get(since, t)
        losses[:, 1] = self._losses(old, P[past], Y[past])
        self.losses_.put(since, losses)
        L[:row] = self.losses_.get(t0, t)
        self.young_, self.handover_, self.since_, self.born_ = young, handover, since, t
        self.used_ += t - since
        self.columns_known_ = False
        self.alarm_.start()
        self.steady_.start()
        return end_of(side, n)

    def _next_check(self, t: int) -> int:
        """The first row after t at which a verdict is sought."""
        if self.young_ is None:
            return NEVER
        age = max(t + 1, self.born_ + CHECK) - self.since_
        return self.since_ + -(-age // CHECK) * CHECK

    def _judged(self, t: int, end: int, around: Surroundings) -> str | None:
        age = t - self.since_
        if not self.columns_known_ and age >= AGE:
            self._compare_columns(t, end, around)
        return verdict(*self._compared(t), age, t - self.born_)

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
            old, sides = self.young_, sides[::-1]
            self.begun_ = self.since_
            self.predicted_.reverse()
            for losses in (L, self.losses_.store_):
                losses[:, :2] = losses[:, 1::-1].copy()
            if old.outputs_ > 1 and not self.classes:  # losses have other units
                self.alarm_.start()
        self.young_ = self.handover_ = None
        self.refreshes_ = True
        self.steady_.start()
        return old, sides[:1]

    # -- asked -------------------------------------------------------------------------------------------------------
    def predict(self, old: Answer, X: Array, answers: Array | None) -> Side:
        """What is predicted with all that is mixed in. Pure."""
        mixture = self.suspicion_.mixture_ if self.handover_ is None else self.handover_
        if mixture is None:
            return old[:2]
        young: Side = old[:2] if self.young_ is None else self.young_.predict(X, answers)[:2]
        P, share = mixture.predict(Heard(X, old.P, old.core, None if self.young_ is None else young[0]))
        return P, spread_of(P, share, old[:2], young)

    # -- classes, columns --------------------------------------------------------------------------------------------
    def grow(self, outputs: int, reach: int, ahead: int, *, fits: bool) -> None:
        """More classes, perhaps with fewer rows; unless memory suffices for both generations, the young one ends."""
        new, C = outputs - self.outputs_, 1 if self.outputs_ == 2 else self.outputs_
        self.outputs_ = outputs
        self.reach_ = min(self.reach_, reach)
        size = self.reach_ + ahead
        for k, past in enumerate(self.predicted_):
            self.predicted_[k] = past.remade(size, self.count_, lambda rows: padded_classes(rows, new, math.log(LEAST)))
        if self.answers_ is not None:
            self.answers_ = self.answers_.remade(size, self.count_, lambda rows: padded_scores(rows, C, new))
        if self.suspicion_.mixture_ is not None:
            self.suspicion_.mixture_.grow(outputs)
        if self.young_ is not None and self.handover_ is not None:
            if fits:
                self.refreshes_ = False  # it was reckoned with fewer classes
                self.young_.grow(outputs)
                self.handover_.grow(outputs)
            else:
                self.records_.note(outcome="no memory", until=self.count_)
                self.young_ = self.handover_ = None
                self.refreshes_ = True

    def widen(self, d: int) -> None:
        """More columns that the experts see."""
        for part in (self.young_, self.handover_, self.suspicion_.mixture_, self.inputs_):
            if part is not None:
                part.widen(d)

    @property
    def nbytes(self) -> int:
        own = self.alarm_.nbytes + self.steady_.nbytes + self.inputs_.nbytes + self.suspicion_.nbytes
        own += self.losses_.nbytes + sum(past.nbytes for past in self.predicted_)
        return own + sum(part.nbytes for part in (self.answers_, self.young_, self.handover_) if part is not None)
