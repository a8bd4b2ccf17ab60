"""The mixture: for each step ahead, weights of the members by their discounted squared errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nystream.runtime.params import Params
from nystream.runtime.types import Array

__all__ = ["Mixture"]

WINDOW = 1000.0
"""Labels that errors are remembered for."""
EARLY, SURE = 3.0, 100.0
"""After n labels the memory is n/3 of them, or n - 100 if that is more: the first errors tell little of later ones."""
LEAST_RATE = 4.0
"""The exponent per unit of relative error is at least this: with few labels members are told apart as fast."""
POOLED = 20.0
"""A step that has n labels trusts the errors of all steps together for 20/(20 + n)."""
CLIP = 9.0
"""Squared errors count up to so many mean squared errors of the best member."""
TRUSTED = 50
"""Labels from which on the mean squared error is known well enough to clip."""
TINY = 1e-300


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

    def start(self, prior: Sequence[float], horizon: int) -> None:
        """Begin with weights proportional to `prior` at every step; it fades as the errors of a step get known."""
        k = len(prior)
        self.prior_ = np.log(np.asarray(prior, dtype=float))
        self.losses_ = np.zeros((horizon, k))
        self.weights_ = np.tile(np.asarray(prior, dtype=float) / sum(prior), (horizon, 1))
        self.counts_ = np.zeros(horizon)  # discounted as the losses are
        self.seen_ = np.zeros(horizon)
        self.labels_ = 0

    def learn(self, forecasts: Array, y: float) -> None:
        """Learn from the forecasts (m, K) of a label that were made 1 to m rows ago."""
        m = len(forecasts)
        self.labels_ += 1
        if not m:
            return
        mixed = self._weighted(self.weights_[:m], forecasts)
        errors = (np.where(np.isnan(forecasts), mixed[:, None], forecasts) - y) ** 2
        known = ~np.isnan(mixed)  # steps at which not all members slept
        if not known.all():
            errors[~known] = 0.0
        losses, counts, seen = self.losses_[:m], self.counts_[:m], self.seen_[:m]
        if self.labels_ > TRUSTED:
            best = losses.min(axis=1) / np.maximum(counts, 1.0)
            errors = np.minimum(errors, CLIP * best[:, None] + TINY)
        seen += known
        kept = 1 - 1 / np.minimum(WINDOW, np.maximum(1 + seen / EARLY, seen - SURE))
        losses *= kept[:, None]
        losses += errors
        counts *= kept
        counts += known
        means = losses / np.maximum(counts, 1.0)[:, None]
        least = means.min(axis=1) + TINY
        pooled = POOLED / (POOLED + seen)
        excess = means * ((1 - pooled) / least)[:, None] + pooled[:, None] * (means.sum(axis=0) / least.sum())
        excess -= excess.min(axis=1)[:, None]
        exponent = np.maximum(self.rate * counts, LEAST_RATE)[:, None] * excess
        weights = np.exp(pooled[:, None] * self.prior_ - np.minimum(exponent, 50.0))
        self.weights_[:m] = weights / weights.sum(axis=1)[:, None]
        self.weights_[m:] = self.weights_[m - 1]  # steps without a label so far take over the last one's

    def combine(self, forecasts: Array) -> Array:
        """The forecast (H,) from those of the members (K, H); nan where all of them sleep."""
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
