"""Auto: the learner that needs no parameter on any stream."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from nystream.features.seeds import checked_seed, generator
from nystream.inputs import as_block
from nystream.learners.auto_bank import Bank
from nystream.learners.auto_explain import explanation
from nystream.learners.auto_intervals import Intervals
from nystream.learners.auto_recipe import Recipe, bytes_of, seconds_of
from nystream.learners.auto_ring import Ring
from nystream.learners.auto_stack import Stack
from nystream.learners.base import Learner
from nystream.params import one_of, positive
from nystream.types import Array, LabelKind, Seed

__all__ = ["Auto"]

BLOCK = 256
"""Rows that the experts get at a time."""
MANY, THINNED = 500, 4
"""Columns times outputs beyond which a refresh comes so many times less often."""
MARGIN = 1.5
"""Scores of classes are clipped to this; targets to their range so far and (MARGIN - 1) of it to both sides."""


class Auto(Learner):
    """Regression or classes with nothing to tune: many experts, stacked and mixed online.

    Experts are least squares on Nystrom features with several scalings, a learnt metric and forgetting, and two window
    smoothers. Stackers with several forgetting rates combine their outputs and the last labels; a mixture that
    follows the best stacker predicts. During the warm-up everything is computed anew after 1, 2, 5, 10, 20, 50, ...,
    3200 rows from all rows so far; after it landmarks are frozen, and what follows the stream is refreshed from the
    last 2,000 rows every 1,000. All of this falls on row counts: cutting the stream into other blocks changes nothing.

    nan in the inputs is a missing value: it counts as the column's mean, and columns in which values were missing
    during the warm-up get an indicator. With task="classification" labels are 0, 1, 2, ...; `predict` gives logarithms
    of probabilities, which come out calibrated, and a class that appears late is learnt as if it had been known. A row
    of weight w counts as w rows in every fit and mixture (scales and the metric do not look at weights), and one of
    weight 0 leaves no trace.

    Parameters
    ----------
    memory : str or number, default "64MB"
        Bytes that the model may take, what it needs for a moment to rebuild included; decides landmarks and buffers.
    deadline : str or number, optional
        Time per row, as "1ms", that decides how large the experts are; None: as large as memory allows.
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

    bank_: Bank
    stack_: Stack
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
        self.lags = lags
        self.seed = checked_seed(seed)
        self.task = one_of("task", task, ("regression", "classification"))
        self.recipe = recipe
        bytes_of(memory), seconds_of(deadline)  # refuse what is neither

    @property
    def labels(self) -> LabelKind:
        return "class" if self._classes else "real"

    @property
    def missing(self) -> bool:
        return True

    @property
    def _classes(self) -> bool:
        return self.task == "classification"

    def for_classes(self) -> Auto:
        """A fresh learner with equal parameters that learns classes."""
        return type(self)(**{**self.clone().get_params(deep=False), "task": "classification"})

    def probabilities(self, X: Any) -> Array:
        """(n, K) probabilities of the classes, rows summing to 1, pure."""
        if not self._classes:
            raise ValueError("probabilities are for classes; this Auto has task='regression'")
        X = as_block(X, self.d_ or None, missing=True)
        return np.exp(self._predict(X)) if self.d_ else np.full((len(X), self.outputs_), 1 / self.outputs_)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Ends (n,), or (n, K) for several targets, of intervals around predictions that cover so many labels. Pure.

        See `nystream.learners.auto_intervals.Intervals`. Infinite while too few rows have been seen.
        """
        positive("coverage", coverage, below=1.0)
        if self._classes or not self.d_:
            reason = "is for regression; classes have probabilities" if self._classes else "needs a row to be learnt"
            raise ValueError(f"predict_interval {reason}")
        X = as_block(X, self.d_, missing=True)
        P, half = np.empty((len(X), self.outputs_)), np.empty((len(X), self.outputs_))
        assert self.intervals_ is not None
        for i in range(0, len(X), BLOCK):
            part = slice(i, i + BLOCK)
            P[part], F = self._answer(X[part])
            half[part] = self.intervals_.half_width(F.std(axis=1) * self.scale_, coverage)
        return self._outward(P - half), self._outward(P + half)

    def explain(self) -> str:
        """What carries the prediction now, and why: a few lines of text."""
        return explanation(self)

    def _start(self, d: int, outputs: int) -> None:
        self.seed_ = self.seed if isinstance(self.seed, int) else int(generator(self.seed).integers(2**32))
        recipe = (self.recipe or Recipe()).within(bytes_of(self.memory), d, outputs)
        seconds = seconds_of(self.deadline)
        if seconds is not None:
            recipe = recipe.until(seconds, d, outputs)
        self.bank_ = Bank(recipe, codes=self._classes)
        self.bank_.start()
        self.stack_ = Stack(self._classes, self.lags)
        self.stack_.start(len(self.bank_.names), outputs)
        self.buffer_ = [Ring(recipe.warmup, width) for width in (d, 1 if self._classes else outputs, 1)]
        columns = 1 if self._classes else outputs
        self.shift_, self.scale_ = np.zeros(columns), np.ones(columns)
        self.low_, self.high_ = np.full(columns, np.inf), np.full(columns, -np.inf)
        self.intervals_ = None if self._classes else Intervals()
        if self.intervals_ is not None:
            self.intervals_.start(outputs)
        self.count_ = 0

    # -- one round ---------------------------------------------------------------------------------------------------
    def _predict(self, X: Array) -> Array:
        P = np.empty((len(X), self.outputs_))
        for i in range(0, len(X), BLOCK):
            P[i : i + BLOCK] = self._answer(X[i : i + BLOCK])[0]
        return P

    def _answer(self, X: Array) -> tuple[Array, Array]:
        """Predictions, and the experts' outputs (n, E, C) that they are made of."""
        low, high = self._bounds(self.low_[None], self.high_[None])
        F = self._scores(self.bank_.predict(X, self._inner), low, high)
        P = self.stack_.predict(F, self.shift_, self.scale_)
        return self._said(P, low, high), F

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        if weights is not None and not weights.all():
            return self._partly(X, Y, weights)
        P = np.empty((len(X), self.outputs_))
        row = 0
        while row < len(X):
            part = slice(row, min(len(X), row + BLOCK, row + self._until_event()))
            w = None if weights is None else weights[part]
            P[part] = self._rounds(X[part], Y[part], w)
            for ring, rows in zip(self.buffer_, (X[part], Y[part], w), strict=True):
                ring.extend(np.ones((part.stop - row, 1)) if rows is None else rows.reshape(part.stop - row, -1))
            self.count_ += part.stop - row
            self._event()
            row = part.stop
        return P

    def _partly(self, X: Array, Y: Array, weights: Array) -> Array:
        """Rows of weight 0 are predicted and leave no trace."""
        P = np.empty((len(X), self.outputs_))
        some = weights > 0
        cuts = [0, *(np.flatnonzero(some[1:] != some[:-1]) + 1).tolist(), len(X)]
        for i, j in pairwise(cuts):
            P[i:j] = self._run(X[i:j], Y[i:j], weights[i:j]) if some[i] else self._predict(X[i:j])
        return P

    def _rounds(self, X: Array, Y: Array, w: Array | None) -> Array:
        lows = np.minimum.accumulate(np.vstack([self.low_, Y if not self._classes else np.zeros((len(Y), 1))]))
        highs = np.maximum.accumulate(np.vstack([self.high_, Y if not self._classes else np.zeros((len(Y), 1))]))
        low, high = self._bounds(lows[:-1], highs[:-1])
        T = self._targets(Y)
        inner = (low, high) if not self._classes else (np.full((1, 1), -MARGIN), np.full((1, 1), MARGIN))
        F = self._scores(self.bank_.run(X, T, w, inner), low, high)
        P = self.stack_.run(F, self._codes(T), Y[:, 0], w, self.shift_, self.scale_)
        self.low_, self.high_ = lows[-1].copy(), highs[-1].copy()
        P = self._said(P, low, high)
        if self.intervals_ is not None:
            self.intervals_.learn(P - Y, F.std(axis=1) * self.scale_)
        return P

    # -- events ------------------------------------------------------------------------------------------------------
    @property
    def _warm(self) -> bool:
        return self.count_ >= self.bank_.recipe.warmup

    @property
    def _every(self) -> int:
        """Rows between refreshes: what they cost grows with columns and classes, so they are thinned there."""
        refresh = self.bank_.recipe.refresh
        return refresh if self.d_ * self.outputs_ <= MANY else THINNED * refresh

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
            if not self._classes:
                before = self.scale_
                self.shift_, self.scale_ = _location(Y)
                self.stack_.rescale(before / self.scale_)
            self.bank_.rebuild(X, self._targets(Y), w, np.random.default_rng([self.seed_, t]), last=self._warm)
            if self._warm:
                self.buffer_ = [ring.resized(recipe.ring) for ring in self.buffer_]
        elif self._warm and t % self._every == 0:
            X, Y, w = self._kept()
            self.bank_.refresh(X, self._targets(Y), w, np.random.default_rng([self.seed_, t]))

    def _kept(self) -> tuple[Array, Array, Array | None]:
        X, Y, w = (ring.rows for ring in self.buffer_)
        return X, Y, None if bool((w == 1.0).all()) else w[:, 0]

    # -- targets, scores, predictions --------------------------------------------------------------------------------
    @property
    def _inner(self) -> int:
        """Targets of the experts: for classes one that is always 1, then the codes."""
        return 1 + self.outputs_ if self._classes else self.outputs_

    def _targets(self, Y: Array) -> Array:
        if not self._classes:
            return (Y - self.shift_) / self.scale_
        T = np.full((len(Y), 1 + self.outputs_), -1.0)
        T[:, 0] = 1.0
        T[np.arange(len(Y)), 1 + Y[:, 0].astype(np.intp)] = 1.0
        return T

    def _codes(self, T: Array) -> Array:
        """The columns of targets or outputs that the stack sees, (n, ..., C)."""
        if not self._classes:
            return T
        return T[..., 2:] if self.outputs_ == 2 else T[..., 1:]

    def _scores(self, F: Array, low: Array, high: Array) -> Array:
        if self._classes:
            return np.clip(self._codes(F), -MARGIN, MARGIN)
        return np.clip(F, low[:, None], high[:, None])

    def _bounds(self, low: Array, high: Array) -> tuple[Array, Array]:
        """The range of targets so far and half of it to both sides, standardised; 0 before the first."""
        if self._classes:
            return low, high
        known = np.isfinite(low)
        low, high = np.where(known, low, 0.0), np.where(known, high, 0.0)
        more = (MARGIN - 1) * (high - low)
        return (low - more - self.shift_) / self.scale_, (high + more - self.shift_) / self.scale_

    def _said(self, P: Array, low: Array, high: Array) -> Array:
        if self._classes:
            return np.log(P)
        return np.clip(P, low, high) * self.scale_ + self.shift_

    # -- classes, columns ----------------------------------------------------------------------------------------------
    def _grow(self, outputs: int) -> None:
        combination = np.zeros((1 + self.outputs_, outputs - self.outputs_))
        combination[0] = -1.0
        self.bank_.add_outputs(combination)
        self.stack_.grow(outputs)

    def _widen(self, d: int) -> None:
        """New columns were 0 so far: predictions stay as they are, and the next rebuild or refresh counts them in."""
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
        return own + (0 if self.intervals_ is None else self.intervals_.nbytes)


def _location(Y: Array) -> tuple[Array, Array]:
    """Means and standard deviations of the targets; 1 for a constant one."""
    peak = np.abs(Y).max(axis=0)
    peak[peak == 0] = 1.0
    shift, scale = (Y / peak).mean(axis=0), (Y / peak).std(axis=0)
    scale[scale <= 1e-12] = 1.0 / peak[scale <= 1e-12]
    return peak * shift, peak * scale
