"""Kernel expansions written slowly: lists of (x, coefficients, birth), every kernel value and every decay afresh."""

from __future__ import annotations

import math

import numpy as np
from oracles import gaussian

SIGMA = 0.8


class SlowExpansion:
    """f = sum alpha_i k(x_i, .); entries are [x, alpha, birth, sum of alpha over the rounds]."""

    def __init__(self, outputs=1, sigma=SIGMA, kernel=None):
        self.entries = []
        self.outputs = outputs
        self.kernel = kernel or (lambda X, Y: gaussian(X, Y, sigma))

    def k(self, x, z):
        return float(self.kernel(x[None], z[None])[0, 0])

    def score(self, x):
        total = np.zeros(self.outputs)
        for z, alpha, *_ in self.entries:
            total += alpha * self.k(z, x)
        return total

    def begin(self):
        for entry in self.entries:
            entry[3] = entry[3] + entry[1]

    def averaged(self, x, rounds):
        return sum((e[3] * self.k(e[0], x) for e in self.entries), np.zeros(self.outputs)) / rounds

    def decay(self, factor):
        for entry in self.entries:
            entry[1] = entry[1] * factor

    def append(self, x, alpha, birth):
        self.entries.append([x, np.array(alpha, dtype=float), birth, np.zeros(self.outputs)])

    # -- one too many: each rule removes exactly one entry -----------------------------------------------------------
    def weights(self, contribution=False):
        scale = [math.sqrt(self.k(z, z)) if contribution else 1.0 for z, *_ in self.entries]
        return [(abs(alpha).max() * s, birth) for (_, alpha, birth, _), s in zip(self.entries, scale, strict=True)]

    def drop(self, rule, t):
        if rule == "oldest":
            del self.entries[min(range(len(self.entries)), key=lambda i: self.entries[i][2])]
            return
        weights = self.weights(rule == "contribution")
        r = min(range(len(weights)), key=weights.__getitem__)
        if rule == "project":
            self.project(r)
        elif rule == "merge":
            self.merge(r, t)
        else:
            del self.entries[r]

    def project(self, r):
        gone = self.entries.pop(r)
        X = np.array([e[0] for e in self.entries])
        K = self.kernel(X, X)
        c = np.linalg.solve(K + 1e-10 * np.diag(np.diag(K)), self.kernel(X, gone[0][None])[:, 0])
        for entry, share in zip(self.entries, c, strict=True):
            entry[1], entry[3] = entry[1] + share * gone[1], entry[3] + share * gone[3]

    def merge(self, i, t, grid=200_001):
        first = self.entries.pop(i)
        best = None
        h = np.linspace(0, 1, grid)
        for j, (z, alpha, *_) in enumerate(self.entries):
            k = self.k(first[0], z)
            if first[1] @ alpha < 0 or k == 0:
                continue
            u, v = k ** ((1 - h) ** 2), k ** (h**2)
            value = (first[1] @ first[1]) * u * u + (alpha @ alpha) * v * v + 2 * (first[1] @ alpha) * u * v
            top = value.argmax()
            damage = first[1] @ first[1] + alpha @ alpha + 2 * (first[1] @ alpha) * k - value[top]
            if best is None or damage < best[0]:
                best = (damage, j, h[top], u[top], v[top])
        if best is None:
            return
        _, j, h, u, v = best
        second = self.entries[j]
        z = h * first[0] + (1 - h) * second[0]
        self.entries[j] = [z, u * first[1] + v * second[1], t, u * first[3] + v * second[3]]


def silk(X, Y, loss, *, eta=1.0, lam=0.0, C=1.0, sqrt=False, budget=None, drop="smallest", rule=None, outputs=1,
         weights=None, f=None):
    """ILK and SILK: predictions (n, K) and the final expansion."""
    f = f or SlowExpansion(outputs)
    M = getattr(loss, "label_similarity", None)
    P = []
    for t, (x, y) in enumerate(zip(X, Y, strict=True), start=1):
        f.begin()
        p = f.score(x) if M is None else M @ f.score(x)
        P.append(p)
        eta_t = eta / math.sqrt(t) if sqrt else eta
        kappa = 1 / (1 + eta_t * lam)
        c = kappa * eta_t * C * (1.0 if weights is None else weights[t - 1])
        s = f.k(x, x)
        f.decay(kappa)
        if loss.multiclass:
            extra = {} if rule is None else {"rule": rule, "scores": p[None]}
            alpha = loss.implicit(np.array([y]), kappa * p[None], s, c, **extra)[0]
        else:
            alpha = np.atleast_1d(loss.implicit(np.atleast_1d(y), kappa * p, s, c))
        if np.any(alpha != 0):
            f.append(x, alpha, t)
            if budget is not None and len(f.entries) > budget:
                f.drop(drop, t)
    return np.array(P), f


def norma(X, Y, loss, *, eta=0.1, lam=0.01, sqrt=False, budget=None, keep="age", offset=False, nu=None, outputs=1,
          weights=None, f=None):
    """NORMA: predictions (n, K), the final expansion, the offset and the adapted level."""
    f = f or SlowExpansion(outputs)
    M = getattr(loss, "label_similarity", None)
    b, level, P = np.zeros(outputs), 0.0, []
    for t, (x, y) in enumerate(zip(X, Y, strict=True), start=1):
        f.begin()
        p = (f.score(x) if M is None else M @ f.score(x)) + b
        P.append(p)
        eta_t = eta / math.sqrt(t) if sqrt else eta
        w = 1.0 if weights is None else weights[t - 1]
        if nu is None:
            g = loss.grad(np.array([y]), p[None])[0] if loss.multiclass else np.atleast_1d(loss.grad(np.atleast_1d(y), p))
        else:
            g, level = adapted(loss.name, y, float(p[0]), level, eta_t, nu)
        f.decay(1 - eta_t * lam)
        if np.any(g != 0):
            f.append(x, -eta_t * w * g, t)
        if offset:
            b = b - eta_t * w * g
        if budget is not None and keep == "age":
            f.entries = [e for e in f.entries if t - e[2] < budget]
        elif budget is not None and len(f.entries) > budget:
            f.drop("oldest", t)
    return np.array(P), f, b, level


def adapted(name, y, p, level, eta, nu):
    """Gradient and next margin or tube of the nu-trick."""
    if name == "epsilon_insensitive":
        v = float(abs(y - p) > level)
        return np.array([v * np.sign(p - y)]), max(0.0, level + eta * (v - nu))
    v = float(y * p <= level) if name == "hinge" else float(p < level)
    return np.array([-v * (y if name == "hinge" else 1.0)]), level + eta * (nu - v)
