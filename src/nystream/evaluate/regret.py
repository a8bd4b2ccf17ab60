"""Best functions in hindsight of a finished stream, regret against them, and dimensions of its inputs."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from nystream.data.inputs import as_block, as_labels
from nystream.features.base import FeatureMap
from nystream.kernels.base import Kernel
from nystream.losses import Loss, Squared, as_loss
from nystream.runtime.params import positive
from nystream.runtime.types import Array
from nystream.solvers.awv import AWV

__all__ = ["Comparator", "Hindsight"]

MOST = 10_000
"""Rows up to which a Gram matrix is decomposed; it takes n^2 numbers and O(n^3) time."""
ITERATIONS = 200
"""Newton steps, a few of which are enough for a smooth loss."""
EXACT = 1e-12
"""Newton stops where a step would gain less than this share of the objective."""


@dataclass(frozen=True)
class Comparator:
    """A function chosen in hindsight."""

    values: Array
    """f(x_t), (n,) or (n, K)."""
    norm2: float
    """|f|^2."""
    total: float
    """Sum of its losses."""
    lam: float
    """The ridge it was chosen with."""
    y: Array
    loss: Loss

    def regret(self, predictions: Any) -> float:
        """Return the total loss of predictions minus that of f."""
        p = np.asarray(predictions, dtype=np.float64)
        if p.shape != self.values.shape:
            raise ValueError(f"predictions must have shape {self.values.shape}, got {p.shape}")
        return float(np.sum(self.loss.value(self.y, p))) - self.total

    def charged_regret(self, predictions: Any) -> float:
        """Return the total loss of predictions minus (that of f + lam |f|^2)."""
        return self.regret(predictions) - self.lam * self.norm2


class Hindsight:
    """Functions chosen in hindsight for a whole stream.

    Its functions are f = Z w with |f| = |w|, where the columns of Z (n, r) are orthogonal: from the eigenvectors of the
    Gram matrix of a kernel, O(n^3), or of the second moments of features, O(n r^2). They are computed once; each ridge
    and loss is then cheap: O(n r) for the squared loss, in closed form, and O(n r^2) a Newton step for others.

    Without a ridge the function interpolates and the regret is meaningless, so lam must be > 0.

    Parameters
    ----------
    source : Kernel or FeatureMap
        The space of functions. A fitted map is used without changes; any other map is fitted on X.
    X : (n, d) array
        The inputs, in order of arrival.

    Examples
    --------
    >>> import nystream
    >>> from nystream.evaluate import Hindsight
    >>> X, y = nystream.streams.sine(200, seed=0)
    >>> model = nystream.KernelAWV(nystream.Gaussian(0.5), lam=0.1)
    >>> p = model.run(X, y)
    >>> best = Hindsight(nystream.Gaussian(0.5), X).best(y, lam=0.1)
    >>> bool(abs(best.charged_regret(p) - model.regret()) < 1e-9)
    True
    """

    def __init__(self, source: Kernel | FeatureMap, X: Any) -> None:
        self.source = source
        self.X = as_block(X)
        self.Z, self.values = _orthogonal(source, self.X)

    def best(self, y: Any, *, lam: float = 1.0, loss: str | Loss = "squared", clip: float | None = None) -> Comparator:
        """Return the f that minimises sum l(y_t, f(x_t)) + lam |f|^2; for the squared loss y may have several columns.

        With `clip`, f is then scaled down until |f(x_t)| <= clip in every round: what KONS and ONS compare with. The
        scaled f need not be the best within those bounds; try several lam.
        """
        positive("lam", lam)
        loss = as_loss(loss)
        if loss.multiclass:
            raise ValueError(f"{loss.name} has one score per class; functions here have one value")
        labels = as_labels(y, loss.labels, len(self.X))
        if isinstance(loss, Squared):
            w = (self.Z.T @ labels) / (self.values + lam)[:, None]
        else:
            w = _newton(self.Z, labels[:, 0], loss, lam)[:, None]
        f, norm2 = self.Z @ w, float(np.vdot(w, w))
        if clip is not None:
            largest = float(np.abs(f).max(initial=0.0))
            scale = min(1.0, positive("clip", clip) / largest) if largest else 1.0
            f, norm2 = scale * f, scale**2 * norm2
        if labels.shape[1] == 1:
            f, labels = f[:, 0], labels[:, 0]
        return Comparator(f, norm2, float(np.sum(loss.value(labels, f))), lam, labels, loss)

    @property
    def top(self) -> float:
        """Return the largest eigenvalue of the Gram matrix."""
        return float(self.values.max(initial=0.0))

    def effective_dimension(self, lam: float) -> float:
        """Return d_eff = tr K (K + lam I)^-1."""
        return float((self.values / (self.values + positive("lam", lam))).sum())

    def log_det(self, lam: float) -> float:
        """Return log det(I + K/lam)."""
        return float(np.log1p(self.values / positive("lam", lam)).sum())

    def online_dimension(self, lam: float) -> float:
        """Return d_onl = sum of s_t/(1 + s_t), with s_t the leverage of row t given those before it."""
        if not len(self.values):
            return 0.0
        solver = AWV(lam)
        solver.start(self.Z.shape[1], 1)
        solver.run(self.Z, np.zeros((len(self.Z), 1)))
        return solver.meter_.online_dimension

    def residual(self, kernel: Kernel) -> float:
        """Return mu, the largest eigenvalue of K - Z Z' for these features Z. O(n^3)."""
        gap = _gram(kernel, self.X) - self.Z @ self.Z.T
        return max(float(np.linalg.eigvalsh(gap)[-1]), 0.0)


def _orthogonal(source: Kernel | FeatureMap, X: Array) -> tuple[Array, Array]:
    """Return Z (n, r) with orthogonal columns, and their squared lengths, all of them above rounding."""
    if isinstance(source, Kernel):
        values, Q = np.linalg.eigh(_gram(source, X))
    elif isinstance(source, FeatureMap):
        features = copy.deepcopy(source) if source.d_ else source.clone()
        F = features.transform(X) if features.d_ else features.fit_transform(X)
        if F.shape[1] < len(X):
            moments, V = np.linalg.eigh(F.T @ F)
            return _kept(F @ V, moments)
        values, Q = np.linalg.eigh(F @ F.T)
    else:
        raise ValueError(f"source must be a kernel or a feature map, got {source!r}")
    return _kept(Q * np.sqrt(np.maximum(values, 0.0)), values)


def _kept(Z: Array, values: Array) -> tuple[Array, Array]:
    above = values > len(Z) * np.finfo(float).eps * values.max(initial=0.0)
    return np.ascontiguousarray(Z[:, above]), values[above]


def _gram(kernel: Kernel, X: Array) -> Array:
    if len(X) > MOST:
        raise ValueError(
            f"the Gram matrix of {len(X)} rows is too large (at most {MOST}); use features, e.g. Taylor or Nystrom"
        )
    K = kernel(X, X)
    return 0.5 * (K + K.T)


def _newton(Z: Array, y: Array, loss: Loss, lam: float) -> Array:
    """Return argmin sum l(y_t, z_t.w) + lam |w|^2, by Newton steps that are halved until the objective falls enough."""
    w = np.zeros(Z.shape[1])
    value = float(np.sum(loss.value(y, Z @ w)))
    for _ in range(ITERATIONS):
        p = Z @ w
        g = Z.T @ loss.grad(y, p) + 2 * lam * w
        H = Z.T @ (loss.second(y, p)[:, None] * Z)
        H.flat[:: len(H) + 1] += 2 * lam
        step = np.linalg.solve(H, -g)
        slope = float(g @ step)
        if -slope <= EXACT * (1 + abs(value)):
            return w + step  # squares an error that the objective cannot see any more
        t = 1.0
        while True:
            trial = w + t * step
            new = float(np.sum(loss.value(y, Z @ trial))) + lam * float(trial @ trial)
            if new <= value + 1e-4 * t * slope or t < EXACT:
                break
            t *= 0.5
        if not new < value:
            break
        w, value = trial, new
    raise ValueError(
        f"Newton's method does not settle for {loss!r}, which has kinks or no second derivative; choose the comparator "
        "with a smooth loss (squared, logistic, squared_hinge, huber)"
    )
