"""The state of drift handling: detectors, at times a candidate, and archived models."""

from __future__ import annotations

import math

import numpy as np

from nystream.auto.drift.alarm import NEVER, RankAlarm
from nystream.auto.drift.archive import EVERY, KNOWN, USUAL, Archive
from nystream.auto.drift.change_point import LOOKS
from nystream.auto.drift.inputs import InputAlarm
from nystream.auto.drift.memory import REACH
from nystream.auto.drift.mixture import LEAST, Handover, Heard
from nystream.auto.drift.past import Past, padded_classes, padded_scores
from nystream.auto.drift.promotion import CHECK, LOOK_BACK
from nystream.auto.drift.records import Alarm, Records
from nystream.auto.drift.replay import Side, spread_of
from nystream.auto.drift.suspicion import Suspicion
from nystream.auto.drift.warm_start import WarmStart
from nystream.auto.ensemble import Ensemble
from nystream.auto.rows import Answer
from nystream.runtime.params import Params, at_least
from nystream.runtime.types import Array

__all__ = ["Beside"]

STEADY_BAR = 1e6
"""Of the alarm on experts that do not forget. It is higher: slow drift, which others follow, raises their loss too."""


class Beside(Params):
    """Holds the state of `DriftHandler` and answers what is asked of it between blocks.

    Parameters
    ----------
    classes : bool
    reach : int
        Rows back that a candidate can begin.
    ahead : int
        Rows of a block, at most.
    few : int, default 300
        Rows that the few-row ridge of a mixture learns.
    room : int, default 0
        Bytes for what predicted in regimes that were left.
    late : int, default 0
        Rows after an alarm at which a candidate has to be level, at the latest.
    """

    alarm_: RankAlarm
    steady_: RankAlarm
    """On the loss of experts that do not forget; while there is one ensemble."""
    inputs_: InputAlarm
    young_: Ensemble | None
    coming_: WarmStart | None = None
    """A candidate that still learns the rows since the change."""
    handover_: Handover | None
    suspicion_: Suspicion
    losses_: Past
    """Of the incumbent, the young one, and what was predicted."""
    predicted_: list[Past]
    """Predictions of the incumbent and of the young one; for targets, then what their steady experts say."""
    answers_: Past | None
    count_: int
    begun_: int
    """The row at which the incumbent begins."""
    since_: int
    """The row at which the young one begins."""
    born_: int
    """Rows that had been learnt when it was level."""
    used_: int
    """Rows that young ones have run."""
    refreshes_: bool
    """Whether the incumbent can be refreshed: memory may not suffice for that while both live."""
    records_: Records
    archive_: Archive | None = None
    """None: of a model saved before there were any."""

    def __init__(self, classes: bool, reach: int, ahead: int, few: int = 300, room: int = 0, late: int = 0) -> None:
        self.classes = classes
        self.reach = at_least("reach", reach, 1)
        self.ahead = at_least("ahead", ahead, 1)
        self.few = at_least("few", few, 1)
        self.room = at_least("room", room, 0)
        self.late = at_least("late", late, 0)

    def start(self, outputs: int, answers: tuple[int, int] | None) -> None:
        """Begin for so many targets or classes, and sparse experts with outputs of this shape."""
        size = self.reach + self.late + self.ahead
        self.alarm_, self.steady_ = RankAlarm(self.classes, REACH), RankAlarm(True, REACH, STEADY_BAR)
        self.inputs_ = InputAlarm(REACH)
        for alarm in (self.alarm_, self.steady_, self.inputs_):
            alarm.start()
        self.young_ = self.coming_ = self.handover_ = None
        self.suspicion_ = Suspicion()
        self.losses_ = Past(max(size, LOOK_BACK + self.ahead), 3)
        self.predicted_ = [Past(size, outputs * (1 if self.classes else 2)) for _ in range(2)]
        self.answers_ = None if answers is None else Past(size, answers[0] * answers[1])
        self.outputs_ = outputs
        self.reach_ = self.reach
        self.count_ = self.begun_ = self.since_ = self.born_ = self.used_ = 0
        self.columns_known_ = self.refreshes_ = True
        self.records_ = Records()
        self.archive_ = Archive(self.room)
        self.archive_.start()

    @property
    def two(self) -> bool:
        """Whether there is a candidate, in its warm start or after it."""
        return self.young_ is not None or self.coming_ is not None

    def alarms(self, *, warnings: bool = False) -> list[Alarm]:
        return self.records_.all if warnings else self.records_.alarms

    def _usual(self, labels: Array, since: int) -> Array | None:
        """Return (K,) mean squared losses of the incumbent over the last rows before row `since`, whose labels are
        `labels`.
        """
        n, K = min(len(labels), since - self.begun_, USUAL), labels.shape[1]
        if self.classes or n < KNOWN:
            return None
        said = self.predicted_[0].get(since - n, since)[:, :K]
        return np.asarray(((said - labels[len(labels) - n :]) ** 2).mean(axis=0))

    # -- regimes -----------------------------------------------------------------------------------------------------
    @property
    def woken(self) -> Ensemble | None:
        """The recalled model, if a regime is back."""
        regime = None if self.archive_ is None else self.archive_.woken_
        return None if regime is None else regime.ensemble_

    def _next_check(self, t: int) -> int:
        """Return the first row after t at which the promotion test runs or the change point is estimated again."""
        if self.handover_ is None:
            return NEVER
        age = max(t + 1, self.born_ + CHECK) - self.since_
        looks = (self.since_ + look for look in LOOKS)
        rows = (row for row in looks if row > t and self._looks_at(row))
        return min(self.since_ + -(-age // CHECK) * CHECK, next(rows, NEVER))

    def _looks_at(self, t: int) -> bool:
        """Return whether the change point is estimated again at row t."""
        young, age = self.young_ is not None and self.woken is None, t - self.since_
        return young and age in LOOKS and t > self.born_ and age <= self.reach_

    @property
    def _others(self) -> list[Ensemble | None]:
        """Return the models mixed with the incumbent; None if there are none."""
        return [self.young_] if self.woken is None else [self.young_, self.woken]

    def until_cut(self) -> int:
        """Return the rows until `copy` has to be called or an archived model may have to be discarded."""
        rows = EVERY - self.count_ % EVERY
        return rows if self.woken is None else min(rows, self._next_check(self.count_) - self.count_)

    def copy(self, old: Ensemble) -> None:
        """Let the archive copy the incumbent."""
        if self.count_ % EVERY == 0 and self.archive_ is not None and not self.two:
            self.archive_.copy(old, self.count_, self.begun_)

    def _answers(self, begin: int, end: int, many: int) -> Array | None:
        """Return the outputs of so many sparse experts for rows `begin` to `end` - 1."""
        return None if self.answers_ is None else self.answers_.get(begin, end).reshape(end - begin, many, -1)

    # -- asked -------------------------------------------------------------------------------------------------------
    def predict(self, old: Answer, X: Array, answers: Array | None) -> Side:
        """Predict with all models that are mixed. Pure."""
        mixture = self.suspicion_.mixture_ if self.handover_ is None else self.handover_
        if mixture is None:
            return old[:2]
        young: Side = old[:2] if self.young_ is None else self.young_.predict(X, answers)[:2]  # which it was
        woken = None if self.woken is None else self.woken.predict(X, answers).P
        P, share = mixture.predict(Heard(X, old.P, old.core, young[0] if mixture.young else None, woken))
        return P, spread_of(P, share, old[:2], young)

    # -- classes, columns --------------------------------------------------------------------------------------------
    def grow(self, outputs: int, reach: int, late: int, ahead: int, *, fits: bool) -> None:
        """Add classes, perhaps keeping fewer rows. The candidate is discarded if memory does not suffice for both
        ensembles.

        None may be catching up.
        """
        new, C = outputs - self.outputs_, 1 if self.outputs_ == 2 else self.outputs_
        self.outputs_ = outputs
        self.reach_ = min(self.reach_, reach)
        size = self.reach_ + late + ahead
        for k, past in enumerate(self.predicted_):
            self.predicted_[k] = past.remade(size, self.count_, lambda rows: padded_classes(rows, new, math.log(LEAST)))
        if self.answers_ is not None:
            self.answers_ = self.answers_.remade(size, self.count_, lambda rows: padded_scores(rows, C, new))
        if self.suspicion_.mixture_ is not None:
            self.suspicion_.mixture_.grow(outputs)
        if self.archive_ is not None:  # what is frozen knows no new classes
            if self.woken is not None and self.handover_ is not None:
                self.handover_.part()
            self.handover_ = None if self.young_ is None else self.handover_
            self.archive_.start()
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
        """Add columns that the experts see."""
        for part in (self.young_, self.handover_, self.suspicion_.mixture_, self.inputs_, self.archive_):
            if part is not None:
                part.widen(d)

    @property
    def nbytes(self) -> int:
        own = self.alarm_.nbytes + self.steady_.nbytes + self.inputs_.nbytes + self.suspicion_.nbytes
        own += self.losses_.nbytes + sum(past.nbytes for past in self.predicted_)
        parts = (self.answers_, self.young_, self.coming_, self.handover_, self.archive_)
        return own + sum(part.nbytes for part in parts if part is not None)
