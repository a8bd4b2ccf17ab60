"""Slow definitions of aggregation, Frequent Directions, the second-order perceptron and NAROW: dense matrices."""

from __future__ import annotations

import numpy as np
from scipy.special import logsumexp


def frequent_directions(Z, y, loss, sketch, clip, lam, eta):
    """ONS in the metric lam I + S'S, a fresh SVD every round, step sizes eta(t).

    Predictions, weights, S, sum of g'A_t^-1 g, sum of what was taken off the eigenvalues.
    """
    ell, d = sketch, Z.shape[1]
    S, u, out, total, lost = np.zeros((ell, d)), np.zeros(d), [], 0.0, 0.0
    for t, (z, label) in enumerate(zip(Z, y, strict=True), 1):
        A = lam * np.eye(d) + S.T @ S
        ybar = u @ z
        p = np.clip(ybar, -clip, clip)
        out.append(p)
        v = np.linalg.solve(A, z)
        if not z @ v > 0:
            continue
        w = u - (ybar - p) / (z @ v) * v
        g = float(loss.grad(np.array(label), np.array(p))) * z
        S[-1] = np.sqrt(eta(t)) * g
        _, sv, V = np.linalg.svd(S, full_matrices=False)
        shrink = sv[-1] ** 2 if ell <= d else 0.0
        S = np.zeros((ell, d))
        S[: len(sv)] = np.sqrt(np.maximum(sv**2 - shrink, 0.0))[:, None] * V
        step = np.linalg.solve(lam * np.eye(d) + S.T @ S, g)
        u = w - step
        total += g @ step
        lost += shrink
    return np.array(out), u, S, total, lost


def second_order_perceptron(Z, y, lam, counting):
    """Margins on explicit features; with `counting`, x_t itself is part of the matrix, as published."""
    A, theta, out = lam * np.eye(Z.shape[1]), np.zeros(Z.shape[1]), []
    for z, label in zip(Z, y, strict=True):
        margin = z @ np.linalg.solve(A + counting * np.outer(z, z), theta)
        out.append(margin)
        if (margin >= 0) != (label > 0) and z @ z > 0:
            A += np.outer(z, z)
            theta += label * z
    return np.array(out)


def narow(Z, y, lam, b):
    """Margins on explicit features, and z'A^-1 z after each update."""
    A, theta, out, after = lam * np.eye(Z.shape[1]), np.zeros(Z.shape[1]), [], []
    for z, label in zip(Z, y, strict=True):
        margin = z @ np.linalg.solve(A, theta)
        out.append(margin)
        chi = z @ np.linalg.solve(A, z)
        if label * margin < 1 and chi > 0:
            A += max(0.0, (b * chi - 1) / chi) * np.outer(z, z)
            theta += label * z
            after.append(z @ np.linalg.solve(A, z))
    return np.array(out), np.array(after)


def aggregate(Q, y, bound, rule, prior=None):
    """Predictions from those of the experts (N, n): log-weights W, one round at a time."""
    W = np.log(np.full(len(Q), 1 / len(Q)) if prior is None else prior)
    Q = np.clip(Q, -bound, bound)
    eta = 1 / ((2 if rule == "aa" else 8) * bound**2)
    out = []
    for q, label in zip(Q.T, y, strict=True):
        w = W - logsumexp(W)
        if rule == "ewa":
            out.append(np.exp(w) @ q)
        else:
            low, high = (-logsumexp(w - eta * (side - q) ** 2) / eta for side in (-bound, bound))
            out.append((low - high) / (4 * bound))
        W -= eta * (q - label) ** 2
    return np.array(out)
