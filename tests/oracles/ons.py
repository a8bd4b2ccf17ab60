"""The online Newton step written slowly: a dense matrix, a fresh solve every round, projection by bisection."""

from __future__ import annotations

import numpy as np


def projected(u, A, z, clip):
    """argmin (w - u)' A (w - u) over |w'z| <= clip, by bisection on the multiplier of the active side."""
    if abs(u @ z) <= clip:
        return u
    side, direction = np.sign(u @ z), np.linalg.solve(A, z)
    lo, hi = 0.0, 2 * abs(u @ z) / (z @ direction)
    for _ in range(200):
        mid = 0.5 * (lo + hi)
        lo, hi = (mid, hi) if side * (u - side * mid * direction) @ z > clip else (lo, mid)
    return u - side * 0.5 * (lo + hi) * direction


def newton_step(loss, Z, Y, clip, lam, eta):
    """Predictions (n, 1), weights before projection, A, sum of g' A_t^-1 g; eta(t) is the step size."""
    u, A, total, P = np.zeros(Z.shape[1]), lam * np.eye(Z.shape[1]), 0.0, []
    for t, (z, y) in enumerate(zip(Z, Y[:, 0], strict=True), 1):
        w = projected(u, A, z, clip)
        p = np.clip(u @ z, -clip, clip)
        P.append(p)
        g = float(loss.grad(np.array(y), np.array(p))) * z
        A = A + eta(t) * np.outer(g, g)
        u = w - np.linalg.solve(A, g)
        total += g @ np.linalg.solve(A, g)
    return np.array(P)[:, None], u, A, total


def step_size(loss, clip):
    """eta_t of eta="auto": the curvature, or 1/(L clip sqrt(t)) for losses that have none."""
    sigma = loss.curvature(clip)
    return lambda t: sigma if sigma > 0 else 1 / (loss.lipschitz(clip) * clip * np.sqrt(t))
