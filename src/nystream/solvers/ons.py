"""Online Newton step on explicit features: clipped predictions, logarithmic regret, exact blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from nystream._core.inputs import RowMap
from nystream._core.linear import Newton
from nystream.runtime.deferred import linalg
from nystream.runtime.types import Array
from nystream.solvers.factored import Factored
from nystream.solvers.newton import NewtonSolver

__all__ = ["ONS"]


class ONS(NewtonSolver):
    """Second-order descent with the metric A_t = lam I + sum_s eta_s g_s g_s' and predictions clipped to [-clip, clip].

    With A = A_{t-1} and u the weights before projection::

        ybar = u'z,  p = clip(ybar),  h = ybar - p,   s = z'A^-1 z,   dl = l'(y, p),  den = 1 + eta_t dl^2 s
        u <- u - (h/s + dl/den) A^-1 z       projection of u on |w'z| <= clip in the metric A, then -A_t^-1 g_t
        A <- A + eta_t dl^2 z z'

    With b = A u this is b <- b + (eta_t dl^2 p - dl - h/s) z: a round of weighted least squares whose weight and target
    depend on its own prediction. The state is therefore that of least squares, A = L D L' and q = D^-1 L^-1 b
    (`Factored`), which stays positive definite: one pass over L computes ybar and s, a second pass learns. A round with
    s = 0 (z = 0) learns nothing. `run` processes up to 16 rows per pass; between the passes their scalars are updated
    in the matrix Z A^-1 Z'. The numbers are those of `step` up to rounding. A block ends early if s falls a million
    times inside it, where rounding would matter.

    O(r^2) time per round and O(r^2) memory for r features; one output.

    Guarantee: for eta_t = sigma, the curvature of the loss on [-clip, clip], regret is at most
    (lam |w|^2 + sum_t g_t' A_t^-1 g_t) / 2 against every w with |w'z_t| <= clip, see `regret_bound`.

    Parameters
    ----------
    loss : str or Loss, default "squared"
        A loss of one score. Real labels should lie in [-clip, clip]. A label outside is learnt, but it voids the
        guarantee, with one warning.
    clip : float, default 1.0
        Bound on predictions. It must not be the kink of the loss: with clip = 1 rounding decides the hinge's
        subgradient.
    lam : float, default 1.0
        Ridge of the metric.
    eta : "auto" or float
        "auto" is sigma where sigma > 0, otherwise 1 / (L clip sqrt(t)) with L the Lipschitz constant of the loss.

    References
    ----------
    Hazan, Agarwal, Kale. Logarithmic regret algorithms for online convex optimization. Machine Learning 69, 2007.
    Luo, Agarwal, Cesa-Bianchi, Langford. Efficient second order online learning by sketching. NeurIPS 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from nystream.solvers import ONS
    >>> solver = ONS("squared", clip=2.0)
    >>> solver.start(dim=2, outputs=1)
    >>> Z = np.random.default_rng(0).uniform(-1, 1, size=(500, 2))
    >>> Y = Z @ [[1.0], [-0.5]]
    >>> P = solver.run(Z, Y)
    >>> bool(((P - Y) ** 2).sum() < solver.regret_bound(norm2=1.25))
    True
    """

    metric_: Factored
    """A = L D L' and b = A u."""
    _weights: Array | None = None  # u, computed by the first prediction

    @property
    def weights(self) -> Array:
        """The weights (dim, 1) before projection: predictions are clip(Z @ weights). O(dim^2) after a change."""
        if self._weights is None:
            self._weights = self._newton.weights()[:, None]
        return self._weights

    @property
    def matrix(self) -> Array:
        """The matrix A (dim, dim)."""
        return self.metric_.matrix

    @property
    def inverse(self) -> Array:
        """The inverse A^-1 (dim, dim). O(dim^3)."""
        roots = linalg.solve_triangular(self.metric_.factor, np.eye(self.metric_.dim_), lower=True, unit_diagonal=True)
        product: Array = roots.T @ (roots / self.metric_.pivots[:, None])
        return product

    def step(self, z: Array, y: Array, weight: float = 1.0) -> Array:
        if abs(y[0]) > self._limit:
            self._note_labels(y, stacklevel=4)
        p = self._newton.step(z, y, self.t_ + 1)
        self.t_ += 1
        self._weights = None
        return p

    def one(self, features: RowMap, x: Any, y: Any) -> float | None:
        t, limit = self.t_ + 1, self._limit
        if type(y) is not float or not -limit <= y <= limit:
            return None
        p = self._newton.one_mapped(features, x, y, t)
        if p is not None:
            self.t_, self._weights = t, None
        return p

    def run(self, Z: Array, Y: Array, weights: Array | None = None) -> Array:
        self._note_labels(Y, stacklevel=4)
        self._weights = None
        P = self._newton.run(Z, Y, self.t_ + 1)
        self.t_ += len(Z)
        return P

    def _sums(self) -> tuple[float, float]:
        return float(self.meter_[0]), float(self.meter_[2])

    def log_det(self) -> float:
        """Return log det(A_t / lam), accumulated round by round (over restarts, the sum)."""
        return float(self.meter_[1]) if self.t_ else 0.0

    @property
    def nbytes(self) -> int:
        return super().nbytes + self.metric_.nbytes

    def _reset(self, dim: int) -> None:
        self.metric_ = Factored(self.lam)
        self.metric_.start(dim, 1)
        self._bind()

    def _carry(self, T: Array) -> None:
        self.metric_.carry(T)
        self._bind()

    def _bind(self) -> None:
        A = self.metric_
        constants = (self.clip, self._step, self._scale, self._sigma)
        self._newton = Newton(self._loss, A.dim_, A.tiles_, A.dinv_, A.q_, self.meter_, *constants)
        self._weights = None
