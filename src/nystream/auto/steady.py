"""Predictions for later rows: the steady stack, which neither drift alarms nor forgetting experts change.

The next row comes right after the last label, so experts that follow the last rows help. A later row comes some time
after it: what was learnt from all rows helps, and the last labels mislead. The steady stack combines the experts that
never forget and a linear one, without label lags. Its weights, residual quantiles and recalibration are learnt from
predictions made long before the label: a *snapshot* of the experts is taken at some rows (SNAPSHOTS, then every PERIOD
rows), and it predicts a sample of the rows after it. Later rows get predictions of the same kind.

After a drift alarm a candidate may replace the incumbent of the next-row stack. The incumbent's experts that never
forget then go on learning as the *long memory*, with fewer landmarks. Predictions of the long memory and of the
promoted ensemble are mixed by their losses on the same sample of rows.

All of this happens at row counts at which blocks end, so it does not depend on how a stream is cut into blocks.
"""

from __future__ import annotations

import copy
from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from nystream._core.auto.stack import coded
from nystream.auto.drift.archive import EVERY, thin
from nystream.auto.ensemble import CODES, Ensemble
from nystream.auto.expert_set import ExpertSet
from nystream.auto.experts import Ridge
from nystream.auto.linear import LinearMoments
from nystream.auto.outputs import Recalibration
from nystream.auto.quantiles import ResidualQuantiles
from nystream.auto.rows import Rows
from nystream.auto.stack import Stack
from nystream.auto.targets import Targets
from nystream.runtime.params import Params
from nystream.runtime.types import Array
from nystream.scaling.ring import Ring

__all__ = ["Judge", "LongMemory", "Steady"]

SNAPSHOTS = (
    *(1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 17, 20, 24, 30, 36, 42, 50, 60, 70, 85, 100, 120, 140, 170, 200),
    *(240, 280, 340, 400, 480, 560, 680, 800, 960, 1200),
)
"""Rows after which the first snapshots are taken, each 20% after the one before: a snapshot of few rows is soon much
worse than the experts."""
PERIOD = 800
"""Rows between later snapshots. A row is then predicted 400 rows before its label on average."""
ALL, SAMPLE = 800, 2
"""Rows whose predictions are judged: all of the first ALL, then one in SAMPLE. They take 5% to 10% of a row's time."""
STACKERS = ((1.0, 1.0),)
"""Forgetting and ridge of the stacker of numbers, which never forgets: later rows need not be like the last ones."""
HELD, FEWEST, KEPT = 3200, 100, 0.01
"""Judged rows whose residuals are kept for intervals, at most and at least; and their part of the memory."""
LATER = 1 / 2
"""Part of the kept residuals, the last ones, that make intervals. The first ones are of experts that knew few rows, and
make intervals too wide. The kept rows are spread over the whole stream: the last 3,200 rows may all be of one season
(beijing, 16,000 rows: 90% intervals of them cover .77 of the later rows, of the last half of the stream .94)."""
GROUP = 100
"""Sampled rows wait and are judged together, at multiples of this row count and at the first snapshots."""
LEAST = 0.02
"""The least probability of a class before recalibration, times the number of classes."""
MEMORABLE = 400
"""Rows that an incumbent has learnt, at least, to become the long memory: fewer are not worth a second ensemble."""
WIDE, LINE = 100, 0.005
"""Columns up to which there is a linear expert, and its part of the memory at most."""
WEIGHTS = 0.02
"""Part of the memory that the weights of a snapshot may take; with very many classes there is no snapshot, and experts
are combined by their plain mean."""
LARGEST, SMALLEST, ROOM = 1000, 50, 0.08
"""Landmarks of each expert of the long memory, at most and at least; and its part of the memory at most."""
ADMITTED = 0.2
"""First share of a promoted ensemble in the mixture: it has seen only a part of the stream, and later rows may be like
the other part."""
PACE, SHARING = 0.1, 0.001
"""Weight of the log loss of a judged row in the mixture, less than 1 because neighbouring rows are alike; and the part
of all shares that returns to the first shares after each row."""
DROPPED = 0.01
"""Share below which the long memory is given up when a snapshot is taken."""
LOST = 10.0
"""A scale of labels that falls by more than this factor was an accident: weights begin anew."""
FARTHEST = 8.0
"""The most that one row counts in the mixture, so that a single outlier does not decide."""


class Judged(NamedTuple):
    """Sampled rows with their labels."""

    X: Array
    Y: Array
    """(n, K) labels, or (n, 1) numbers of classes."""
    w: Array | None
    answers: Array | None
    """(n, M, C) outputs of the experts of sparse rows."""


class Answers(NamedTuple):
    """Predictions (n, K), numbers or probabilities, and for numbers the disagreement of the experts."""

    P: Array
    spread: Array | None


class NumberStack(Params):
    """Combines outputs of experts for numbers by `Stack`, without label lags and with a stacker that never forgets."""

    stack_: Stack
    scale_: Array | None
    """(K,) unit of the targets that the stacker knows."""

    def start(self, experts: int, outputs: int, more: int) -> None:
        self.stack_, self.scale_ = Stack(False, False, STACKERS), None
        self.stack_.start(experts, outputs, more, first=True)

    def predict(self, F: Array, answers: Array | None, targets: Targets | None) -> Answers:
        assert targets is not None
        found = self.stack_.predict(F, answers, targets.frame(), np.arange(F.shape[1]))
        return Answers(found.P, found.spread)

    def learn(self, F: Array, rows: Judged, targets: Targets | None) -> Answers:
        """Return predictions, each made before its label is learnt."""
        assert targets is not None
        if self.scale_ is not None and (self.scale_ != targets.scale_).any():
            factor = self.scale_ / targets.scale_
            self.stack_.rescale(factor, np.flatnonzero(factor > LOST))
        self.scale_ = targets.scale_.copy()
        T, places = targets.standardised(rows.Y), np.arange(F.shape[1])
        found = self.stack_.run(F, rows.answers, T, np.ascontiguousarray(rows.Y[:, 0]), rows.w, targets.frame(), places)
        return Answers(found.P, found.spread)

    def move(self) -> None:
        """Do nothing: the stacker moves its weights by itself."""

    @property
    def nbytes(self) -> int:
        return self.stack_.nbytes


class ClassStack(Params):
    """Combines scores of classes: halfway between least squares on codes -1 and +1 and the plain mean.

    One weight for each input, shared by all classes, and no constant: a constant learns the frequencies of the last
    rows, and later rows have others. Least squares alone relies too much on how experts differed in the past (elec2,
    12,000 rows: error .165, halfway .148; covtype2 .160 and .149).
    """

    gram_: Array
    sums_: Array
    weights_: Array
    outputs_: int

    def start(self, experts: int, outputs: int, more: int) -> None:
        inputs = experts + more
        self.gram_, self.sums_ = np.eye(inputs), np.full(inputs, 1 / inputs)
        self.weights_, self.outputs_ = np.full(inputs, 1 / inputs), outputs

    def predict(self, F: Array, answers: Array | None, targets: Targets | None) -> Answers:
        halfway = 0.5 * self.weights_ + 0.5 / len(self.weights_)
        codes = np.einsum("nec,e->nc", self._inputs(F, answers), halfway)
        scores = np.concatenate([-codes, codes], axis=1) if self.outputs_ == 2 else codes
        P = np.maximum(0.5 + 0.5 * scores, LEAST / self.outputs_)
        return Answers(P / P.sum(axis=1, keepdims=True), None)

    def learn(self, F: Array, rows: Judged, targets: Targets | None) -> Answers:
        """Return predictions, and learn the labels; weights change at the next `move`."""
        found, G = self.predict(F, rows.answers, targets), self._inputs(F, rows.answers)
        T = coded(rows.Y, self.outputs_)[:, -G.shape[2] :]
        w = np.ones(len(F)) if rows.w is None else rows.w
        for t in range(len(F)):  # in one order, however rows are grouped
            self.gram_ += w[t] * (G[t] @ G[t].T)
            self.sums_ += w[t] * (G[t] @ T[t])
        return found

    def move(self) -> None:
        """Compute the weights from all rows so far."""
        self.weights_ = np.asarray(np.linalg.solve(self.gram_, self.sums_), dtype=np.float64)

    def _inputs(self, F: Array, answers: Array | None) -> Array:
        """Return (n, inputs, C) codes of the classes, C = 1 for two; the log odds of sparse experts become codes."""
        columns = 1 if self.outputs_ == 2 else self.outputs_
        F = np.clip(F[:, :, -columns:], CODES.low, CODES.high)
        if answers is None or not answers.shape[1]:
            return F
        if self.outputs_ == 2:
            return np.concatenate([F, np.tanh(answers)], axis=1)
        Q = np.exp(answers - answers.max(axis=2, keepdims=True))
        return np.concatenate([F, 2 * Q / Q.sum(axis=2, keepdims=True) - 1], axis=1)

    @property
    def nbytes(self) -> int:
        return self.gram_.nbytes + self.sums_.nbytes + self.weights_.nbytes


class Judge(Params):
    """Combines the outputs of one ensemble by weights learnt from the predictions of its snapshots."""

    stack_: NumberStack | ClassStack
    snapshot_: ExpertSet | None
    """The experts that never forget as they were at some row: they predict and do not learn. None: the ensemble is too
    new to be judged, and has no share."""
    targets_: Targets | None
    """The scale of the labels at that row; None for classes."""
    share_: float
    """Share in the mixture of all ensembles."""

    def start(self, classes: bool, experts: int, outputs: int, more: int, share: float) -> None:
        self.stack_ = ClassStack() if classes else NumberStack()
        self.stack_.start(experts, outputs, more)
        self.experts_, self.snapshot_, self.targets_, self.share_ = experts, None, None, share

    def predict(self, ensemble: Ensemble, X: Array, line: Array | None, answers: Array | None) -> Answers:
        """Return predictions of the ensemble as it is now. Pure. `line`: outputs of the linear expert."""
        F = with_line(ensemble.expert_set_.predict_lasting(X, ensemble.inner), line, ensemble.targets_)
        return self.stack_.predict(F, answers, ensemble.targets_)

    def learn(self, rows: Judged, line: Array | None, inner: int) -> Answers:
        """Return predictions of the snapshot, each made before its label is learnt."""
        assert self.snapshot_ is not None
        F = with_line(self.snapshot_.predict_lasting(rows.X, inner), line, self.targets_)
        return self.stack_.learn(F, rows, self.targets_)

    def take(self, ensemble: Ensemble, room: float) -> None:
        """Take a snapshot of the ensemble, if it can predict and its weights fit into so many bytes. Landmarks are
        shared with the ensemble's experts.
        """
        self.snapshot_ = self.targets_ = None
        ridges = [expert for expert in ensemble.expert_set_.experts_.values() if isinstance(expert, Ridge)]
        weights = 8.0 * ensemble.inner * sum(len(expert.points_) + 1 for expert in ridges)
        if ensemble.expert_set_.experts_ and weights <= room:
            self.snapshot_, self.targets_ = lasting_part(ensemble.expert_set_), copy.deepcopy(ensemble.targets_)
            for name, expert in self.snapshot_.experts_.items():
                self.snapshot_.experts_[name] = thin(expert) if isinstance(expert, Ridge) else copy.deepcopy(expert)

    def grow(self, outputs: int) -> None:
        """Add classes."""
        assert isinstance(self.stack_, ClassStack)
        self.stack_.outputs_ = outputs

    @property
    def nbytes(self) -> int:
        experts = [] if self.snapshot_ is None else self.snapshot_.experts_.values()
        return self.stack_.nbytes + sum(e.weights_.nbytes for e in experts if isinstance(e, Ridge))


class LongMemory(Params):
    """The experts that never forget of an ensemble that was replaced: they go on learning every row.

    The full refits of its warm-up that are still to come are made when they are due, from all rows that it has seen,
    with its own, smaller sizes.
    """

    ensemble_: Ensemble
    judge_: Judge

    def start(self, ensemble: Ensemble, judge: Judge, room: float) -> None:
        """Take over the ensemble. Its experts keep their landmarks until `shrink` is called."""
        self.ensemble_, self.judge_ = ensemble, judge
        if ensemble.begun_:  # a refit under way has the old sizes: it begins again
            ensemble.owed_ = ensemble.owed_ or not ensemble.warm
            ensemble.begun_, ensemble.growing_, ensemble._refit = 0, False, None
        ensemble.expert_set_ = lasting_part(ensemble.expert_set_)
        recipe, m = ensemble.expert_set_.recipe, self._affordable(room)
        sizes = {name: min(getattr(recipe, name), m) for name in ("landmarks", "big", "rough")}
        ensemble.expert_set_.recipe = recipe.resized(grows=recipe.grows[:1], growth=1.0, **sizes)

    def _affordable(self, room: float) -> int:
        """Return the landmarks of each expert that fit into so many bytes."""
        ensemble, m = self.ensemble_, LARGEST
        outputs = ensemble.outputs_ + ensemble.classes
        ridges = [e for e in ensemble.expert_set_.experts_.values() if isinstance(e, Ridge)]
        while m > 1 and sum(e.nbytes_for(min(m, e.m), ensemble.d_, outputs) for e in ridges) > room:
            m = int(0.9 * m)
        return m

    @property
    def is_useful(self) -> bool:
        """Whether it has learnt enough rows, and memory suffices for enough landmarks."""
        expert_set = self.ensemble_.expert_set_
        return self.ensemble_.count_ >= MEMORABLE and expert_set.recipe.landmarks >= SMALLEST

    def shrink(self) -> None:
        """Bring the experts to the sizes of the recipe, unless a refit is under way that does."""
        ensemble = self.ensemble_
        for name, expert in ensemble.expert_set_.experts_.items():
            if isinstance(expert, Ridge):
                expert.shrink(getattr(ensemble.expert_set_.recipe, name, ensemble.expert_set_.recipe.landmarks))
        ensemble.expert_set_._asked = None

    def learn(self, X: Array, Y: Array, w: Array | None) -> None:
        """Learn rows with the labels that the next-row ensemble learns, perhaps winsorised."""
        self.ensemble_.run_experts(Rows(X, self.ensemble_.admitted(Y), w))

    def grow(self, outputs: int) -> None:
        """Add classes. No refit may be under way."""
        self.ensemble_.grow(outputs)
        self.ensemble_.expert_set_._asked = None
        self.judge_.grow(outputs)

    @property
    def nbytes(self) -> int:
        return self.ensemble_.nbytes + self.judge_.nbytes


class Steady(Params):
    """The steady stack of an automatic learner: see the module.

    Parameters
    ----------
    classes : bool
        Whether labels are classes.
    memory : float
        Bytes of the whole model; the long memory and snapshots may take parts of it.
    window : int
        Residuals that make the intervals of later rows.
    """

    judge_: Judge
    """Of the ensemble that predicts next rows."""
    memory_: LongMemory | None
    """The first ensemble that was replaced after an alarm: it has learnt the most rows of the stream."""
    leaving_: LongMemory | None
    """An ensemble that was replaced since the last row at which blocks are cut."""
    line_: LinearMoments | None
    """The linear expert. It learns the judged rows, and its weights are those of the row of the last snapshot."""
    noise_: ResidualQuantiles | None
    recalibration_: Recalibration | None
    held_: Ring | None
    """Judged rows at equal distances, for `noise_`: inputs, predictions, residuals, spreads and weights; of numbers
    only."""
    judged_: int = 0
    """Number of judged rows so far, of which `held_` has one in `stride_`."""
    stride_: int = 1
    failed_: int = -1
    """Number of judged rows at the change point after which a candidate replaced the incumbent, and `won_`, when it had
    the larger share: residuals between them are those of a model that failed. -1: none."""
    won_: int = -1
    error_: float
    """Running mean of the mixture's squared errors, in standardised units; nan before the first."""
    waiting_: Array
    """Sampled rows that wait to be judged: number, inputs, labels, weight, and outputs of the sparse experts."""
    count_: int

    def __init__(self, classes: bool, memory: float, window: int) -> None:
        self.classes = classes
        self.memory = memory
        self.window = window

    def start(self, expert_set: ExpertSet, d: int, outputs: int, more: int) -> None:
        self.outputs_, self.more_ = outputs, more
        self.line_ = None
        if d <= WIDE and LinearMoments.nbytes_for(d, outputs) <= LINE * self.memory:
            self.line_ = LinearMoments()
            self.line_.start(d, outputs)
        self.judge_ = Judge()
        self.judge_.start(self.classes, self._experts(expert_set), outputs, more, 1.0)
        self.memory_ = self.leaving_ = self.noise_ = self.recalibration_ = None
        if self.classes:
            self.recalibration_ = Recalibration()
            self.recalibration_.start()
        else:
            self.noise_ = ResidualQuantiles(self.window)
            self.noise_.start(d, outputs)
        self.held_ = None if self.classes else self._new_ring(d)
        self.judged_, self.stride_, self.failed_, self.won_ = 0, 1, -1, -1
        self.error_ = np.nan
        self.count_ = 0
        self.waiting_ = np.zeros((0, d + self._beside))

    def _experts(self, expert_set: ExpertSet) -> int:
        """Return the number of experts that a judge of this expert set combines."""
        return len(expert_set.lasting) + (self.line_ is not None)

    def _new_ring(self, d: int) -> Ring:
        width = d + 3 * self.outputs_ + 1
        return Ring(int(max(FEWEST, min(HELD, KEPT * self.memory / (8 * width)))), width)

    @property
    def _beside(self) -> int:
        """Columns of a waiting row beside its inputs."""
        labels, scores = (1, self.outputs_ - (self.outputs_ == 2)) if self.classes else (self.outputs_, self.outputs_)
        return 2 + labels + self.more_ * scores

    # -- learning ----------------------------------------------------------------------------------------------------
    def until_cut(self) -> int:
        """Return the rows until the next row at which a block has to end."""
        t = self.count_
        k = bisect_right(SNAPSHOTS, t)
        following = SNAPSHOTS[k] if k < len(SNAPSHOTS) else PERIOD - t % PERIOD + t
        return min(following, (t // EVERY + 1) * EVERY) - t

    def learn(self, X: Array, Y: Array, told: Array, w: Array | None, answers: Array | None) -> None:
        """Learn rows after the next-row ensemble.

        The stack learns the labels Y, within the outlier bounds. The long memory learns the labels `told`, which are
        winsorised while tails are heavy.
        """
        for one in (self.memory_, self.leaving_):
            if one is not None:
                one.learn(X, told, w)
        first, self.count_ = self.count_, self.count_ + len(X)
        every = 1 if self.count_ <= ALL else SAMPLE  # blocks end at row ALL
        some = slice(-(first + 1) % every, None, every)
        numbers = np.arange(first + 1.0, self.count_ + 1)[some]
        if len(numbers):
            weights = np.ones(len(numbers)) if w is None else w[some]
            outputs = [] if answers is None else [answers[some].reshape(len(numbers), -1)]
            new = np.hstack([numbers[:, None], X[some], Y[some], weights[:, None], *outputs])
            self.waiting_ = np.concatenate([self.waiting_, new])

    @property
    def due(self) -> bool:
        """Whether `attend` has anything to do."""
        return self._is_group_waiting or self.count_ % EVERY == 0 or self.count_ in SNAPSHOTS

    @property
    def _is_group_waiting(self) -> bool:
        return len(self.waiting_) > 0 and _group_end(int(self.waiting_[0, 0])) <= self.count_

    def attend(self, old: Ensemble) -> None:
        """Judge the rows that wait, and take the snapshots that are due. `old` is the incumbent, here and below."""
        t = self.count_
        while self._is_group_waiting:
            self._judge(old, _group_end(int(self.waiting_[0, 0])))
        if t in SNAPSHOTS or t % PERIOD == 0:
            self._take(old)
        elif t % EVERY == 0 and (self.leaving_ is not None or self.judge_.snapshot_ is None):
            self._settle(old)

    def replace(self, before: Ensemble, old: Ensemble) -> None:
        """Note that a candidate, now `old`, replaced the incumbent `before`: its judge begins without a share."""
        last = int(self.waiting_[0, 0]) - 1 if len(self.waiting_) else self.count_
        began = max(0, self.judged_ - _sampled(last) + _sampled(self.count_ - old.count_))
        if self.failed_ < 0 or began > self.failed_ + PERIOD:  # else two changes in short time count as one
            self.failed_ = began
        self.won_ = -1
        if self.leaving_ is None:
            self.leaving_ = LongMemory()
            self.leaving_.start(before, self.judge_, ROOM * self.memory)
        self.judge_ = Judge()
        self.judge_.start(self.classes, self._experts(old.expert_set_), self.outputs_, self.more_, 0.0)

    @property
    def _others(self) -> list[LongMemory]:
        return [one for one in (self.memory_, self.leaving_) if one is not None]

    @property
    def ensembles(self) -> list[Ensemble]:
        """Ensembles that learn beside those of the next row, with refits of their own."""
        return [one.ensemble_ for one in self._others]

    def _members(self, old: Ensemble) -> list[tuple[Judge, Ensemble]]:
        """Return all judges with their ensembles, that of the next row last."""
        return [*((one.judge_, one.ensemble_) for one in self._others), (self.judge_, old)]

    def _judge(self, old: Ensemble, until: int) -> None:
        """Judge the rows that wait, up to this row number."""
        n = int(np.searchsorted(self.waiting_[:, 0], until, side="right"))
        if not n:
            return
        rows, self.waiting_ = self.waiting_[:n], self.waiting_[n:].copy()
        d, labels = rows.shape[1] - self._beside, 1 if self.classes else self.outputs_
        X, Y, w, outputs = (np.ascontiguousarray(A) for A in np.split(rows[:, 1:], np.cumsum([d, labels, 1]), axis=1))
        is_plain = bool((w == 1.0).all())
        judges, few = [judge for judge, _ in self._members(old) if judge.snapshot_ is not None], old.rows_at_once
        for i in range(0, n if judges else 0, few):
            part = slice(i, min(i + few, n))
            answers = outputs[part].reshape(-1, self.more_, outputs.shape[1] // self.more_) if self.more_ else None
            self._learn(judges, Judged(X[part], Y[part], None if is_plain else w[part, 0], answers))
        for judge in judges:
            judge.stack_.move()

    def _learn(self, judges: list[Judge], rows: Judged) -> None:
        """Learn weights, shares, residuals and recalibration from the snapshots' predictions for these rows."""
        line = None if self.line_ is None else self.line_.predict(rows.X)
        found = [judge.learn(rows, line, self._inner) for judge in judges]
        if self.line_ is not None:
            targets = judges[-1].targets_
            T = coded(rows.Y, self.outputs_)[:, 1:] if targets is None else targets.fenced(rows.Y)
            self.line_.learn(rows.X, T, rows.w)
        P, spread = mixed(found, self._shares(judges, found, rows))
        if spread is not None:
            w = np.ones(len(P)) if rows.w is None else rows.w
            self._hold(np.hstack([rows.X, P, rows.Y - P, spread, w[:, None]]))
            if self.failed_ >= 0 and self.won_ < 0 and self.judge_.share_ > 0.5:
                self.won_ = self.judged_
        if self.recalibration_ is not None:
            self.recalibration_.run(np.log(P), np.ascontiguousarray(rows.Y[:, 0]), rows.w)

    def _hold(self, rows: Array) -> None:
        """Keep judged rows at equal distances. When the ring is full, every second row goes."""
        assert self.held_ is not None
        while len(rows):
            limit = self.held_.capacity * self.stride_
            part, rows = rows[: limit - self.judged_], rows[limit - self.judged_ :]
            self.held_.extend(part[-self.judged_ % self.stride_ :: self.stride_])
            self.judged_ += len(part)
            if self.judged_ == limit:
                kept = self.held_.rows[::2]
                self.held_ = Ring(self.held_.capacity, self.held_.d)
                self.held_.extend(kept)
                self.stride_ *= 2

    def _forget_failure(self) -> None:
        """Drop the residuals between a change point and the row from which the promoted ensemble predicts."""
        assert self.held_ is not None
        if self.won_ < 0:
            return
        n, last = len(self.held_), (self.judged_ - 1) // self.stride_ * self.stride_
        numbers = last - self.stride_ * np.arange(n)[::-1]
        kept = self.held_.rows[(numbers < self.failed_) | (numbers >= self.won_)]
        if len(kept) < FEWEST:
            return  # later, when there are more
        self.held_ = Ring(self.held_.capacity, self.held_.d)
        self.held_.extend(kept)
        self.failed_ = self.won_ = -1

    def _learn_noise(self) -> None:
        """Learn the quantiles anew from the residuals that are held, in random order: the sizes of the very last ones
        tell of the next rows and not of later ones."""
        if self.noise_ is None or self.held_ is None or not len(self.held_):
            return
        self._forget_failure()
        used = self.held_.rows[-max(FEWEST, round(LATER * len(self.held_))) :]
        rows = np.random.default_rng(self.count_).permutation(used)
        K = self.outputs_
        d = rows.shape[1] - 3 * K - 1
        X, P, residuals, spread = (rows[:, a:b] for a, b in pairwise((0, d, d + K, d + 2 * K, d + 3 * K)))
        self.noise_.start(d, K)
        w = None if bool((rows[:, -1] == 1.0).all()) else rows[:, -1]
        self.noise_.learn(X, P, residuals, spread, w)
        self.noise_.forget_order(residuals, w)

    def _shares(self, judges: list[Judge], found: list[Answers], rows: Judged) -> Array:
        """Return (n, members) shares before each row, and give the judges their shares after the last one."""
        n, m = len(rows.X), len(judges)
        if m == 1:
            return np.ones((n, 1))
        shares, out = np.array([judge.share_ for judge in judges]), np.empty((n, m))
        shares /= shares.sum()
        prior = np.array([(1 - ADMITTED) / (m - 1)] * (m - 1) + [ADMITTED])
        scale = None if judges[-1].targets_ is None else judges[-1].targets_.scale_
        for t in range(n):
            out[t] = shares
            weight = 1.0 if rows.w is None else float(rows.w[t])
            losses = self._losses([one.P[t] for one in found], rows.Y[t], scale, shares)
            shares = shares * np.exp(-PACE * weight * np.minimum(losses - losses.min(), FARTHEST))
            shares = (1 - SHARING) * shares / shares.sum() + SHARING * prior
        for judge, share in zip(judges, shares.tolist(), strict=True):
            judge.share_ = share
        return out

    def _losses(self, P: list[Array], y: Array, scale: Array | None, shares: Array) -> Array:
        """Return (members,) log losses of one row; for numbers those of normal errors, as large as so far."""
        if scale is None:
            k = int(y[0])
            return np.array([-np.log(p[k]) for p in P])
        errors = np.array([float((((p - y) / scale) ** 2).mean()) for p in P])
        usual = self.error_ if self.error_ > 0 else max(float(errors.min()), 1e-12)
        now = float(shares @ errors)
        self.error_ = now if np.isnan(self.error_) else 0.98 * self.error_ + 0.02 * min(now, 10 * usual)
        return errors / (2 * usual)

    # -- snapshots and the long memory -------------------------------------------------------------------------------
    def _take(self, old: Ensemble) -> None:
        """Take snapshots of all ensembles."""
        self._settle(old)
        if self.memory_ is not None and self.memory_.judge_.share_ < DROPPED:
            self.memory_, self.judge_.share_ = None, 1.0
        self._learn_noise()
        if self.line_ is not None:
            self.line_.solve()
        for judge, ensemble in self._members(old):
            judge.take(ensemble, WEIGHTS * self.memory)

    def _settle(self, old: Ensemble) -> None:
        """Keep a replaced ensemble as the long memory, or drop it; its successor is judged from now on."""
        leaving, self.leaving_ = self.leaving_, None
        if leaving is not None and self.memory_ is None and leaving.is_useful:
            leaving.shrink()
            self.memory_ = leaving
        if self.judge_.snapshot_ is None:
            self.judge_.take(old, WEIGHTS * self.memory)
            self.judge_.share_ = ADMITTED
        judges = [judge for judge, _ in self._members(old)]
        total = sum(judge.share_ for judge in judges) or 1.0
        for judge in judges:
            judge.share_ = judge.share_ / total if len(judges) > 1 else 1.0

    # -- predicting --------------------------------------------------------------------------------------------------
    def predict(self, old: Ensemble, X: Array, answers: Array | None) -> tuple[Array, Array | None]:
        """Return (n, K) predictions for later rows, for classes logarithms of probabilities; and for numbers the
        disagreement of the experts. Pure."""
        members = [pair for pair in self._members(old) if pair[0].share_ > 0.0]
        line = None if self.line_ is None else self.line_.predict(X)
        found = [judge.predict(ensemble, X, line, answers) for judge, ensemble in members]
        shares = np.array([judge.share_ for judge, _ in members])
        P, spread = mixed(found, np.broadcast_to(shares / shares.sum(), (len(X), len(members))))
        return (P, spread) if self.recalibration_ is None else (self.recalibration_.predict(np.log(P)), None)

    def quantiles(self, X: Array, P: Array, spread: Array, levels: Array) -> Array:
        """Return (n, K, Q) quantiles of the labels of later rows with these predictions. Pure."""
        assert self.noise_ is not None
        return self.noise_.quantiles(X, P, spread, levels)

    @property
    def _inner(self) -> int:
        """The number of targets of the experts."""
        return self.outputs_ + self.classes

    # -- classes, columns --------------------------------------------------------------------------------------------
    def flush(self, old: Ensemble) -> None:
        """Judge all rows that wait, before classes are added."""
        self._judge(old, self.count_)

    def grow(self, old: Ensemble, outputs: int) -> None:
        """Add classes; `old` has them already. Snapshots cannot get them, so new ones are taken."""
        for one in self._others:
            one.grow(outputs)
        self.outputs_ = outputs
        self.judge_.grow(outputs)
        if self.line_ is not None:
            self.line_.grow(outputs)
        if self._experts(old.expert_set_) != self.judge_.experts_:  # memory did not suffice for all of them
            self.judge_.start(self.classes, self._experts(old.expert_set_), outputs, self.more_, self.judge_.share_)
        self.waiting_ = np.zeros((0, old.d_ + self._beside))
        self._again(old)

    def widen(self, old: Ensemble, d: int) -> None:
        """Add columns that were missing so far; `old` has them already."""
        for ensemble in self.ensembles:
            ensemble.widen(d)
        if self.line_ is not None:
            self.line_.widen(d)
        if self.noise_ is not None:
            self.noise_.widen(d)
            self.held_ = self._new_ring(d)
            self.judged_, self.stride_, self.failed_, self.won_ = 0, 1, -1, -1
        before = self.waiting_.shape[1] - self._beside
        missing = np.full((len(self.waiting_), d - before), np.nan)
        self.waiting_ = np.hstack([self.waiting_[:, : 1 + before], missing, self.waiting_[:, 1 + before :]])
        self._again(old)

    def _again(self, old: Ensemble) -> None:
        """Take new snapshots of the ensembles that have one."""
        for judge, ensemble in self._members(old):
            if judge.snapshot_ is not None:
                judge.take(ensemble, WEIGHTS * self.memory)

    @property
    def nbytes(self) -> int:
        parts = (self.judge_, self.memory_, self.leaving_, self.line_, self.noise_, self.held_, self.recalibration_)
        return self.waiting_.nbytes + sum(part.nbytes for part in parts if part is not None)


def lasting_part(expert_set: ExpertSet) -> ExpertSet:
    """Return an expert set with only those of the experts that never forget."""
    names = expert_set.lasting
    part = copy.copy(expert_set)
    part.recipe = expert_set.recipe.resized(experts=names)
    part.experts_ = {name: expert_set.experts_[name] for name in names if name in expert_set.experts_}
    part.seen_in_ = {name: view for name, view in expert_set.seen_in_.items() if name in names}
    part.views_ = {name: view for name, view in expert_set.views_.items() if name in part.seen_in_.values()}
    part.others_, part.losses_, part.lags_, part._asked = {}, dict(expert_set.losses_), expert_set.lags_.copy(), None
    return part


def with_line(F: Array, line: Array | None, targets: Targets | None) -> Array:
    """Append the outputs (n, K) of the linear expert to those (n, E, J) of the others, in the same units."""
    if line is None:
        return F
    more = np.zeros((len(F), 1, F.shape[2]))
    more[:, 0, F.shape[2] - line.shape[1] :] = line if targets is None else targets.standardised(line)
    return np.concatenate([F, more], axis=1)


def mixed(found: list[Answers], shares: Array) -> Answers:
    """Return the predictions of all ensembles mixed by shares (n, members)."""
    if len(found) == 1:
        return found[0]
    P = sum((shares[:, k : k + 1] * one.P for k, one in enumerate(found)), np.zeros_like(found[0].P))
    if found[0].spread is None:
        return Answers(P, None)
    square = np.zeros_like(P)
    for k, one in enumerate(found):
        assert one.spread is not None
        square += shares[:, k : k + 1] * (one.spread**2 + (one.P - P) ** 2)
    return Answers(P, np.sqrt(square))


def _sampled(rows: int) -> int:
    """Return how many of the first rows of a stream are judged."""
    return rows if rows <= ALL else ALL + rows // SAMPLE - ALL // SAMPLE


def _group_end(number: int) -> int:
    """Return the row count at which the row of this number is judged."""
    multiple = -(-number // GROUP) * GROUP
    return min([multiple, *SNAPSHOTS[bisect_left(SNAPSHOTS, number) :][:1]])
