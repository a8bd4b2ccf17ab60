"""Auto: the learner that needs no parameter on any stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from nystream.auto.bank import Bank
from nystream.auto.clock import in_time
from nystream.auto.explain import ByColumn, explanation
from nystream.auto.intervals import Intervals
from nystream.auto.quantities import bytes_of, seconds_of
from nystream.auto.recipe import Recipe
from nystream.auto.rounds import Rounds
from nystream.auto.stack import Stack
from nystream.auto.tables import seconds_to_translate, translator_for
from nystream.auto.targets import Targets
from nystream.encoding.columns import NUMERIC
from nystream.learners.families.tabular import Opening
from nystream.params import boolean, one_of, positive
from nystream.scaling.ring import Ring
from nystream.seeds import checked_seed, generator
from nystream.sparse_rows import NARROW
from nystream.types import Array, LabelKind, Seed

__all__ = ["Auto"]

LABELS = "the last labels"
"""The name under which `weights` adds up the label lags."""
TINY = 1e-300
"""In place of a sum that is 0."""


class Auto(ByColumn, Rounds):
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

    def why_not(self, ability: str) -> str | None:
        if ability in ("importance", "explain_row") and self.translator_ is not None:
            return "rows of tables and sparse rows are explained by `Model`, which knows their columns"
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
        X = self._accepted(X)
        return np.exp(self._predict(X)) if self.d_ else np.full((len(X), self.outputs_), 1 / self.outputs_)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> tuple[Array, Array]:
        """Ends (n,), or (n, K) for several targets, of intervals around predictions that cover so many labels. Pure.

        See `nystream.auto.intervals.Intervals`. Infinite while too few rows have been seen.
        """
        self._require("predict_interval")
        positive("coverage", coverage, below=1.0)
        if not self.d_:
            raise ValueError("predict_interval needs a row to be learnt")
        X = self._accepted(X)
        P, half = np.empty((len(X), self.outputs_)), np.empty((len(X), self.outputs_))
        assert self.intervals_ is not None
        rows = self._rows
        for i in range(0, len(X), rows):
            part = slice(i, i + rows)
            P[part], F = self._answer(X[part])
            half[part] = self.intervals_.half_width(self.stack_.disagreement(F) * self._scale, coverage)
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
        named = dict(zip(self.titles(), shares, strict=False))
        return named | ({LABELS: sum(shares[len(named) :])} if self.lags else {})

    def titles(self) -> list[str]:
        """For people: the experts whose outputs are combined, in order; those of sparse rows are last."""
        sparse = [] if self.translator_ is None else self.translator_.titles
        return [*self.bank_.titles(self._dense).values(), *sparse]

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

        Predictions for rows without them stay as they are, to the last bit: the dense experts, whose landmarks may be
        frozen, do not see them, the sparse experts learn them.
        """
        if self.kinds_ is None:
            raise TypeError("there were no rows with named columns so far; use widen(d), or begin with such rows")
        if self.translator_ is not None:
            self.translator_.widen(kinds, columns=False)
        else:
            other = [name for name, kind in kinds.items() if kind not in NUMERIC]
            if other:
                raise TypeError(f"all columns so far are numbers, and {other[0]!r} is a {kinds[other[0]]}: begin anew")
            self._widen_dense(self.d_ + len(kinds), self.d_)
        self.kinds_ = {**self.kinds_, **kinds}
        self.d_ += len(kinds)

    # -- starting ----------------------------------------------------------------------------------------------------
    def _start(self, d: int, outputs: int) -> None:
        self.seed_ = self.seed if isinstance(self.seed, int) else int(generator(self.seed).integers(2**32))
        self.kinds_ = dict(self._first) if isinstance(self._first, Mapping) else None
        numeric = self.kinds_ is not None and all(kind in NUMERIC for kind in self.kinds_.values())
        self.translator_ = None
        if self._first is not None and not numeric:
            self.translator_ = translator_for(self.kinds_, outputs, bytes_of(self.memory), classes=self._classes)
            d = self.translator_.width
        self.stack_ = Stack(self._classes, self.lags)
        self.sized_ = recipe = self._sized(d, outputs)
        self.bank_ = Bank(recipe, codes=self._classes)
        self.bank_.start()
        more = 0 if self.translator_ is None else len(self.translator_.titles)
        self.stack_.start(len(self.bank_.names), outputs, more, aside=int("change" in self.bank_.names))
        self.buffer_ = [Ring(recipe.warmup, width) for width in (d, 1 if self._classes else outputs, 1)]
        self.targets_, self.intervals_ = None, None
        if not self._classes:
            self.targets_, self.intervals_ = Targets(outputs), Intervals()
            self.targets_.start()
            self.intervals_.start(outputs)
        self.count_ = 0

    def _sized(self, d: int, outputs: int) -> Recipe:
        """The recipe that fits the budgets."""
        recipe = (self.recipe or Recipe()).suited(d, forecasts=self.lags and not self._classes)
        recipe, seconds = self._affordable(recipe, d, outputs), seconds_of(self.deadline)
        if seconds is None:
            return recipe
        beside = 0.0 if self.translator_ is None else seconds_to_translate(self.kinds_, outputs)
        return in_time(recipe, seconds, d, outputs, beside)

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
        return own + (0 if self.translator_ is None else self.translator_.nbytes)
