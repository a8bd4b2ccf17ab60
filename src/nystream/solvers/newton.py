"""The base class of online Newton steps: constants of the loss, clipping, restarts and changes of basis."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from nystream.losses import Loss, as_loss
from nystream.losses.label_bound import LabelBound
from nystream.losses.steps import checked_eta, newton_steps, warn_if_on_kink
from nystream.runtime.params import positive
from nystream.runtime.types import Array, Change, LabelKind
from nystream.solvers.base import Solver

__all__ = ["NewtonSolver"]

ORTHONORMAL = 1e-8
"""How far T'T may be from the identity in a change of basis that a second-order model can follow."""


class NewtonSolver(LabelBound, Solver):
    """Online Newton step: weights u, predictions clip(u'z), and a metric that starts as lam I.

    Subclasses keep the metric: `_reset` makes it lam I and u = 0, `_carry` follows an isometry of the features, `_bind`
    ties the compiled loop to the arrays of both.

    Parameters
    ----------
    loss, clip, lam, eta
        As in `ONS`.
    """

    meter_: Array
    """(3,) sums over the rounds."""
    t_: int = 0
    restarts_: int = 0

    def __init__(
        self, loss: str | Loss = "squared", *, clip: float = 1.0, lam: float = 1.0, eta: str | float = "auto"
    ) -> None:
        self.loss = loss
        self.clip = positive("clip", clip)
        self.lam = positive("lam", lam)
        self.eta = checked_eta(eta)
        self._loss = as_loss(loss)
        if self._loss.multiclass:
            raise TypeError(
                f"{type(self).__name__} has one output, {self._loss.name} needs one per class; use a binary loss, "
                "one-vs-rest through nystream.sklearn.OnlineKernelClassifier"
            )
        self._sigma, self._step, self._scale, self._most = newton_steps(self._loss, clip, eta)[:4]

    @property
    def _label_bound(self) -> float:
        return self._most

    @property
    def labels(self) -> LabelKind:
        return self._loss.labels

    @property
    def weights(self) -> Array:
        """The weights (dim, 1) before projection: predictions are clip(Z @ weights)."""
        raise NotImplementedError

    def start(self, dim: int, outputs: int) -> None:
        if outputs != 1:
            raise ValueError(f"{type(self).__name__} has one output, got {outputs}")
        self.t_ = self.restarts_ = 0
        self.void_ = False
        self.meter_ = np.zeros(3)
        self._reset(dim)
        warn_if_on_kink(self._loss, self.clip)

    def predict(self, Z: Array) -> Array:
        return np.clip(Z @ self.weights, -self.clip, self.clip)

    def rebase(self, change: Change, dim: int) -> None:
        """Follow T with orthonormal columns: u <- T u, A <- T A T' + lam (I - T T'). None: u = 0, A = lam I.

        A restart keeps the count of rounds (the step sizes go on) and the terms of the bound.
        """
        T = change.transport
        if T is None:
            self.restarts_ += self.t_ > 0
            self._reset(dim)
            return
        if not np.array_equal(T, np.eye(*T.shape)) and np.abs(T.T @ T - np.eye(T.shape[1])).max() > ORTHONORMAL:
            raise TypeError(
                f"{type(self).__name__} can only follow a map whose transport has orthonormal columns; let it restart "
                "the solver"
            )
        self._carry(T)

    def regret_bound(self, norm2: float) -> float:
        """Return a bound on the regret so far against every w with |w|^2 <= norm2 and |w'z_t| <= clip in all rounds::

            1/2 [ lam norm2 + sum g' A_t^-1 g + sum (eta_t - sigma)_+ dl^2 (|p_t| + clip)^2 ]

        The last sum, which bounds (eta_t - sigma) (g'(w_t - w))^2, is 0 for eta_t = sigma. After restarts the first
        term counts once for each of them. Infinite once a real label of a curved loss was beyond clip.
        """
        return float(sum(self.bound_terms(norm2)))

    def log_det(self) -> float:
        """Return log det(A_t / lam)."""
        raise NotImplementedError

    def bound_terms(self, norm2: float) -> tuple[float, float, float]:
        """Return 1/2 lam norm2 (also per restart), 1/2 sum g' A_t^-1 g, and half the cost of steps above sigma.

        The last is infinite once a label was beyond `clip`: the loss is not as curved there as the steps assume.
        """
        gradients, excess = self._sums() if self.t_ else (0.0, 0.0)
        ridge = 0.5 * self.lam * norm2 * (1 + self.restarts_)
        if self.void_ or math.isnan(gradients + excess):  # or sums exceeded the range of double precision
            return ridge, 0.0, math.inf
        return ridge, 0.5 * gradients, 0.5 * excess

    def _sums(self) -> tuple[float, float]:
        """Return sum g' A_t^-1 g, and sum (eta_t - sigma)_+ dl^2 (|p_t| + clip)^2."""
        raise NotImplementedError

    def _reset(self, dim: int) -> None:
        """Set u = 0 and A = lam I in R^dim."""
        raise NotImplementedError

    def _carry(self, T: Array) -> None:
        """Transform u <- T u, A <- T A T' + lam (I - T T')."""
        raise NotImplementedError

    def _bind(self) -> None:
        """Connect the compiled code to the arrays of the state."""
        raise NotImplementedError

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if "meter_" in state:
            self._bind()
