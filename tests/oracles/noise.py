"""Quantiles of residuals, written slowly: every sum over all rows so far, every quantile from a sorted list."""

from __future__ import annotations

import math

import numpy as np

RATES, KEEP, INPUT_KEEP = (0.2, 0.05, 0.01), (0.995, 0.9995), 0.9995
GRID = np.arange(1, 20) / 20


def law(X, P, R, S, levels, *, window=1000, weights=None):
    """(n, Q) what residuals of one target are below, before each row; nan for the first row."""
    n, w = len(X), np.ones(len(X)) if weights is None else weights
    u = [w[t] / np.average(w[: t + 1], weights=0.99 ** np.arange(t, -1, -1)) for t in range(n)]
    columns, level = [_Moments() for _ in X.T], _Moments()
    shares, windows, unit = np.full(4, 0.25), np.full(2, 0.5), None
    recent = min(window, max(20, window // 5))
    past, scores, found = [], [], np.full((n, len(levels)), np.nan)
    v, inner = np.zeros((2, 6)), np.zeros(2 * min(X.shape[1], 16))
    for t in range(n):
        units = [moments.unit(x) for moments, x in zip(columns, X[t], strict=True)]
        f = _inputs(units, sum(moments.weight > 0 for moments in columns))
        if t:
            fast, middle, slow = (_mean_log(R[:t], u[:t], rate) for rate in RATES)
            p = level.unit(P[t])
            z = [fast - middle, slow - middle, math.log(max(S[t], 1e-150)) - middle]
            z = np.array([1.0, *np.clip(z, -4, 4), p, abs(p) - 1])
            levels_of = [middle + np.clip(v[m] @ z, -3, 3) for m in range(2)]
            says = np.array([middle, *levels_of, levels_of[1] + np.clip(inner @ f, -2, 2)])
            scale = math.exp(shares @ says)
            found[t] = [scale * _mixed(scores[-window:], recent, windows, q) for q in levels]
            score = R[t] / scale
            if len(scores[-window:]) > recent:
                losses = np.array([_pinball(score, scores[-size:]) for size in (window, recent)])
                unit = losses.min() if unit is None else unit + 0.01 * (losses.min() - unit)
                windows = _shared(windows, losses / unit, u[t])
            scores.append(score)
            sizes = abs(R[t]) * np.exp(-says)
            shares = _shared(shares, says + 6 * np.log1p(sizes / 4), u[t])
            slopes = 1 - 6 * sizes / (4 + sizes)
            past.append((z, f, says - np.array([0, middle, middle, levels_of[1]]) - slopes, u[t]))
            if len(past) % 10 == 0:
                v = np.array([_ridge(past, 0, 1 + m, KEEP[m], 10) for m in range(2)])
                inner = _ridge(past, 1, 3, INPUT_KEEP, 30)
        for moments, x in zip(columns, X[t], strict=True):
            moments.see(x, u[t])
        level.see(P[t], u[t])
    return found


class _Moments:
    """Of a column: mean and mean absolute deviation with forgetting, wild values moved nearer, nan left out."""

    def __init__(self):
        self.weight = self.mean = self.deviation = 0.0

    def unit(self, x):
        if math.isnan(x) or self.deviation == 0.0:
            return 0.0
        return float(np.clip((x - self.mean) / self.deviation, -4, 4))

    def see(self, x, u):
        if math.isnan(x):
            return
        if self.weight > 20 and self.deviation > 0:
            x = self.mean + np.clip(x - self.mean, -10 * self.deviation, 10 * self.deviation)
        first = self.weight == 0
        self.weight = 0.998 * self.weight + u
        if not first:
            self.deviation += u / self.weight * (abs(x - self.mean) - self.deviation)
        self.mean += u / self.weight * (x - self.mean)


def _inputs(units, known):
    buckets = min(len(units), 16)
    f = np.zeros(buckets)
    for j, x in enumerate(units):
        f[j % buckets] += x * (-1) ** (j // buckets)
    f /= math.sqrt(max(1, math.ceil(known / buckets)))
    return np.concatenate([f, np.abs(f) - 1])


def _mean_log(R, u, rate):
    return math.log(max(np.average(np.abs(R), weights=u * (1 - rate) ** np.arange(len(R) - 1, -1, -1)), 1e-150))


def _ridge(past, what, member, keep, lam):
    """Weights that fit the working responses."""
    Z = np.array([row[what] for row in past])
    responses = np.array([row[2][member] for row in past])
    weights = np.array([row[3] for row in past]) * keep ** np.arange(len(past) - 1, -1, -1)
    return np.linalg.solve(Z.T @ (weights[:, None] * Z) + lam * np.eye(Z.shape[1]), Z.T @ (weights * responses))


def _shared(shares, losses, eta):
    shares = shares * np.exp(-eta * (losses - losses.min()))
    return 0.999 * shares / shares.sum() + 0.001 / len(shares)


def _quantile(scores, q):
    at = q * (len(scores) + 1)
    if at < 1 - 1e-9 or at > len(scores) + 1e-9:
        return math.copysign(math.inf, q - 0.5)
    return float(np.interp(at, np.arange(1, len(scores) + 1), np.sort(scores)))


def _mixed(scores, recent, shares, q):
    whole, last = _quantile(scores, q), scores[-recent:]
    if len(scores) <= recent or math.isinf(whole):
        return whole
    part = _quantile(last, q)
    if math.isinf(part):
        part = min(min(last), whole) if part < 0 else max(max(last), whole)
    return shares[0] * whole + shares[1] * part


def _pinball(score, scores):
    away = np.array([score - _quantile(scores, q) for q in GRID])
    return float(np.mean(np.maximum(GRID * away, (GRID - 1) * away)))
