"""Gradient descent on Nystrom features written slowly: whole matrices, a fresh decomposition, lstsq at every move."""

from __future__ import annotations

import numpy as np
from scipy.linalg import null_space

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


def along(v):
    """An orthogonal matrix whose last row is v, as long as 1."""
    length = np.linalg.norm(v)
    return np.vstack([null_space(v[None]).T, v / length]) if length else np.eye(len(v))


def basis(E, ridge):
    """Coefficients of m functions, one a row, orthonormal for the kernel with a ridge: eigenvectors, leading first."""
    S, U = (a[..., ::-1] for a in np.linalg.eigh(E))
    return U.T / np.sqrt(np.maximum(S, 0) + ridge)[:, None]


def reflected(W, r, w, q, k, own, ridge):
    """W and weights w (r, K) after landmark q went where the kernel to the old landmarks is k, to itself `own`.

    Whole matrices and null spaces: all functions but one do without u_q; that one becomes what u_new adds to their
    span; then twice the direction of the tail that is least orthogonal to it, and its partner in the head, are turned.
    """
    m = len(W)
    w = np.vstack([w, np.zeros((m - r, w.shape[1]))])

    def turn(head, tail):
        for part, v in ((slice(r), head), (slice(r, m), tail)):
            if len(v):
                Q = along(v)
                W[part], w[part] = Q @ W[part], Q @ w[part]

    def rotate(Q):
        W[[r - 1, m - 1]], w[[r - 1, m - 1]] = Q @ W[[r - 1, m - 1]], Q @ w[[r - 1, m - 1]]

    def settle():
        rotate(np.linalg.eigh(W[[r - 1, m - 1]] @ W[[r - 1, m - 1]].T)[1].T)  # the shorter one first

    W = W.copy()
    turn(W[:r, q], W[r:, q])
    if r < m:
        rotate(along(W[[r - 1, m - 1], q])[::-1])
    rest, others = np.delete(np.arange(m), r - 1), np.delete(np.arange(m), q)
    B = W[np.ix_(rest, others)]
    z = B @ k[others]
    length = np.sqrt(own + ridge - z @ z)
    w[r - 1] *= W[r - 1] @ k / length
    W[:, q] = 0
    W[r - 1, others] = -z @ B / length
    W[r - 1, q] = 1 / length
    if r < m:
        settle()
        for _ in range(2):
            x = W[r:] @ W[r - 1]
            turn(W[:r] @ (W[r:].T @ x), x)
            settle()
    return W, w[:r]


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
    E = gaussian(u, u, sigma)
    U, S, proj = eigenpairs(E, r)
    w = np.sqrt(S)[:, None] * (U.T @ alpha) * (proj.any(0)[:, None])
    out, W = list(P), None
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
        if solver == "reflect":
            if W is None:
                own_ridge = 1e-8 * np.trace(E)
                W = basis(E, own_ridge)
                carried = W[:r] @ (E + own_ridge * np.eye(m)) @ proj @ carried
            W, w = reflected(W, r, carried, q, gaussian(old_u, u[q : q + 1], sigma)[:, 0], 1.0, own_ridge)
            age += 1
            if r < m and age % (2 * m) == 0:
                new, old = gaussian(u, u, sigma), W
                W = basis(new, own_ridge)
                w = W[:r] @ (new + own_ridge * np.eye(m)) @ old[:r].T @ w
            proj = W[:r].T
            if order == "ls_gd":
                z = proj.T @ gaussian(u, x[None], sigma)[:, 0]
                w = (1 - rate * lam) * w - rate * np.outer(z, gradient(loss, y, z @ w))
            continue
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
