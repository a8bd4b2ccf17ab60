"""The succession: an alarm starts a candidate beside the incumbent; both are mixed; a test decides which stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from nystream.auto.drift.archive import EVERY, Archive
from nystream.auto.drift.block import (
    Course,
    Last,
    Side,
    concatenate,
    fenced,
    join,
    last_rows,
    learn,
    losses_of,
    part_of_side,
    spread_of,
)
from nystream.auto.drift.change_point import LOOKS, first_of_new
from nystream.auto.drift.detectors import NEVER, RankDetector
from nystream.auto.drift.hedge import HEDGE, Hedge, Stronger, odds
from nystream.auto.drift.history import USUAL, History, Past
from nystream.auto.drift.inputs import PLACES, centred, location, moved
from nystream.auto.drift.mixture import Inputs, Mixture
from nystream.auto.drift.promotion import CHECK, LOOK_BACK, is_better, verdict
from nystream.auto.drift.records import Records, own_columns
from nystream.auto.drift.states import TRANSITIONS, Comparing, Event, State
from nystream.auto.drift.warm_start import Known, WarmStart
from nystream.auto.ensemble import Ensemble
from nystream.auto.recipe import Recipe
from nystream.auto.rows import Answer, Learnt, Rows, part_of
from nystream.runtime.params import Params, at_least
from nystream.runtime.types import Array

__all__ = ["Succession"]


@dataclass(frozen=True)
class Sizes:
    """Values of the succession, chosen on seeds 0 to 3 of benchmarks/drift/auto_drift.py."""

    calm: int = 200
    """An alarm starts no other candidate before this age of the candidate: first losses after a change are large."""
    recalled: int = 64
    """Rows that archived models predict at once after an alarm, all models together."""
    compared: int = 1000
    """Rows before the change point that the columns of later rows are compared with."""
    age: int = 200
    """Rows since the change point that are needed for this."""


SIZES = Sizes()
Phase: TypeAlias = Hedge | WarmStart | Comparing | None
"""A state with what it owns; None: STEADY."""


class Succession(Params):
    """The models that predict the next row, and the changes from one state (`states.py`) to the next.

    Within a block, models and the mixture run ahead of a decision, because none of them depends on it. So results do
    not depend on how blocks are cut.

    Parameters
    ----------
    classes : bool
    reach : int
        A candidate begins at most so many rows back.
    ahead : int
        Rows of a block, at most.
    few : int
        Rows that the few-row ridge of a mixture learns.
    room : int
        Bytes for archived models.
    late : int
        Rows after an alarm at which a warm start has to end, at the latest.
    """

    phase_: Phase
    history_: History
    archive_: Archive
    records_: Records
    begun_: int
    """The row at which the incumbent begins."""
    used_: int
    """Rows that candidates have learnt."""
    refreshes_: bool
    """Whether the incumbent can be refitted now: while there is a candidate, memory may not suffice."""
    columns_known_: bool
    """Whether the columns that shifted since the change point have been recorded."""

    def __init__(self, classes: bool, reach: int, ahead: int, few: int, room: int, late: int) -> None:
        self.classes = classes
        self.reach = at_least("reach", reach, 1)
        self.ahead = at_least("ahead", ahead, 1)
        self.few = at_least("few", few, 1)
        self.room = at_least("room", room, 0)
        self.late = at_least("late", late, 0)

    def start(self, outputs: int, answers: tuple[int, int] | None) -> None:
        """Begin for so many targets or classes, and sparse experts with outputs of this shape."""
        self.history_ = History(self.classes, self.reach + self.late + self.ahead, LOOK_BACK + self.ahead)
        self.history_.start(outputs, answers)
        self.archive_ = Archive(self.room)
        self.archive_.start()
        self.records_ = Records()
        self.phase_ = None
        self.reach_ = self.reach
        self.begun_ = self.used_ = 0
        self.columns_known_ = self.refreshes_ = True

    # -- the state ---------------------------------------------------------------------------------------------------
    @property
    def state(self) -> State:
        return State.STEADY if self.phase_ is None else self.phase_.state

    def _enter(self, phase: Phase, event: Event) -> None:
        """Change to this phase because of an event."""
        expected = TRANSITIONS[self.state, event]
        self.phase_ = phase
        assert self.state is expected

    @property
    def candidate(self) -> Ensemble | None:
        """The candidate, once it has caught up."""
        return self.phase_.candidate_ if isinstance(self.phase_, Comparing) else None

    @property
    def warm_start(self) -> WarmStart | None:
        return self.phase_ if isinstance(self.phase_, WarmStart) else None

    @property
    def recalled(self) -> Ensemble | None:
        """The recalled model, if there is one."""
        one = self.archive_.recalled_
        return None if one is None else one.ensemble_

    @property
    def is_alone(self) -> bool:
        """Whether the incumbent predicts, perhaps hedged."""
        return self.phase_ is None or isinstance(self.phase_, Hedge)

    @property
    def shares(self) -> list[float]:
        """Shares of incumbent and candidate in the next prediction."""
        if not isinstance(self.phase_, Comparing):
            return [1.0]
        share = self.phase_.mixture_.carried()
        return [share, 1.0 - share]

    def predict(self, old: Answer, X: Array, answers: Array | None) -> Side:
        """Predict with all models that are mixed. Pure."""
        if self.phase_ is None:
            return old[:2]
        mixture, candidate, recalled = self.phase_.mixture_, self.candidate, self.recalled
        newer: Side = old[:2] if candidate is None else candidate.predict(X, answers)[:2]
        back = None if recalled is None else recalled.predict(X, answers).P
        P, share = mixture.predict(Inputs(X, old.P, old.core, newer[0] if mixture.has_candidate else None, back))
        return P, spread_of(P, share, old[:2], newer)

    # -- predictions for a block -------------------------------------------------------------------------------------
    def predict_block(self, course: Course) -> None:
        """Predict a block as if no decision were made in it."""
        block, sides, losses = course.block, course.sides, course.losses
        losses[:, 0] = losses[:, 2] = losses_of(course.old, course.shown[0], block.admitted)
        self.history_.put_incumbent(course.since, block.learnt, block.answers)
        if not self.is_alone:
            if isinstance(self.phase_, Comparing):
                sides.append(learn(self.phase_.candidate_, block.rows, block.answers)[0])
            if self.recalled is not None:
                sides.append(learn(self.recalled, block.rows, block.answers)[0])
            if isinstance(self.phase_, WarmStart):
                self._wait(course)
            else:
                self.history_.put_candidate(course.since, sides[1])
                course.shown = self._mix(course, slice(0, course.n))
        self.history_.losses_.put(course.since, losses)

    def _mix(self, course: Course, part: slice) -> Side:
        """Return the mixed predictions for a part of the block, and store their losses."""
        assert self.phase_ is not None
        P, spread = self._mixed(course, part, self.phase_.mixture_)
        Y = course.block.admitted[part]
        if self.phase_.mixture_.has_candidate:
            course.losses[part, 1] = losses_of(course.old, course.sides[1].P[part], Y)
        course.losses[part, 2] = losses_of(course.old, P, Y)
        return P, spread

    def _mixed(self, course: Course, part: slice, mixture: Mixture) -> Side:
        """Return the predictions of this mixture for a part of the block."""
        block, sides, has_candidate = course.block, course.sides, mixture.has_candidate
        rows = part_of(block.rows, part)
        (A, a), (B, b) = (part_of_side(sides[k], part) for k in (0, int(has_candidate)))
        back = sides[-1].P[part] if len(sides) > 1 + has_candidate else None
        core = None if sides[0].core is None else sides[0].core[part]
        inputs = Inputs(rows.X, A, core, B if has_candidate else None, back)
        P, share = mixture.run(inputs, block.admitted[part], rows.w)
        return P, spread_of(P, share, (A, a), (B, b))

    def _wait(self, course: Course) -> None:
        """Predict the rest of the block during the warm start of the candidate, and after its end."""
        warm, old, row, t0, losses = self.phase_, course.old, course.row, course.since, course.losses
        assert isinstance(warm, WarmStart)
        self.history_.losses_.put(t0, losses)
        warm.admitted_.put(t0 + row, course.block.admitted[row:])
        if warm.back_ is not None:
            warm.back_.put(t0 + row, course.sides[-1].P[row:])
        known = Known(course.around.last, course.end, self.history_, old)
        over = warm.catch_up(course.end, known)
        stop = warm.seen_ - t0
        course.shown = join(course.shown, self._mix(course, slice(row, stop)), row)
        losses[:stop, 1] = self.history_.losses_.get(t0, t0 + stop)[:, 1]
        if over:
            self._compare()
            parts = [Learnt(*(None if A is None else A[:0] for A in course.sides[0]))]  # type: ignore[arg-type]
            while warm.learnt_ < course.end:
                parts.append(warm.learn(course.end - warm.learnt_, known)[0])
            side = concatenate(parts)
            self.history_.put_candidate(t0 + stop, side)
            course.sides.insert(1, last_rows(side, course.n))
            course.shown = join(course.shown, self._mix(course, slice(stop, course.n)), stop)

    def hedge(self, course: Course, part: slice, evidence: Stronger, detectors: list[RankDetector]) -> None:
        """Hedge the predictions of the incumbent for a part of the block where losses are suspicious."""
        levels, left, second = evidence
        hedge, row, first = self.phase_, 0, part.start
        assert hedge is None or isinstance(hedge, Hedge)
        while row < len(levels):
            if hedge is None:
                last = next((i for i in range(row, len(levels)) if levels[i] >= HEDGE.hint), None)
                if last is None:
                    break
                row, end = last + 1, course.since + first + last + 1
                since = detectors[second[last]].change_point(end, max(left[last], end - HEDGE.back))
                hedge = Hedge()
                hedge.start(self._mixture_for_hedge(course, since, end))
            else:
                lost = next((i for i in range(row, len(levels)) if levels[i] <= 0), None)
                stop = len(levels) if lost is None else lost + 1
                P, spread = self._mixed(course, slice(first + row, first + stop), hedge.mixture_)
                course.shown = join(course.shown, (P, spread), first + row, first + stop)
                row, hedge = stop, hedge if lost is None else None
        if hedge is not self.phase_:
            self._enter(hedge, Event.ALL_CLEAR if hedge is None else Event.SUSPICION)

    def _mixture_for_hedge(self, course: Course, since: int, end: int) -> Mixture:
        """Return a mixture that has learnt rows `since` to `end`, with the odds that the stream has changed."""
        first = max(0, end - self.reach_)
        rows, since = part_of(course.last(first), slice(0, end - first)), max(since, first)
        mixture = self._mixture_of_few_rows(course.old, rows, since, end)
        losses = self.history_.incumbent_losses(max(first, self.begun_), end)
        mixture.doubt(odds(losses, end - since))
        return mixture

    # -- a candidate begins ------------------------------------------------------------------------------------------
    def may_begin(self, t: int) -> bool:
        """Return whether an alarm at row t may start a candidate; not if one was just started."""
        if isinstance(self.phase_, Comparing):
            return t >= self.phase_.born and t - self.phase_.since >= SIZES.calm
        return not isinstance(self.phase_, WarmStart)

    def end_comparison(self, course: Course) -> None:
        """Keep one model, by the losses so far, because an alarm starts another candidate."""
        if isinstance(self.phase_, Comparing):
            better = is_better(*self.history_.compared(course.t)[:2], course.t - self.phase_.since)
            self._end(course, "promoted" if better else "superseded")

    def begin(self, course: Course, since: int, recipe: Recipe) -> None:
        """Begin the warm start of a candidate of this size at the change point, and predict the rest of the block."""
        t, first = course.t, max(0, course.t - self.reach_)
        course.around.believe(course.end - since, course.end - t)
        rows = course.last(first)
        recalled = self._recall(course, part_of(rows, slice(since - first, None)), since)
        known = max(since - USUAL, self.begun_, t - max(self.reach_, LOOK_BACK))
        self.archive_.begin_candidate(since, self.history_.incumbent_losses(known, since))
        self.columns_known_ = False
        past = part_of(rows, slice(0, t - first))
        self._enter(self._warm_start_of(course, since, recipe, past, recalled), Event.ALARM)
        self._go_on(course, recalled)

    def begin_again(self, course: Course) -> bool:
        """Estimate the change point again. Return whether the candidate restarts, because it began too early."""
        t, phase = course.t, self.phase_
        if not isinstance(phase, Comparing) or not self._is_look(t):
            return False
        first = max(0, t - self.reach_)
        past = part_of(course.last(first), slice(0, t - first))
        since = self._estimate_again(phase, t, fenced(course.old, past.Y))
        if since == phase.since:
            return False
        self.records_.note(change=since)
        warm = self._warm_start_of(course, since, phase.candidate_.recipe, past, None)
        self._enter(warm, Event.CHANGE_POINT_MOVED)
        del phase  # frees the memory of the candidate before the next one learns
        self._go_on(course, None)
        return True

    def _estimate_again(self, phase: Comparing, t: int, labels: Array) -> int:
        """Return the change point as estimated at row t, from the labels of the last rows up to there."""
        since = phase.since
        n, first = min(t - since, self.few), since - (t - len(labels))
        usual = self.history_.usual_squares(labels[:first], since, self.begun_)
        if usual is None and not self.classes:
            return since
        old = self.history_.predictions(since, since + n)[0]
        gains = phase.mixture_.gains_of_old(old, labels[first : first + n], usual)
        return since + first_of_new(gains, self.records_.running.row - 1 - since)  # before the alarm

    def _warm_start_of(
        self, course: Course, since: int, recipe: Recipe, rows: Rows, recalled: Learnt | None
    ) -> WarmStart:
        """Return the warm start of a candidate from row `since`. `rows`: the last rows up to now. `recalled`:
        predictions of a recalled model, if there is one, for the last rows up to the end of the block.
        """
        t, old = course.t, course.old
        back = None if recalled is None else recalled.P[: len(recalled.P) - (course.n - course.row)]
        candidate = Ensemble(recipe, self.classes, old.lags, old.seed, old.delay)
        candidate.start(old.d_, old.outputs_, old.stack_.more_)
        mixed = since if back is None else t - len(back)
        late = max(mixed, t - HEDGE.back)
        mixture = self._mixture_of_few_rows(old, rows, late, t, None if back is None else back[late - mixed :])
        size = self.history_.incumbent_.size
        kept = min(max(recipe.ring, recipe.warmup) + recipe.late, size) - self.ahead
        warm = WarmStart(since, t, min(t + self.late, since + kept) if recipe.spread else t)
        past = None
        if back is not None:
            past = Past(size, old.outputs_)
            past.put(mixed, back)
        admitted = Past(max(0, warm.latest - t) + self.ahead, rows.Y.shape[1])
        following, _ = self._new_mixture(old, rows, since, t, has_candidate=True, recalled=back is not None)
        warm.start(candidate, mixture, following, mixed, admitted, past)
        self.used_ += t - since
        return warm

    def _go_on(self, course: Course, recalled: Learnt | None) -> None:
        """Predict the rest of the block with a candidate that has just begun, and perhaps a recalled model."""
        course.sides = [course.sides[0], *([] if recalled is None else [last_rows(recalled, course.n)])]
        self._wait(course)
        self.history_.losses_.put(course.since, course.losses)

    def _recall(self, course: Course, late: Rows, since: int) -> Learnt | None:
        """Return predictions of a recalled model for the last rows up to the end of the block; None if no regime is
        back. The rows from `since` to the present one decide this.
        """
        if not self.archive_.retired_:
            return None
        first = max(since, course.t - SIZES.recalled // len(self.archive_.retired_))
        rows, losses = part_of(late, slice(first - since, None)), self.history_.incumbent_losses(first, course.t)
        answers = self.history_.answers(first, course.end, course.old.stack_.more_)
        back = self.archive_.recall(rows, answers, losses, losses_of)
        if back is None:
            return None
        self.records_.note(regime=back[0])
        return back[1]

    def _mixture_of_few_rows(
        self, old: Ensemble, rows: Rows, since: int, end: int, recalled: Array | None = None
    ) -> Mixture:
        """Return a mixture without a candidate that has learnt rows `since` to `end`. `rows`: the last rows up to
        there.
        """
        mixture, labels = self._new_mixture(old, rows, since, end, has_candidate=False, recalled=recalled is not None)
        part = slice(len(labels) - (end - since), None)
        past, (P, core) = part_of(rows, part), self.history_.predictions(since, end)
        mixture.run(Inputs(past.X, P, core, None, recalled), labels[part], past.w)
        return mixture

    def _new_mixture(
        self, old: Ensemble, rows: Rows, since: int, end: int, *, has_candidate: bool, recalled: bool
    ) -> tuple[Mixture, Array]:
        """Return a new mixture with scales from the last rows up to `end`, and the labels of these rows within the
        outlier bounds.
        """
        mixture, labels = Mixture(self.classes, self.few, has_candidate, recalled), fenced(old, rows.Y)
        before = len(labels) - (end - since)
        where = centred(location(rows.X[-PLACES:]), rows.X[before:])
        usual = self.history_.usual_squares(labels[:before], since, self.begun_)
        mixture.start(labels, old.outputs_, where, usual)
        return mixture, labels

    # -- a warm start ------------------------------------------------------------------------------------------------
    def _compare(self) -> None:
        """End the warm start: the candidate has learnt all rows since the change point."""
        warm = self.phase_
        assert isinstance(warm, WarmStart)
        phase = Comparing(warm.since, warm.seen_)
        phase.start(warm.ensemble_, warm.next_)
        self._enter(phase, Event.CAUGHT_UP)

    def settle(self, old: Ensemble, t: int, last: Last) -> None:
        """Finish the warm start of the candidate now, after t rows."""
        if isinstance(self.phase_, WarmStart):
            self.phase_.finish(Known(last, t, self.history_, old))
            self._compare()

    # -- one of two stays --------------------------------------------------------------------------------------------
    def next_check(self, t: int) -> int:
        """Return the first row after t at which the promotion test runs or the change point is estimated again."""
        if not isinstance(self.phase_, Comparing):
            return NEVER
        since, age = self.phase_.since, max(t + 1, self.phase_.born + CHECK) - self.phase_.since
        rows = (since + look for look in LOOKS if since + look > t and self._is_look(since + look))
        return min(since + -(-age // CHECK) * CHECK, next(rows, NEVER))

    def _is_look(self, t: int) -> bool:
        """Return whether the change point is estimated again at row t."""
        if not isinstance(self.phase_, Comparing) or self.recalled is not None:
            return False
        age = t - self.phase_.since
        return age in LOOKS and t > self.phase_.born and age <= self.reach_

    def copy(self, old: Ensemble, t: int) -> None:
        """Let the archive copy the incumbent after t rows."""
        if t % EVERY == 0 and self.is_alone:
            self.archive_.copy(old, t, self.begun_)

    def decide(self, course: Course) -> bool:
        """Run the promotion test. If one model is left, it predicts the rest of the block alone. Return whether the
        candidate was promoted or discarded.
        """
        t, phase = course.t, self.phase_
        assert isinstance(phase, Comparing)
        age = t - phase.since
        if not self.columns_known_ and age >= SIZES.age:
            self._compare_columns(course, phase.since)
        old, candidate, mixed = self.history_.compared(t)
        if self.recalled is not None:  # it knows more rows than the candidate, which need not be as good as the mixture
            mixed = candidate
        outcome = verdict(old, candidate, mixed, age, t - phase.born)
        if outcome is None:
            return False
        self._end(course, outcome)
        row, losses = course.row, course.losses
        losses[row:, 2] = losses[row:, 0]
        course.shown = join(course.shown, part_of_side(course.sides[0], slice(row, None)), row)
        self.history_.losses_.put(course.since, losses)
        return True

    def _compare_columns(self, course: Course, since: int) -> None:
        """Record the columns whose distribution differs since the change point."""
        self.columns_known_ = True
        n = min(SIZES.compared, since, self.reach_ - (course.t - since))
        if n < SIZES.age // 2:
            return
        X = course.last(since - n).X[: n + course.t - since]
        columns = own_columns(moved(X[:n], X[n:], course.around.names()))
        if columns:
            self.records_.note(columns=columns)

    def _end(self, course: Course, outcome: str) -> None:
        """Keep the candidate if it was promoted, or else the incumbent."""
        phase = self.phase_
        assert isinstance(phase, Comparing)
        self.records_.note(outcome=outcome, until=course.t)
        promoted = outcome == "promoted"
        if promoted:
            course.old, course.sides = phase.candidate_, course.sides[1:]
            self.begun_ = phase.since
            self.history_.promote()
            course.losses[:, :2] = course.losses[:, 1::-1].copy()
        course.sides = course.sides[:1]
        self.archive_.end_candidate(left=promoted)
        self._enter(None, Event.PROMOTED if promoted else Event.DISCARDED)
        self.archive_.recalled_ = None
        self.refreshes_ = True

    # -- classes, columns --------------------------------------------------------------------------------------------
    def grow(self, t: int, outputs: int, reach: int, late: int, ahead: int, *, fits: bool) -> None:
        """Add classes after t rows; fewer rows may be kept from then on. The candidate is discarded if memory does not
        suffice for both ensembles. No warm start may be under way.
        """
        self.reach_ = min(self.reach_, reach)
        self.history_.grow(outputs, self.reach_ + late + ahead, t)
        phase = self.phase_
        if isinstance(phase, Comparing) and not fits:
            self.records_.note(outcome="no memory", until=t)
            self._enter(None, Event.DISCARDED)
            self.refreshes_ = True
        elif isinstance(phase, Comparing):
            if self.recalled is not None:  # archived models do not know the new classes
                phase.mixture_.part()
            self.refreshes_ = False  # memory was computed with fewer classes
            phase.candidate_.grow(outputs)
            phase.mixture_.grow(outputs)
        elif phase is not None:
            phase.mixture_.grow(outputs)
        self.archive_.start()

    def widen(self, d: int) -> None:
        """Add columns that the experts see."""
        mixture = None if self.phase_ is None else self.phase_.mixture_
        for part in (self.candidate, mixture, self.archive_):
            if part is not None:
                part.widen(d)

    @property
    def nbytes(self) -> int:
        parts = (self.history_, self.archive_, self.phase_)
        return sum(part.nbytes for part in parts if part is not None)
