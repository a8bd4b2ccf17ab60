"""The alarm and the mixture of two ensembles, written slowly: every row by itself, from its definition."""

from __future__ import annotations

import math

import numpy as np

RISES, FALLS = (0.2, 0.4, 0.6, 0.8), (0.2, 0.4, 0.6)


def alarms(x, *, classes=False, falls_from=None, reach=1700, window=2000, least=50, floor=0.25):
    """(row, since, what) of all alarms; after each the bets and the numbers that were kept begin anew."""
    found, kept, ranks = [], [], {}
    logs = dict.fromkeys([(e, "rise") for e in RISES] + [(e, "fall") for e in FALLS], 0.0)
    began = dict.fromkeys(logs, 0)
    for t, value in enumerate(x):
        past, n = np.array(kept[-window:]), min(len(kept), window)
        if n >= least:
            small = floor * past.mean()
            like = past == value if value >= small else past < small
            above = past > value if value >= small else past >= small
            p = (above.sum() + like.sum() / 2 + 0.5) / (n + 1)
            plain = ((past > value).sum() + (past == value).sum() / 2 + 0.5) / (n + 1)
            q = 1 - (p if classes or value >= small else plain)
            ranks[t] = p
            for e, what in logs:
                if what == "fall" and (falls_from is None or t < falls_from):
                    continue
                if logs[e, what] <= 0:
                    logs[e, what], began[e, what] = 0.0, t
                logs[e, what] += math.log(e) + (e - 1) * math.log(p if what == "rise" else q)
            rise, fall = ([k for k in logs if k[1] == what] for what in ("rise", "fall"))
            what = None
            if math.fsum(math.exp(min(logs[k], 700)) for k in rise) / len(rise) >= 1e5:
                what, best = "rise", max(rise, key=lambda k: logs[k])
            elif math.fsum(math.exp(min(logs[k], 700)) for k in fall) / len(fall) >= 1e12:
                what, best = "fall", max(fall, key=lambda k: logs[k])
            if what is not None:
                since = {
                    i: 1 - r if what == "fall" else r for i, r in ranks.items() if i >= max(began[best], t + 1 - reach)
                }
                middle = sorted(since.values())[(len(since) - 1) // 2]
                found.append((t + 1, next(i for i, r in since.items() if r <= middle), what))
                kept, ranks, logs = [], {}, dict.fromkeys(logs, 0.0)
                continue
        kept.append(value)
    return found


class Targets:
    """Mixture of incumbent, candidate, a stack of both, a line of the incumbent's core, and a few-row ridge."""

    def __init__(self, labels, young):
        self.m, self.s2, self.young = labels.mean(), labels.var(), young
        self.rows, self.w, self.lines, self.line = [], np.array([0.0, 1.0]), [], np.zeros(2)
        self.shares = np.full(5, 1 / 5) if young else np.full(3, 1 / 3)
        self.powers, self.n = None, 0

    def step(self, old, young, core, few_row_ridge, y):
        s = np.sqrt(self.s2)
        both = [young, self.m + self.w @ [old - self.m, young - self.m]] if self.young else []
        members = np.array([old, *both, self.m + s * (self.line @ [1.0, (core - self.m) / s]), few_row_ridge])
        predicted = self.shares @ members
        losses = (members - y) ** 2
        self.powers = losses if self.powers is None else 0.95 * self.powers + 0.05 * losses
        self.shares = followed(self.shares, losses / (2 * self.powers.min()), self.n, 10 if self.young else 100)
        self.n += 1
        self.rows.append((old - self.m, young - self.m, y - self.m))
        if self.n % 10 == 0:
            B = np.array(self.rows)
            c = 0.998 ** (10 * ((self.n - 1 - np.arange(self.n)) // 10))
            A, b = (B[:, :2].T * c) @ B[:, :2], (B[:, :2].T * c) @ B[:, 2]
            self.w = np.linalg.solve(A + self.s2 * np.eye(2), b + self.s2 * np.array([0.0, 1.0]))
        self.lines.append((1.0, (core - self.m) / s, (y - self.m) / s))
        B, c = np.array(self.lines), 0.998 ** (self.n - 1 - np.arange(self.n))
        self.line = np.linalg.solve((B[:, :2].T * c) @ B[:, :2] + np.eye(2), (B[:, :2].T * c) @ B[:, 2])
        return predicted

    def carried(self):
        """The part of the next prediction that is the old one's: its own, the line's, and its part of the stack's."""
        part = abs(self.w[0]) / np.abs(self.w).sum()
        return self.shares[0] + self.shares[3] + part * self.shares[2]


def few(Z, T, most, width, ridge):
    """Kernel ridge regression on the first rows, solved anew for every row."""
    D = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    K = (np.exp(-2 * D / width) + np.exp(-D / (2 * width))) / 2
    P = np.zeros(T.shape)
    for t in range(1, len(Z)):
        n = min(t, most)
        P[t] = K[t, :n] @ np.linalg.solve(K[:n, :n] + ridge * np.eye(n), T[:n])
    return P


def followed(shares, losses, n, first=10):
    """Shares after the n-th row (from 0)."""
    v = shares * np.exp(-np.minimum(losses - losses.min(), 60.0))
    a = 1 / (n + first + 2)
    return (1 - a) * v / v.sum() + a / len(v)
