"""Two generations predict as one: a mixture of the old one, the young one and a stack of both."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from nystream._core.auto.changes import fading_shares
from nystream.params import Params
from nystream.solvers.stacker import RidgeStacker, SoftmaxStacker
from nystream.types import Array

__all__ = ["Correction", "Handover"]

KEEP, RIDGE = 0.998, 1.0
"""Of the stack: what a row keeps of its weight from row to row, and what draws it to the young one."""
FIRST_AGE = 10
"""Shares begin as if so many rows had been mixed."""
RATE = 0.02
"""Of the running means of squared losses."""
TINY = 1e-300
LEAST = 1e-6
"""Probabilities below count as this in losses and in the stack."""


class Correction(RidgeStacker):
    """Least squares whose weights are drawn to 0: what is to be added to a prediction."""

    total: ClassVar[float] = 0.0


class Handover(Params):
    """Members are the old generation, the young one, and a stack of both whose weights move every 10 rows.

    Shares follow the members' losses (`nystream._core.auto.changes.fading_shares`), of every target by itself, of
    classes together. Predictions are those of `Auto`: targets, or logarithms of probabilities.

    Parameters
    ----------
    classes : bool
    """

    stack_: Correction | SoftmaxStacker
    shares_: Array
    """(G, 3)"""
    powers_: Array
    """(G, 3) running means of squared losses."""
    shift_: Array
    scale_: Array

    def __init__(self, classes: bool) -> None:
        self.classes = classes

    def start(self, labels: Array, outputs: int) -> None:
        """The last labels (n, K) tell the scale of targets; of classes they are not looked at."""
        groups = 1 if self.classes else outputs
        self.stack_ = SoftmaxStacker([(KEEP, RIDGE)]) if self.classes else Correction([(KEEP, RIDGE)])
        self.stack_.start(2, outputs)
        self.shares_ = np.full((groups, 3), 1 / 3)
        self.powers_ = np.full((groups, 3), np.nan)
        self.shift_, self.scale_ = np.zeros(outputs), np.ones(outputs)
        if not self.classes:
            self.shift_, deviation = labels.mean(axis=0), labels.std(axis=0)
            self.scale_ = np.where(deviation > 0, deviation, 1.0)
        self.age_ = FIRST_AGE

    def run(self, old: Array, young: Array, Y: Array, weights: Array | None) -> tuple[Array, Array]:
        """Predictions (n, K) before each label in Y (n, K) or (n, 1), and what the old one carried of them (n, G)."""
        if not len(Y):
            return old, np.empty((0, len(self.shares_)))
        if self.classes:
            labels = np.ascontiguousarray(Y[:, 0])
            members = self._classes(old, young, self.stack_.run(self._scores(old, young), labels, weights))
            right = np.take_along_axis(members, labels.astype(np.intp)[:, None, None], axis=2)
            losses, rate = -np.log(np.maximum(right, LEAST)).transpose(0, 2, 1), 0.0
        else:
            A, B, T = ((V - self.shift_) / self.scale_ for V in (old, young, Y))
            inputs = np.stack([A, B], axis=1)
            members = np.stack([A, B, B + self.stack_.run(inputs, T - B, weights)[:, 0]], axis=1)
            losses, rate = ((members - T[:, None]) ** 2).transpose(0, 2, 1), RATE
        shares = fading_shares(np.ascontiguousarray(losses), self.shares_, self.powers_, self.age_, rate, weights)
        self.age_ += len(Y)
        return self._mixed(members, shares), _of_old(shares)

    def predict(self, old: Array, young: Array) -> tuple[Array, Array]:
        """The same for rows whose labels are not known. Pure."""
        if self.classes:
            members = self._classes(old, young, self.stack_.predict(self._scores(old, young)))
        else:
            A, B = ((V - self.shift_) / self.scale_ for V in (old, young))
            members = np.stack([A, B, B + self.stack_.predict(np.stack([A, B], axis=1))[:, 0]], axis=1)
        shares = np.broadcast_to(self.shares_, (len(old), *self.shares_.shape))
        return self._mixed(members, shares), _of_old(shares)

    def carried(self) -> float:
        """The part of the next prediction that is the old generation's, the mean over targets.

        Its own share, and its part of the stack's by the sizes of the stack's weights.
        """
        weights = self.stack_.weights_[:, :2] if self.classes else self.stack_.weights_[0] + (0.0, 1.0)
        sizes = np.abs(weights)
        part = sizes[:, 0] / np.maximum(sizes.sum(axis=1), TINY)
        return float((self.shares_[:, 0] + part * self.shares_[:, 2]).mean())

    def grow(self, outputs: int) -> None:
        """More classes."""
        assert isinstance(self.stack_, SoftmaxStacker)
        self.stack_.grow(outputs)
        self.shift_, self.scale_ = np.zeros(outputs), np.ones(outputs)

    def _mixed(self, members: Array, shares: Array) -> Array:
        """Members (n, 3, K) by shares (n, G, 3)."""
        if self.classes:
            return np.log((shares[:, 0, :, None] * members).sum(axis=1))
        return (shares.transpose(0, 2, 1) * members).sum(axis=1) * self.scale_ + self.shift_

    def _scores(self, old: Array, young: Array) -> Array:
        F = 0.5 * np.maximum(np.stack([old, young], axis=1), np.log(LEAST))
        return F[..., 1:] - F[..., :1] if F.shape[2] == 2 else F - F.mean(axis=2, keepdims=True)

    def _classes(self, old: Array, young: Array, stacked: Array) -> Array:
        return np.concatenate([np.exp(old)[:, None], np.exp(young)[:, None], stacked], axis=1)

    @property
    def nbytes(self) -> int:
        return self.stack_.nbytes + 2 * self.shares_.nbytes + 2 * self.shift_.nbytes


def _of_old(shares: Array) -> Array:
    """(n, G): what the old one carries of a row, half of the stack for it."""
    return shares[..., 0] + 0.5 * shares[..., 2]
