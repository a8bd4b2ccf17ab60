"""Kernel expansions written slowly: a list of terms, every kernel value and every decay afresh in every round."""

from __future__ import annotations

import math

import numpy as np

from oracles import gaussian

SIGMA = 0.8


class Term:
    """One entry: point, coefficients, round of its storage, sum of its coefficients over the rounds."""

    def __init__(self, x, alpha, birth, total=None):
        self.x, self.alpha, self.birth = x, np.array(alpha, dtype=float), birth
        self.total = np.zeros_like(self.alpha) if total is None else total


class SlowExpansion:
    """f = sum alpha_i k(x_i, .), K outputs."""

    def __init__(self, outputs=1, sigma=SIGMA, kernel=None):
        self.terms = []
        self.outputs = outputs
        self.kernel = kernel or (lambda X, Y: gaussian(X, Y, sigma))

    def row(self, x):
        return self.kernel(np.array([term.x for term in self.terms]).reshape(-1, len(x)), x[None])[:, 0]

    def score(self, x):
        k = self.row(x)
        return sum((term.alpha * v for term, v in zip(self.terms, k, strict=True)), np.zeros(self.outputs))

    def averaged(self, x, rounds):
        k = self.row(x)
        return sum((term.total * v for term, v in zip(self.terms, k, strict=True)), np.zeros(self.outputs)) / rounds

    def begin(self):
        for term in self.terms:
            term.total = term.total + term.alpha

    def decay(self, factor):
        for term in self.terms:
            term.alpha = term.alpha * factor

    def append(self, x, alpha, birth):
        self.terms.append(Term(x, alpha, birth))

    def drop(self, rule, t):
        """One term too many: exactly one goes."""
        if rule == "oldest":
            del self.terms[min(range(len(self.terms)), key=lambda i: self.terms[i].birth)]
            return
        size = [abs(term.alpha).max() for term in self.terms]
        if rule == "contribution":
            size = [
                s * math.sqrt(self.kernel(m.x[None], m.x[None])[0, 0]) for s, m in zip(size, self.terms, strict=True)
            ]
        gone = self.terms.pop(min(range(len(size)), key=lambda i: (size[i], self.terms[i].birth)))
        if rule == "project":
            self.project(gone)
        elif rule == "merge":
            self.merge(gone, t)

    def project(self, gone):
        X = np.array([term.x for term in self.terms])
        K = self.kernel(X, X)
        c = np.linalg.solve(K + 1e-10 * np.diag(np.diag(K)), self.row(gone.x))
        for term, share in zip(self.terms, c, strict=True):
            term.alpha, term.total = term.alpha + share * gone.alpha, term.total + share * gone.total

    def merge(self, gone, t):
        candidates = []
        for j, (term, k) in enumerate(zip(self.terms, self.row(gone.x), strict=True)):
            if gone.alpha @ term.alpha >= 0 and k > 0:
                h, value = best_place(gone.alpha, term.alpha, k)
                whole = gone.alpha @ gone.alpha + term.alpha @ term.alpha + 2 * (gone.alpha @ term.alpha) * k
                candidates.append((whole - value, j, h, k))
        if candidates:
            _, j, h, k = min(candidates)
            other, u, v = self.terms[j], k ** ((1 - h) ** 2), k ** (h**2)
            z = h * gone.x + (1 - h) * other.x
            self.terms[j] = Term(z, u * gone.alpha + v * other.alpha, t, u * gone.total + v * other.total)


def best_place(a, b, k):
    """h in [0, 1] and the value of the largest |a k^((1-h)^2) + b k^(h^2)|^2, by grids within grids."""
    lo, hi = 0.0, 1.0
    for _ in range(4):
        h = np.linspace(lo, hi, 201)
        u, v = k ** ((1 - h) ** 2), k ** (h**2)
        value = (a @ a) * u * u + (b @ b) * v * v + 2 * (a @ b) * u * v
        top = int(value.argmax())
        lo, hi = h[max(top - 1, 0)], h[min(top + 1, 200)]
    return h[top], value[top]


def silk(
    X,
    Y,
    loss,
    *,
    eta=1.0,
    lam=0.0,
    C=1.0,
    schedule="constant",
    budget=None,
    drop="smallest",
    multiclass=None,
    outputs=1,
    weights=None,
    f=None,
):
    """ILK and SILK: predictions (n, K) and the final expansion."""
    f = f or SlowExpansion(outputs)
    M = getattr(loss, "label_similarity", None)
    P = []
    for t, (x, y) in enumerate(zip(X, Y, strict=True), start=1):
        f.begin()
        p = f.score(x) if M is None else M @ f.score(x)
        P.append(p)
        eta_t = eta / math.sqrt(t) if schedule == "sqrt" else eta
        kappa = 1 / (1 + eta_t * lam)
        c = kappa * eta_t * C * (1.0 if weights is None else weights[t - 1])
        s = f.kernel(x[None], x[None])[0, 0]
        f.decay(kappa)
        if loss.multiclass:
            extra = {} if multiclass is None else {"rule": multiclass, "scores": p[None]}
            alpha = loss.implicit(np.array([y]), kappa * p[None], s, c, **extra)[0]
        else:
            alpha = np.atleast_1d(loss.implicit(np.atleast_1d(y), kappa * p, s, c))
        if np.any(alpha != 0):
            f.append(x, alpha, t)
            if budget is not None and len(f.terms) > budget:
                f.drop(drop, t)
    return np.array(P), f


def norma(
    X,
    Y,
    loss,
    *,
    eta=0.1,
    lam=0.01,
    schedule="constant",
    budget=None,
    keep="age",
    offset=False,
    nu=None,
    outputs=1,
    weights=None,
    f=None,
):
    """NORMA: predictions (n, K), the final expansion, the offset and the adapted level."""
    f = f or SlowExpansion(outputs)
    M = getattr(loss, "label_similarity", None)
    b, level, P = np.zeros(outputs), 0.0, []
    for t, (x, y) in enumerate(zip(X, Y, strict=True), start=1):
        f.begin()
        p = (f.score(x) if M is None else M @ f.score(x)) + b
        P.append(p)
        eta_t = eta / math.sqrt(t) if schedule == "sqrt" else eta
        if nu is not None:
            g, level = adapted(loss.name, y, float(p[0]), level, eta_t, nu)
        else:
            g = slope(loss, y, p)
        step = -eta_t * g * (1.0 if weights is None else weights[t - 1])
        f.decay(1 - eta_t * lam)
        if np.any(step != 0):
            f.append(x, step, t)
        b = b + step if offset else b
        if budget is not None and keep == "age":
            f.terms = [term for term in f.terms if t - term.birth < budget]
        elif budget is not None and len(f.terms) > budget:
            f.drop("oldest", t)
    return np.array(P), f, b, level


def slope(loss, y, p):
    """l'(y, p), (K,)."""
    return loss.grad(np.array([y]), p[None])[0] if loss.multiclass else np.atleast_1d(loss.grad(np.atleast_1d(y), p))


def pegasos(X, Y, loss, *, lam, budget, maintenance, t0=0.0, outputs=1, weights=None):
    """BSGD for K outputs: predictions (n, K) and the final expansion."""
    f, P = SlowExpansion(outputs), []
    M = getattr(loss, "label_similarity", None)
    rule = {"remove": "smallest"}.get(maintenance, maintenance)
    for t, (x, y) in enumerate(zip(X, Y, strict=True), start=1):
        p = f.score(x) if M is None else M @ f.score(x)
        P.append(p)
        g = slope(loss, y, p)
        f.decay(1 - 1 / (t0 + t))
        if np.any(g != 0):
            f.append(x, -g * (1.0 if weights is None else weights[t - 1]) / (lam * (t0 + t)), t)
            if len(f.terms) > budget:
                f.drop(rule, t)
    return np.array(P), f


def adapted(name, y, p, level, eta, nu):
    """Gradient and next margin or tube of the nu-trick."""
    if name == "epsilon_insensitive":
        v = float(abs(y - p) > level)
        return np.array([v * np.sign(p - y)]), max(0.0, level + eta * (v - nu))
    v = float(y * p <= level) if name == "hinge" else float(p < level)
    return np.array([-v * (y if name == "hinge" else 1.0)]), level + eta * (nu - v)


def svmd(X, Y, loss, *, eta=0.1, lam=1e-3, mu=0.1, decay=0.95, clamp=0.7, budget=None, outputs=1, kernel=None):
    """SVMD with every inner product from the Gram matrix: predictions, (eta, <f,f>, <f,v>) per round, f and v.

    Coefficients are (2, K) per term, f and v.
    """
    f = SlowExpansion((2, outputs), kernel=kernel)
    P, meta = [], []

    def inner(i, j):
        points = np.array([term.x for term in f.terms]).reshape(-1, X.shape[1])
        K = f.kernel(points, points)
        A = np.array([term.alpha for term in f.terms]).reshape(-1, 2, outputs)
        return float(np.einsum("ic,ij,jc->", A[:, i], K, A[:, j]))

    for t, (x, y) in enumerate(zip(X, Y, strict=True), start=1):
        f.begin()
        p, v = f.score(x)
        P.append(p)
        xi = slope(loss, y, p)
        if loss.multiclass:
            Hv = loss.second(np.array([y]), p[None])[0] @ v
        else:
            Hv = np.atleast_1d(loss.second(np.atleast_1d(y), p)) * v
        eta = eta * math.exp(np.clip(-mu * (lam * inner(0, 1) + xi @ v), -clamp, clamp))
        eta = min(eta, 0.9 / lam) if lam else eta
        for term in f.terms:
            A, B = term.alpha
            term.alpha = np.array([(1 - eta * lam) * A, decay * (1 - eta * lam) * B - eta * lam * A])
        new = np.array([-eta * xi, -eta * (xi + decay * Hv)])
        if np.any(new != 0):
            f.append(x, new, t)
            if budget is not None and len(f.terms) > budget:
                f.drop("oldest", t)
        meta.append((eta, inner(0, 0), inner(0, 1)))
    return np.array(P), np.array(meta), f
