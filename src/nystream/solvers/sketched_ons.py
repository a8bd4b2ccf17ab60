"""Online Newton step with a Frequent-Directions sketch for its metric: second order, linear in the features."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream._core.inputs import RowMap
from nystream._core.linear import Sketch
from nystream.losses import Loss
from nystream.runtime.params import at_least
from nystream.runtime.types import Array
from nystream.solvers.newton import NewtonSolver

__all__ = ["SketchedONS"]

GRADIENTS, EXCESS, LOST = range(3)
"""Entries of `meter_`; the compiled loop counts on this order."""
WIDTH, RANK, ROUNDS = range(3)
"""Entries of `counts_`: rows of E in use, directions of the sketch, rounds since the last change of basis."""


class SketchedONS(NewtonSolver):
    """`ONS` in the metric A_t = lam I + S_t'S_t, where S_t has fewer than `sketch` rows.

    S_t'S_t is the Frequent-Directions sketch of sum_s eta_s g_s g_s': each round adds eta g g' and, once there are
    ell = `sketch` eigenvalues, subtracts the smallest one from all. With u the weights before projection::

        ybar = u'z,  p = clip(ybar),  h = ybar - p,   v = A_{t-1}^-1 z,   w = u - (h / z'v) v,   g = l'(y, p) z
        S'S <- S'S + eta_t g g', minus its ell-th eigenvalue along its ell leading directions
        u <- w - A_t^-1 g

    These numbers are computed exactly, in amortised O(ell d + ell^3) time a round and O(ell d) memory for d features:
    between two changes of basis, ell + 1 rounds apart, all changes lie in the span of at most 2 ell orthonormal rows E,
    so a round takes a few passes over E and an eigenproblem in its coordinates. `run` and `step` give the same bits.

    Guarantee: A_t <= A_{t-1} + eta_t g_t g_t', so that the bound of `ONS` holds with this A_t. Sketching loses
    0 <= sum eta g g' - S'S <= `lost()` I, and lost() <= sum_{i>k} sigma_i^2 / (ell - k) for every k < ell, with sigma
    the singular values of the gradients. With ell above the rank of the features it is ONS itself.

    Parameters
    ----------
    loss, clip, lam, eta
        As in `ONS`.
    sketch : int, default 10
        ell, at least 2.

    References
    ----------
    Luo, Agarwal, Cesa-Bianchi, Langford. Efficient second order online learning by sketching. NeurIPS 2016. Liberty.
    Simple and deterministic matrix sketching. KDD 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.solvers import SketchedONS
    >>> solver = SketchedONS("squared", clip=2.0, sketch=3)
    >>> solver.start(dim=2, outputs=1)
    >>> Z = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
    >>> Y = Z @ [[1.0], [-0.5]]
    >>> P = solver.run(Z, Y)
    >>> bool(((P - Y) ** 2).sum() < solver.regret_bound(norm2=1.25)), solver.lost()
    (True, 0.0)
    """

    u_: Array
    E_: Array
    U_: Array
    values_: Array
    a_: Array
    counts_: np.typing.NDArray[np.int64]

    def __init__(
        self,
        loss: str | Loss = "squared",
        *,
        clip: float = 1.0,
        lam: float = 1.0,
        eta: str | float = "auto",
        sketch: int = 10,
    ) -> None:
        super().__init__(loss, clip=clip, lam=lam, eta=eta)
        self.sketch = at_least("sketch", sketch, 2)

    @property
    def weights(self) -> Array:
        """The weights (dim, 1) before projection: predictions are clip(Z @ weights)."""
        m = self.counts_[WIDTH]
        return (self.u_ + self.a_[:m] @ self.E_[:m])[:, None]

    @property
    def directions(self) -> Array:
        """The rows (k, dim) of S, orthogonal to each other, the shortest first."""
        m, k = self.counts_[WIDTH], self.counts_[RANK]
        return np.sqrt(self.values_[:k, None]) * (self.U_[:k, :m] @ self.E_[:m])

    @property
    def inverse(self) -> Array:
        """The inverse A^-1 (dim, dim)."""
        S = self.directions
        return (np.eye(len(self.u_)) - S.T @ (S / (self.lam + self.values_[: len(S), None]))) / self.lam

    def step(self, z: Array, y: Array, weight: float = 1.0) -> Array:
        return self.run(z[None], y[None])[0]

    def one(self, features: RowMap, x: Any, y: Any) -> float | None:
        t, limit = self.t_ + 1, self._limit
        if type(y) is not float or not -limit <= y <= limit:
            return None
        p = self._sketch.one_mapped(features, x, y, t)
        if p is not None:
            self.t_ = t
        return p

    def run(self, Z: Array, Y: Array, weights: Array | None = None) -> Array:
        self._note_labels(Y, stacklevel=4)
        P = self._sketch.run(Z, Y, self.t_ + 1)
        self.t_ += len(Z)
        return P

    def _sums(self) -> tuple[float, float]:
        return float(self.meter_[GRADIENTS]), float(self.meter_[EXCESS])

    def log_det(self) -> float:
        """Return log det(A_t / lam) of the present sketch."""
        return float(np.log1p(self.values_[: self.counts_[RANK]] / self.lam).sum()) if self.t_ else 0.0

    def lost(self) -> float:
        """Return the sum of the subtracted eigenvalues, a bound on the error of sum eta g g' in any direction."""
        return float(self.meter_[LOST]) if self.t_ else 0.0

    def _carry(self, T: Array) -> None:
        """Transform u <- T u, S <- S T'."""
        self._sketch.turn()
        u, E, k, values = self.u_, self.E_, self.counts_[RANK], self.values_
        self._reset(len(T))
        self.u_[:] = T @ u
        self.E_[:k] = E[:k] @ T.T
        np.fill_diagonal(self.U_[:k], 1.0)
        self.values_[:] = values
        self.counts_[:] = k, k, 0

    def _reset(self, dim: int) -> None:
        wide = min(2 * self.sketch, dim)
        self.u_ = np.zeros(dim)
        self.E_ = np.zeros((wide, dim))
        self.U_ = np.zeros((self.sketch, wide))
        self.values_ = np.zeros(self.sketch)
        self.a_ = np.zeros(wide)
        self.counts_ = np.zeros(3, dtype=np.int64)
        self._bind()

    def _bind(self) -> None:
        state = (self.u_, self.E_, self.U_, self.values_, self.a_, self.meter_, self.counts_)
        self._sketch = Sketch(self._loss, *state, self.clip, self.lam, self._step, self._scale, self._sigma)
