"""The base class of metrics, whose values do not depend on the block sizes."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np

from nystream.data.inputs import as_weights
from nystream.runtime.params import Params
from nystream.runtime.types import Array, LabelKind

__all__ = ["Direction", "Input", "Mean", "Metric", "running_sum"]

Direction: TypeAlias = Literal["lower", "higher"]
"""Whether lower or higher values are better."""

Input: TypeAlias = Literal["prediction", "probability", "quantile"]
"""The input of a metric."""


class Metric(Params):
    """A number that summarises labels and predictions, over all rows so far.

    Labels and predictions follow the learners' conventions: real targets (n,) or (n, K); -1/+1 with scores (n,)
    whose sign decides (0 decides for +1); classes 0..K-1 with scores (n, K) whose largest decides (the smallest index
    on ties). Where a value is not defined (no rows, or only one class) it is NaN.

    Subclasses implement `_terms`, which checks a block and reduces each of its rows to the few numbers that the metric
    needs, `_absorb`, which takes such rows in, `reset` and `value`. Sums are taken row by row, so that a stream gives
    the same bits in blocks of any size.
    """

    name: ClassVar[str]

    def __init__(self) -> None:
        self.reset()

    @property
    def direction(self) -> Direction | None:
        """Whether lower or higher values are better; None: neither."""
        return "lower"

    @property
    def takes(self) -> Input:
        """The input: raw predictions; probabilities P(y = +1) (n,), or of each class (n, K); or quantiles."""
        return "prediction"

    @property
    def levels(self) -> tuple[float, ...]:
        """The levels of quantiles, in the last axis of the input."""
        return ()

    @property
    def labels(self) -> tuple[LabelKind, ...]:
        """Kinds of labels of the learners that the metric supports."""
        return ("real", "sign", "class", "none")

    @property
    def column(self) -> str:
        """Name in tables and files."""
        return self.name

    @property
    def value(self) -> float:
        """The metric over the rows taken in since the start or the last `reset`."""
        raise NotImplementedError

    def reset(self) -> None:
        """Remove all rows."""
        raise NotImplementedError

    def update(self, Y: Any, P: Any, weights: Any = None) -> Self:
        """Add a block: labels Y, predictions P, and optional weights (n,)."""
        T = self._terms(Y, P)
        self._absorb(T, _ones_or(weights, len(T)))
        return self

    def observe(self, Y: Any) -> None:
        """Add labels of rows before the first counted row, which baselines use."""

    def over(self, Y: Any, P: Any, weights: Any = None) -> float:
        """Return the metric over these rows only, without a change."""
        T = self._terms(Y, P)
        return self._over(T, _ones_or(weights, len(T)))

    def _terms(self, Y: Any, P: Any) -> Array:
        """Return the terms (n, q) of each row, or raise a ValueError."""
        raise NotImplementedError

    def _absorb(self, T: Array, w: Array) -> None:
        raise NotImplementedError

    def _over(self, T: Array, w: Array) -> float:
        fresh = self.clone()
        fresh._absorb(T, w)
        return fresh.value


class Mean(Metric):
    """A metric that is the weighted mean of one number per row."""

    totals_: Array

    @property
    def value(self) -> float:
        weight, total = self.totals_
        return float(total / weight) if weight > 0 else float("nan")

    def reset(self) -> None:
        self.totals_ = np.zeros(2)

    def _absorb(self, T: Array, w: Array) -> None:
        self.totals_ = running_sum(self.totals_, np.column_stack((w, w * T[:, 0])))


def running_sum(totals: Array, rows: Array) -> Array:
    """Add the rows (n, q) to totals (q,) one by one, so that block sizes do not change a bit."""
    sums = np.empty((len(totals), len(rows) + 1))
    sums[:, 0], sums[:, 1:] = totals, rows.T
    with np.errstate(over="ignore", invalid="ignore"):  # a learner that diverged is reported as inf or NaN, not raised
        np.add.accumulate(sums, axis=1, out=sums)
    return sums[:, -1].copy()


def _ones_or(weights: Any, n: int) -> Array:
    w = None if weights is None else as_weights(weights, n)
    return np.ones(n) if w is None else w
