"""One round of `Auto`: label filter, drift handling around an ensemble, output stages; and the work between rounds."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any
from weakref import ref

import numpy as np

from nystream.auto.budget import Need, growing, in_memory, in_time, largest_bytes
from nystream.auto.drift.block import Block, Surroundings
from nystream.auto.drift.few_row_ridge import FewRowRidge
from nystream.auto.drift.handler import DriftHandler
from nystream.auto.drift.memory import Afforded, beside, fit_together, reach_of
from nystream.auto.drift.records import CREDIT
from nystream.auto.drift.succession import Succession
from nystream.auto.drift.warm_start import WarmStart
from nystream.auto.ensemble import Ensemble
from nystream.auto.expert_set import ExpertSet
from nystream.auto.labels import LabelFilter, winsorize_kept_labels
from nystream.auto.outputs import OutputStages
from nystream.auto.quantiles import ResidualQuantiles
from nystream.auto.recipe import Recipe
from nystream.auto.rows import RowBuffer, Rows
from nystream.auto.steady import Steady
from nystream.auto.tables import SHARE, seconds_to_translate, translator_for
from nystream.auto.targets import Targets, within
from nystream.data.batch import NUMERIC, Batch
from nystream.data.inputs import stretches
from nystream.learners.translator import Translator
from nystream.runtime.lock import ReadWriteLock
from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["Pipeline"]

GROWS = (6400, 12800)
"""Row counts of full refits after the warm-up, with more landmarks if the budgets allow it."""
SCORES = 0.01
"""Part of the memory for past residuals, from which quantiles are computed."""
RESIDUALS = 0.005
"""Part of the memory for past predictions and residuals of the label filter, and for the original labels."""
FEW_ROWS, MOST_FEW = 0.015, 300
"""Part of the memory for the rows of the few-row ridge; and their number at most: each costs all others."""
ARCHIVE = 0.08
"""Part of the memory for archived models, and no more than the incumbent leaves."""
WATCHED = 12e-6
"""Seconds of one `step`, on the reference machine of `nystream.auto.budget`, to look for drift."""
SHORT_BLOCK = 32
"""Rows of a block while other threads wait for predictions: they wait for its end."""


class Pipeline(Params):
    """Everything that `Auto` has learnt, and what it does with a row.

    A row passes `LabelFilter -> DriftHandler[Ensemble] -> OutputStages`. `predict` for the next row uses the same
    parts; for later rows it uses `Steady`. Nothing here checks what users give: `Auto` does.

    Parameters
    ----------
    classes : bool
        Whether labels are classes.
    memory : float
        Bytes of the whole model.
    deadline : float or None
        Seconds for a row, on average.
    lags, delay, changes, recipe
        As in `Auto`.
    seed : int
    """

    sizes_: Recipe
    """Sizes that the budgets led to at the start."""
    incumbent_: Ensemble
    """The ensemble that makes the predictions, unless there is a candidate beside it."""
    drift_: DriftHandler | None
    """Drift alarms, and at times a candidate. None: the stream is not watched."""
    quantiles_: ResidualQuantiles | None
    """Quantiles of the residuals of next rows; for regression only."""
    label_filter_: LabelFilter | None
    """Decides which labels are winsorised; for regression only."""
    stages_: OutputStages
    """Stages after the stack."""
    steady_: Steady
    """Predicts later rows."""
    buffer_: RowBuffer
    """All rows of the warm-up, or the last ones."""
    count_: int
    """Rows learnt; those of weight 0 are not."""
    outputs_: int
    translator_: Translator | None
    """Turns tables and sparse rows into numbers. None: rows are numbers."""
    kinds_: dict[str, str] | None
    """The kind of every column of a table, by name."""
    _turns: ReadWriteLock
    """Predictions of other threads come between blocks, and between a block and the refits after it."""
    _whole: ReadWriteLock
    """Copies of the model are made between rows, when all work that belongs to a row is done."""

    def __init__(
        self,
        classes: bool,
        memory: float,
        deadline: float | None = None,
        *,
        lags: bool = True,
        delay: int = 0,
        seed: int = 0,
        recipe: Recipe | None = None,
        changes: bool = True,
    ) -> None:
        self.classes = classes
        self.memory = memory
        self.deadline = deadline
        self.lags = lags
        self.delay = delay
        self.seed = seed
        self.recipe = recipe
        self.changes = changes
        self.use_locks(ReadWriteLock(), ReadWriteLock())

    def use_locks(self, turns: ReadWriteLock, whole: ReadWriteLock) -> None:
        """Share these locks with the learner around it."""
        self._turns, self._whole = turns, whole

    # -- starting ----------------------------------------------------------------------------------------------------
    def start(self, d: int, outputs: int, kinds: Mapping[str, str] | None, *, sparse: bool) -> None:
        """Begin with rows of d columns: of these kinds, sparse, or numbers without names."""
        memory = self.memory
        self.outputs_, self.translator_, self.kinds_ = outputs, None, None if kinds is None else dict(kinds)
        if sparse or not all(kind in NUMERIC for kind in (kinds or {}).values()):
            self.translator_ = translator_for(self.kinds_, outputs, memory, classes=self.classes)
            d = self.translator_.width
        self.sizes_ = self._choose_sizes(d, outputs)
        self.incumbent_ = Ensemble(self.sizes_, self.classes, self.lags, self.seed, self.delay)
        self.incumbent_.start(d, outputs, self._more, first=True)
        self.buffer_ = RowBuffer()
        self.buffer_.start(self.sizes_.warmup, d, 1 if self.classes else outputs)
        self.drift_ = self._start_drift(outputs) if self.changes else None
        self.stages_ = OutputStages(self.classes, persistence=self.lags and not self.delay)
        self.stages_.start(outputs)
        scores = ResidualQuantiles.window_for(SCORES * memory, outputs)
        self.quantiles_ = self.label_filter_ = None
        if not self.classes:
            self.quantiles_ = ResidualQuantiles(scores)
            self.quantiles_.start(d, outputs)
            window = LabelFilter.window_for(RESIDUALS * memory, outputs)
            kept = int(min(self.sizes_.warmup, max(1, RESIDUALS * memory / (8 * outputs))))
            self.label_filter_ = LabelFilter(outputs, window, 1000 if self.deadline is None else 1, kept)
            self.label_filter_.start()
        self.steady_ = Steady(self.classes, memory, scores)
        self.steady_.start(self.expert_set_, d, outputs, self._more)
        self.count_ = 0

    def _start_drift(self, outputs: int) -> DriftHandler:
        more, columns = self._more, 1 if self.classes and outputs == 2 else outputs
        memory, d = self.memory, self.incumbent_.d_
        few = max(1, min(FewRowRidge.affordable(FEW_ROWS * memory / 8, d, outputs), MOST_FEW))
        most = largest_bytes(self.sizes_.largest, d, outputs, codes=self.classes, more=more)
        room = int(max(0.0, min(ARCHIVE * memory, self._share * memory - most)))
        reach, late = self._reach(outputs)
        succession = Succession(self.classes, reach, self.sizes_.rows_at_once(outputs), few, room, late)
        succession.start(outputs, (more, columns) if more else None)
        drift = DriftHandler(self.classes)
        drift.start(succession, outputs)
        return drift

    # -- memory and time ---------------------------------------------------------------------------------------------
    def _choose_sizes(self, d: int, outputs: int) -> Recipe:
        """Return the sizes that fit the budgets."""
        sizes = (self.recipe or Recipe(grows=GROWS)).suited(d, forecasts=self.lags and not self.classes)
        need, seconds = self._need(d, outputs), self.deadline
        sizes = growing(in_memory(sizes, need), need)
        if seconds is None:
            return sizes
        beside = 0.0 if self.translator_ is None else seconds_to_translate(self.kinds_, outputs)
        if not self.changes:
            return in_time(sizes, seconds, d, outputs, beside)
        return in_time(sizes, seconds, d, outputs, beside + WATCHED, 1 + CREDIT[1])  # candidates learn in that part

    def _need(self, d: int, outputs: int) -> Need:
        return Need(self.memory, d, outputs, self.classes, self._more, self._share, has_candidate=self.changes)

    @property
    def _share(self) -> float:
        """Part of the memory that is not the translator's."""
        return 1.0 if self.translator_ is None else 1.0 - SHARE

    @property
    def _more(self) -> int:
        """Inputs of the stackers beside the experts."""
        return 0 if self.translator_ is None else len(self.translator_.titles)

    def _beside(self, incumbent: Ensemble) -> Afforded | None:
        """Return the largest candidate that fits into memory beside the incumbent."""
        return beside(incumbent, self.sizes_, self._memory_for_ensembles, self._more)

    @property
    def _memory_for_ensembles(self) -> float:
        """Bytes that incumbent and candidate may take together."""
        assert self.drift_ is not None
        candidate = 0 if self.candidate is None else self.candidate.nbytes
        return self._share * self.memory - (self.drift_.nbytes - candidate - self.drift_.succession_.archive_.nbytes)

    def _reach(self, outputs: int) -> tuple[int, int]:
        """Return rows back, and rows after an alarm, that are kept: see `nystream.auto.drift.memory.reach_of`."""
        memory, d = self.memory, self.incumbent_.d_
        return reach_of(self.expert_set_.recipe, memory, d, outputs, codes=self.classes, more=self._more)

    # -- its parts ---------------------------------------------------------------------------------------------------
    @property
    def expert_set_(self) -> ExpertSet:
        """Experts of the incumbent."""
        return self.incumbent_.expert_set_

    @property
    def targets_(self) -> Targets | None:
        """Scale and outlier bounds of the incumbent's labels; for regression only."""
        return self.incumbent_.targets_

    @property
    def candidate(self) -> Ensemble | None:
        return None if self.drift_ is None else self.drift_.succession_.candidate

    @property
    def _warm_start(self) -> WarmStart | None:
        return None if self.drift_ is None else self.drift_.succession_.warm_start

    @property
    def ensembles(self) -> list[Ensemble]:
        """Ensembles that predict the next row: the incumbent, and the candidate if there is one."""
        candidate = self.candidate
        return [self.incumbent_] if candidate is None else [self.incumbent_, candidate]

    @property
    def _all_ensembles(self) -> list[Ensemble]:
        """These, and those of the steady stack."""
        return [*self.ensembles, *self.steady_.ensembles]

    @property
    def shares(self) -> list[float]:
        """Shares of incumbent and candidate in the next prediction."""
        return [1.0] if self.drift_ is None else self.drift_.succession_.shares

    @property
    def dense(self) -> int:
        """Columns that the experts see."""
        return self.incumbent_.d_ if self.translator_ is None else self.translator_.width

    @property
    def _block_size(self) -> int:
        """Rows that are handled at a time."""
        return min(ensemble.rows_at_once for ensemble in self.ensembles)

    def _column_names(self) -> list[str]:
        """Return names of the columns that the experts see."""
        if self.translator_ is not None:
            return self.translator_.layout_
        return list(self.kinds_) if self.kinds_ is not None else [str(j) for j in range(self.incumbent_.d_)]

    @property
    def size(self) -> int:
        """Landmarks and window rows of all experts."""
        return sum(ensemble.expert_set_.size for ensemble in self.ensembles)

    @property
    def nbytes(self) -> int:
        parts = (self.incumbent_, self.buffer_, self.drift_, self.stages_, self.quantiles_, self.steady_)
        return sum(part.nbytes for part in (*parts, self.translator_, self.label_filter_) if part is not None)

    # -- a round: predict ----------------------------------------------------------------------------------------------
    def predict(self, X: Any, ahead: int | None) -> Array:
        """Return predictions (n, K) for next rows (ahead=1) or later rows (None). Pure."""
        with self._turns.reading():
            P = np.empty((len(X), self.outputs_))
            rows = self._block_size
            for i in range(0, len(X), rows):
                P[i : i + rows] = self._answer(X[i : i + rows], ahead)[0]
        return P

    def _answer(self, rows: Any, ahead: int | None = 1) -> tuple[Array, Array | None, Array]:
        """Return predictions for next or later rows, the disagreement (n, K) of the experts for targets, and the rows
        as the experts see them."""
        X, answers = self.translator_.predict(rows) if self.translator_ is not None else (_matrix(rows), None)
        if ahead is None:
            return *self.steady_.predict(self.incumbent_, X, answers), X
        own = self.incumbent_.predict(X, answers)
        P, spread = own[:2] if self.drift_ is None else self.drift_.succession_.predict(own, X, answers)
        return self.stages_.predict(P), spread, X

    def quantiles(self, rows: Any, levels: Array, ahead: int | None) -> Array:
        """Return (n, K, Q) quantiles."""
        assert self.quantiles_ is not None
        with self._turns.reading():
            found, some = np.empty((len(rows), self.outputs_, len(levels))), self._block_size
            for i in range(0, len(rows), some):
                P, spread, X = self._answer(rows[i : i + some], ahead)
                assert spread is not None
                law = self.steady_ if ahead is None else self.quantiles_
                found[i : i + some] = law.quantiles(X, P, spread, levels)
        return found

    # -- a round: learn ------------------------------------------------------------------------------------------------
    def run(self, X: Any, Y: Array, weights: Array | None) -> Array:
        """Return predictions (n, K), each made before its label is learnt.

        Rows are cut into blocks within which nothing else happens: no refit begins, ends, or is swapped in.
        """
        if weights is not None and not weights.all():
            return self._run_with_gaps(X, Y, weights)
        if not self.classes:
            Y = within(Y)
        if len(X) == 1:
            return self._run_block(X, Y, weights)
        P = np.empty((len(X), self.outputs_))
        row = 0
        while row < len(X):
            n = min(len(X) - row, self._block_size, SHORT_BLOCK if self._turns.asked else len(X))
            n = max(1, self._count_plain_labels(Y[row : row + n]))
            n = min(n, self.steady_.until_cut())
            for ensemble in self._all_ensembles:
                n = ensemble.ahead(n, self.buffer_.last)
            part = slice(row, row + n)
            P[part] = self._run_block(X[part], Y[part], None if weights is None else weights[part])
            row = part.stop
        return P

    def _run_with_gaps(self, X: Any, Y: Array, weights: Array) -> Array:
        """Do `run` if some weights are 0: such rows are predicted and leave no trace."""
        P = np.empty((len(X), self.outputs_))
        for part in stretches(weights):
            w = weights[part]
            P[part] = self.run(X[part], Y[part], w) if w[0] > 0 else self.predict(X[part], 1)
        return P

    def _run_block(self, rows: Any, Y: Array, w: Array | None) -> Array:
        """Filter the labels, predict and learn the rows, then do the work that is due after them."""
        with self._whole.writing():
            labels, alarm_labels = (Y, None) if self._count_plain_labels(Y) else self._winsorize(rows, Y)
            # references are weak: an ensemble that is replaced gives up its memory before the next one begins
            before = [ref(ensemble) for ensemble in self._all_ensembles]
            with self._turns.writing():
                P = self._learn(rows, Y, labels, alarm_labels, w)
            after = self._all_ensembles
            kept = [ensemble for ensemble in after if ref(ensemble) in before]
            moved = [ref(ensemble) for ensemble in after] != before
            self._attend(P, Y, kept, moved)
            return P

    def _learn(self, rows: Any, Y: Array, labels: Array, alarm_labels: Array | None, w: Array | None) -> Array:
        """Return predictions for rows, which all parts learn: with `labels` in place of the labels Y as they came.

        `alarm_labels`: the labels by which drift alarms measure losses, if these are others.
        """
        incumbent = self.incumbent_
        own = incumbent.admitted(labels)
        admitted = own if own is labels else self._admit_for_candidate(labels, own)
        X, answers = self.translator_.run(rows, admitted, w) if self.translator_ is not None else (_matrix(rows), None)
        learnt = incumbent.learn(Rows(X, own, w), answers)
        P, spread = learnt.P, learnt.spread
        self.buffer_.extend(X, labels, w)
        self.count_ += len(X)
        if self.drift_ is not None:
            if alarm_labels is not None:
                alarm_labels = np.where(np.isnan(alarm_labels), admitted, alarm_labels)
            block = Block(Rows(X, labels, w), admitted, answers, learnt, alarm_labels)
            self.incumbent_, P, spread = self.drift_.follow(incumbent, block, partial(self._surroundings, Y))
        P = self.stages_.run(P, admitted, w)
        seen = admitted
        if labels is not Y and incumbent.targets_ is not None:
            seen = incumbent.targets_.fenced(Y)  # intervals have to cover the labels as they come
        if self.quantiles_ is not None and spread is not None:
            self.quantiles_.learn(X, P, seen - P, spread, w)
        self.steady_.learn(X, seen, labels, w, answers)
        if self.incumbent_ is not incumbent:
            self.steady_.replace(incumbent, self.incumbent_)
        return P

    def _attend(self, P: Array, Y: Array, ensembles: list[Ensemble], moved: bool) -> None:
        """Record a block that was learnt, begin, continue or swap in refits, and take snapshots.

        `ensembles` are those that existed before the block; new ones are attended to after the next block. `moved` says
        whether others came or went.
        """
        turn, drift, alone = self._turns.writing, self.drift_, self.candidate is None
        if self.label_filter_ is not None:
            self.label_filter_.record(P, Y)
            if alone and self.incumbent_.count_ in self.expert_set_.recipe.rebuilds:
                moved = winsorize_kept_labels(self.incumbent_, self.label_filter_, self.buffer_, turn) or moved
        is_coming = self._warm_start is not None
        for ensemble in ensembles:
            if ensemble.begun_ or ensemble.due:
                of_next_row = ensemble in self.ensembles
                refreshes = ensemble is not self.incumbent_ or drift is None or drift.succession_.refreshes_
                grows = not of_next_row or (alone and not is_coming)
                moved = ensemble.attend(self.buffer_.last, refreshes=refreshes, grows=grows, alone=turn) or moved
        if moved or is_coming:
            with turn():
                self.keep()
        if drift is not None:
            drift.succession_.copy(self.incumbent_, self.count_)
        if self.steady_.due:
            with turn():
                self.steady_.attend(self.incumbent_)

    def _surroundings(self, Y: Array) -> Surroundings:
        """Return what drift handling may ask for while it follows a block with these labels."""
        return Surroundings(self.buffer_.last, self._beside, self._column_names, partial(self._trust_labels, Y))

    def _admit_for_candidate(self, labels: Array, own: Array) -> Array:
        """Return the labels of both ensembles: an outlier for the incumbent alone, after a drift alarm, is none."""
        if self.candidate is None or self.candidate.targets_ is None:
            return own
        low, high = self.candidate.targets_.fences_
        return np.where((low <= labels) & (labels <= high), labels, own)

    def keep(self) -> None:
        """Resize the buffer to the rows that ensembles and a warm start may ask for.

        An incumbent that is alone gets its full size back.
        """
        if self.candidate is None and self._warm_start is None:
            self.incumbent_.regain(self.sizes_)
        capacity = max(ensemble.capacity for ensemble in self._all_ensembles)
        if self.drift_ is not None:
            succession = self.drift_.succession_
            capacity = max(capacity, succession.reach_ + min(self._block_size, self.incumbent_.every))
            if self._warm_start is not None:
                capacity = max(capacity, self._warm_start.latest - self._warm_start.since + succession.ahead)
        self.buffer_.resize(capacity)

    # -- labels --------------------------------------------------------------------------------------------------------
    @property
    def _usual_range(self) -> Array:
        """(2, K) the range that labels usually lie within, of any ensemble; see `Targets.usual_`."""
        if self.candidate is None and self.targets_ is not None:
            return self.targets_.usual_
        ranges = [ensemble.targets_.usual_ for ensemble in self.ensembles if ensemble.targets_ is not None]
        return np.array([np.min([low for low, _ in ranges], axis=0), np.max([high for _, high in ranges], axis=0)])

    def _count_plain_labels(self, Y: Array) -> int:
        """Return how many of the next labels can be learnt as they are, together; 0: the first needs `_winsorize`."""
        if self.label_filter_ is None or self.targets_ is None:
            return len(Y)
        return self.label_filter_.count_plain(Y, *self._usual_range)

    def _winsorize(self, rows: Any, Y: Array) -> tuple[Array, Array | None]:
        """Return the labels (1, K) to learn for one row, and those by which alarms measure losses, if they differ."""
        assert self.label_filter_ is not None and self.targets_ is not None  # noqa: PT018
        low, high = self._usual_range
        outside = ((low > Y) | (high < Y))[0]
        p = self._answer(rows)[0][0]
        label = self.label_filter_.winsorize(Y[0], p, outside, self.targets_.scale_)
        alarm_label = self.label_filter_.alarm_label(Y[0], p)
        return label[None], None if alarm_label is None else alarm_label[None]

    def _trust_labels(self, Y: Array, rows: int, after: int) -> None:
        """Keep the labels of the last rows as they came after a drift alarm, unless tails were heavy before.

        Y are the last of them. If a refit under way uses these labels, they stay as they are.
        """
        if self.label_filter_ is None or not self.label_filter_.trust_since_change(rows, len(Y), after):
            return
        labels = np.concatenate((self.label_filter_.labels_.last(max(0, rows - len(Y))), Y))[-rows:]
        if not self._is_refitting:
            self.buffer_.labels_.replace(labels[-len(self.buffer_) :])

    @property
    def _is_refitting(self) -> bool:
        """Whether a refit of incumbent or candidate is under way."""
        return any(ensemble.begun_ for ensemble in self.ensembles)

    # -- new classes and columns ---------------------------------------------------------------------------------------
    def finish(self) -> None:
        """Do all work on the refits that are under way, so that `settle` is quick."""
        for ensemble in self._all_ensembles:
            ensemble.finish(self.buffer_.last)

    def grow(self, outputs: int) -> None:
        """Add classes, exactly as if they had been known. If memory is too small for them, experts shrink.

        Those are fitted at once, on the rows that are kept. A candidate is discarded before that.
        """
        sizes, translator, budget = self.expert_set_.recipe, self.translator_, self._share * self.memory
        wide = self.dense if translator is None else translator.width_of(outputs)
        smaller = None
        if largest_bytes(sizes, wide, outputs, codes=True, more=self._more) > budget:
            smaller = in_memory(self.sizes_, self._need(wide, outputs))  # it may raise: nothing has changed yet
        self.settle()
        self.steady_.flush(self.incumbent_)
        if translator is not None:
            before = self.dense
            translator.grow(outputs)
            self._widen_dense(wide, before)
        need = self._need(wide, outputs)
        self.sizes_ = growing(self.sizes_ if smaller is None else smaller, need)
        candidate, fit = self.candidate, smaller is None
        if candidate is not None and fit:
            room = self._memory_for_ensembles
            fit = fit_together(self.incumbent_, candidate.expert_set_.recipe, wide, outputs, room, self._more)
        if smaller is None:
            self.incumbent_.grow(outputs)
        else:
            self.incumbent_.shrink(smaller, outputs, self.buffer_.last)
        for ensemble in self.ensembles:
            ensemble.expert_set_.recipe = growing(ensemble.expert_set_.recipe, need)
        if self.drift_ is not None:
            self.drift_.grow(outputs, *self._reach(outputs), self.incumbent_.rows_at_once, fits=fit)
        self.steady_.grow(self.incumbent_, outputs)
        self.outputs_ = outputs
        self.keep()

    def settle(self) -> None:
        """Complete the refits that are under way, and the warm start of a candidate."""
        if self.drift_ is not None:
            self.drift_.succession_.settle(self.incumbent_, self.count_, self.buffer_.last)
        for ensemble in self._all_ensembles:
            ensemble.settle(self.buffer_.last)

    def widen(self, d: int) -> None:
        """Add columns of numbers without names. Columns of sparse rows have their places already."""
        if self.translator_ is None:
            self._widen_dense(d, self.incumbent_.d_)

    def _widen_dense(self, d: int, before: int) -> None:
        """Add columns, missing so far: predictions stay, and the next refit uses the columns."""
        if d > before:
            self.settle()
            self.buffer_.widen(d)
            self.incumbent_.widen(d)
            if self.drift_ is not None:
                self.drift_.widen(d)
            if self.quantiles_ is not None:
                self.quantiles_.widen(d)
            self.steady_.widen(self.incumbent_, d)

    def widen_columns(self, kinds: Mapping[str, str]) -> None:
        """Add columns of a table, by name with their kinds; they were missing in all rows so far."""
        assert self.kinds_ is not None
        before, every = self.dense, {**self.kinds_, **kinds}
        if self.translator_ is not None:
            for name, kind in kinds.items():  # a missing number changes no prediction, a missing level would
                self.translator_.widen({name: kind}, columns=kind in NUMERIC)
        elif any(kind not in NUMERIC for kind in kinds.values()):
            self.translator_ = translator_for(every, self.outputs_, self.memory, classes=self.classes, late=True)
        self.kinds_ = every
        self._widen_dense(len(every) if self.translator_ is None else self.translator_.width, before)


def _matrix(rows: Any) -> Array:
    """Return rows of numbers, perhaps in columns with names, as a matrix."""
    return rows.matrix() if isinstance(rows, Batch) else rows
