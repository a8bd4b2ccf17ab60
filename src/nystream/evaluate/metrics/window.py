"""Any metric over the last rows only."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream.evaluate.metrics.base import Direction, Input, Metric
from nystream.runtime.params import at_least
from nystream.runtime.types import Array, LabelKind

__all__ = ["Windowed"]


class Windowed(Metric):
    """`metric` over the last `size` rows (over all of them while there are fewer).

    Exact: the few numbers that the metric needs of each row are kept in a ring, and `value` is computed from the rows
    in it, so nothing is ever subtracted and nothing drifts. Memory O(size). `update` costs O(1) a row; `value` costs
    O(size) at the first reading after an update (O(size log size) for AUC), which is O(1) a row if it is read at most
    once every `size` rows.

    Parameters
    ----------
    metric : Metric
        Any metric but another `Windowed`.
    size : int
        Number of rows.

    Examples
    --------
    >>> from nystream.evaluate.metrics import MSE
    >>> Windowed(MSE(), 2).update([0.0, 0.0, 0.0], [9.0, 1.0, 3.0]).value
    5.0
    """

    name = "windowed"
    ring_: Array | None
    n_: int
    _value: float | None

    def __init__(self, metric: Metric, size: int) -> None:
        if not isinstance(metric, Metric) or isinstance(metric, Windowed):
            raise ValueError(f"metric must be a metric of labels and predictions that is not windowed, got {metric!r}")
        self.metric = metric
        self.size = at_least("size", size, 1)
        super().__init__()

    @property
    def direction(self) -> Direction | None:
        return self.metric.direction

    @property
    def takes(self) -> Input:
        return self.metric.takes

    @property
    def levels(self) -> tuple[float, ...]:
        return self.metric.levels

    @property
    def labels(self) -> tuple[LabelKind, ...]:
        return self.metric.labels

    @property
    def column(self) -> str:
        return f"{self.metric.column}@{self.size}"

    @property
    def value(self) -> float:
        if self._value is None:
            rows = self._rows()
            self._value = float("nan") if rows is None else self.metric._over(rows[:, 1:], rows[:, 0])
        return self._value

    def reset(self) -> None:
        self.ring_ = None
        self.n_ = 0
        self._value = None

    def _rows(self) -> Array | None:
        """Return weights and terms in order of arrival."""
        if self.ring_ is None:
            return None
        place = self.n_ % self.size
        return self.ring_[: self.n_] if self.n_ <= self.size else np.vstack((self.ring_[place:], self.ring_[:place]))

    def _terms(self, Y: Any, P: Any) -> Array:
        return self.metric._terms(Y, P)

    def _absorb(self, T: Array, w: Array) -> None:
        rows = np.column_stack((w, T))[-self.size :]
        if self.ring_ is None:
            self.ring_ = np.empty((self.size, rows.shape[1]))
        at = (self.n_ + len(T) - len(rows)) % self.size
        head = min(len(rows), self.size - at)
        self.ring_[at : at + head] = rows[:head]
        self.ring_[: len(rows) - head] = rows[head:]
        self.n_ += len(T)
        self._value = None

    def _over(self, T: Array, w: Array) -> float:
        return self.metric._over(T[-self.size :], w[-self.size :])
