"""Drift handling: detectors watch the losses row by row, and their alarms lead to a succession of models."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nystream._core.auto.drift import watch
from nystream.auto.drift.block import LOG_LEAST, Block, Course, Side, Surroundings, losses_of
from nystream.auto.drift.detectors import LIMITS, NEVER, RULES, Detection, RankDetector
from nystream.auto.drift.hedge import HEDGE, stronger
from nystream.auto.drift.inputs import CENTRED, FAR, QUIET, InputDetector, Shift
from nystream.auto.drift.memory import REACH, Afforded
from nystream.auto.drift.records import CREDIT
from nystream.auto.drift.succession import Succession
from nystream.auto.ensemble import Ensemble
from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["DriftHandler"]


class DriftHandler(Params):
    """Watches the stream row by row, and starts candidates. Decisions depend on rows and losses alone.

    Parameters
    ----------
    classes : bool
    """

    loss_: RankDetector
    """On the loss of the predictions."""
    steady_: RankDetector
    """On the loss of the experts that never forget; used while there is no candidate."""
    inputs_: InputDetector
    """On the distances of rows from the rows before them."""
    refitted_: int
    """The row of the last full refit of the incumbent."""
    succession_: Succession
    count_: int
    """Rows learnt."""

    def __init__(self, classes: bool) -> None:
        self.classes = classes

    def start(self, succession: Succession, outputs: int) -> None:
        """Begin for so many targets or classes."""
        self.loss_ = RankDetector(self.classes, REACH)
        self.steady_ = RankDetector(True, REACH, LIMITS.steady_bar)
        self.inputs_ = InputDetector(REACH)
        for one in (self.loss_, self.steady_, self.inputs_):
            one.start()
        self.succession_, self.outputs_, self.count_, self.refitted_ = succession, outputs, 0, 0

    # -- a block -----------------------------------------------------------------------------------------------------
    def follow(
        self, old: Ensemble, block: Block, surroundings: Callable[[], Surroundings]
    ) -> tuple[Ensemble, Array, Array | None]:
        """Follow a learnt block. Return the incumbent after it, and predictions and disagreement for its rows."""
        succession = self.succession_
        self._note_refit(succession.begun_ + old.refitted_)
        if len(block.admitted) == 1 and self.count_ >= LIMITS.first and succession.is_alone:
            alone = self._follow_row(old, block, surroundings)
            if alone is not None:
                return old, *alone
        course = Course.begin(self.count_, old, block, surroundings())
        succession.predict_block(course)
        course.shifts = self.inputs_.shifts(block.rows.X, course.since, course.around.last, succession.reach_)
        course.row = course.watched = min(course.n, max(0, LIMITS.first - course.since))  # first rows are not watched
        while course.row < course.n:
            detection = self._watch(course)
            size = None if detection is None else self._size_of_candidate(detection, course)
            if detection is not None and size is not None:
                self._begin(course, detection, size)
            elif not succession.begin_again(course) and succession.next_check(course.t - 1) == course.t:
                self._decide(course)
        self.count_ = course.end
        self.inputs_.alert_ = course.shifts[-1][:3]
        return course.old, *course.shown

    def _note_refit(self, row: int) -> None:
        """Restart the detector on steady experts after a full refit at this row. The refit replaces these experts, and
        they err less just after it than long after it.
        """
        if self.refitted_ != row:
            self.refitted_ = row
            self.steady_.start()

    def _follow_row(self, old: Ensemble, block: Block, around: Callable[[], Surroundings]) -> Side | None:
        """Follow one row in the common case, with the incumbent alone and no alarm. In any other case, return None and
        change nothing.
        """
        near = self._watch_row(old, block)
        if near is None:
            return None
        alone: Side = block.learnt.P, block.learnt.spread
        if self.succession_.phase_ is not None or max(near[0], near[2]) >= HEDGE.hint:
            course = Course.begin(self.count_, old, block, around())
            for own, level, left in zip(course.evidence, near[::2], near[1::2], strict=True):
                own.level[0], own.left[0] = level, left
            self._hedge(course, slice(0, 1))
            alone = course.shown
        self.count_ += 1
        return alone

    def _watch_row(self, old: Ensemble, block: Block) -> tuple[float, int, float, int] | None:
        """Watch one row with all detectors, in one compiled call, and store its losses and predictions.

        Return the evidence of the first two detectors: for each, how close an alarm is, and the row at which its best
        bet left 1. Return None, and change nothing, if more has to be done: an alarm is raised, the loss may confirm an
        input shift, or the centres of the inputs are computed after this row.
        """
        t, where, history = self.count_, self.inputs_.where_, self.succession_.history_
        if where is None or (t + 1) % CENTRED == 0 or t < self.inputs_.alert_[2]:
            return None
        side, scale = block.learnt, None if old.targets_ is None else old.targets_.scale_
        losses = (side.P, side.core, block.admitted, block.alarm_labels, scale, LOG_LEAST, side.steady.item())
        parts = (self.loss_.parts, self.steady_.parts, self.inputs_.ranks_.parts)
        stores = (history.losses_.store_, history.incumbent_.store_)
        found = watch(t, *losses, block.rows.X, where, FAR, parts, RULES, self._settled, *stores)
        if found is None:
            return None
        history.put_answers(t, block.answers)
        return found if t >= self._hedges_from else (*found[:2], 0.0, found[3])

    def _watch(self, course: Course) -> Detection | None:
        """Watch the rows up to the next one at which a decision may be due. Return what was detected there."""
        row, t, shifts, succession = course.row, course.t, course.shifts, self.succession_
        alone = succession.is_alone
        while len(shifts) > 1 and shifts[1].row <= t:
            shifts.pop(0)
            if not succession.records_.add_warning(shifts[0], course.around.names):
                shifts[0] = Shift(*QUIET)
        if course.block.alarm_labels is not None:
            course.watched = course.n  # losses of steady experts are measured by winsorised labels
        elif alone:
            self._watch_steady(course)
        stop = min(course.n, succession.next_check(t) - course.since)
        if len(shifts) > 1:
            stop = min(stop, shifts[1].row - course.since)
        if t < shifts[0].until:
            stop = row + 1  # after each row, the loss may confirm the shift
        stop = stop if course.sounded is None else min(stop, course.watched)
        part, detector = slice(row, stop), self.loss_
        losses, evidence = self._losses_for_alarms(course, part), course.evidence[0].of(part)
        seen, found = detector.see(losses, t, falls_from=self._settled if alone else NEVER, evidence=evidence)
        if alone:
            self._hedge(course, slice(row, row + seen))
        course.row += seen
        succession.used_ += 0 if alone else seen
        if course.t <= shifts[0].until and (found is not None or detector.confirms(shifts[0].since, course.t)):
            found, shifts[0] = found or detector.detection(shifts[0].since, course.t, "inputs"), Shift(*QUIET)
        if course.sounded is not None and course.row == course.watched:
            found, course.sounded = found or course.sounded._replace(cause="steady"), None
        return found

    def _watch_steady(self, course: Course) -> None:
        """Let the detector on steady experts run ahead, up to the row at which it detects a change."""
        t0, first = course.since, course.watched
        if course.sounded is None and first < course.n:
            near, errors = course.evidence[1], course.sides[0].steady[first:]
            rows = near.of(slice(first, course.n))
            seen, course.sounded = self.steady_.see(errors, t0 + first, evidence=rows)
            course.watched += seen
            near.level[first : max(first, self._hedges_from - t0)] = 0.0

    def _losses_for_alarms(self, course: Course, part: slice) -> Array:
        """Return the losses of the predictions, measured by the labels that detectors use."""
        if course.block.alarm_labels is None:
            return np.ascontiguousarray(course.losses[part, 2])
        return losses_of(course.old, course.shown[0][part], course.block.alarm_labels[part])

    def _hedge(self, course: Course, part: slice) -> None:
        """Hedge the predictions of the incumbent for a part of the block, where losses are suspicious."""
        detectors = [self.loss_, self.steady_]
        self.succession_.hedge(course, part, stronger(course.evidence, part), detectors)

    @property
    def _settled(self) -> int:
        """The row from which falling losses count."""
        return self.succession_.begun_ + LIMITS.settled

    @property
    def _hedges_from(self) -> int:
        """The row from which losses of steady experts may begin a hedge."""
        return self.refitted_ + LIMITS.refitted

    # -- alarms ------------------------------------------------------------------------------------------------------
    def _size_of_candidate(self, found: Detection, course: Course) -> Afforded | None:
        """Return the size of the candidate that this alarm starts; None if the alarm is only recorded."""
        size = None
        if not self.succession_.may_begin(course.t):
            outcome = "repeated"
        elif self.succession_.used_ > CREDIT[0] + CREDIT[1] * course.t:
            outcome = "over budget"
        else:
            size, outcome = course.around.afford(course.old), "no memory"
        if size is None:
            detector = self.steady_ if found.cause == "steady" else self.loss_
            detector.restart_bets()
            self._record(found, course.t, outcome)
        return size

    def _record(self, found: Detection, t: int, outcome: str) -> None:
        loss = "log loss" if self.classes else "squared error"
        loss += " over the targets' variances" if self.outputs_ > 1 and not self.classes else ""
        since = max(found.since, t - self.succession_.reach_, 0)
        self.succession_.records_.add_alarm(found, t, since, outcome, loss)

    def _begin(self, course: Course, found: Detection, size: Afforded) -> None:
        """Begin a candidate after an alarm. If there is one already, the losses so far decide which model stays."""
        succession, incumbent = self.succession_, course.old
        succession.end_comparison(course)
        self._note_end(course, incumbent)
        self._record(found, course.t, "running")
        succession.refreshes_ = size.refreshes
        succession.begin(course, max(found.since, course.t - succession.reach_, 0), size.recipe)
        self.loss_.start()
        self.steady_.start()
        course.sounded = None

    def _decide(self, course: Course) -> None:
        """Run the promotion test."""
        incumbent = course.old
        if self.succession_.decide(course):
            self._note_end(course, incumbent)

    def _note_end(self, course: Course, before: Ensemble) -> None:
        """Restart detectors after a comparison, in which one model was kept. `before`: the incumbent before it."""
        course.watched = course.row
        self.refitted_ = self.succession_.begun_ + course.old.refitted_
        self.steady_.start()
        if course.old is not before and self.outputs_ > 1 and not self.classes:  # losses have other units
            self.loss_.start()

    # -- between blocks ----------------------------------------------------------------------------------------------
    def grow(self, outputs: int, reach: int, late: int, ahead: int, *, fits: bool) -> None:
        """Add classes; see `Succession.grow`."""
        self.outputs_ = outputs
        self.succession_.grow(self.count_, outputs, reach, late, ahead, fits=fits)

    def widen(self, d: int) -> None:
        """Add columns that the experts see."""
        self.succession_.widen(d)
        self.inputs_.widen(d)

    @property
    def nbytes(self) -> int:
        return self.loss_.nbytes + self.steady_.nbytes + self.inputs_.nbytes + self.succession_.nbytes
