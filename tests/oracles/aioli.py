"""AIOLI by definition: every surrogate is kept, and every row is a minimisation in all dimensions."""

from __future__ import annotations

import numpy as np


def sigmoid(p):
    return 0.5 * (1 + np.tanh(p / 2))


def improper(X, y, lam, c):
    """Predictions, each by a damped Newton iteration from 0."""
    n, d = X.shape
    P, slope, curve = np.zeros(n), np.zeros(n), np.zeros(n)
    for t in range(n):
        H = 2 * lam * np.eye(d) + (X[:t].T * curve[:t]) @ X[:t]
        b, x, th = X[:t].T @ (curve[:t] * P[:t] - slope[:t]), X[t], np.zeros(d)

        def f(u, H=H, b=b, x=x):
            return u @ H @ u / 2 - b @ u + np.logaddexp(0, x @ u) + np.logaddexp(0, -(x @ u))

        for _ in range(60):
            h = np.tanh(x @ th / 2)
            g = H @ th - b + h * x
            s, k = -np.linalg.solve(H + 0.5 * (1 - h * h) * np.outer(x, x), g), 1.0
            while -(g @ s) > 1e-9 and f(th + k * s) > f(th) + 1e-4 * k * (g @ s):
                k /= 2
            th = th + k * s
        P[t] = x @ th
        slope[t], curve[t] = -y[t] * sigmoid(-y[t] * P[t]), c * sigmoid(P[t]) * sigmoid(-P[t])
    return P
