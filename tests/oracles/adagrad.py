"""NOLANA with AdaGrad steps written slowly: a fresh decomposition at every move, second moments carried along."""

from __future__ import annotations

import numpy as np

from oracles import gaussian
from oracles.landmarks import eigenpairs, gradient, move, ridge

TINY = 1e-8


def collected(X, Y, sigma, outputs, loss, eta):
    """The first phase, each output's step divided by the root of its squared functional gradients so far."""
    K, alpha, P = gaussian(X, X, sigma), np.zeros((len(X), outputs)), np.zeros((len(X), outputs))
    squares = np.zeros(outputs)
    for t in range(len(X)):
        P[t] = K[t] @ alpha
        g = gradient(loss, Y[t], P[t])
        squares += g**2  # k(x, x) = 1
        alpha[t] = -eta * g / (np.sqrt(squares) + TINY)
    return P, alpha


def adagrad(X, Y, sigma, m, r, eps, outputs, loss, eta, order="gd_ls"):
    """Predictions, and how often a landmark moved."""
    P, alpha = collected(X[:m], Y[:m], sigma, outputs, loss, eta)
    u, N, moves = X[:m].copy(), np.ones(m), 0
    U, S, proj = eigenpairs(gaussian(u, u, sigma), r)
    w, h, out = np.sqrt(S)[:, None] * (U.T @ alpha), np.zeros((r, outputs)), list(P)

    def step(z, y):
        nonlocal w, h
        g = np.outer(z, gradient(loss, y, z @ w))
        h = h + g**2
        w = w - eta * g / (np.sqrt(h) + TINY)

    for x, y in zip(X[m:], Y[m:], strict=True):
        z = proj.T @ gaussian(u, x[None], sigma)[:, 0]
        out.append(z @ w)
        old, before = u.copy(), proj
        q, gap = move(u, N, x, eps)
        moved = q is not None and gap > 0
        moves += q is not None
        if not moved or order == "gd_ls":
            step(z, y)
        if moved:
            E = gaussian(u, u, sigma)
            U, S, proj = eigenpairs(E, r)
            T = ridge(E @ proj, gaussian(u, old, sigma) @ before, 1e-8 * S[0])
            w, h = T @ w, T**2 @ h
            if order == "ls_gd":
                step(proj.T @ gaussian(u, x[None], sigma)[:, 0], y)
    return np.array(out), moves
