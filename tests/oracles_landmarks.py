"""Gradient descent on Nystrom features written slowly: whole matrices, a fresh decomposition, lstsq at every move."""

from __future__ import annotations

import numpy as np

from nystream.losses import as_loss
from oracles import gaussian


def gradient(loss, y, p):
    """l'(y, p); a label similarity mixes it: what moves one label moves those like it."""
    loss = as_loss(loss)
    if not loss.multiclass:
        return np.asarray([loss.grad(a, b) for a, b in zip(y, p, strict=True)])
    M = getattr(loss, "label_similarity", None)
    g = np.asarray(loss.grad(int(y[0]), p))
    return g if M is None else M @ g


def functional(X, Y, sigma, outputs, loss, eta, lam=0.0, schedule="constant"):
    """f <- (1 - eta_t lam) f - eta_t l'(y, f(x)) k(x, .) with the whole Gram matrix: predictions, coefficients."""
    K, alpha, P = gaussian(X, X, sigma), np.zeros((len(X), outputs)), np.zeros((len(X), outputs))
    for t in range(len(X)):
        rate = eta / np.sqrt(t + 1) if schedule == "sqrt" else eta
        P[t] = K[t] @ alpha
        alpha *= 1 - rate * lam
        alpha[t] = -rate * gradient(loss, Y[t], P[t])
    return P, alpha


def eigenpairs(E, r, tol=1e-8):
    """U (m, r), S (r,) and P = U S^(-1/2), 0 where S counts as zero."""
    S, U = np.linalg.eigh(E)
    return inverted(U[:, ::-1][:, :r], S[::-1][:r], tol)


def inverted(U, S, tol=1e-8):
    root = np.array([s**-0.5 if s > tol * S[0] else 0.0 for s in S])
    return U, np.maximum(S, 0), U * root


def refreshed(solver, E, old_E, U, S, q, age):
    """The same after row and column q changed: "warm" iterates twice from [U, e_q, b], "rank2" follows the matrix
    U S U' + e_q b' + b e_q', of which every hundredth change (`age`) is a fresh decomposition of E instead."""
    r, a, b = len(S), np.eye(len(E))[q], E[q] - old_E[q]
    b[q] /= 2
    if solver == "eigh" or (solver == "rank2" and age % 100 == 0):
        return eigenpairs(E, r)
    if solver == "rank2":
        return eigenpairs(U @ np.diag(S) @ U.T + np.outer(a, b) + np.outer(b, a), r)
    Q = np.column_stack([U, a, b])
    for _ in range(2):
        Q = np.linalg.svd(E @ Q, full_matrices=False)[0]
    theta, V = np.linalg.eigh(Q.T @ E @ Q)
    return inverted(Q @ V[:, ::-1][:, :r], theta[::-1][:r])


def move(points, counts, x, eps, count="moves"):
    """(landmark that moved or None, the squared distance); `points` and `counts` are written to."""
    squares = ((points - x) ** 2).sum(1)
    q = int(np.argmin(squares))
    if squares[q] < eps:
        counts[q] += count == "all"
        return None, squares[q]
    if squares[q] > 0:
        points[q] = (counts[q] * points[q] + x) / (counts[q] + 1)
    counts[q] += 1
    return q, squares[q]


def nolana(
    X,
    Y,
    sigma,
    m,
    r,
    eps,
    outputs,
    loss,
    eta,
    lam=0.0,
    schedule="constant",
    theta=None,
    order="gd_ls",
    count="moves",
    solver="eigh",
):
    """Predictions of NOLANA (of NOGD for eps = inf) and the number of moves after the landmarks were complete."""
    P, alpha = functional(X[:m], Y[:m], sigma, outputs, loss, eta, lam, schedule)
    u, N, moves, age = X[:m].copy(), np.ones(m), 0, 0
    for x in X[:m]:
        move(u, N, x, eps, count)
    E = gaussian(u, u, sigma)
    U, S, proj = eigenpairs(E, r)
    w = np.sqrt(S)[:, None] * (U.T @ alpha) * (proj.any(0)[:, None])
    out = list(P)
    for t in range(m, len(X)):
        x, y, rate = X[t], Y[t], eta / np.sqrt(t + 1) if schedule == "sqrt" else eta
        z = proj.T @ gaussian(u, x[None], sigma)[:, 0]
        out.append(z @ w)
        old_u, old_proj = u.copy(), proj
        old_N = N.copy()
        q, gap = move(u, N, x, eps, count)
        moved = q is not None and gap > 0
        stepped = (1 - rate * lam) * w - rate * np.outer(z, gradient(loss, y, z @ w))
        moves += q is not None
        if not moved:
            w = stepped
            continue
        assert old_N[q] + 1 == N[q]
        carried = w if order == "ls_gd" else stepped
        target = gaussian(u, old_u, sigma) @ old_proj @ carried
        age, old_E, E = age + 1, E, gaussian(u, u, sigma)
        U, S, proj = refreshed(solver, E, old_E, U, S, q, age)
        w = ridge(E @ proj, target, 1e-8 * S[0] if theta is None else theta)
        if order == "ls_gd":
            z = proj.T @ gaussian(u, x[None], sigma)[:, 0]
            w = (1 - rate * lam) * w - rate * np.outer(z, gradient(loss, y, z @ w))
    return np.array(out), moves


def ridge(A, target, theta):
    """argmin |A w - target|^2 + theta |w|^2, the shortest one."""
    r = A.shape[1]
    stacked = np.vstack([A, np.sqrt(theta) * np.eye(r)]), np.vstack([target, np.zeros((r, target.shape[1]))])
    return np.linalg.lstsq(*stacked, rcond=None)[0]
