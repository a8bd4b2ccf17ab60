"""Kernel online Newton steps and row sampling written slowly: explicit features, dense matrices, fresh solves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Run(NamedTuple):
    p: np.ndarray
    ybar: np.ndarray
    s: np.ndarray
    dl: np.ndarray
    z: np.ndarray
    A: np.ndarray
    bound: np.ndarray
    """sum of g' A_t^-1 g, round by round."""


class Coins(np.random.Generator):
    """A generator whose uniforms are given; 0.5 after them."""

    def __init__(self, uniforms: Any) -> None:
        super().__init__(np.random.PCG64(0))
        self.left = [float(u) for u in uniforms]

    def random(self, size: Any = None) -> Any:  # type: ignore[override]
        n = 1 if size is None else size
        drawn = np.array((self.left + n * [0.5])[:n])
        self.left = self.left[n:]
        return float(drawn[0]) if size is None else drawn

    def __deepcopy__(self, memo: Any) -> Coins:
        return Coins(self.left)


def feature_rows(K: np.ndarray) -> np.ndarray:
    """Z with Z Z' = K."""
    values, vectors = np.linalg.eigh(K)
    keep = values > 1e-15 * values[-1]
    return vectors[:, keep] * np.sqrt(values[keep])


def quadratic_features(X: np.ndarray) -> np.ndarray:
    """[1, sqrt2 x_i, x_i^2, sqrt2 x_i x_j]: the feature space of (1 + x.x')^2."""
    X1 = np.hstack([np.ones((len(X), 1)), X])
    i, j = np.triu_indices(X1.shape[1])
    return np.ascontiguousarray(X1[:, i] * X1[:, j] * np.where(i == j, 1.0, np.sqrt(2.0)))


def newton(
    Z: np.ndarray,
    y: np.ndarray,
    loss: Any,
    clip: float,
    lam: float = 1.0,
    *,
    u: np.ndarray | None = None,
    gamma: float = 1.0,
    eps: float = 0.5,
    beta: float = 1.0,
) -> Run:
    """u_{t+1} = w_t - A_t^-1 g_t, A_t = lam I + sum z eta g g'. With uniforms u, z = (u < max(p of KORS, gamma))."""
    n, r = Z.shape
    sigma, weights, A = loss.curvature(clip), np.zeros(r), lam * np.eye(r)
    dictionary = lam * np.eye(r)
    out = np.zeros((6, n))
    for t in range(n):
        x = Z[t]
        ybar = weights @ x
        p = min(max(ybar, -clip), clip)
        direction = np.linalg.solve(A, x)
        s = x @ direction
        eta = sigma if sigma > 0 else 1 / (loss.lipschitz(clip) * clip * np.sqrt(t + 1))
        dl = float(loss.grad(np.array(y[t]), np.array(p))) if x @ x > 0 else 0.0
        z = dl != 0
        if u is not None and z:
            psi = dl * np.sqrt(eta) * x
            tau = (1 + eps) * psi @ np.linalg.solve(dictionary + np.outer(psi, psi), psi)
            odds = min(beta * tau, 1.0)
            if u[t] < odds:
                dictionary += np.outer(psi, psi) / odds
            z = u[t] < max(odds, gamma)
        if ybar != p:
            weights = weights - (ybar - p) / s * direction
        A += z * eta * dl * dl * np.outer(x, x)
        step = np.linalg.solve(A, dl * x)
        weights = weights - step
        out[:, t] = p, ybar, s, dl, z, dl * x @ step
    return Run(out[0], out[1], out[2], out[3], out[4] > 0, A, out[5].cumsum())


def kors(
    Z: np.ndarray, u: np.ndarray, ridge: float, *, eps: float = 0.5, beta: float = 1.0, c: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """tau, p, kept: the score with the row put into the dictionary with weight one, by a dense solve."""
    n, r = Z.shape
    A, tau, p = ridge * np.eye(r), np.zeros(n), np.zeros(n)
    for t in range(n):
        psi = Z[t] if c is None else c[t] * Z[t]
        tau[t] = (1 + eps) * psi @ np.linalg.solve(A + np.outer(psi, psi), psi)
        p[t] = min(beta * tau[t], 1.0)
        if u[t] < p[t]:
            A += np.outer(psi, psi) / p[t]
    return tau, p, u < p
