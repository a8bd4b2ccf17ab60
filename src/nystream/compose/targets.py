"""A wrapper that standardises targets with running statistics."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nystream.compose.wrapper import Wrapper
from nystream.explain import Reasons
from nystream.learners.base import Learner
from nystream.runtime.params import positive
from nystream.runtime.types import Array

__all__ = ["StandardizedTarget"]

LARGEST = 1e150
"""Targets are clipped to this, so that their squares are finite."""
TINY = 1e-300
"""Stands for a count of 0 in a quotient."""


class StandardizedTarget(Wrapper):
    """A wrapper that gives a learner standardised targets and scales its predictions back.

    For learners whose steps and bounds assume targets of unit scale: gradient steps, Newton steps with a clip,
    experts with a bound. Row t is predicted with the mean and the deviation of rows 1..t-1, and learnt with those of
    rows 1..t; stored points keep their scaling. A row of weight w counts w times.

    Parameters
    ----------
    learner : Learner
        A learner of real targets. It is cloned and never trained itself.
    bound : float, optional
        Standardised targets are clipped to this, e.g. the clip of the learner.

    Examples
    --------
    >>> import nystream
    >>> from nystream.compose.targets import StandardizedTarget
    >>> X, y = nystream.streams.sine(500, seed=0)
    >>> learner = nystream.FOGD(nystream.Gaussian(0.5), loss="squared", seed=0)
    >>> p = StandardizedTarget(learner).run(X, 1e6 + 1e3 * y)
    >>> bool(((p[250:] - 1e6 - 1e3 * y[250:]) ** 2).mean() < 0.5e6 * y.var())
    True
    """

    first_: Array
    count_: Array
    total_: Array
    spread_: Array

    def __init__(self, learner: Learner, bound: float | None = None) -> None:
        if learner.labels != "real":
            raise ValueError(f"{learner!r} does not learn numbers; only numbers have a scale")
        self.learner = learner
        self.bound = None if bound is None else positive("bound", bound)

    def why_not(self, ability: str) -> str | None:
        if ability in ("merge", "unlearn", "add_outputs") and self.learner.can(ability):
            return "the scaling of a target depends on the rows before it"
        if ability in ("regret", "regret_bound") and self.learner.can(ability):
            return "targets are scaled by running statistics, so losses have no common unit"
        return super().why_not(ability)

    def std(self, X: Any) -> Array:
        spread = super().std(X)
        return spread * self._moments[1] if self.d_ and spread.ndim == 2 else spread * self._scale

    def explain_row(self, row: Any) -> dict[str, float]:
        found = super().explain_row(row)
        mean, deviation = float(self._moments[0][0]), self._scale
        if isinstance(found, Reasons):
            return found.rescaled(deviation, mean)
        return {name: deviation * part for name, part in found.items()}

    @property
    def _moments(self) -> tuple[Array, Array]:
        """Return mean and deviation (K,) of the targets so far."""
        mean = self.first_ + self.total_ / np.maximum(self.count_, TINY)
        return np.where(self.count_ > 0, mean, 0.0), _deviation(self.spread_, self.count_)

    @property
    def _scale(self) -> float:
        return float(self._moments[1][0]) if self.d_ else 1.0

    def _shown(self, P: Array) -> Array:
        if not self.d_:
            return P
        mean, deviation = self._moments
        return mean + deviation * P if P.ndim == 2 else float(mean[0]) + float(deviation[0]) * P

    def _start(self, d: int, outputs: int) -> None:
        super()._start(d, outputs)
        self.first_, self.count_, self.total_, self.spread_ = (np.zeros(outputs) for _ in range(4))

    def _grow(self, outputs: int) -> None:
        raise TypeError("the number of targets cannot change")

    def _run(self, X: Array, Y: Array, weights: Array | None) -> Array:
        before = self.first_, self.count_, self.total_, self.spread_
        Z, mean, deviation = self._scaled(np.clip(Y, -LARGEST, LARGEST), weights)
        try:
            return mean + deviation * self.learner_.run_clean(X, Z, weights)
        except BaseException:  # rows of weight 0 do not count
            self.first_, self.count_, self.total_, self.spread_ = before
            raise

    def _step(self, x: Array, y: Array, weight: float) -> Array:
        if len(y) == 1 and self.count_[0] > 0 and abs(y[0]) <= LARGEST:
            return self._step_single(x, float(y[0]), weight)
        return self._run(x[None], y[None], None if weight == 1.0 else np.array([weight]))[0]

    def _step_single(self, x: Array, y: float, weight: float) -> Array:
        """Do a round of one target after the first, in numbers instead of arrays; bit for bit as `_run`."""
        first, count, total, spread = (float(a[0]) for a in (self.first_, self.count_, self.total_, self.spread_))
        u, mean, deviation = y - first, total / max(count, TINY), _deviation_of(spread, count)
        after, total = count + weight, total + weight * u
        spread += weight * ((u - mean) * (u - mean)) * (count / max(after, TINY))
        z = (u - total / max(after, TINY)) / _deviation_of(spread, after)
        if self.bound is not None:
            z = min(max(z, -self.bound), self.bound)
        p = self.learner_.step_clean(x, np.array([z]), weight)
        self.count_, self.total_, self.spread_ = np.array([after]), np.array([total]), np.array([spread])
        return (first + mean) + deviation * p

    def _scaled(self, Y: Array, weights: Array | None) -> tuple[Array, Array, Array]:
        """Count rows. Return targets scaled by the rows up to each, and mean and deviation (n, K) before each."""
        w = np.ones((len(Y), 1)) if weights is None else weights[:, None]
        if not self.count_.any():
            self.first_ = Y[0].copy()
        U = Y - self.first_
        counts = _running(self.count_, np.broadcast_to(w, Y.shape))
        totals = _running(self.total_, w * U)
        means = totals / np.maximum(counts, TINY)
        share = counts[:-1] / np.maximum(counts[1:], TINY)
        spreads = _running(self.spread_, w * (U - means[:-1]) ** 2 * share)
        deviations = _deviation(spreads, counts)
        self.count_, self.total_, self.spread_ = counts[-1].copy(), totals[-1].copy(), spreads[-1].copy()
        Z = (U - means[1:]) / deviations[1:]
        if self.bound is not None:
            Z = np.clip(Z, -self.bound, self.bound)
        centre = np.where(counts[:-1] > 0, self.first_ + means[:-1], 0.0)
        return np.ascontiguousarray(Z), centre, deviations[:-1]


def _deviation(spread: Array, count: Array) -> Array:
    return np.where(spread > 0, np.sqrt(spread / np.maximum(count, TINY)), 1.0)


def _deviation_of(spread: float, count: float) -> float:
    return math.sqrt(spread / max(count, TINY)) if spread > 0 else 1.0


def _running(start: Array, increments: Array) -> Array:
    """Return (n + 1, K) running sums: the start, then the sum after each row."""
    sums: Array = np.add.accumulate(np.vstack([start, increments]), axis=0)
    return sums
