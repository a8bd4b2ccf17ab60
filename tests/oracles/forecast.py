"""Slow definitions of the forecaster's parts: plain loops over whole series, straight from their formulas."""

from __future__ import annotations

import math

import numpy as np


def newest_of_slot(t: int, h: int, season: int) -> int:
    """The row of the newest label, up to t, in the slot of row t + h."""
    row = t + h
    while row > t:
        row -= season
    return row


def seasonal_naive(y, t: int, h: int, season: int) -> float:
    row = newest_of_slot(t, h, season)
    return y[row] if row >= 0 else math.nan


def smoother(y, horizon, seasons, gains):
    """Forecasts (n, H) of one smoother with one or two seasons; all rows are kept, nothing is vectorised."""
    a, beta, phi, g, d, rho = gains
    S, S2 = seasons[0], (seasons[-1] if len(seasons) > 1 else 1)
    d = d if len(seasons) > 1 else 0.0
    level = trend = u = spread = 0.0
    short, long_ = [0.0] * S, [0.0] * S2
    visits, visits2, first, count = [0] * S, [0] * S2, {}, 0
    out = np.full((len(y), horizon), math.nan)
    for t, label in enumerate(y):
        if math.isnan(label):
            level, trend, u = level + phi * trend, phi * trend, rho * u
        elif count < S:
            count += 1
            first[t % S] = label
            visits[t % S] = 1
            level += (label - level) / count
            if count == S:
                for slot, value in first.items():
                    short[slot] = value - level if g > 0 else 0.0
        else:
            count += 1
            e = label - level - phi * trend - short[t % S] - long_[t % S2] - rho * u
            if count - S > 30:
                e = min(max(e, -3 * spread), 3 * spread)
            spread += (abs(e) - spread) * max(1 / (count - S), 0.005)
            level, trend, u = level + phi * trend + a * e, phi * trend + beta * e, rho * u + e
            short[t % S] += (max(g, 1 / (1 + visits[t % S])) if g > 0 else 0.0) * e
            long_[t % S2] += (max(d, 0.5 / (1 + visits2[t % S2])) if d > 0 else 0.0) * e
            visits[t % S] += 1
            visits2[t % S2] += 1
        if count >= S:
            for h in range(1, horizon + 1):
                drift = sum(phi**k for k in range(1, h + 1)) * trend
                out[t, h - 1] = level + drift + short[(t + h) % S] + long_[(t + h) % S2] + rho**h * u
    return out


def ridge(y, base, h, seasons, inputs, lam, strides):
    """Forecasts (n,) of one ridge at step h on a base with forecasts (n, H): one loop, whole histories.

    Missing labels are not supported here; the base never sleeps.
    """
    S = seasons[0]
    n = len(y)
    one = [0.0] + [y[t] - base[t - 1, 0] for t in range(1, n)]  # one-step residuals
    scale, z_of = 1.0, {}
    theta, out = None, np.full(n, math.nan)
    A = b = None
    spread, count = 0.0, 0
    for t in range(n):
        if t >= max(h, 2):  # two labels give a scale
            z = scaled(z_of[t - h], base[t - h, h - 1], scale)
            u = (y[t] - base[t - h, h - 1]) / scale
            p = len(z)
            if A is None:
                A, b, theta = np.zeros((p, p)), np.zeros(p), np.zeros(p)
            error = abs(u - z @ theta)
            count += 1
            cap = 4 * spread if count > 30 else math.inf
            w = cap / max(error, 1e-12) if error > cap else 1.0
            spread += (min(error, cap + 1e-12) - spread) * max(1 / count, 0.002)
            A, b = lam * A + w * np.outer(z, z), lam * b + w * z * u
        scale = float(np.std(y[: t + 1], ddof=1)) if t else 1.0
        z_of[t] = raw_inputs(y, one, t, h, seasons, inputs)
        stride = next(s for rows, s in strides if t < rows)
        if A is not None and (h - 1) % stride == t % stride:
            theta = np.linalg.solve(A + np.eye(len(b)), b)
        if count >= S:
            out[t] = base[t, h - 1] + scale * (scaled(z_of[t], base[t, h - 1], scale) @ theta)
    return out


def raw_inputs(y, r, t, h, seasons, inputs):
    """Pairs (kind, value); of labels the base is subtracted later, and None stands for one that is not there."""
    S = seasons[0]

    def past(v, i):
        return v[i] if i >= 0 else 0.0

    found = [("one", 1.0)]
    if "r" in inputs:
        slots = [newest_of_slot(t, h, s) for s in seasons]
        found += [("r", past(r, t)), ("r", past(r, t - 1)), ("r", past(r, t - 2))]
        found += [("r", float(np.mean(r[max(0, t - 5) : t + 1]))), ("r", float(np.mean(r[max(0, t - S + 1) : t + 1])))]
        found += [("r", past(r, t - S)), *(("r", past(r, i)) for i in slots), ("r", past(r, slots[0] - S))]
    if "y" in inputs:
        slots = [newest_of_slot(t, h, s) for s in seasons]
        found += [("y", y[i] if i >= 0 else None) for i in slots]
    if "l" in inputs:
        found.append(("y", y[t]))
    if "g" in inputs:
        value = None
        if t >= 2 * S:
            growth = np.mean(y[t - S + 1 : t + 1]) / np.mean(y[t - 2 * S + 1 : t - S + 1])
            value = y[newest_of_slot(t, h, S)] * min(max(growth, 0.5), 2.0)
        found.append(("y", value))
    return found


def scaled(raw, base, scale):
    values = []
    for kind, value in raw:
        if kind == "one":
            values.append(1.0)
        elif kind == "r":
            values.append(value / scale)
        else:
            values.append(0.0 if value is None else (value - base) / scale)
    return np.array(values)


def mixture(forecasts, y, rate, prior, probation):
    """Weights (K,) of one step after labels y with forecasts (n, K), of which some sleep (nan)."""
    n, K = forecasts.shape
    L, c, awake_for = np.zeros(K), 0.0, [0] * K
    w = np.array(prior) / sum(prior)
    for t in range(n):
        awake = [k for k in range(K) if not math.isnan(forecasts[t, k])]
        mixed = sum(w[k] * forecasts[t, k] for k in awake) / sum(w[k] for k in awake)
        e = [(forecasts[t, k] if k in awake else mixed) - y[t] for k in range(K)]
        squares = np.square(e)
        for k in awake:
            awake_for[k] += 1
        if t + 1 > 50:
            squares = np.minimum(squares, 9 * L.min() / c)
        seen = t + 1
        kept = 1 - 1 / min(1000, max(1 + seen / 3, seen - 100))
        L, c = kept * L + squares, kept * c + 1
        means = L / c
        excess = (means - means.min()) / means.min()
        w = np.exp(-np.minimum(max(rate * c, 4.0) * excess, 50))
        for k in range(K):
            if prior[k] > 0:
                w[k] *= prior[k] ** (50 / (50 + seen))
            elif awake_for[k] < probation:
                w[k] = 0.0
        w = w / w.sum()
    return w
