"""Learners under a joint kernel k(x, x') M[y, y'], in its feature space: every function is a vector, nothing is mixed.

With K = L L' over the whole stream and M = R R', the function k((x_t, y), .) is the outer product of L_t and R_y, its
value at (x_s, j) the inner product with that of L_s and R_j.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from oracles.features import phi


class Space:
    """The feature space of a stream with Gram matrix K and labels with similarity M."""

    def __init__(self, K: np.ndarray, M: np.ndarray, margins: np.ndarray) -> None:
        self.L, self.R, self.D = root(K), root(M), margins
        self.zero = np.zeros((self.L.shape[1], self.R.shape[1]))

    def scores(self, f: np.ndarray, t: int) -> np.ndarray:
        """f at (x_t, y) for every y."""
        return self.R @ (self.L[t] @ f)

    def point(self, t: int, alpha: np.ndarray) -> np.ndarray:
        """sum_y alpha_y k((x_t, y), .)."""
        return np.outer(self.L[t], alpha @ self.R)

    def rival(self, y: int, p: np.ndarray, margins: bool = True) -> int:
        lead = (self.D[y] if margins else 0.0) + p
        return max((j for j in range(len(p)) if j != y), key=lambda j: (lead[j], -j))

    def pair(self, y: int, j: int) -> np.ndarray:
        """e_y - e_j."""
        e = np.zeros(len(self.R))
        e[y], e[j] = 1.0, -1.0
        return e

    def projected(self, f: np.ndarray, points: list[int]) -> np.ndarray:
        """The nearest function to f that these points can express, with any label."""
        basis = [self.point(i, e).ravel() for i in points for e in np.eye(len(self.R))]
        A = np.array(basis).reshape(-1, f.size).T
        return (A @ np.linalg.lstsq(A, f.ravel(), rcond=1e-12)[0]).reshape(f.shape) if points else 0 * f


def root(A: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(A)
    return vectors * np.sqrt(np.where(values > 1e-12 * values[-1], values, 0.0))


def perceptron(space: Space, y: int, p: np.ndarray, t: int) -> np.ndarray:
    """The coefficients that a mistake asks for."""
    rival = space.rival(y, p, margins=False)
    e = space.pair(y, rival)
    return e if p[y] <= p[rival] and np.linalg.norm(space.point(t, e)) > 1e-9 else 0 * e


def passive_aggressive(variant: str | None, C: float) -> Callable[..., np.ndarray]:
    """The smallest step along a label and its strongest rival, by the squared norm of that direction."""

    def rule(space: Space, y: int, p: np.ndarray, t: int) -> np.ndarray:
        rival = space.rival(y, p)
        e, loss = space.pair(y, rival), max(0.0, space.D[y, rival] + p[rival] - p[y])
        s = np.sum(space.point(t, e) ** 2)
        if s < 1e-18:
            return 0 * e
        return e * (loss / (s + 1 / (2 * C)) if variant == "II" else min(loss / s, C if variant == "I" else np.inf))

    return rule


def corrections(space: Space, y: np.ndarray, rule: Callable[..., np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Predictions, and the mean of the hypotheses that made them at every point."""
    f, total, P = space.zero, space.zero, []
    for t in range(len(y)):
        total = total + f
        P.append(space.scores(f, t))
        f = f + space.point(t, rule(space, int(y[t]), P[-1], t))
    return np.array(P), np.array([space.scores(total / len(y), t) for t in range(len(y))])


def random_budget(space: Space, y: np.ndarray, budget: int, seed: int) -> np.ndarray:
    slots: list[np.ndarray] = []
    P, rng = [], np.random.default_rng(seed)
    for t in range(len(y)):
        P.append(space.scores(sum(slots, space.zero), t))
        new = space.point(t, perceptron(space, int(y[t]), P[-1], t))
        if not new.any():
            continue
        if len(slots) < budget:
            slots.append(new)
        else:
            slots[int(budget * rng.random())] = new
    return np.array(P)


def budget_pa(space: Space, y: np.ndarray, budget: int, C: float, variant: str) -> np.ndarray:
    """Every candidate is removed and re-fitted on V and the new point; the one that loses least is it."""
    points: list[int] = []
    parts: list[np.ndarray] = []  # coefficients (labels,) of each point
    P = []
    for t in range(len(y)):
        P.append(space.scores(sum((space.point(i, a) for i, a in zip(points, parts, strict=True)), space.zero), t))
        alpha = passive_aggressive("I", C)(space, int(y[t]), P[-1], t)
        if not alpha.any():
            continue
        if len(points) < budget:
            points.append(t)
            parts.append(alpha)
            continue
        damage = []
        for r in range(budget):
            own = space.point(points[r], parts[r])
            damage.append(
                np.sum((own - space.projected(own, [points[i] for i in heirs(space, points, r, variant)] + [t])) ** 2)
            )
        gone = int(np.argmin(damage))
        near = heirs(space, points, gone, variant)
        L = space.L[[points[i] for i in near] + [t]]
        b = np.linalg.lstsq(L.T, space.L[points[gone]], rcond=1e-12)[0]
        for i, share in zip(near, b[:-1], strict=True):
            parts[i] = parts[i] + share * parts[gone]
        points[gone], parts[gone] = t, alpha + b[-1] * parts[gone]
    return np.array(P)


def heirs(space: Space, points: list[int], r: int, variant: str) -> list[int]:
    """The slots of V, the stored points that take over with the new one."""
    others = [i for i in range(len(points)) if i != r]
    if variant == "NN":
        return [min(others, key=lambda i: np.sum((space.L[points[i]] - space.L[points[r]]) ** 2))]
    return others if variant == "P" else []


def projectron(
    space: Space, y: np.ndarray, tol: float, plus: bool, budget: int | None = None
) -> tuple[np.ndarray, int]:
    f, points, P = space.zero, [], []
    for t in range(len(y)):
        p = space.scores(f, t)
        P.append(p)
        label = int(y[t])
        rival = space.rival(label, p, margins=False)
        margin, new = p[label] - p[rival], space.point(t, space.pair(label, rival))
        if margin >= 1 or (margin > 0 and not plus) or np.linalg.norm(new) < 1e-9:
            continue
        near = space.projected(new, points)
        delta, square = np.linalg.norm(new - near), np.sum(near**2)
        if margin <= 0:
            full = budget is not None and len(points) >= budget
            f = f + (near if points and (delta <= tol or full) else new)
            if not points or (delta > tol and not full):
                points.append(t)
        elif points and 1 - margin >= delta / tol:
            f = f + min((1 - margin) / square, 2 * (1 - margin - delta / tol) / square, 1.0) * near
    return np.array(P), len(points)


def svmd(space: Space, y: np.ndarray, loss, eta=0.1, lam=1e-3, mu=0.1, decay=0.95, clamp=0.7, budget=None):
    """Predictions and (eta, <f,f>, <f,v>) per round; f and v are sums of one vector per stored point."""
    F: list[np.ndarray] = []
    V: list[np.ndarray] = []
    P, meta = [], []
    for t in range(len(y)):
        f, v = sum(F, space.zero), sum(V, space.zero)
        p = space.scores(f, t)
        P.append(p)
        gradient = lam * f + space.point(t, loss.grad(int(y[t]), p))
        eta = min(eta * np.exp(np.clip(-mu * np.sum(gradient * v), -clamp, clamp)), 0.9 / lam)
        new = -eta * space.point(t, loss.grad(int(y[t]), p))
        F, V = (
            [(1 - eta * lam) * a for a in F],
            [decay * (1 - eta * lam) * b - eta * lam * a for a, b in zip(F, V, strict=True)],
        )
        if new.any():
            F, V = [*F, new], [*V, new]
            if budget is not None and len(F) > budget:
                F, V = F[1:], V[1:]
        f, v = sum(F, space.zero), sum(V, space.zero)
        meta.append((eta, np.sum(f * f), np.sum(f * v)))
    return np.array(P), np.array(meta)


def rrf(model, X: np.ndarray, y: np.ndarray, M: np.ndarray, eta: float, eta_scale: float) -> tuple[np.ndarray, ...]:
    """Predictions and log-scales: gradient descent on weights (dim, labels) of the features z x R."""
    D, R, loss = model.dim // 2, root(M), model.loss
    E = np.random.default_rng(model.seed).standard_normal((D, X.shape[1])).T
    a, theta, P = np.full(X.shape[1], -np.log(model.kernel.sigma)), np.zeros((2 * D, len(M))), []
    for x, label in zip(X, y, strict=True):
        u = E.T @ (np.exp(a) * x)
        z = np.concatenate([np.cos(u), np.sin(u)]) / np.sqrt(D)
        p = z @ theta @ R.T
        P.append(p)
        g = loss.grad(int(label), p)
        slope = theta @ R.T @ g  # of the loss in the features
        du = (slope[D:] * np.cos(u) - slope[:D] * np.sin(u)) / np.sqrt(D)
        theta = theta - eta * np.outer(z, g @ R)
        a = a - eta_scale * np.clip(x * np.exp(a) * (E @ du), -1, 1)
    return np.array(P), a


def doubly_sgd(model, X: np.ndarray, y: np.ndarray, M: np.ndarray, lam: float, step: float, t0: float) -> np.ndarray:
    """Predictions: one block of features (B,) x R a round."""
    R, loss, Phi, theta, P = root(M), model.loss, [], [], []
    for t in range(1, len(X) + 1):
        p = sum((f[t - 1] @ c for f, c in zip(Phi, theta, strict=True)), np.zeros(len(M))) @ R.T
        P.append(p)
        rate = step / (t0 + t)
        theta = [(1 - rate * lam) * c for c in theta]
        Phi.append(phi(model, X, t))
        theta.append(-rate / model.block * np.outer(Phi[-1][t - 1], loss.grad(int(y[t - 1]), p) @ R))
    return np.array(P)
