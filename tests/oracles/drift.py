"""What follows a drifting stream, and the default learner, written slowly: all rows so far, a fresh solve each time."""

from __future__ import annotations

import numpy as np

from nystream.features.fourier import Fourier
from nystream.kernels.gaussian import Gaussian


def fixed_share(Q, y, eta, share):
    """Predictions and final weights from those of the learners Q (N, n), round by round."""
    v, P = np.full(len(Q), 1 / len(Q)), []
    for q, label in zip(Q.T, y, strict=True):
        P.append(v @ q)
        u = v * np.exp(-eta * (q - label) ** 2)
        v = (1 - share) * u / u.sum() + share / len(Q)
    return np.array(P), v


def faded(Z, Y, w, prior, decay, refresh):
    """(A, b) of least squares that forgets, after these rows; the ridge is whole after every `refresh` rows."""
    t = len(Z)
    c = w * decay ** np.arange(t - 1.0, -1.0, -1.0)
    return decay ** (t % refresh) * prior + (Z.T * c) @ Z, (Z.T * c) @ Y


def forgetting(Z, Y, w, prior, decay, refresh):
    """Predictions (n, K), every round solved from all rows before it."""
    P = np.zeros(Y.shape)
    for t in range(len(Z)):
        A, b = faded(Z[:t], Y[:t], w[:t], prior, decay, refresh)
        P[t] = Z[t] @ np.linalg.solve(A, b)
    return P


def smoother(X, Y, window, k, weights):
    """Sort the rows of the window by distance, the latest first among equals."""
    P = np.zeros_like(Y)
    kept = []
    for t, x in enumerate(X):
        past = kept[-window:][::-1]
        distances = np.array([((x - X[s]) ** 2).sum() for s in past])
        order = np.argsort(distances, kind="stable")[:k]
        if len(order):
            d = distances[order]
            rows = np.array(past)[order]
            v = weights[rows] * (np.exp(-d / d.mean()) if d.mean() > 0 else 1.0)
            P[t] = v @ Y[rows] / v.sum()
        if weights[t] > 0:
            kept.append(t)
    return P


def scaled_features(first, d, dim=40, seed=0):
    """The features of `Baseline`, scale and width from these rows: a function of rows."""
    mean, scale = first.mean(axis=0), first.std(axis=0)
    constant = np.where(first[0] == 0, 1.0, np.abs(first[0]))  # such a column is measured by its size
    scale = np.where(scale > 0, scale, constant)

    def squash(V):
        return np.clip((V - mean) / scale, -3, 3)

    Z = squash(first)
    distances = [np.linalg.norm(Z[i] - Z[j]) for i in range(len(Z)) for j in range(i)]
    distances = sorted(d for d in distances if d > 0)  # of distinct rows
    width = distances[(len(distances) - 1) // 2] if distances else 1.0
    fourier = Fourier(Gaussian(width), dim, seed=seed)
    fourier.start(d)
    return lambda V: np.hstack([fourier.transform(squash(V)), np.ones((len(V), 1))])


def scaled_ridge(X, Y, rows, d, dim=40, lam=0.01, seed=0, weights=None):
    """Ridge on those features, scale and width from the first `rows` rows: a function of rows."""
    features = scaled_features(X[:rows], d, dim, seed)
    Z, w = features(X), np.ones(len(X)) if weights is None else weights
    coef = np.linalg.solve(lam * np.eye(dim + 1) + (Z.T * w) @ Z, (Z.T * w) @ Y)
    return lambda V: features(V) @ coef


def baseline(X, y, rebuilds, dim=40, lam=0.01, seed=0):
    """Predictions (n,) of ridge on the features of the last rebuild, every round solved from all rows before it."""
    P = np.zeros(len(X))
    for t in range(1, len(X)):
        if t in rebuilds:
            Z = scaled_features(X[:t], X.shape[1], dim, seed)(X)
        P[t] = Z[t] @ np.linalg.solve(lam * np.eye(dim + 1) + Z[:t].T @ Z[:t], Z[:t].T @ y[:t])
    return P
