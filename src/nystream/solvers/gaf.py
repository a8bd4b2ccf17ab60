"""GAF on explicit features: multiclass logistic regression that averages its probabilities over a Gaussian."""

from __future__ import annotations

import functools
import math

import numpy as np

from nystream.runtime.params import at_least, positive
from nystream.runtime.seeds import checked_seed, generator
from nystream.runtime.types import Array, Change, LabelKind, Seed
from nystream.solvers.base import Solver

__all__ = ["GAF", "class_curvature", "implicit_scores"]

NODES = 40
"""Gauss-Hermite nodes of the mean for two classes, which is an integral over one number."""
STEPS = 200
"""Newton steps of `implicit_scores`; on streams it needs 3 to 8, and up to 60 when the ridge is 1e-7."""
DONE = 1e-13
"""Newton stops when no entry of e_y - softmax(z) is further than this from what z was computed with."""
BLOCK = 16
"""Rows of a block of `predict`, which holds their factors together."""


def class_curvature(clip: float, classes: int) -> float:
    """Return c with l(a) >= l(b) + l'(b)'(a - b) + c/2 (a - b)'l''(b)(a - b) for all |a_k| <= clip and every b.

    l is the softmax loss of any label. With p = softmax(b), q = softmax(a) and h = log(p/q) the gap above the tangent
    is KL(p, q) = E_p[h + exp(-h) - 1], and (a - b)'l''(b)(a - b) is the variance of h under p. No h is above
    M = log(1 + (classes - 1) exp(2 clip)), and (h + exp(-h) - 1)/h^2 falls in h. So c = 2 (M + exp(-M) - 1)/M^2.
    """
    most = np.logaddexp(0.0, math.log(max(classes, 2) - 1) + 2 * clip)
    return float(2 * (most + math.expm1(-most)) / most**2)


def implicit_scores(m: Array, V: Array, label: int) -> tuple[Array, Array]:
    """Return z (K,) and g = e_label - softmax(z) (K,) with z = m + V g, for V (K, K) positive semidefinite.

    z = m + V a for the a that minimises a'Va/2 + l(m + V a), by Newton steps that are halved until they descend.
    """
    a, K, z = np.zeros(len(m)), len(m), m.copy()
    p, value = _softmax(z, label)
    for _ in range(STEPS):
        g = -p
        g[label] += 1.0
        if np.abs(g - a).max() <= DONE:
            break
        M = p[:, None] * (V - p @ V)  # (diag p - p p') V
        M.flat[:: K + 1] += 1.0
        step = np.linalg.solve(M, g - a)
        share = 1.0
        while True:
            trial = a + share * step
            shift = V @ trial
            moved, loss = _softmax(m + shift, label)
            new = 0.5 * float(trial @ shift) + loss
            if new <= value or share < 1e-12:
                break
            share /= 2
        if not new < value and share < 1.0:
            break
        a, z, p, value = trial, m + shift, moved, new
    g = -p
    g[label] = p[np.arange(K) != label].sum()  # 1 - p would lose small numbers
    return z, g


class GAF(Solver):
    """Multiclass logistic regression by aggregation of Gaussians (GAF): regret without a factor exponential in clip.

    Surrogates q_s of the past softmax losses make L_t = lam |W|^2 + q_1 + ... + q_t, for W (K, r), and the forecaster
    is the Gaussian exp(-L_{t-1}). With m = W_{t-1} z and V (K, K) the covariance of the scores W z under it::

        p_t = E softmax(m + V^(1/2) N(0, I))                      the mean of the probabilities
        u   = m + V (e_y - softmax(u))                            scores of the minimiser W_t of L_{t-1} + l_t
        q_t = l_t(u) + l_t'(u)'(Wz - u) + c/2 (Wz - u)' l_t''(u) (Wz - u)

    so that W_t is the minimiser of L_t too. The state is W and a root T of the covariance, T T' = (Hessian of L)^-1,
    which is multiplied by factors between 0 and 1 only, so that V stays positive semidefinite for any ridge. The mean
    over the Gaussian is Gauss-Hermite quadrature for two classes, and for more a mean over `samples` points that are
    the same in all rounds. Predictions are log p_t. O(K^3 r^2) time a round, K^2 r^2 numbers.

    Parameters
    ----------
    clip : float, default 3.0
        C: bound on the scores |w_k'z| of the functions to be compared with.
    lam : float, default 1.0
        The ridge is lam |W|^2.
    curvature : float or None
        c; None: `class_curvature` of clip and the number of classes, for which the bound holds.
    samples : int, default 100
        Points of the mean over the Gaussian for more than two classes, in pairs of opposite sign.
    seed : int, Generator or None, default 0
        Of these points.

    References
    ----------
    Jezequel, Gaillard, Rudi. Mixability made efficient: fast online multiclass logistic regression. NeurIPS 2021,
    arXiv:2110.03960.
    """

    mean_: Array
    """(K, r) W."""
    root_: Array
    """(r, K, n) T with n = K r columns, in no particular order."""
    points_: Array
    """(samples, K) points of the mean over the Gaussian."""
    excess_: float = 0.0
    """Sum of Z_t, see `bound_terms`."""
    log_det_: float = 0.0
    restarts_: int = 0
    dim_: int
    outputs_: int

    def __init__(
        self,
        *,
        clip: float = 3.0,
        lam: float = 1.0,
        curvature: float | None = None,
        samples: int = 100,
        seed: Seed = 0,
    ) -> None:
        self.clip = positive("clip", clip)
        self.lam = positive("lam", lam)
        self.curvature = None if curvature is None else positive("curvature", curvature)
        self.samples = at_least("samples", samples, 2)
        self.seed = checked_seed(seed)

    @property
    def labels(self) -> LabelKind:
        return "class"

    @property
    def weights(self) -> Array:
        """The weights W (r, K); predictions are not Z @ weights."""
        return self.mean_.T

    def start(self, dim: int, outputs: int) -> None:
        self.excess_, self.log_det_, self.restarts_ = 0.0, 0.0, 0
        self._reset(dim, outputs)

    def _reset(self, dim: int, outputs: int) -> None:
        self.dim_, self.outputs_ = dim, outputs
        self.mean_ = np.zeros((outputs, dim))
        self.root_ = self._prior(outputs * dim).reshape(dim, outputs, outputs * dim)
        self.points_ = self._draw(outputs)

    @property
    def _flat(self) -> Array:
        """(r, K n) the root, such that z @ it has the rows of the scores."""
        return self.root_.reshape(self.dim_, self.root_.shape[1] * self.root_.shape[2])

    def _prior(self, n: int) -> Array:
        """Return a root (n, n) of the covariance before any round."""
        return np.eye(n) / math.sqrt(2 * self.lam)

    def _draw(self, outputs: int) -> Array:
        """Return the points of the mean over the Gaussian, in pairs of opposite sign."""
        half = generator(self.seed).standard_normal((-(-self.samples // 2), outputs))
        return np.vstack([half, -half])

    @property
    def c(self) -> float:
        """The curvature constant."""
        return class_curvature(self.clip, self.outputs_) if self.curvature is None else self.curvature

    def predict(self, Z: Array, growth: Array | None = None) -> Array:
        """Return log probabilities (n, K). growth (n,) holds squares of new coordinates, 0 in all rounds so far."""
        P, flat = np.empty((len(Z), self.outputs_)), self._flat
        for i in range(0, len(Z), BLOCK):
            z = Z[i : i + BLOCK]
            W = (z @ flat).reshape(len(z), *self.root_.shape[1:])
            V = W @ W.transpose(0, 2, 1)
            if growth is not None:
                V += growth[i : i + BLOCK, None, None] / (2 * self.lam) * np.eye(self.outputs_)
            P[i : i + BLOCK] = self._log_mean(z @ self.mean_.T, V)
        return P

    def run(self, Z: Array, Y: Array, weights: Array | None = None) -> Array:
        P, c = np.empty((len(Z), self.outputs_)), self.c
        for i, z in enumerate(Z):
            W = (z @ self._flat).reshape(self.root_.shape[1:])
            m, V, label = self.mean_ @ z, W @ W.T, int(Y[i, 0])
            P[i] = self._log_mean(m[None], V[None])[0]
            u, g = implicit_scores(m, V, label)
            p, loss = _softmax(u, label)
            self.excess_ += float(-P[i, label] - loss - 0.5 * g @ V @ g)
            self.mean_ += (self.root_ @ (W.T @ g)).T
            self._shrink(W, V, c, p)
        return P

    def _shrink(self, W: Array, V: Array, c: float, p: Array) -> None:
        """Add c (diag p - p p') in the directions of the scores to the Hessian.

        diag p - p p' = B B'. With N = W'B the root T becomes T (I + N N')^(-1/2) = T + T N H N'.
        """
        B = math.sqrt(c) * (np.diag(np.sqrt(p)) - np.outer(p, np.sqrt(p)))
        sizes, X = np.linalg.eigh(B.T @ V @ B)
        roots = np.sqrt(1 + np.maximum(sizes, 0.0))
        N = W.T @ (B @ X)
        flat = self.root_.reshape(self.dim_ * self.outputs_, self.root_.shape[2])
        flat -= (flat @ N / (roots * (1 + roots))) @ N.T
        self.log_det_ += 2 * float(np.log(roots).sum())

    def _log_mean(self, m: Array, V: Array) -> Array:
        """Return log E softmax(N(m, V)) (n, K) for means (n, K) and covariances (n, K, K)."""
        if m.shape[1] == 2:
            s = (m[:, 1] - m[:, 0])[:, None]
            v = np.maximum(V[:, 0, 0] + V[:, 1, 1] - 2 * V[:, 0, 1], 0.0)[:, None]
            x, share = _quadrature()
            d = s + np.sqrt(v) * x
            return np.column_stack([_log_sum(share - np.logaddexp(0, k * d)) for k in (1.0, -1.0)])
        sizes, X = np.linalg.eigh(V)
        root = (X * np.sqrt(np.maximum(sizes, 0.0))[:, None]) @ X.transpose(0, 2, 1)  # symmetric, continuous in V
        scores = m[:, None] + self.points_ @ root
        logs = scores - _log_sum(scores)[..., None]
        return _log_sum(logs.transpose(0, 2, 1)) - math.log(len(self.points_))

    def rebase(self, change: Change, dim: int) -> None:
        """Follow a map that appends coordinates (0 in every row so far) or restarts."""
        if change.transport is None:
            self.restarts_ += 1
            self._reset(dim, self.outputs_)
        elif dim < self.dim_ or not np.array_equal(change.transport, np.eye(dim, self.dim_)):
            raise TypeError("GAF can follow a map that appends coordinates, not one that moves; use a fixed map")
        else:
            self._widen(dim, self.outputs_)

    def grow(self, outputs: int) -> None:
        """Add classes. Their scores were 0 in every round so far, with the variance of the ridge."""
        self._widen(self.dim_, outputs)
        self.points_ = self._draw(outputs)

    def _widen(self, dim: int, outputs: int) -> None:
        """Add coordinates and classes, about which no round has said anything."""
        mean, root = self.mean_, self.root_
        self.mean_ = np.zeros((outputs, dim))
        self.mean_[: mean.shape[0], : mean.shape[1]] = mean
        new = np.ones((dim, outputs), dtype=bool)
        new[: root.shape[0], : root.shape[1]] = False
        self.root_ = np.zeros((dim, outputs, dim * outputs))
        self.root_[: root.shape[0], : root.shape[1], : root.shape[2]] = root
        self.root_[new, root.shape[2] :] = self._prior(int(new.sum()))
        self.dim_, self.outputs_ = dim, outputs

    def log_det(self) -> float:
        """Return log det(A/(2 lam)) of the Hessian A of L_t since the last restart."""
        return self.log_det_

    def bound_terms(self, norm2: float) -> tuple[float, float, float]:
        """Return lam norm2 (also per restart), sum Z_t, 0: their sum bounds the regret against |W|^2 <= norm2.

        Z_t = l_t(p_t) - (min L_t - min L_{t-1}) = l_t(p_t) - l_t(u) - g'Vg/2. The sum over t of l_t(p_t) - Z_t is
        min L_n, at most L_n(W), and q_t(W) <= l_t(W).
        """
        return self.lam * norm2 * (1 + self.restarts_), self.excess_, 0.0


@functools.cache
def _quadrature() -> tuple[Array, Array]:
    """Return the nodes of the mean over N(0, 1), and the logarithms of their weights."""
    x, w = np.polynomial.hermite_e.hermegauss(NODES)
    return x, np.log(w / w.sum())


def _log_sum(a: Array) -> Array:
    """Return log sum exp(a) over the last axis."""
    top = a.max(axis=-1, keepdims=True)
    return np.asarray(np.log(np.exp(a - top).sum(axis=-1)) + top[..., 0])


def _softmax(u: Array, label: int) -> tuple[Array, float]:
    """Return the probabilities, and the loss log sum exp(u) - u_label, also where it is tiny."""
    top = int(u.argmax())
    e = np.exp(u - u[top])
    e[top] = 0.0
    rest = float(e.sum())
    e[top] = 1.0
    return e / (1.0 + rest), float(u[top] - u[label]) + math.log1p(rest)
