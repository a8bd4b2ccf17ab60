"""Learners on projected features written slowly: explicit feature vectors, dense leverage scores, fresh solves."""

from __future__ import annotations

import numpy as np

from nystream.losses import Squared


class Coins:
    """Stands in for a generator: `random` gives these uniforms in turn."""

    def __init__(self, uniforms):
        self.uniforms = list(uniforms)

    def random(self, n=None):
        if n is None:
            return self.uniforms.pop(0) if self.uniforms else 0.5
        return np.array([self.random() for _ in range(n)])


def with_coins(learner, d, uniforms):
    """The learner, started for d columns and one output, whose rounds toss these coins."""
    learner.reserve(d, 1)
    coins = Coins(uniforms)
    learner.atoms_.rng_, learner.atoms_.u_ = coins, coins.random()
    return learner


def features(K):
    """(n, n) vectors whose products are K."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0))


def kors_atoms(K, u, mu, eps=0.5, beta=1.0):
    """Rows that KORS keeps and probabilities, from tau = (1+eps) phi' (sum phi phi'/p + phi phi' + mu I)^-1 phi."""
    Phi = features(K)
    kept, odds, A = [], [], mu * np.eye(len(K))
    for t, phi in enumerate(Phi):
        tau = (1 + eps) * phi @ np.linalg.solve(A + np.outer(phi, phi), phi)
        p = min(beta * tau, 1.0) if tau > 0 else 0.0
        if u[t] < p:
            kept.append(t)
            odds.append(p)
            A += np.outer(phi, phi) / p
    return kept, odds


def independent(K, rows, nu=1e-10):
    """Those rows, in order, whose squared distance to the span of the ones before is more than nu k(x, x)."""
    atoms = []
    for t in rows:
        a = np.array(atoms, dtype=int)
        inside = K[t, a] @ np.linalg.solve(K[np.ix_(a, a)], K[a, t]) if len(a) else 0.0
        if K[t, t] - inside > nu * K[t, t]:
            atoms.append(t)
    return atoms


def basis(Phi, atoms):
    """(n, m) orthonormal basis of the span of the atoms, nested: the basis of fewer atoms is its first columns."""
    return np.linalg.qr(Phi[atoms].T)[0] if len(atoms) else np.zeros((len(Phi), 0))


def projected_rows(Phi, atoms, Q):
    """P_t phi_t with P_t the projection on the span of the atoms up to round t, in the basis Q of them all, (n, m)."""
    sizes = np.searchsorted(atoms, np.arange(len(Phi)), side="right")
    return np.array([np.append(Q[:, :m].T @ phi, np.zeros(len(atoms) - m)) for m, phi in zip(sizes, Phi, strict=True)])


def frozen(K, y, atoms, lam, weights=None):
    """Ridge and AWV predictions on P_t phi_t, and those rows; AWV counts x_t with its weight (0: as 1)."""
    Phi, w = features(K), np.ones(len(y)) if weights is None else weights
    F = projected_rows(Phi, atoms, basis(Phi, atoms))
    ridge, awv = np.zeros(len(y)), np.zeros(len(y))
    A, b = lam * np.eye(len(atoms)), np.zeros(len(atoms))
    for t, f in enumerate(F):
        ridge[t] = f @ np.linalg.solve(A, b)
        awv[t] = f @ np.linalg.solve(A + (w[t] or 1.0) * np.outer(f, f), b)
        A += w[t] * np.outer(f, f)
        b += w[t] * y[t] * f
    return ridge, awv, F


def exact(K, y, atoms, lam, weights=None):
    """argmin over the span of round t of sum_{s<t} w_s (y_s - f(x_s))^2 + lam |f|^2 (AWV: + w_t f(x_t)^2), at x_t."""
    Phi, w = features(K), np.ones(len(y)) if weights is None else weights
    Q = basis(Phi, atoms)
    ridge, awv = np.zeros(len(y)), np.zeros(len(y))
    for t in range(len(y)):
        m = np.searchsorted(atoms, t, side="right")
        Z = Phi[: t + 1] @ Q[:, :m]
        W = Z.T * np.append(w[:t], w[t] or 1.0)  # a row of weight 0 is only asked about
        b = W[:, :t] @ y[:t]
        ridge[t] = Z[t] @ np.linalg.solve(lam * np.eye(m) + W[:, :t] @ Z[:t], b)
        awv[t] = Z[t] @ np.linalg.solve(lam * np.eye(m) + W @ Z, b)
    return ridge, awv


def newton(F, y, restarts, *, eta, clip, lam, loss=None):
    """Clipped online Newton step on rows F, dense; u = 0 and A = lam I anew in rounds `restarts`. eta: a number or
    eta(t), where t goes on counting over restarts."""
    loss = loss or Squared()
    u, A, p = np.zeros(F.shape[1]), lam * np.eye(F.shape[1]), np.zeros(len(y))
    for t, f in enumerate(F):
        if t in restarts:
            u, A = np.zeros(F.shape[1]), lam * np.eye(F.shape[1])
        v = np.linalg.solve(A, f)
        p[t] = np.clip(u @ f, -clip, clip)
        if f @ v <= 1e-12:
            continue
        w = u - (u @ f - p[t]) / (f @ v) * v
        g = float(loss.grad(np.array(y[t]), np.array(p[t]))) * f
        A += (eta(t + 1) if callable(eta) else eta) * np.outer(g, g)
        u = w - np.linalg.solve(A, g)
    return p


def krls(X, y, kernel, nu):
    """KRLS by the recursion of the paper, K^-1, P = (A'A)^-1 and alpha: predictions and atoms."""
    atoms, Kinv, P, alpha, p = X[:0], np.zeros((0, 0)), np.zeros((0, 0)), np.zeros(0), np.zeros(len(X))
    for t, x in enumerate(X):
        k = kernel(atoms, x[None])[:, 0] if len(atoms) else np.zeros(0)
        a = Kinv @ k
        delta = kernel(x[None], x[None])[0, 0] - k @ a
        p[t] = k @ alpha
        error = y[t] - p[t]
        if delta > nu:
            corner = -a[:, None] / delta
            Kinv = np.block([[Kinv + np.outer(a, a) / delta, corner], [corner.T, np.array([[1 / delta]])]])
            P = np.block([[P, np.zeros((len(a), 1))], [np.zeros((1, len(a))), np.ones((1, 1))]])
            alpha = np.append(alpha - a * error / delta, error / delta)
            atoms = np.vstack([atoms, x])
        else:
            q = P @ a / (1 + a @ P @ a)
            P = P - np.outer(q, P @ a)
            alpha = alpha + Kinv @ q * error
    return p, atoms
