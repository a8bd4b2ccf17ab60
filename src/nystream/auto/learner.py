"""Auto: the learner that needs no parameter on any stream."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from nystream.auto.bank import Bank
from nystream.auto.clock import in_time
from nystream.auto.explain import ByColumn, explanation
from nystream.auto.intervals import Intervals
from nystream.auto.memory import in_memory, most_bytes
from nystream.auto.quantities import bytes_of, seconds_of
from nystream.auto.recipe import Recipe
from nystream.auto.stack import Stack
from nystream.auto.targets import Targets, within
from nystream.inputs import as_block
from nystream.learners.base import Learner
from nystream.params import boolean, one_of, positive
from nystream.scaling.ring import Ring
from nystream.seeds import checked_seed, generator
from nystream.types import Array, LabelKind, Seed

__all__ = ["Auto"]

MARGIN = 1.5
CODE_BOUNDS = (np.full((1, 1), -MARGIN), np.full((1, 1), MARGIN))
"""Scores of classes are clipped to these."""
ZERO, ONE = np.zeros(1), np.ones(1)
"""Where codes of classes are, and their unit."""
LABELS = "the last labels"
"""The name under which `weights` adds up the label lags."""
TINY = 1e-300
"""In place of a sum that is 0."""


class Auto(ByColumn, Learner):
    """Regression or classes with nothing to tune: many experts, stacked and mixed online.

    Experts are least squares on Nystrom features with several scalings, a learnt metric and forgetting, and two window
    smoothers. Stackers with several forgetting rates combine their outputs and the last labels; a mixture that
    follows the best stacker predicts. During the warm-up everything is computed anew after 1, 2, 5, 10, 20, 50, ...,
    3200 rows from all rows so far; after it landmarks are frozen, and what follows the stream is refreshed from the
    last 2,000 rows every 1,000. All of this falls on row counts: cutting the stream into other blocks changes nothing.

    nan in the inputs is a missing value: it counts as the column's mean, and columns in which values were missing
    during the warm-up get an indicator. With task="classification" labels are 0, 1, 2, ...; `predict` gives logarithms
    of probabilities, which come out calibrated. A class that appears late is learnt by the experts exactly as if it had
    been known; the stackers weigh them by the odds they gave, so with them it begins there. A row of weight w counts
    as w rows in every fit, scale, metric and mixture, and one of weight 0 leaves no trace. A label or an input so far
    out that it can only be an accident does not spoil anything; see `Targets` and `nystream.scaling.spread`. Targets
    beyond 1e75 count as 1e75, below 1e-75 as 0: rescale such ones.

    Parameters
    ----------
    memory : str or number, default "64MB"
        Bytes that the model may take, what it needs for a moment to rebuild included; decides landmarks and buffers.
    deadline : str or number, optional
        Time for a `step`, as "1ms", on average after the warm-up, that decides which experts live and how large they
        are; None: as large as memory allows. A formula decides, times how much slower this machine is than the one it
        was made on (1 if it is not), measured at the first row: see `nystream.auto.clock`. What was decided
        is part of the model. ValueError at the first row if nothing is fast enough. `run` takes less than `step`.
    lags : bool, default True
        Whether the last label and its running means are inputs of the stack.
    seed : int, Generator or None, default 0
        Of landmarks and of the rows that a metric is learnt from.
    task : "regression" or "classification"
        What labels are; `Classifier` and the facades set it themselves.
    recipe : Recipe, optional
        Sizes to start from; None: the default ones.

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

    sized_: Recipe
    """The recipe that the budgets led to at the start; with very many classes that of the bank is smaller."""
    bank_: Bank
    stack_: Stack
    targets_: Targets | None
    """Scale and fences of the labels; of regression only."""
    intervals_: Intervals | None
    """Of regression only."""
    buffer_: list[Ring]
    """Inputs, labels or targets, and weights: all rows of the warm-up, then the last ones."""
    count_: int
    """Rows learnt; those of weight 0 are not."""

    def __init__(
        self,
        *,
        memory: Any = "64MB",
        deadline: Any = None,
        lags: bool = True,
        seed: Seed = 0,
        task: str = "regression",
        recipe: Recipe | None = None,
    ) -> None:
        self.memory = memory
        self.deadline = deadline
        self.lags = boolean("lags", lags)
        self.seed = checked_seed(seed)
        self.task = one_of("task", task, ("regression", "classification"))
        if recipe is not None and not isinstance(recipe, Recipe):
            raise ValueError(f"recipe must be a Recipe or None, got {recipe!r}")
        self.recipe = recipe
        bytes_of(memory), seconds_of(deadline)  # refuse what is neither

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

    @property
    def _classes(self) -> bool:
        return self.task == "classification"

    def why_not(self, ability: str) -> str | None:
        if ability == "probabilities" and not self._classes:
            return "probabilities are of classes, and this one has task='regression'"
        if ability == "predict_interval" and self._classes:
            return "intervals are of numbers, and this one has task='classification', where there are probabilities"
        return super().why_not(ability)

    def for_classes(self) -> Auto:
        """A fresh learner with equal parameters that learns classes."""
        return type(self)(**{**self.clone().get_params(deep=False), "task": "classification"})

    def probabilities(self, X: Any) -> Array:
        """(n, K) probabilities of the classes, rows summing to 1, pure."""
        self._require("probabilities")
        X = as_block(X, self.d_ or None, missing=True)
        return np.exp(self._predict(X)) if self.d_ else np.full((len(X), self.outputs_), 1 / self.outputs_)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Ends (n,), or (n, K) for several targets, of intervals around predictions that cover so many labels. Pure.

        See `nystream.auto.intervals.Intervals`. Infinite while too few rows have been seen.
        """
        self._require("predict_interval")
        positive("coverage", coverage, below=1.0)
        if not self.d_:
            raise ValueError("predict_interval needs a row to be learnt")
        X = as_block(X, self.d_, missing=True)
        P, half = np.empty((len(X), self.outputs_)), np.empty((len(X), self.outputs_))
        assert self.intervals_ is not None
        rows = self._rows
        for i in range(0, len(X), rows):
            part = slice(i, i + rows)
            P[part], F = self._answer(X[part])
            half[part] = self.intervals_.half_width(F.std(axis=1) * self._scale, coverage)
        return self._outward(P - half), self._outward(P + half)

    def explain(self) -> str:
        """What carries the prediction now, and why: a few lines of text."""
        return explanation(self)

    def weights(self) -> dict[str, float]:
        """How much each expert, and the last labels, move the prediction now: shares by name that sum to 1. Pure.

        A share is the size of what an output is multiplied by, the stackers and the plain aggregation weighed by the
        mixture, over the sum of all sizes, the mean over several targets; `explain` shows signs. O(inputs) time, so it
        may be sampled along a stream. Empty before the first row.
        """
        if not self.d_:
            return {}
        sizes = np.abs(self.stack_.weights())
        shares = (sizes / np.maximum(sizes.sum(axis=0), TINY)).mean(axis=1).tolist()
        named = dict(zip(self.bank_.titles(self.d_).values(), shares, strict=False))
        return named | ({LABELS: sum(shares[len(named) :])} if self.lags else {})

    def _start(self, d: int, outputs: int) -> None:
        self.seed_ = self.seed if isinstance(self.seed, int) else int(generator(self.seed).integers(2**32))
        self.sized_ = recipe = self._sized(d, outputs)
        self.bank_ = Bank(recipe, codes=self._classes)
        self.bank_.start()
        self.stack_ = Stack(self._classes, self.lags)
        self.stack_.start(len(self.bank_.names), outputs)
        self.buffer_ = [Ring(recipe.warmup, width) for width in (d, 1 if self._classes else outputs, 1)]
        self.targets_, self.intervals_ = None, None
        if not self._classes:
            self.targets_, self.intervals_ = Targets(outputs), Intervals()
            self.targets_.start()
            self.intervals_.start(outputs)
        self.count_ = 0

    def _sized(self, d: int, outputs: int) -> Recipe:
        """The recipe that fits the budgets."""
        recipe = in_memory(self.recipe or Recipe(), bytes_of(self.memory), d, outputs, codes=self._classes)
        seconds = seconds_of(self.deadline)
        return recipe if seconds is None else in_time(recipe, seconds, d, outputs)

    # -- one round ---------------------------------------------------------------------------------------------------
    def _predict(self, X: Array) -> Array:
        P = np.empty((len(X), self.outputs_))
        rows = self._rows
        for i in range(0, len(X), rows):
            P[i : i + rows] = self._answer(X[i : i + rows])[0]
        return P

    def _answer(self, X: Array) -> tuple[Array, Array]:
        """Predictions, and the experts' outputs (n, E, C) that they are made of."""
        low, high = CODE_BOUNDS if self.targets_ is None else self.targets_.bounds()
        F = self._scores(self.bank_.predict(X, self._inner), low, high)
        P = self.stack_.predict(F, self._shift, self._scale)
        return self._unscaled(P, low, high), F

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        if weights is not None and not weights.all():
            return self._run_with_gaps(X, Y, weights)
        if self.targets_ is not None:
            Y = within(Y)
        P = np.empty((len(X), self.outputs_))
        row, most = 0, self._rows
        while row < len(X):
            part = slice(row, min(len(X), row + most, row + self._until_event()))
            w = None if weights is None else weights[part]
            P[part] = self._rounds(X[part], Y[part], w)
            inputs, labels, counts = self.buffer_
            inputs.extend(X[part])
            labels.extend(Y[part])
            counts.extend(np.ones((part.stop - row, 1)) if w is None else w[:, None])
            self.count_ += part.stop - row
            self._event()
            row = part.stop
        return P

    def _run_with_gaps(self, X: Array, Y: Array, weights: Array) -> Array:
        """Rows of weight 0 are predicted and leave no trace."""
        P = np.empty((len(X), self.outputs_))
        some = weights > 0
        cuts = [0, *(np.flatnonzero(some[1:] != some[:-1]) + 1).tolist(), len(X)]
        for i, j in pairwise(cuts):
            P[i:j] = self._run(X[i:j], Y[i:j], weights[i:j]) if some[i] else self._predict(X[i:j])
        return P

    def _rounds(self, X: Array, Y: Array, w: Array | None) -> Array:
        if self.targets_ is None:
            T, (low, high) = self._coded(Y), CODE_BOUNDS
        else:
            Y = self.targets_.admitted(Y)
            T, (low, high) = self.targets_.standardised(Y), self.targets_.extended(Y)
        F = self._scores(self.bank_.run(X, T, w, (low, high)), low, high)
        codes = np.ascontiguousarray(self._codes(T))
        P, spread = self.stack_.run(F, codes, np.ascontiguousarray(Y[:, 0]), w, self._shift, self._scale)
        P = self._unscaled(P, low, high)
        if self.intervals_ is not None and spread is not None:
            self.intervals_.learn(P - Y, spread * self._scale)
        return P

    # -- events ------------------------------------------------------------------------------------------------------
    @property
    def _warm(self) -> bool:
        return self.count_ >= self.bank_.recipe.warmup

    @property
    def _rows(self) -> int:
        """Rows that are handled at a time."""
        return self.bank_.recipe.rows_at_once(self.outputs_)

    @property
    def _every(self) -> int:
        return self.bank_.recipe.every(self.d_, self.outputs_)

    def _until_event(self) -> int:
        """Rows until the next rebuild or refresh."""
        recipe = self.bank_.recipe
        if self._warm:
            return self._every - self.count_ % self._every
        return min(r for r in recipe.rebuilds if r > self.count_) - self.count_

    def _event(self) -> None:
        """Where a rebuild or a refresh is due, do it; what it draws depends on the seed and the row count alone."""
        recipe, t = self.bank_.recipe, self.count_
        if t in recipe.rebuilds:
            X, Y, w = self._kept()
            if self.targets_ is not None:
                self.stack_.rescale(*self.targets_.locate(Y, w))
            self.bank_.rebuild(X, self._past(Y), w, np.random.default_rng([self.seed_, t]), last=self._warm)
            if self._warm:
                self.buffer_ = [ring.resized(recipe.ring) for ring in self.buffer_]
        elif self._warm and t % self._every == 0:
            X, Y, w = self._kept()
            if self.targets_ is not None:
                self.targets_.enclose(Y, w)
            self.bank_.refresh(X, self._past(Y), w, np.random.default_rng([self.seed_, t]))

    def _kept(self) -> tuple[Array, Array, Array | None]:
        X, Y, w = (ring.rows for ring in self.buffer_)
        return X, Y, None if bool((w == 1.0).all()) else w[:, 0]

    # -- targets, scores, predictions --------------------------------------------------------------------------------
    @property
    def _inner(self) -> int:
        """Targets of the experts: for classes one that is always 1, then the codes."""
        return 1 + self.outputs_ if self._classes else self.outputs_

    def _past(self, Y: Array) -> Array:
        """What the experts are told of labels that were learnt before."""
        targets = self.targets_
        return self._coded(Y) if targets is None else targets.standardised(targets.fenced(Y))

    def _coded(self, Y: Array, classes: int = 0) -> Array:
        T = np.full((len(Y), 1 + (classes or self.outputs_)), -1.0)
        T[:, 0] = 1.0
        T[np.arange(len(Y)), 1 + Y[:, 0].astype(np.intp)] = 1.0
        return T

    @property
    def _shift(self) -> Array:
        return ZERO if self.targets_ is None else self.targets_.shift_

    @property
    def _scale(self) -> Array:
        return ONE if self.targets_ is None else self.targets_.scale_

    def _codes(self, T: Array) -> Array:
        """The columns of targets or outputs that the stack sees, (n, ..., C)."""
        if not self._classes:
            return T
        return T[..., 2:] if self.outputs_ == 2 else T[..., 1:]

    def _scores(self, F: Array, low: Array, high: Array) -> Array:
        return np.minimum(np.maximum(self._codes(F), low[:, None]), high[:, None])

    def _unscaled(self, P: Array, low: Array, high: Array) -> Array:
        """What the stack predicts in the units of the labels, within their bounds; of classes the logarithms."""
        if self.targets_ is None:
            return np.log(P)
        return self.targets_.back(np.minimum(np.maximum(P, low), high))

    # -- classes, columns ----------------------------------------------------------------------------------------------
    def _grow(self, outputs: int) -> None:
        """New classes, exactly as if they had been known; where memory does not suffice for them all, smaller experts.

        Those are fitted at once, on the rows that are kept.
        """
        recipe, budget = self.bank_.recipe, bytes_of(self.memory)
        if most_bytes(recipe, self.d_, outputs, codes=True) > budget:
            self._shrink(in_memory(self.sized_, budget, self.d_, outputs, codes=True), outputs)
            return
        combination = np.zeros((1 + self.outputs_, outputs - self.outputs_))
        combination[0] = -1.0
        self.bank_.add_outputs(combination)
        self.stack_.grow(outputs)

    def _shrink(self, recipe: Recipe, outputs: int) -> None:
        self.bank_.recipe = recipe
        capacity = recipe.ring if self._warm else recipe.warmup
        self.buffer_ = [ring.resized(capacity) for ring in self.buffer_]
        self.stack_.grow(outputs)
        if self.bank_.experts_:
            X, Y, w = self._kept()
            rng = np.random.default_rng([self.seed_, self.count_, outputs])
            self.bank_.rebuild(X, self._coded(Y, outputs), w, rng, last=self._warm)

    def _widen(self, d: int) -> None:
        """New columns were missing so far: predictions stay, and the next rebuild or refresh counts them in."""
        self.buffer_[0] = self.buffer_[0].widened(d)
        self.bank_.widen(d)

    @property
    def size(self) -> int:
        """Landmarks and window rows of all experts."""
        return self.bank_.size if self.d_ else 0

    @property
    def nbytes(self) -> int:
        if not self.d_:
            return 0
        own = self.bank_.nbytes + self.stack_.nbytes + sum(ring.nbytes for ring in self.buffer_)
        if self.targets_ is not None and self.intervals_ is not None:
            own += self.targets_.nbytes + self.intervals_.nbytes
        return own
