"""The mixture: for each step ahead, weights of the members by their discounted squared errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["Mixture"]


@dataclass(frozen=True)
class _Rules:
    """Chosen on the series of benchmarks/accuracy/forecast.py: the error of all rows, and the largest in the first."""

    window: float = 1000.0
    """Labels that errors are remembered for."""
    early: float = 3.0
    """After n labels the memory is n/3 of them, or n - `sure` if that is more: the first errors tell little."""
    sure: float = 100.0
    least_rate: float = 4.0
    """The exponent per unit of relative error is at least this: with few labels members are told apart as fast."""
    pooled: float = 50.0
    """A step that has n labels trusts the errors of all steps together for 50/(50 + n)."""
    clip: float = 9.0
    """Squared errors count up to so many mean squared errors of the best member."""
    trusted: int = 50
    """Labels from which on the mean squared error is known well enough to clip."""
    exact: float = 1e-9
    """Mean errors below this part of the label are those of rounding, as in constant labels: the next errors replace
    them."""
    farthest: float = 50.0
    """The largest exponent: no weight is 0."""
    tiny: float = 1e-300


RULES = _Rules()


class Mixture(Params):
    """Exponential weights over K members, separately for each step ahead, with members that may sleep.

    For each step, let M_k be the discounted mean of member k's squared errors over n labels, and v the least of them.
    Weights are proportional to exp(-max(rate n, 4) (M_k - v)/v). A member that gives no forecast (nan) sleeps: it
    counts as if it had forecast what the mixture did, and the others share its weight.

    Parameters
    ----------
    rate : float
        How fast weights leave members that err more.
    """

    def __init__(self, rate: float = 0.01) -> None:
        self.rate = rate

    def start(self, prior: Sequence[float], horizon: int, probation: int = 0) -> None:
        """Begin with weights proportional to `prior` at every step; it fades as the errors of a step get known.

        Members whose prior is 0 have no weight until they have forecast so many labels as `probation` says. Then their
        errors count in full, with a prior of 1. Where all are 0, all are 1.
        """
        given = np.asarray(prior, dtype=float)
        given = given if given.any() else np.ones(len(given))
        self.prior_ = np.log(np.where(given > 0, given, 1.0))
        self.needed_ = np.where(given > 0, 0, probation)
        self.awake_ = np.zeros(len(given), dtype=np.int64)
        self.losses_ = np.zeros((horizon, len(given)))
        self.weights_ = np.tile(given / given.sum(), (horizon, 1))
        self.counts_ = np.zeros(horizon)  # discounted as the losses are
        self.seen_ = np.zeros(horizon)
        self.labels_ = 0

    def learn(self, forecasts: Array, y: float) -> None:
        """Learn from the forecasts (m, K) of a label that were made 1 to m rows ago."""
        m = len(forecasts)
        self.labels_ += 1
        if not m:
            return
        errors, known = self._errors(forecasts, y)
        losses, counts, seen = self.losses_[:m], self.counts_[:m], self.seen_[:m]
        best = losses.min(axis=1) / np.maximum(counts, 1.0)
        floor = (RULES.exact * y) ** 2
        exact = best <= floor
        has_exact = exact.any()
        if self.labels_ > RULES.trusted:
            limit = RULES.clip * best
            errors = np.minimum(errors, (np.where(exact, np.inf, limit) if has_exact else limit)[:, None])
        seen += known
        kept = 1 - 1 / np.minimum(RULES.window, np.maximum(1 + seen / RULES.early, seen - RULES.sure))
        if has_exact:
            kept = np.where(exact & (errors.min(axis=1) > floor), 0.0, kept)
        losses *= kept[:, None]
        losses += errors
        counts *= kept
        counts += known
        means = losses / np.maximum(counts, 1.0)[:, None]
        least = means.min(axis=1) + RULES.tiny
        pooled = RULES.pooled / (RULES.pooled + seen)
        excess = means * ((1 - pooled) / least)[:, None] + pooled[:, None] * (means.sum(axis=0) / least.sum())
        excess -= excess.min(axis=1)[:, None]
        exponent = np.maximum(self.rate * counts, RULES.least_rate)[:, None] * excess
        weights = np.exp(pooled[:, None] * self.prior_ - np.minimum(exponent, RULES.farthest))
        weights *= self.awake_ >= self.needed_
        self.weights_[:m] = weights / weights.sum(axis=1)[:, None]
        self.weights_[m:] = self.weights_[m - 1]  # steps without a label so far take over the last one's

    def _errors(self, forecasts: Array, y: float) -> tuple[Array, Array | bool]:
        """Squared errors (m, K), and the steps at which not all members slept."""
        asleep = np.isnan(forecasts)
        if not asleep.any():
            self.awake_ += 1
            return np.square(forecasts - y), True
        mixed = self._weighted(self.weights_[: len(forecasts)], forecasts)
        self.awake_ += ~asleep.all(axis=0)
        errors = np.square(np.where(asleep, mixed[:, None], forecasts) - y)
        known = ~np.isnan(mixed)
        errors[~known] = 0.0
        return errors, known

    def combine(self, forecasts: Array) -> Array:
        """Combine the forecasts of the members (K, H) into one (H,); nan where no member has one."""
        return self._weighted(self.weights_, forecasts.T)

    @staticmethod
    def _weighted(weights: Array, forecasts: Array) -> Array:
        asleep = np.isnan(forecasts)
        if not asleep.any():
            return np.einsum("hk,hk->h", weights, forecasts)
        weights = np.where(asleep, 0.0, weights)
        total = weights.sum(axis=1)
        mixed = np.einsum("hk,hk->h", weights, np.where(asleep, 0.0, forecasts))
        return mixed / np.where(total > 0, total, np.nan)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that it holds."""
        return self.losses_.nbytes + self.weights_.nbytes
