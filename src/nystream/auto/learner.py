"""Auto: the learner that needs no parameter on any stream."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from nystream.auto.budget import bytes_of, in_time, seconds_of
from nystream.auto.changes import Alarm, Listener, Listeners
from nystream.auto.changes.record import CREDIT
from nystream.auto.explain import ByColumn, explanation, metric_shares, recent_share
from nystream.auto.generation import Generation
from nystream.auto.guard import Guard
from nystream.auto.noise import Noise
from nystream.auto.recalibration import Recalibration
from nystream.auto.recipe import Recipe
from nystream.auto.rounds import Rounds
from nystream.auto.steady import Steady
from nystream.auto.surprise import Surprise, last_surprise
from nystream.auto.tables import seconds_to_translate, translator_for
from nystream.auto.tails import Tails
from nystream.data.batch import NUMERIC
from nystream.data.inputs import as_levels
from nystream.data.sparse_rows import NARROW
from nystream.learners.families.tabular import Opening
from nystream.runtime.lock import Gate
from nystream.runtime.params import at_least, boolean, checked_ahead, one_of, positive
from nystream.runtime.seeds import checked_seed, generator
from nystream.runtime.threads import at_most, checked_threads
from nystream.runtime.types import Array, LabelKind, Seed
from nystream.scaling.ring import Ring

__all__ = ["Auto"]

LABELS = "the last labels"
"""The name under which `weights` adds up the label lags."""
WATCHED = 12e-6
"""Seconds of one `step`, on the machine of `nystream.auto.budget`, to look for changes."""
SCORES = 0.01
"""Of the memory: what past residuals may take, which quantiles are made of."""
SIZES = 0.005
"""Of the memory: what past predictions and residuals may take, by which long tails are known."""
GROWS = (6400, 12800)
"""Rows after the warm-up at which everything is fitted once more, with more landmarks where budgets allow it."""
TINY = 1e-300
"""In place of a sum that is 0."""


class Auto(ByColumn, Rounds):
    """Regression or classes with nothing to tune: many experts, stacked and mixed online.

    Experts are least squares on Nystrom features with several scalings, a learnt metric and forgetting, and two window
    smoothers. Stackers with several forgetting rates combine their outputs and the last labels; a mixture that
    follows the best stacker predicts; where labels hardly ever change, `nystream.auto.guard.Guard` keeps it from
    falling behind the last label. During the warm-up everything is computed anew after 1, 2, 5, 10, 20, 50, ...,
    3200 rows from all rows so far, and once more after 6,400; then landmarks are frozen, and what follows the stream is
    refreshed from the last 2,000 rows every 1,000. With more memory landmarks grow by half after 6,400 rows and again
    after 12,800. All of this falls on row counts: cutting the stream into other blocks changes nothing.

    nan in the inputs is a missing value: it counts as the column's mean, and columns in which values were missing
    during the warm-up get an indicator. With task="classification" labels are 0, 1, 2, ...; `predict` gives logarithms
    of probabilities, recalibrated row by row. A class that appears late is learnt by the experts exactly as if it had
    been known; the stackers weigh them by the odds they gave, so with them it begins there. A row of weight w counts
    as w rows in every fit, scale, metric and mixture, and one of weight 0 leaves no trace. A label or an input so far
    out that it can only be an accident does not spoil anything; see `Targets` and `nystream.scaling.spread`. Where
    noise has long tails, labels far from their predictions are cut; see `nystream.auto.tails.Tails`. Targets beyond
    1e75 count as 1e75, below 1e-75 as 0: rescale such ones.

    All of this predicts the next row, right after the last label: `step`, `run`, and `predict` with ahead=1.
    `predict(X)` is for rows that come some time later: see `nystream.auto.steady`.

    Parameters
    ----------
    memory : str or number, default "64MB"
        Bytes that the model may take, what it needs for a moment to rebuild included; decides landmarks and buffers.
        With 192MB for some ten columns landmarks grow once, with 288MB twice: less error on long streams, and a row
        costs two and five times as much. See `sized_.grows` after the first row.
    deadline : str or number, optional
        Time for a `step`, as "1ms", on average after the warm-up, that decides which experts live and how large they
        are; None: as large as memory allows. A formula decides, times how much slower this machine is than the one it
        was made on (1 if it is not), measured at the first row: see `nystream.auto.budget`. What was decided
        is part of the model. ValueError at the first row if nothing is fast enough. `run` takes less than `step`. With
        `changes` two generations learn in at most 15 of 100 rows (and 1,500 at first): that is part of the average, and
        while it lasts a `step` takes twice as long.
    lags : bool, default True
        Whether the last two labels and running means of all are inputs of the stack.
    delay : int, default 0
        Rows that come between a row and its label. With lags, a row is learnt with the labels that were known when it
        came, so many rows before; `predict` with ahead=1 is for a row that has just come, with the last labels of all.
        What `step` and `run` give is what the model, as it is now, would have said with the labels of then.
        `prequential` and `nystream run --delay` set it. Labels that do not come at all need nothing: such rows are not
        learnt.
    seed : int, Generator or None, default 0
        Of landmarks and of the rows that a metric is learnt from.
    task : "regression" or "classification"
        What labels are; `Classifier` and the facades set it themselves.
    recipe : Recipe, optional
        Sizes to start from; None: the default ones.
    changes : bool, default True
        Whether the stream is watched for changes; see `nystream.auto.changes`. Where losses rank too high for too long,
        an alarm sounds, and a fresh copy learns beside the old one from the row where the change is put; both are mixed
        until one of them has to go. What predicted in the last two regimes that were left is kept, and mixed in where
        one of them returns. Without an alarm nothing is different.
    threads : int, optional
        Threads that `run` lets experts learn in; None: see `nystream.runtime.threads`. There is work for two, the
        rough kernels and the others. It changes no bit.

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
        bytes_of(memory), seconds_of(deadline)  # refuse what is neither
        self._turns, self._whole = Gate(), Gate()
        self._listeners = Listeners()

    def step(self, x: Any, y: Any = None, weight: float = 1.0) -> Any:
        answer = super().step(x, y, weight)
        if self._listeners:
            self._announce()
        return answer

    def run(self, X: Any, Y: Any = None, weights: Any = None) -> Array:
        answers = super().run(X, Y, weights)
        if self._listeners:
            self._announce()
        return answers

    def run_clean(self, X: Any, Y: Array, weights: Array | None = None) -> Array:
        with at_most(self.threads):
            return super().run_clean(X, Y, weights)

    @property
    def labels(self) -> LabelKind:
        return "class" if self._classes else "real"

    @property
    def link(self) -> str | None:
        """What turns predictions into probabilities: of classes they are logarithms."""
        return "softmax" if self._classes else None

    @property
    def missing(self) -> bool:
        return True

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
        """A fresh learner with equal parameters that learns classes."""
        return type(self)(**{**self.clone().get_params(deep=False), "task": "classification"})

    def probabilities(self, X: Any, ahead: int | None = None) -> Array:
        """(n, K) probabilities of the classes, rows summing to 1, pure. `ahead` as in `predict`."""
        self._require("probabilities")
        ahead = checked_ahead(ahead)
        X = self._accepted(X)
        if not self.d_:
            return np.full((len(X), self.outputs_), 1 / self.outputs_)
        return np.exp(self.predict_clean(X, ahead))

    def predict_interval(self, X: Any, coverage: float = 0.9, ahead: int | None = None) -> tuple[Array, Array]:
        """Ends (n,), or (n, K) for several targets, of intervals around predictions that cover so many labels. Pure.

        The (1 - coverage)/2 and (1 + coverage)/2 quantiles. Infinite while too few rows have been seen. `ahead` as in
        `predict`: intervals of later rows are wider, since nothing is known of the labels before them.
        """
        self._require("predict_interval")
        ahead = checked_ahead(ahead)
        positive("coverage", coverage, below=1.0)
        if not self.d_:
            raise ValueError("predict_interval needs a row to be learnt")
        found = self._quantiles(self._accepted(X), np.array([(1 - coverage) / 2, (1 + coverage) / 2]), ahead)
        return self._outward(found[..., 0]), self._outward(found[..., 1])

    def predict_quantile(self, X: Any, q: Any, ahead: int | None = None) -> Array:
        """(n,), or (n, K) for several targets: what a share q of the labels to come are below. Pure.

        With a list of levels one more axis, the last; where levels rise, quantiles do. See `nystream.auto.noise.Noise`.
        Infinite while too few rows have been seen: under q (n + 1) = 1 and over n of them. `ahead` as in `predict`.
        """
        self._require("predict_quantile")
        ahead = checked_ahead(ahead)
        levels = as_levels(q)
        if not self.d_:
            raise ValueError("predict_quantile needs a row to be learnt")
        found = self._quantiles(self._accepted(X), levels, ahead)
        found = found if self.outputs_ > 1 else found[:, 0]
        return found[..., 0] if np.ndim(q) == 0 else found

    def explain(self) -> str:
        """What carries the prediction now, and why: a few lines of text."""
        with self._turns.reading():
            return explanation(self)

    def weights(self) -> dict[str, float]:
        """How much each expert, and the last labels, move the prediction now: shares by name that sum to 1. Pure.

        A share is the size of what an output is multiplied by, the stackers and the plain aggregation weighed by the
        mixture, over the sum of all sizes, the mean over several targets; `explain` shows signs. O(inputs) time, so it
        may be sampled along a stream. Empty before the first row.
        """
        if not self.d_:
            return {}
        with self._turns.reading():
            return self._shares()

    def _shares(self) -> dict[str, float]:
        found = dict.fromkeys(self.titles(), 0.0) | ({LABELS: 0.0} if self.lags else {})
        rest = 1.0
        if self.guard_ is not None:
            found[LABELS] = self.guard_.carried()
            rest -= found[LABELS]
        for generation, carried in zip(self._generations, self._carried(), strict=True):
            carried *= rest
            sizes = np.abs(generation.stack_.weights())
            shares = (sizes / np.maximum(sizes.sum(axis=0), TINY)).mean(axis=1).tolist()
            titles = self._titles(generation)
            for name, share in zip(titles, shares, strict=False):
                found[name] += carried * share
            if self.lags:
                found[LABELS] += carried * sum(shares[len(titles) :])
        return found

    def titles(self) -> list[str]:
        """For people: the experts whose outputs are combined, in order; those of sparse rows are last.

        An expert that two generations have, after a change, is named once.
        """
        with self._turns.reading():
            return list(dict.fromkeys(name for generation in self._generations for name in self._titles(generation)))

    def alarms(self, *, warnings: bool = False) -> list[Alarm]:
        """Drift alarms, in order; the last 256 alarms and warnings are kept. The outcome of the latest may be open.

        Each has the row of the alarm, the estimated change point, the cause, the columns that shifted and the outcome,
        and `str` tells them in sentences; see `nystream.auto.changes.Alarm`. With `warnings` the list has the warnings
        too (`level` is "warning"): shifts of the inputs that the loss did not confirm, which change no prediction.
        """
        self._require("alarms")
        with self._turns.reading():
            return [] if not self.d_ or self.changes_ is None else self.changes_.alarms(warnings=warnings)

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
        """How rare the last label was under the prediction made before it: once in so many rows. Of numbers. Pure.

        See `nystream.auto.surprise`.
        """
        if self._classes:
            raise TypeError("surprise is of numbers, and this one has task='classification'")
        with self._turns.reading():
            return last_surprise(self.intervals_ if self.d_ else None)

    @property
    def follows_order(self) -> bool:
        return True

    def column_shares(self, columns: Sequence[str]) -> dict[str, float] | None:
        """Shares of the columns in the learnt metrics; of a table, those of all inputs that its encoding makes."""
        shares = metric_shares(self)
        if shares is None:
            return None
        found: dict[str, float] = {}
        owners = columns if self.translator_ is None else self.translator_.owners
        for owner, share in zip(owners, shares.tolist(), strict=True):
            found[owner] = found.get(owner, 0.0) + share
        return found

    def held_rows(self) -> tuple[Array, Array] | None:
        """The rows and labels that refits use."""
        return self._kept()[:2] if self.d_ else None

    def recent_share(self) -> float | None:
        """The share of the next prediction that comes from parts that know the last 100 rows at most."""
        return recent_share(self) if self.d_ else None

    def settle(self) -> None:
        """Finish a rebuild or refresh that is under way: for rows that were all there is, after which none follows.

        Along a stream it is taken up some rows later by itself; see docs/design/015-no-pauses.md.
        """
        if self.d_:
            with self._whole.writing(), self._turns.writing():
                self._settle()
                self._keep()

    def _titles(self, generation: Generation) -> list[str]:
        sparse = [] if self.translator_ is None else self.translator_.titles
        return [*generation.bank_.titles(self._dense).values(), *sparse]

    def _carried(self) -> list[float]:
        """What each generation carries of the next prediction."""
        if self._young is None or self.changes_ is None or self.changes_.handover_ is None:
            return [1.0]
        old = self.changes_.handover_.carried()
        return [old, 1.0 - old]

    # -- rows of all kinds -------------------------------------------------------------------------------------------
    @property
    def opening(self) -> Opening:
        return "sparse" if self.translator_ is not None and self.translator_.sparse else self.kinds_

    def _accepted_sparse(self, X: Any, opening: Opening) -> Any:
        narrow = not self.d_ and len(X.shape) == 2 and X.shape[1] <= NARROW
        return super()._accepted(X.toarray()) if narrow else super()._accepted_sparse(X, opening)

    def _check(self, X: Any, learnt: int) -> None:
        if self.translator_ is not None:
            self.translator_.check(X)

    def _widen(self, d: int) -> None:
        if self.kinds_ is not None:
            raise TypeError("columns with names are added with their kinds: use widen_columns")
        if self.translator_ is None:
            self._widen_dense(d, self.d_)  # columns of sparse rows have their places already

    def widen_columns(self, kinds: Mapping[str, str]) -> None:
        """More columns of a table, by name with their kinds; they were missing in all rows so far.

        Predictions for rows without them stay as they are. The sparse experts learn new columns at once, the dense ones
        take up new numbers with the next refit, and all kinds of columns if all were numbers so far.
        """
        with self._whole.writing(), self._turns.writing():
            self._widen_columns(kinds)

    def name_columns(self, kinds: Mapping[str, str]) -> None:
        """Names, with kinds, for the columns of numbers that were learnt without names, so that others may follow."""
        if self.translator_ is not None or self.kinds_ is not None or len(kinds) != self.d_:
            raise ValueError(f"only {self.d_} columns of numbers without names can be named; got {list(kinds)}")
        with self._whole.writing(), self._turns.writing():
            self.kinds_ = dict(kinds)

    def _widen_columns(self, kinds: Mapping[str, str]) -> None:
        if self.kinds_ is None:
            raise TypeError("there were no rows with named columns so far; use widen(d), or begin with such rows")
        before, every = self._dense, {**self.kinds_, **kinds}
        if self.translator_ is not None:
            for name, kind in kinds.items():  # a missing number changes no prediction, a missing level would
                self.translator_.widen({name: kind}, columns=kind in NUMERIC)
        elif any(kind not in NUMERIC for kind in kinds.values()):
            memory = bytes_of(self.memory)
            self.translator_ = translator_for(every, self.outputs_, memory, classes=self._classes, late=True)
        self.kinds_ = every
        self.d_ = len(every)
        self._widen_dense(self._dense, before)

    # -- starting ----------------------------------------------------------------------------------------------------
    def _start(self, d: int, outputs: int) -> None:
        self.seed_ = self.seed if isinstance(self.seed, int) else int(generator(self.seed).integers(2**32))
        self.kinds_ = dict(self._first) if isinstance(self._first, Mapping) else None
        numeric = self.kinds_ is not None and all(kind in NUMERIC for kind in self.kinds_.values())
        self.translator_ = None
        if self._first is not None and not numeric:
            self.translator_ = translator_for(self.kinds_, outputs, bytes_of(self.memory), classes=self._classes)
            d = self.translator_.width
        self.sized_ = recipe = self._sized(d, outputs)
        self.old_ = Generation(recipe, self._classes, self.lags, self.seed_, self.delay)
        self.old_.start(d, outputs, self._more, first=True)
        self.buffer_ = [Ring(recipe.warmup, width) for width in (d, 1 if self._classes else outputs, 1)]
        self.changes_ = self._new_changes(outputs) if self.changes else None
        self.guard_ = self.intervals_ = self.recalibration_ = self.tails_ = None
        if self.lags and not self.delay:
            self.guard_ = Guard(self._classes)
            self.guard_.start(outputs)
        if self._classes:
            self.recalibration_ = Recalibration()
            self.recalibration_.start()
        else:
            self.intervals_ = Noise(Noise.window_for(SCORES * bytes_of(self.memory), outputs))
            self.intervals_.start(d, outputs)
            window = Tails.window_for(SIZES * bytes_of(self.memory), outputs)
            kept = int(min(recipe.warmup, max(1, SIZES * bytes_of(self.memory) / (8 * outputs))))
            self.tails_ = Tails(outputs, window, 1000 if self.deadline is None else 1, kept)
            self.tails_.start()
        window = Noise.window_for(SCORES * bytes_of(self.memory), outputs)
        self.steady_ = Steady(self._classes, bytes_of(self.memory), window)
        self.steady_.start(self.old_.bank_, d, outputs, self._more)
        self.count_ = 0

    def _sized(self, d: int, outputs: int) -> Recipe:
        """The recipe that fits the budgets."""
        recipe = (self.recipe or Recipe(grows=GROWS)).suited(d, forecasts=self.lags and not self._classes)
        recipe = self._growing(self._affordable(recipe, d, outputs), d, outputs)
        seconds = seconds_of(self.deadline)
        if seconds is None:
            return recipe
        beside = 0.0 if self.translator_ is None else seconds_to_translate(self.kinds_, outputs)
        if not self.changes:
            return in_time(recipe, seconds, d, outputs, beside)
        return in_time(recipe, seconds, d, outputs, beside + WATCHED, 1 + CREDIT[1])  # the part that young ones run too

    @property
    def size(self) -> int:
        """Landmarks and window rows of all experts."""
        with self._turns.reading():
            return sum(generation.bank_.size for generation in self._generations) if self.d_ else 0

    @property
    def nbytes(self) -> int:
        if not self.d_:
            return 0
        with self._turns.reading():
            parts = (self.old_, *self.buffer_, self.changes_, self.guard_, self.intervals_, self.steady_)
            others = (self.recalibration_, self.translator_, self.tails_)
            return sum(part.nbytes for part in (*parts, *others) if part is not None)
