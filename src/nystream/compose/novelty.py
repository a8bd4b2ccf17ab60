"""Novelty detection with any learner: the default learner, the margin of a learner, and a threshold from its scores."""

from __future__ import annotations

import bisect
import math
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy as np

from nystream.compose.standardized import Standardized
from nystream.kernels.gaussian import Gaussian
from nystream.learners.base import Learner
from nystream.learners.ilk import SILK
from nystream.runtime.types import Array

__all__ = ["RecentQuantile", "adapts", "checked_novelty", "default_novelty", "margin"]

WIDTH = 0.3
"""Width of the default kernel, times sqrt(d): standardised rows are about sqrt(2 d) apart."""


def default_novelty(d: int) -> Learner:
    """Return the default learner for rows of d columns: SILK on running-standardised inputs.

    Gaussian(0.3 sqrt(d)), C = 0.05, tau = 0.001, 200 stored points: O(200 d) per row.
    """
    kernel = Gaussian(WIDTH * math.sqrt(d))
    return Standardized(SILK(kernel, loss="novelty", C=0.05, tau=1e-3, budget=200))


def checked_novelty(learner: Any) -> Learner:
    """Return the learner, or raise an error if it needs labels."""
    if not isinstance(learner, Learner):
        raise TypeError(f"learner must be a nystream learner or None, got {learner!r}")
    if learner.labels != "none":
        raise ValueError(f"learner={learner!r} learns from labels; novelty detection takes loss='novelty'")
    return learner


def adapts(learner: Learner) -> bool:
    """Return whether the learner adapts its margin, which a share nu of the rows violates."""
    return learner.level is not None


def margin(learner: Learner) -> float:
    """Return the score that known inputs should reach: the adapted margin, or the rho of the loss."""
    if learner.level is not None:
        return learner.level
    loss = learner.objective
    return 1.0 if loss is None or loss.margin is None else loss.margin


class RecentQuantile:
    """A running quantile of the last `size` numbers, defined as in `numpy.quantile`.

    O(log size) comparisons and one move of at most `size` numbers for each new one.

    Examples
    --------
    >>> from nystream.compose.novelty import RecentQuantile
    >>> recent = RecentQuantile(0.5, size=3)
    >>> recent.passed([1.0, 5.0, 3.0, 4.0]).tolist(), recent.value
    ([inf, 1.0, 3.0, 3.0], 4.0)
    """

    def __init__(self, share: float, size: int = 1000) -> None:
        self.share, self.size = share, size
        self._order: deque[float] = deque()
        self._sorted: list[float] = []

    @property
    def value(self) -> float:
        """The quantile; infinity before the first number."""
        if not self._sorted:
            return math.inf
        place = self.share * (len(self._sorted) - 1)
        low = self._sorted[int(place)]
        high = self._sorted[min(int(place) + 1, len(self._sorted) - 1)]
        return low + (place - int(place)) * (high - low)

    @property
    def numbers(self) -> list[float]:
        """The last numbers in order; `passed` on a new quantile with them gives this one."""
        return list(self._order)

    def passed(self, numbers: Iterable[float]) -> Array:
        """Add numbers in order. Return the quantile before each."""
        before = []
        for number in numbers:
            before.append(self.value)
            if len(self._order) == self.size:
                del self._sorted[bisect.bisect_left(self._sorted, self._order.popleft())]
            self._order.append(float(number))
            bisect.insort(self._sorted, float(number))
        return np.array(before)
