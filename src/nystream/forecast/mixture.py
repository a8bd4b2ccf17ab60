"""The mixture: for each step ahead, weights of the members by their discounted squared errors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nystream.params import Params
from nystream.types import Array

__all__ = ["Mixture"]

FORGETTING = 0.999
"""What a past error keeps of its weight after each label."""
CLIP = 9.0
"""Squared errors count up to so many mean squared errors of the best member."""
TRUSTED = 50
"""Labels from which on the mean squared error is known well enough to clip."""
TINY = 1e-300


class Mixture(Params):
    """Exponential weights over K members, separately for each step: w proportional to exp(-rate (L - min L)/v).

    L is the discounted sum of a member's squared errors at that step, and v the mean squared error of the best one.

    Parameters
    ----------
    rate : float
        How fast weights leave members that err more.
    """

    def __init__(self, rate: float = 0.01) -> None:
        self.rate = rate

    def start(self, names: Sequence[str], horizon: int) -> None:
        members = len(names)
        self.losses_ = np.zeros((horizon, members))
        self.weights_ = np.full((horizon, members), 1 / members)
        self.counts_ = np.zeros(horizon)
        self.labels_ = 0

    def learn(self, forecasts: Array, y: float) -> None:
        """Learn from the forecasts (m, K) of a label that were made 1 to m rows ago."""
        m = len(forecasts)
        self.labels_ += 1
        if not m:
            return
        errors = (forecasts - y) ** 2
        losses, counts = self.losses_[:m], self.counts_[:m]
        if self.labels_ > TRUSTED:
            best = losses.min(axis=1) / np.maximum(counts, 1.0)
            errors = np.minimum(errors, CLIP * best[:, None] + TINY)
        losses *= FORGETTING
        losses += errors
        counts *= FORGETTING
        counts += 1
        least = losses.min(axis=1)
        excess = (losses - least[:, None]) / (least / counts + TINY)[:, None]
        weights = np.exp(np.maximum(-self.rate * excess, -50.0))
        self.weights_[:m] = weights / weights.sum(axis=1, keepdims=True)

    def combine(self, forecasts: Array) -> Array:
        """The forecast (H,) from those of the members (K, H)."""
        return np.einsum("hk,kh->h", self.weights_, forecasts)

    @property
    def nbytes(self) -> int:
        return self.losses_.nbytes + self.weights_.nbytes
