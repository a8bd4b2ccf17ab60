"""The definitions written slowly: full Gram matrices and a fresh solve every round. What the learners are held to."""

from __future__ import annotations

import numpy as np


def golden_stream(n: int = 50) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The stream of the golden values: points, real labels, signs."""
    t = np.arange(1, n + 1)
    X = np.column_stack([np.sin(t), np.cos(1.7 * t)])
    y = 0.9 * np.sin(3 * np.sin(t)) + 0.1 * np.cos(7 * t)
    return X, y, np.where(y >= 0, 1.0, -1.0)


def golden_uniforms(n: int = 50) -> np.ndarray:
    """The coins of the golden values: frac(0.618... t)."""
    return (0.6180339887498949 * np.arange(1, n + 1)) % 1


def gaussian(X: np.ndarray, Y: np.ndarray, sigma: float) -> np.ndarray:
    difference = X[:, None, :] - Y[None, :, :]
    return np.exp(-(difference**2).sum(-1) / (2 * sigma**2))


def least_squares(
    K: np.ndarray, Y: np.ndarray, lam: float, weights: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Round by round from the Gram matrix of all points: ridge (n, K), AWV (n, K) and w_t phi' A^-1 phi (n,).

    ridge_t = argmin over f of sum_{s<t} w_s (y_s - f(x_s))^2 + lam |f|^2, at x_t; AWV adds w_t f(x_t)^2 to the sum.
    A row of weight 0 is only asked about, and the answer is that of weight 1.
    """
    n = len(K)
    Y = Y.reshape(n, -1)
    w = np.ones(n) if weights is None else weights
    ridge, awv, s = np.zeros(Y.shape), np.zeros(Y.shape), np.zeros(n)
    for t in range(n):
        W = np.diag(w[:t])
        ridge[t] = K[t, :t] @ np.linalg.solve(W @ K[:t, :t] + lam * np.eye(t), W @ Y[:t])
        V = np.diag(np.append(w[:t], w[t] or 1.0))
        zero = np.vstack([Y[:t], np.zeros((1, Y.shape[1]))])
        awv[t] = K[t, : t + 1] @ np.linalg.solve(V @ K[: t + 1, : t + 1] + lam * np.eye(t + 1), V @ zero)
        inverse = K[:t, t] @ np.linalg.solve(W @ K[:t, :t] + lam * np.eye(t), W @ K[:t, t]) if t else 0.0
        s[t] = w[t] * (K[t, t] - inverse) / lam
    return ridge, awv, s


def best_in_hindsight(K: np.ndarray, Y: np.ndarray, lam: float) -> float:
    """min over f of sum (y - f(x))^2 + lam |f|^2 = lam y' (K + lam I)^-1 y."""
    Y = Y.reshape(len(K), -1)
    return float(lam * np.vdot(Y, np.linalg.solve(K + lam * np.eye(len(K)), Y)))


def effective_dimension(K: np.ndarray, lam: float) -> float:
    values = np.linalg.eigvalsh(K)
    return float((values / (values + lam)).sum())


def log_det(K: np.ndarray, lam: float) -> float:
    return float(np.linalg.slogdet(np.eye(len(K)) + K / lam)[1])


def online_dimension(K: np.ndarray, lam: float) -> float:
    """sum_t [K_t (K_t + lam I)^-1]_tt."""
    return float(sum(np.linalg.solve(K[:t, :t] + lam * np.eye(t), K[:t, :t])[-1, -1] for t in range(1, len(K) + 1)))
