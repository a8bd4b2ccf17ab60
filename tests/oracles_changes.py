"""The alarm and the mixture of two generations, written slowly: every row by itself, from its definition."""

from __future__ import annotations

import math

import numpy as np

RISES, FALLS = (0.2, 0.4, 0.6, 0.8), (0.2, 0.4, 0.6)


def alarms(x, *, classes=False, falls_from=None, reach=1700, window=2000, least=50, floor=0.25, suspicion=()):
    """(row, since, what) of all alarms; after each the bets and the numbers that were kept begin anew.

    `suspicion`: (first, last) rows in which one bet of 3 on a rise suffices.
    """
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
            elif suspicion and suspicion[0] <= t < suspicion[1] and max(logs[k] for k in rise) >= 3:
                what, best = "alert", max(rise, key=lambda k: logs[k])
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
    """Old, young and a stack of both for one target, row by row."""

    def __init__(self, labels):
        self.m, self.s2 = labels.mean(), labels.var()
        self.rows, self.w, self.shares, self.powers, self.n = [], np.array([0.0, 1.0]), np.full(3, 1 / 3), None, 0

    def step(self, old, young, y):
        members = np.array([old, young, self.m + self.w @ [old - self.m, young - self.m]])
        predicted = self.shares @ members
        losses = (members - y) ** 2
        self.powers = losses if self.powers is None else 0.98 * self.powers + 0.02 * losses
        self.shares = followed(self.shares, losses / (2 * self.powers.min()), self.n)
        self.n += 1
        self.rows.append((old - self.m, young - self.m, y - self.m))
        if self.n % 10 == 0:
            B = np.array(self.rows)
            c = 0.998 ** (10 * ((self.n - 1 - np.arange(self.n)) // 10))
            A, b = (B[:, :2].T * c) @ B[:, :2], (B[:, :2].T * c) @ B[:, 2]
            self.w = np.linalg.solve(A + self.s2 * np.eye(2), b + self.s2 * np.array([0.0, 1.0]))
        return predicted


def followed(shares, losses, n):
    """Shares after the n-th row (from 0)."""
    v = shares * np.exp(-np.minimum(losses - losses.min(), 60.0))
    a = 1 / (n + 12)
    return (1 - a) * v / v.sum() + a / len(v)
