"""The losses as the tables write them, and slow minimisers of the implicit step's objective."""

import math

import numpy as np
from scipy.optimize import minimize

from nystream.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Novelty,
    Pinball,
    Squared,
    SquaredHinge,
)

SCALAR = {
    "squared": (Squared(), lambda y, z: (z - y) ** 2),
    "absolute": (Absolute(), lambda y, z: abs(z - y)),
    "epsilon_insensitive": (EpsilonInsensitive(), lambda y, z: max(0.0, abs(z - y) - 0.1)),
    "epsilon_wide": (EpsilonInsensitive(0.7), lambda y, z: max(0.0, abs(z - y) - 0.7)),
    "huber": (Huber(), lambda y, z: (z - y) ** 2 / 2 if abs(z - y) <= 1 else abs(z - y) - 0.5),
    "huber_wide": (Huber(2.5), lambda y, z: (z - y) ** 2 / 2 if abs(z - y) <= 2.5 else 2.5 * abs(z - y) - 2.5**2 / 2),
    "pinball": (Pinball(), lambda y, z: 0.5 * abs(z - y)),
    "pinball_high": (Pinball(0.9), lambda y, z: 0.9 * (y - z) if z <= y else 0.1 * (z - y)),
    "hinge": (Hinge(), lambda y, z: max(0.0, 1.0 - y * z)),
    "hinge_narrow": (Hinge(0.3), lambda y, z: max(0.0, 0.3 - y * z)),
    "squared_hinge": (SquaredHinge(), lambda y, z: max(0.0, 1.0 - y * z) ** 2),
    "squared_hinge_wide": (SquaredHinge(2.0), lambda y, z: max(0.0, 2.0 - y * z) ** 2),
    "logistic": (Logistic(), lambda y, z: math.log(1.0 + math.exp(-y * z)) if y * z > -500 else -y * z),
    "novelty": (Novelty(), lambda y, z: max(0.0, 1.0 - z)),
    "novelty_high": (Novelty(2.0), lambda y, z: max(0.0, 2.0 - z)),
}
"""The nine scalar losses, some with a second constant: (object, definition)."""


def label_values(loss, rng, n):
    """n labels of the kind that the loss takes."""
    return rng.normal(0, 2, n) if loss.labels == "real" else rng.choice([-1.0, 1.0], n)


def ternary_step(value, p, s, c):
    """argmin_a s/2 a^2 + c value(p + s a) by ternary search; good to about 1e-7, the root of the rounding."""
    lo, hi = -1e3, 1e3
    for _ in range(250):
        a, b = lo + (hi - lo) / 3, hi - (hi - lo) / 3
        if s / 2 * a * a + c * value(p + s * a) < s / 2 * b * b + c * value(p + s * b):
            hi = b
        else:
            lo = a
    return (lo + hi) / 2


def hinge_value(D, y, z):
    """max(0, max_{j != y} (D[y,j] + z_j) - z_y), spelt out."""
    return max(0.0, *(D[y, j] + z[j] - z[y] for j in range(len(z)) if j != y))


def hinge_step(D, y, p, s, c):
    """The exact step of the multi-class hinge as a quadratic programme in (alpha, xi)."""
    K = len(p)
    A = np.zeros((K, K + 1))  # xi >= D[y,j] + p_j - p_y + s (alpha_j - alpha_y), and xi >= 0 in row y
    A[:, K] = 1.0
    for j in range(K):
        if j != y:
            A[j, j], A[j, y] = -s, s
    b = np.array([D[y, j] + p[j] - p[y] if j != y else 0.0 for j in range(K)])
    found = minimize(
        lambda v: s / 2 * v[:K] @ v[:K] + c * v[K],
        np.append(np.zeros(K), max(0.0, b.max())),
        jac=lambda v: np.append(s * v[:K], c),
        constraints={"type": "ineq", "fun": lambda v: A @ v - b, "jac": lambda v: A},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 300},
    )
    return found.x[:K]


class Searched:
    """A loss of one output, or the hinge of classes with margins D, whose implicit step is searched for."""

    def __init__(self, loss):
        self.loss, self.multiclass, self.name = loss, loss.multiclass, loss.name
        self.margins = getattr(loss, "label_margins", None)

    def implicit(self, y, p, s, c):
        """For labels (1,) and predictions (1,), or scores (1, K)."""
        if not self.multiclass:
            value = SCALAR[self.name][1]
            return np.array([ternary_step(lambda z: value(y[0], z), p[0], s, c)])
        D = 1 - np.eye(p.shape[1]) if self.margins is None else self.margins
        return hinge_step(D, y[0], p[0], s, c)[None]
