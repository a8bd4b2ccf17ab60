"""Kernel bandits, written slowly: Gram matrices of all rounds, no factors, no shared rows."""

from __future__ import annotations

import math

import numpy as np


def exact(kernel, lam, X, r, arms):
    """Means and squared widths by the Gram matrix of all rounds."""
    own = kernel.diag(arms)
    if not len(X):
        return np.zeros(len(arms)), own / lam
    K, k = kernel(X, X) + lam * np.eye(len(X)), kernel(arms, X)
    return k @ np.linalg.solve(K, r), (own - np.einsum("ij,ij->i", k, np.linalg.solve(K, k.T).T)) / lam


def sketched(kernel, lam, atoms, X, r, arms):
    """The same in the span of atoms: features by the symmetric root of the pseudo-inverse, as in the paper."""
    own = kernel.diag(arms)
    if not len(atoms):
        return np.zeros(len(arms)), own / lam
    values, Q = np.linalg.eigh(kernel(atoms, atoms))
    keep = values > 1e-9 * values.max()
    root = Q[:, keep] / np.sqrt(values[keep]) @ Q[:, keep].T
    Z, z = kernel(X, atoms) @ root, kernel(arms, atoms) @ root
    V = Z.T @ Z + lam * np.eye(len(atoms))
    square = (own - np.einsum("ij,ij->i", z, np.linalg.solve(V, Z.T @ Z @ z.T).T)) / lam
    return z @ np.linalg.solve(V, Z.T @ r), square


def bkb(kernel, lam, beta, q, batch, arms, reward, rounds, seed):
    """Indices pulled and numbers of atoms, with one uniform for each different arm whenever atoms are sampled."""
    rng, X, r, atoms = np.random.default_rng(seed), [], [], np.zeros((0, arms.shape[1]))
    since, pulled, sizes = 0.0, [], []
    for t in range(rounds):
        past = np.array(X).reshape(len(X), arms.shape[1])
        mean, square = sketched(kernel, lam, atoms, past, np.array(r), arms)
        best = int(np.argmax(mean + beta * np.sqrt(np.maximum(square, 0.0))))
        since += square[best]
        X.append(arms[best])
        r.append(reward(best, t))
        pulled.append(best)
        if 1 + since > batch:
            past = np.array(X)
            order = list(dict.fromkeys(pulled))
            odds = np.minimum(q * sketched(kernel, lam, atoms, past, np.array(r), arms[order])[1], 1.0)
            counts = np.array([pulled.count(i) for i in order])
            u = rng.random(len(order))
            atoms = arms[[i for i, p, n, v in zip(order, odds, counts, u, strict=True) if v < 1 - (1 - p) ** n]]
            since = 0.0
        sizes.append(len(atoms))
    return pulled, sizes


def theory(noise, norm, delta, lam, log_det):
    return noise * math.sqrt(log_det + 2 * math.log(1 / delta)) + math.sqrt(lam) * norm
