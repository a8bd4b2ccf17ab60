"""A stream whose function changes at a row, and runs of a model over it in blocks of given sizes."""

from __future__ import annotations

import numpy as np

AT, N = 700, 1500


def changing(n=N, at=AT, seed=0, task="regression", noise=0.1):
    """Another function from row `at` on."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    f, g = np.sin(2 * X[:, 0]) + X[:, 1], 2 * np.cos(2 * X[:, 2]) - X[:, 0]
    y = np.where(np.arange(n) < at, f, g) + noise * rng.normal(size=n)
    return X, y if task == "regression" else np.digitize(y, [-0.7, 0.7]).astype(float)


def in_cuts(model, X, y, sizes, weights=None):
    parts, row, k = [], 0, 0
    while row < len(y):
        stop = min(len(y), row + sizes[k % len(sizes)])
        parts.append(model.run(X[row:stop], y[row:stop], None if weights is None else weights[row:stop]))
        row, k = stop, k + 1
    wide = max(p.shape[1] for p in parts) if parts[0].ndim > 1 else 0
    pad = [np.pad(p, ((0, 0), (0, wide - p.shape[1])), constant_values=-np.inf) for p in parts] if wide else parts
    return np.concatenate(pad)
