"""Streaming Gaussian process regression by definition: covariance matrices of all labels so far, no recursion."""

from __future__ import annotations

import numpy as np
from scipy import stats


def landmark_features(X: np.ndarray, kernel, tol: float, most: int) -> tuple[np.ndarray, np.ndarray]:
    """(n, m) coordinates of rows in the span of the landmarks of their round, 0 beyond; and what they miss (n,).

    A row becomes a landmark if more than tol of k(x, x) is missed. Coordinates are of the Gram-Schmidt basis of the
    landmarks in order.
    """
    marks: list[int] = []
    K = kernel(X, X)
    Z, missed = np.zeros((len(X), most)), np.zeros(len(X))
    for t in range(len(X)):
        inside = K[t, marks] @ np.linalg.solve(K[np.ix_(marks, marks)], K[marks, t]) if marks else 0.0
        if K[t, t] - inside > tol * K[t, t] and len(marks) < most:
            marks.append(t)
        R = np.linalg.cholesky(K[np.ix_(marks, marks)])
        Z[t, : len(marks)] = np.linalg.solve(R, K[marks, t])
        missed[t] = 0.0 if t in marks else max(K[t, t] - Z[t] @ Z[t], 0.0)
    return Z, missed


def one_model(Z: np.ndarray, missed: np.ndarray, y: np.ndarray, lam: float, spread: float, shape: float):
    """Predictive locations and log densities (n,) of one model, from the joint distribution of the labels."""
    cov = Z @ Z.T / lam + np.diag(1 + missed / lam)
    means, densities = np.zeros(len(y)), np.zeros(len(y))
    for t in range(len(y)):
        solved = np.linalg.solve(cov[:t, :t], np.column_stack([y[:t], cov[:t, t]])) if t else np.zeros((0, 2))
        means[t] = cov[t, :t] @ solved[:, 0]
        V = cov[t, t] - cov[t, :t] @ solved[:, 1]
        a, b = shape + t / 2, spread + y[:t] @ solved[:, 0] / 2
        densities[t] = stats.t.logpdf(y[t], 2 * a, means[t], np.sqrt(V * b / a))
    return means, densities


def streaming_gp(X, y, kernel, widths, ridges, tol, most, scale=1.0, shape=2.0):
    """Predictions (n,) of the mixture before each label, and its log densities (n,)."""
    means, densities = [], []
    for h in widths:
        Z, missed = landmark_features(X / h, kernel, tol, most)
        for lam in ridges:
            spread = shape * scale**2 * lam / (1 + lam)
            m, d = one_model(Z, missed, y, lam, spread, shape)
            means.append(m)
            densities.append(d)
    M, D = np.array(means), np.array(densities)
    before = np.exp(np.column_stack([np.zeros(len(D)), np.cumsum(D, axis=1)[:, :-1]]))
    v = before / before.sum(axis=0)
    return (v * M).sum(axis=0), np.log((v * np.exp(D)).sum(axis=0))
