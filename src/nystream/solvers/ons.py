"""Online Newton step on explicit features: clipped predictions, logarithmic regret, exact blocks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.linalg import lapack

from nystream._core.ons import Newton
from nystream.losses import Loss, as_loss
from nystream.losses.steps import checked_eta, newton_steps, warn_if_on_kink, warn_of_label
from nystream.params import affordable, at_least, positive
from nystream.solvers.base import Solver
from nystream.types import Array, Change, LabelKind

__all__ = ["ONS"]

ORTHONORMAL = 1e-8
"""How far T'T may be from the identity in a change of basis that a second-order model can follow."""


class ONS(Solver):
    """Second-order descent with the metric A_t = lam I + sum_s eta_s g_s g_s' and predictions clipped to [-clip, clip].

    With P = A_{t-1}^-1 and u the weights before projection::

        ybar = u'z,  p = clip(ybar),  h = ybar - p,   v = P z,  s = z'v,   dl = l'(y, p),  den = 1 + eta_t dl^2 s
        u <- u - (h/s + dl/den) v            projection of u on |w'z| <= clip in the metric A, then -A_t^-1 g_t
        P <- P - (eta_t dl^2/den) v v'

    A round with s <= 0 (z = 0) learns nothing. `run` works on blocks of m = 32 rows: their scalars are followed in the
    m x m matrix Z P Z', and u and P are touched once per block, by matrix products; the same numbers as `step`, up to
    rounding.

    O(r^2) time per round and O(r^2) memory for r features; one output.

    Guarantee: for eta_t = sigma, the curvature of the loss on [-clip, clip], regret is at most
    (lam |w|^2 + sum_t g_t' A_t^-1 g_t) / 2 against every w with |w'z_t| <= clip, see `regret_bound`.

    Parameters
    ----------
    loss : str or Loss, default "squared"
        A loss of one score. Real labels are taken to lie in [-clip, clip]; one that does not is learnt all the same,
        but voids the guarantee (a warning says so once).
    clip : float, default 1.0
        Bound on predictions. Off the kink of the loss: with clip = 1 the hinge's subgradient is decided by rounding.
    lam : float, default 1.0
        Ridge of the metric.
    eta : "auto" or float
        "auto" is sigma where sigma > 0, otherwise 1 / (L clip sqrt(t)) with L the Lipschitz constant of the loss.
    refactor_every : int, default 0
        Keep A as well and recompute P from it after so many rounds; 0 never does. Worth it for lam below 1e-8 |z|^2.

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

    u_: Array
    P_: Array
    """A^-1, of which only the upper triangle is kept up to date; `inverse` is the whole matrix."""
    meter_: Array
    t_: int = 0
    restarts_: int = 0

    def __init__(
        self,
        loss: str | Loss = "squared",
        *,
        clip: float = 1.0,
        lam: float = 1.0,
        eta: str | float = "auto",
        refactor_every: int = 0,
    ) -> None:
        self.loss = loss
        self.clip = positive("clip", clip)
        self.lam = positive("lam", lam)
        self.eta = checked_eta(eta)
        self.refactor_every = at_least("refactor_every", refactor_every, 0)
        self._loss = as_loss(loss)
        if self._loss.multiclass:
            raise TypeError(
                f"ONS has one output, {self._loss.name} needs one per class; use a binary loss, one-vs-rest through "
                "nystream.sklearn.OnlineKernelClassifier"
            )
        self._sigma, self._step, self._scale, self._limit = newton_steps(self._loss, clip, eta)

    @property
    def labels(self) -> LabelKind:
        return self._loss.labels

    @property
    def weights(self) -> Array:
        """(dim, 1), before projection: predictions are clip(Z @ weights)."""
        return self.u_[:, None]

    @property
    def inverse(self) -> Array:
        """(dim, dim) A^-1."""
        return _symmetric(self.P_)

    def start(self, dim: int, outputs: int) -> None:
        if outputs != 1:
            raise ValueError(f"ONS has one output, got {outputs}")
        self.t_ = self.restarts_ = 0
        self.meter_ = np.zeros(3)
        self._reset(dim)
        warn_if_on_kink(self._loss, self.clip)

    def predict(self, Z: Array) -> Array:
        return np.clip(Z @ self.weights, -self.clip, self.clip)

    def step(self, z: Array, y: Array, weight: float = 1.0) -> Array:
        if abs(y[0]) > self._limit:
            self._warn_once()
        p = self._newton.step(z, y, self.t_ + 1)
        if self.refactor_every:
            self._advance(z[None], np.array([self._newton.gain]))
        else:
            self.t_ += 1
        return p

    def run(self, Z: Array, Y: Array, weights: Array | None = None) -> Array:
        if self._limit < math.inf and np.abs(Y).max(initial=0.0) > self._limit:
            self._warn_once()
        if not self.refactor_every:
            P = self._newton.run(Z, Y, self.t_ + 1)
            self.t_ += len(Z)
            return P
        P, row = np.empty((len(Z), 1)), 0
        while row < len(Z):  # blocks end where P is recomputed
            stop = min(len(Z), row + self.refactor_every - self.t_ % self.refactor_every)
            gains = np.empty(stop - row)
            P[row:stop] = self._newton.run(Z[row:stop], Y[row:stop], self.t_ + 1, gains)
            self._advance(Z[row:stop], gains)
            row = stop
        return P

    def regret_bound(self, norm2: float) -> float:
        """Bound on the regret so far against every w with |w|^2 <= norm2 and |w'z_t| <= clip in all rounds::

            1/2 [ lam norm2 + sum g' A_t^-1 g + sum (eta_t - sigma)_+ dl^2 (|p_t| + clip)^2 ]

        The last sum, which bounds (eta_t - sigma) (g'(w_t - w))^2, is 0 for eta_t = sigma. After restarts the first
        term counts once for each of them.
        """
        gradients, _, excess = self.meter_ if self.t_ else np.zeros(3)
        return float(0.5 * (self.lam * norm2 * (1 + self.restarts_) + gradients + excess))

    def log_det(self) -> float:
        """log det(A_t / lam), accumulated round by round (over restarts, the sum)."""
        return float(self.meter_[1]) if self.t_ else 0.0

    def rebase(self, change: Change, dim: int) -> None:
        """Follow T with orthonormal columns: u <- T u, P <- T P T' + (I - T T')/lam. None: u = 0, P = I/lam.

        A restart keeps the count of rounds (the step sizes go on) and the terms of the bound.
        """
        if change.transport is None:
            self.restarts_ += self.t_ > 0
            self._reset(dim)
            return
        T, old = change.transport, self._state()
        _check_orthonormal(T)
        self._reset(dim)
        self.u_[:] = T @ old["u_"]
        self.P_[:] = _carried(_symmetric(old["P_"]), T, 1 / self.lam)
        if self.refactor_every:
            self.A_[:] = _carried(old["A_"], T, self.lam)

    def _reset(self, dim: int) -> None:
        """u = 0 and A = lam I in R^dim."""
        affordable(8 * dim * dim, f"the metric of ONS on {dim} features", "use fewer features, or SketchedONS")
        self.u_ = np.zeros(dim)
        self.P_ = np.eye(dim) / self.lam
        if self.refactor_every:
            self.A_ = np.eye(dim) * self.lam
        self._bind()

    def _advance(self, Z: Array, gains: Array) -> None:
        """Count rounds; A += sum gain z z', and P anew from A when it is due."""
        self.t_ += len(Z)
        self.A_ += (Z * gains[:, None]).T @ Z
        if self.t_ % self.refactor_every == 0:
            factor, failed = lapack.dpotrf(self.A_)
            if not failed:  # A = lam I + a sum of squares: only overflow can make this fail, and then P is kept
                self.P_[:] = lapack.dpotri(factor)[0]

    def _warn_once(self) -> None:
        self._limit = math.inf
        warn_of_label(self.clip, stacklevel=3)

    def _bind(self) -> None:
        """Let the compiled loop work on the arrays of the state."""
        self._newton = Newton(
            self._loss, self.u_, self.P_, self.meter_, self.clip, self._step, self._scale, self._sigma
        )

    def _restore(self, state: dict[str, Any]) -> None:
        super()._restore(state)
        if "u_" in state:
            self._bind()


def _check_orthonormal(T: Array) -> None:
    if np.array_equal(T, np.eye(*T.shape)):
        return
    if np.abs(T.T @ T - np.eye(T.shape[1])).max() > ORTHONORMAL:
        raise TypeError("ONS can only follow a map whose transport has orthonormal columns; let it restart the solver")


def _carried(M: Array, T: Array, fresh: float) -> Array:
    """T M T' + fresh (I - T T'); O(r^2) when T appends coordinates, as nested Nystrom features do."""
    new, old = T.shape
    if np.array_equal(T, np.eye(new, old)):
        out = np.eye(new) * fresh
        out[:old, :old] = M
        return out
    return T @ M @ T.T + fresh * (np.eye(new) - T @ T.T)


def _symmetric(P: Array) -> Array:
    upper = np.triu(P)
    return upper + np.triu(upper, 1).T
