"""Auto: the learner that needs no parameter on any stream. This file has its parameters and public methods."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from nystream._core.inputs import clean_label, is_clean_row
from nystream.auto.budget import bytes_of, seconds_of
from nystream.auto.drift import Alarm, Listener, Listeners, Records
from nystream.auto.expert_set import ExpertSet
from nystream.auto.explain import (
    expert_shares,
    expert_titles,
    explain_row,
    explanation,
    importance,
    metric_shares,
    recent_share,
)
from nystream.auto.pipeline import Pipeline
from nystream.auto.recipe import Recipe
from nystream.auto.surprise import Alarm as SurpriseAlarm
from nystream.auto.surprise import Surprise, last_surprise, recent_alarms
from nystream.data.inputs import as_levels
from nystream.data.sparse_rows import NARROW
from nystream.learners.families.tabular import Opening, TabularLearner
from nystream.learners.translator import Translator
from nystream.runtime.lock import ReadWriteLock
from nystream.runtime.params import at_least, boolean, checked_ahead, one_of, positive
from nystream.runtime.seeds import checked_seed, generator
from nystream.runtime.threads import at_most, checked_threads
from nystream.runtime.types import Array, LabelKind, Seed

__all__ = ["Auto"]


class Auto(TabularLearner):
    """Regression or classes with nothing to tune: many experts, stacked and mixed online.

    Experts are least squares on Nystrom features with several scalings, a learnt metric and forgetting, and a window
    smoother. Stackers with several forgetting rates combine their outputs and the last labels; a mixture that
    follows the best stacker predicts. Where labels hardly ever change, the prediction is mixed with the last label.
    During the warm-up a full refit on all rows so far happens after 1, 2, 5, 10, 20, 50, ..., 1600 and 3200
    rows, and once more after 6,400; then landmarks are frozen, and the experts that follow the stream are refitted on
    the last 2,000 rows every 1,000. With more memory, landmarks grow by half after 6,400 rows and again after 12,800.
    All of this depends on row counts alone: cutting the stream into other blocks changes nothing.

    nan in the inputs is a missing value: it counts as the column's mean, and columns in which values were missing
    during the warm-up get an indicator. With task="classification" labels are 0, 1, 2, ...; `predict` gives logarithms
    of probabilities, recalibrated row by row. The experts learn a class that appears late exactly as if it had been
    known from the start; the stackers learn about it from then on. A row of weight w counts as w rows in every fit,
    scale, metric and mixture, and one of weight 0 leaves no trace. A label or an input that is far outside all others
    does no harm; see `Targets` and `nystream.scaling.spread`. If noise has heavy tails that are not signal, labels are
    winsorised; see `nystream.auto.labels`. Targets beyond 1e75 count as 1e75, below 1e-75 as 0: rescale them.

    All of this predicts the next row, right after the last label: `step`, `run`, and `predict` with ahead=1.
    `predict(X)` is for rows that come some time later: see `nystream.auto.steady`.

    Parameters
    ----------
    memory : str or number, default "64MB"
        Bytes that the model may take, with the temporary arrays of refits; decides landmarks and buffers. With 192MB
        for some ten columns landmarks grow once, with 288MB twice: less error on long streams, and a row costs two and
        five times as much. See `pipeline_.sizes_.grows` after the first row.
    deadline : str or number, optional
        Time for a `step`, as "1ms", on average after the warm-up; decides which experts exist and how large they are.
        None: as large as memory allows. A formula decides, multiplied by how much slower this machine is than the
        reference machine, measured at the first row: see `nystream.auto.budget`. The decision is part of the model.
        ValueError at the first row if nothing is fast enough. `run` takes less than `step`. With `changes` two
        ensembles learn in at most 15 of 100 rows (and 1,500 at first): that is part of the average, and while it lasts
        a `step` takes twice as long.
    lags : bool, default True
        Whether the last two labels and running means of all labels are inputs of the stack.
    delay : int, default 0
        Rows that come between a row and its label. With lags, a row is learnt with the labels that were known when it
        came, so many rows before; `predict` with ahead=1 is for a row that has just come, with the last labels of all.
        `step` and `run` return what the model, as it is now, predicts from the labels that were known then.
        `prequential` and `nystream run --delay` set it. Labels that never come need nothing: such rows are not
        learnt.
    seed : int, Generator or None, default 0
        Of landmarks and of the rows that a metric is learnt from.
    task : "regression" or "classification"
        What labels are; `Classifier` and the facades set it themselves.
    recipe : Recipe, optional
        Sizes to start from; None: the default ones.
    changes : bool, default True
        Whether the stream is watched for drift; see `nystream.auto.drift`. If losses rank too high for too long,
        an alarm is raised, and a candidate learns beside the incumbent from the estimated change point on; both are
        mixed until one of them is discarded. The last two incumbents that were replaced are archived, and recalled if
        their data return. Without an alarm nothing is different.
    threads : int, optional
        Threads that `run` lets experts learn in; None: see `nystream.runtime.threads`. There is work for two, the
        Laplacian experts and the others. It changes no bit.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream import Auto
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2)) * [1, 1000]
    >>> y = np.sin(X[:, 0]) + X[:, 1] / 1000
    >>> p = Auto().run(X, y)
    >>> bool(np.mean((p[300:] - y[300:]) ** 2) < 0.01 * y.var())
    True
    """

    multi_output: ClassVar[bool] = True
    weighted: ClassVar[bool] = True

    pipeline_: Pipeline
    """Everything that it has learnt."""
    _turns: ReadWriteLock
    """Predictions of other threads come between blocks, and between a block and the refits after it."""
    _whole: ReadWriteLock
    """Copies of the model are made between rows, when all work that belongs to a row is done."""

    def __init__(
        self,
        *,
        memory: Any = "64MB",
        deadline: Any = None,
        lags: bool = True,
        delay: int = 0,
        seed: Seed = 0,
        task: str = "regression",
        recipe: Recipe | None = None,
        changes: bool = True,
        threads: int | None = None,
    ) -> None:
        self.memory = memory
        self.deadline = deadline
        self.lags = boolean("lags", lags)
        self.delay = at_least("delay", delay, 0)
        self.seed = checked_seed(seed)
        self.task = one_of("task", task, ("regression", "classification"))
        if recipe is not None and not isinstance(recipe, Recipe):
            raise ValueError(f"recipe must be a Recipe or None, got {recipe!r}")
        self.recipe = recipe
        self.changes = boolean("changes", changes)
        self.threads = checked_threads(threads)
        bytes_of(memory), seconds_of(deadline)  # they raise an error for anything else
        self._turns, self._whole = ReadWriteLock(), ReadWriteLock()
        self._listeners = Listeners()

    # -- what it can do ----------------------------------------------------------------------------------------------
    @property
    def labels(self) -> LabelKind:
        return "class" if self._classes else "real"

    @property
    def link(self) -> str | None:
        """The function that turns predictions into probabilities: for classes they are logarithms."""
        return "softmax" if self._classes else None

    @property
    def missing(self) -> bool:
        return True

    @property
    def _classes(self) -> bool:
        return self.task == "classification"

    def why_not(self, ability: str) -> str | None:
        if ability in ("importance", "explain_row") and self.translator_ is not None:
            return "rows of tables and sparse rows are explained by `Model`, which knows their columns"
        if ability == "probabilities" and not self._classes:
            return "probabilities are of classes, and this one has task='regression'"
        if ability in ("predict_interval", "predict_quantile") and self._classes:
            return "they are of numbers, and this one has task='classification', where there are probabilities"
        if ability == "alarms" and not self.changes:
            return "it does not watch for changes; use changes=True"
        return super().why_not(ability)

    def for_classes(self) -> Auto:
        """Return a fresh learner with equal parameters that learns classes."""
        return type(self)(**{**self.clone().get_params(deep=False), "task": "classification"})

    # -- learning ----------------------------------------------------------------------------------------------------
    def step(self, x: Any, y: Any = None, weight: float = 1.0) -> Any:
        """Return the prediction for one row (a dict of names to values, numbers, or sparse), then learn its label."""
        answer = self._step_plain(x, y) if weight == 1.0 else None
        if answer is None:
            answer = super().step(x, y, weight)
        if self._listeners:
            self._announce()
        return answer

    def _step_plain(self, x: Any, y: Any) -> Any:
        """Do `step` for numbers that need no conversion, and a label that is a number or a known class; else None."""
        if not self.d_ or self.translator_ is not None or self.kinds_ is not None or not is_clean_row(x, self.d_):
            return None
        label = clean_label(y, False)
        if label is None or not (label.item() in range(self.outputs_) if self._classes else self._plain):
            return None
        p = self._run(x[None], label[None], None)[0]
        self.n_seen_ += 1
        return p if self._classes else float(p[0])

    def run(self, X: Any, Y: Any = None, weights: Any = None) -> Array:
        answers = super().run(X, Y, weights)
        if self._listeners:
            self._announce()
        return answers

    def run_clean(self, X: Any, Y: Array, weights: Array | None = None) -> Array:
        with at_most(self.threads):
            return super().run_clean(X, Y, weights)

    def settle(self) -> None:
        """Finish a refit that is under way; for use after the last row, when no row follows.

        Along a stream a refit is swapped in some rows later by itself; see docs/design/015-no-pauses.md.
        """
        if self.d_:
            with self._whole.writing(), self._turns.writing():
                self.pipeline_.settle()
                self.pipeline_.keep()

    # -- predicting --------------------------------------------------------------------------------------------------
    def probabilities(self, X: Any, ahead: int | None = None) -> Array:
        """Return (n, K) probabilities of the classes; rows sum to 1. Pure. `ahead` as in `predict`."""
        self._require("probabilities")
        ahead = checked_ahead(ahead)
        X = self._accepted(X)
        if not self.d_:
            return np.full((len(X), self.outputs_), 1 / self.outputs_)
        return np.exp(self.predict_clean(X, ahead))

    def predict_interval(self, X: Any, coverage: float = 0.9, ahead: int | None = None) -> tuple[Array, Array]:
        """Return the ends (n,), or (n, K) for several targets, of intervals that cover this share of labels. Pure.

        They are the (1 - coverage)/2 and (1 + coverage)/2 quantiles; infinite while too few rows have been seen.
        `ahead` as in `predict`: intervals of later rows are wider, since the labels before them are unknown.
        """
        self._require("predict_interval")
        ahead = checked_ahead(ahead)
        positive("coverage", coverage, below=1.0)
        if not self.d_:
            raise ValueError("predict_interval needs a row to be learnt")
        found = self.pipeline_.quantiles(self._accepted(X), np.array([(1 - coverage) / 2, (1 + coverage) / 2]), ahead)
        return self._outward(found[..., 0]), self._outward(found[..., 1])

    def predict_quantile(self, X: Any, q: Any, ahead: int | None = None) -> Array:
        """Return quantiles (n,), or (n, K) for several targets: a share q of the labels lies below them. Pure.

        A list of levels adds a last axis; quantiles rise with their levels. See `nystream.auto.quantiles`. They are
        infinite while too few rows have been seen: n rows give quantiles from 1/(n + 1) to n/(n + 1). `ahead` as in
        `predict`.
        """
        self._require("predict_quantile")
        ahead = checked_ahead(ahead)
        levels = as_levels(q)
        if not self.d_:
            raise ValueError("predict_quantile needs a row to be learnt")
        found = self.pipeline_.quantiles(self._accepted(X), levels, ahead)
        found = found if self.outputs_ > 1 else found[:, 0]
        return found[..., 0] if np.ndim(q) == 0 else found

    # -- explaining --------------------------------------------------------------------------------------------------
    def explain(self) -> str:
        """Return a few lines of text: which experts carry the prediction now, and why."""
        with self._turns.reading():
            return explanation(self)

    def weights(self) -> dict[str, float]:
        """Return how much each expert, and the last labels, move the prediction now: shares that sum to 1. Pure.

        A share is the size of the factor of an output, with the stackers and the plain aggregation weighted by the
        mixture, over the sum of all sizes; the mean over several targets. `explain` shows signs. O(inputs) time, so it
        may be sampled along a stream. Empty before the first row.
        """
        if not self.d_:
            return {}
        with self._turns.reading():
            return expert_shares(self)

    def titles(self) -> list[str]:
        """Return readable names of the experts whose outputs are combined, in order; those of sparse rows are last.

        An expert that both incumbent and candidate have is named once.
        """
        with self._turns.reading():
            ensembles = self.pipeline_.ensembles if self.d_ else []
            return list(dict.fromkeys(name for one in ensembles for name in expert_titles(self, one)))

    def importance(self) -> dict[str, float]:
        """Return shares of the columns, by their places, that sum to 1: see `nystream.explain`."""
        return importance(self)

    def explain_row(self, row: Any) -> dict[str, float]:
        """Return what each column, by its place, adds to the prediction for one row. Pure. See `nystream.explain`.

        For classes, what it adds to the probability of the predicted class; for several targets, to the first.
        """
        return explain_row(self, row)

    def alarms(self, *, warnings: bool = False) -> list[Alarm]:
        """Return the drift alarms in order; the last 256 alarms and warnings are kept. The latest may be undecided.

        Each has the row of the alarm, the estimated change point, the cause, the columns that shifted and the outcome,
        and `str` tells them in sentences; see `nystream.auto.drift.Alarm`. With `warnings` the list has the warnings
        too (`level` is "warning"): shifts of the inputs that the loss did not confirm, which change no prediction.
        """
        self._require("alarms")
        with self._turns.reading():
            drift = self.pipeline_.drift_ if self.d_ else None
            records = Records() if drift is None else drift.succession_.records_
            return records.all if warnings else records.alarms

    def on_alarm(self, callback: Listener, *, warnings: bool = False) -> Listener:
        """Call `callback(alarm)` at every drift alarm from now on, and at warnings too if `warnings`.

        `alarm` is a record as in `alarms()`. The callback is called when the `step` or `run` that raised the alarm has
        learnt its rows; if it raises, the exception comes out of that call, and the model has learnt the rows. It
        is not saved with the model. Returns the callback, so that this can be a decorator.
        """
        self._require("alarms")
        self._listeners.add(callback, warnings=warnings, row=self.n_seen_)
        return callback

    def _announce(self) -> None:
        self._listeners.announce(self.alarms(warnings=True), self.n_seen_)

    def surprise(self) -> Surprise:
        """Return how rare the last label was under the prediction made before it: once in so many rows. Pure.

        For numbers only. See `nystream.auto.surprise`.
        """
        with self._turns.reading():
            return last_surprise(self._scores())

    def surprise_alarms(self) -> list[SurpriseAlarm]:
        """Return runs of surprising labels, and labels far beyond the record, among the last 1,000 labels. Pure.

        Rows are counted as if every row had a label. Drift alarms, which compare losses, are in `alarms`.
        """
        with self._turns.reading():
            return recent_alarms(self._scores(), self.n_seen_ if self.d_ else 0)

    def _scores(self) -> Any:
        if self._classes:
            raise TypeError("surprise is of numbers, and this one has task='classification'")
        return self.pipeline_.quantiles_ if self.d_ else None

    @property
    def follows_order(self) -> bool:
        return True

    def column_shares(self, columns: Sequence[str]) -> dict[str, float] | None:
        """Return shares of the columns in the learnt metrics; for a table, those of all inputs of its encoding."""
        shares = metric_shares(self)
        if shares is None:
            return None
        found: dict[str, float] = {}
        owners = columns if self.translator_ is None else self.translator_.owners
        for owner, share in zip(owners, shares.tolist(), strict=True):
            found[owner] = found.get(owner, 0.0) + share
        return found

    def held_rows(self) -> tuple[Array, Array] | None:
        """Return the rows and labels that refits use."""
        if not self.d_:
            return None
        buffer = self.pipeline_.buffer_
        return buffer.last(len(buffer))[:2]

    def recent_share(self) -> float | None:
        """Return the share of the next prediction that comes from parts that know the last 100 rows at most."""
        return recent_share(self) if self.d_ else None

    # -- the pipeline ------------------------------------------------------------------------------------------------
    @property
    def translator_(self) -> Translator | None:
        """Turns tables and sparse rows into numbers. None: rows are numbers."""
        return self.pipeline_.translator_ if self.d_ else None

    @property
    def kinds_(self) -> dict[str, str] | None:
        """The kind of every column of a table, by name."""
        return self.pipeline_.kinds_ if self.d_ else None

    @property
    def expert_set_(self) -> ExpertSet:
        """Experts of the incumbent."""
        return self.pipeline_.incumbent_.expert_set_

    def _start(self, d: int, outputs: int) -> None:
        seed = self.seed if isinstance(self.seed, int) else int(generator(self.seed).integers(2**32))
        memory, seconds = bytes_of(self.memory), seconds_of(self.deadline)
        options = {"lags": self.lags, "delay": self.delay, "recipe": self.recipe, "changes": self.changes}
        pipeline = Pipeline(self._classes, memory, seconds, seed=seed, **options)
        kinds = self._first if isinstance(self._first, Mapping) else None
        pipeline.start(d, outputs, kinds, sparse=self._first is not None and kinds is None)
        pipeline.use_locks(self._turns, self._whole)
        self.pipeline_ = pipeline

    def _run(self, X: Any, Y: Array, weights: Array | None) -> Array:
        return self.pipeline_.run(X, Y, weights)

    def _predict(self, X: Any) -> Array:
        return self.pipeline_.predict(X, 1)

    def _predict_later(self, X: Any) -> Array:
        return self.pipeline_.predict(X, None)

    @property
    def size(self) -> int:
        """Landmarks and window rows of all experts."""
        with self._turns.reading():
            return self.pipeline_.size if self.d_ else 0

    @property
    def nbytes(self) -> int:
        with self._turns.reading():
            return self.pipeline_.nbytes if self.d_ else 0

    # -- new classes and columns ---------------------------------------------------------------------------------------
    def reserve(self, d: int, outputs: int) -> None:
        if self.d_ and outputs <= self.outputs_:
            return
        with self._whole.writing():
            if self.d_:
                self.pipeline_.finish()
            with self._turns.writing():
                super().reserve(d, outputs)

    def _grow(self, outputs: int) -> None:
        self.pipeline_.grow(outputs)

    def widen(self, d: int) -> None:
        with self._whole.writing(), self._turns.writing():
            super().widen(d)

    def _widen(self, d: int) -> None:
        if self.kinds_ is not None:
            raise TypeError("columns with names are added with their kinds: use widen_columns")
        self.pipeline_.widen(d)

    def widen_columns(self, kinds: Mapping[str, str]) -> None:
        """Add columns of a table, by name with their kinds; they were missing in all rows so far.

        Predictions for rows without them stay as they are. The sparse experts learn new columns at once; the dense ones
        use new numbers from the next refit on, and all kinds of columns if all were numbers so far.
        """
        with self._whole.writing(), self._turns.writing():
            if self.kinds_ is None:
                raise TypeError("there were no rows with named columns so far; use widen(d), or begin with such rows")
            self.pipeline_.widen_columns(kinds)
            self.d_ = len(self.kinds_)

    def name_columns(self, kinds: Mapping[str, str]) -> None:
        """Give names, with kinds, to columns of numbers that were learnt without names, so that others may follow."""
        if self.translator_ is not None or self.kinds_ is not None or len(kinds) != self.d_:
            raise ValueError(f"only {self.d_} columns of numbers without names can be named; got {list(kinds)}")
        with self._whole.writing(), self._turns.writing():
            self.pipeline_.kinds_ = dict(kinds)

    # -- rows of tables and sparse rows --------------------------------------------------------------------------------
    @property
    def opening(self) -> Opening:
        return "sparse" if self.translator_ is not None and self.translator_.sparse else self.kinds_

    def _accepted_sparse(self, X: Any, opening: Opening) -> Any:
        narrow = not self.d_ and len(X.shape) == 2 and X.shape[1] <= NARROW
        return super()._accepted(X.toarray()) if narrow else super()._accepted_sparse(X, opening)

    def _check(self, X: Any, learnt: int) -> None:
        if self.translator_ is not None:
            self.translator_.check(X)

    # -- copies and files ----------------------------------------------------------------------------------------------
    def _state(self) -> dict[str, Any]:
        """Return the state; if another thread learns, a copy of one moment."""
        if self._whole.mine:
            return super()._state()
        with self._whole.reading():
            state = copy.deepcopy(super()._state())
            return {**state, "n_seen_": state["pipeline_"].count_} if self.d_ else state

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if self.d_:
            self.pipeline_.use_locks(self._turns, self._whole)
