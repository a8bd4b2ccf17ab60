"""A stream that a greedy adversary chooses against a learner."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from scipy.optimize import minimize

from nystream.runtime.deferred import linalg
from nystream.runtime.params import at_least, positive
from nystream.runtime.types import Array, Seed
from nystream.streams.in_memory import ArrayStream

__all__ = ["Adversary", "greedy_adversary"]


class Player(Protocol):
    """The protocol of a learner for the adversary: `predict` without changes, and `step`.

    `predict(X, ahead=1)` returns the predictions of the next row, those that `step` would make.
    """

    def predict(self, X: Any, ahead: int | None = None) -> Any: ...
    def step(self, x: Any, y: Any) -> Any: ...


class Adversary(ArrayStream):
    """The stream that an adversary chose, with the learner's predictions.

    Attributes
    ----------
    predictions : (n,) array
        The learner's predictions, made before the labels.
    regret : (n,) array
        After each round, the learner's cumulative squared loss minus that of batch kernel ridge regression on the
        rounds so far.
    """

    def __init__(self, X: Array, y: Array, predictions: Array, regret: Array) -> None:
        super().__init__(X, y, task="regression", name="greedy_adversary")
        self.predictions = predictions
        self.regret = regret


def greedy_adversary(
    learner: Player,
    n: int = 80,
    *,
    d: int = 5,
    kernel: Callable[[Array, Array], Array] | None = None,
    lam: float = 1.0,
    seed: Seed = 0,
) -> Adversary:
    """Play n rounds against a learner. Each row and label maximise its present regret.

    In round t, from a random start, L-BFGS-B maximises over (x_t, y_t) in [-1, 1]^(d + 1)::

        sum_{s<=t} (p_s - y_s)^2 - sum_{s<=t} (f_t(x_s) - y_s)^2

    where p_t is what the learner would predict at x_t and f_t is batch kernel ridge regression on the first t rounds.
    The learner then does the round with `step`. It is trained in place; pass a clone to keep the original.

    Cost: one `predict` of one row per evaluation, d + 2 evaluations per numerical gradient, plus O(t^2 + t d).

    Parameters
    ----------
    learner : object with pure `predict(X, ahead=1)` and `step(x, y)`
    n : int
        Rounds.
    d : int
        Inputs.
    kernel : function of two blocks, or None
        The kernel of the comparator; None: Gaussian with sigma = 1.
    lam : float
        Its ridge.
    seed : int, Generator or None

    References
    ----------
    Jezequel, Gaillard, Rudi. Efficient online learning with kernels for adversarial large scale problems. NeurIPS
    2019, arXiv:1902.09917 (the adversarial stream of its experiments).

    Examples
    --------
    >>> class Zero:
    ...     def predict(self, X, ahead=None):
    ...         return np.zeros(len(X))
    ...     def step(self, x, y):
    ...         return 0.0
    >>> X, y = greedy_adversary(Zero(), 3, d=1)
    >>> np.abs(y).tolist()
    [1.0, 1.0, 1.0]
    """
    at_least("n", n, 1)
    at_least("d", d, 1)
    positive("lam", lam)
    rng = np.random.default_rng(seed)
    ridge = _BatchRidge(kernel or _gaussian, n, d, lam)
    predictions, regret = np.empty(n), np.empty(n)
    lost = 0.0
    for t in range(n):
        start = rng.uniform(-1.0, 1.0, d + 1)
        best = minimize(_gain, start, (learner, ridge), method="L-BFGS-B", bounds=[(-1.0, 1.0)] * (d + 1)).x
        x, y = np.ascontiguousarray(best[:-1]), float(best[-1])
        predictions[t] = learner.step(x, y)
        lost += (predictions[t] - y) ** 2
        ridge.append(x, y)
        regret[t] = lost - ridge.loss()
    return Adversary(ridge.X, ridge.y, predictions, regret)


def _gain(point: Array, learner: Player, ridge: _BatchRidge) -> float:
    """Return the negative increase of the regret by a round, for a minimiser; past losses are constant."""
    x, y = point[:-1], float(point[-1])
    p = float(np.ravel(learner.predict(x[None], ahead=1))[0])
    return ridge.loss_with(x, y) - (p - y) ** 2


class _BatchRidge:
    """Squared training loss of kernel ridge regression, with a trial or appended point in O(t^2).

    The residuals are y - f(X) = lam a with a = (K + lam I)^{-1} y, so the loss is lam^2 |a|^2. With K + lam I = L L',
    u = L^{-1} y, and a further point with r = L^{-1} k, s^2 = k(x, x) + lam - r'r::

        a_new = (y - r'u) / s^2             a_old = L^{-T} (u - r a_new)
    """

    def __init__(self, kernel: Callable[[Array, Array], Array], n: int, d: int, lam: float) -> None:
        self.kernel, self.lam = kernel, lam
        self.X, self.y = np.empty((n, d)), np.empty(n)
        self.L, self.u = np.zeros((n, n)), np.empty(n)
        self.t = 0

    def loss(self) -> float:
        """Return the loss of the points so far."""
        a = linalg.solve_triangular(self.L[: self.t, : self.t], self.u[: self.t], lower=True, trans=1)
        return float(self.lam**2 * (a @ a))

    def loss_with(self, x: Array, y: float) -> float:
        """Return the loss with one more point."""
        r, s = self._border(x)
        new = (y - r @ self.u[: self.t]) / s**2
        old = self.u[: self.t] - r * new
        if self.t:
            old = linalg.solve_triangular(self.L[: self.t, : self.t], old, lower=True, trans=1)
        return float(self.lam**2 * (old @ old + new * new))

    def append(self, x: Array, y: float) -> None:
        """Append a point."""
        r, s = self._border(x)
        t = self.t
        self.X[t], self.y[t] = x, y
        self.u[t] = (y - r @ self.u[:t]) / s
        self.L[t, :t], self.L[t, t] = r, s
        self.t = t + 1

    def _border(self, x: Array) -> tuple[Array, float]:
        corner = float(self.kernel(x[None], x[None])[0, 0]) + self.lam
        if not self.t:
            return np.empty(0), math.sqrt(corner)
        k = self.kernel(self.X[: self.t], x[None])[:, 0]
        r: Array = linalg.solve_triangular(self.L[: self.t, : self.t], k, lower=True)
        return r, math.sqrt(corner - float(r @ r))  # at least lam: k(x, x) - r'r >= 0


def _gaussian(X: Array, Y: Array) -> Array:
    squared = ((X[:, None, :] - Y[None, :, :]) ** 2).sum(axis=2)
    values: Array = np.exp(-0.5 * squared)
    return values
