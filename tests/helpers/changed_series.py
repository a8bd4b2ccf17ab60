"""Generated series that change at one row, for tests and for benchmarks/accuracy/forecast.py."""

from __future__ import annotations

import math

import numpy as np

from nystream import Forecaster

DAY, H = 24, 12
BEFORE, AFTER = 21 * DAY, 9 * DAY
NOISE = 0.5


def shape(t):
    return 5 * np.sin(2 * np.pi * t / DAY) + 2 * np.cos(4 * np.pi * t / DAY)


def level_shift(t, rng):
    return 50 + shape(t) + 30 * (t >= BEFORE)


def changed_season(t, rng):
    return 50 + np.where(t < BEFORE, shape(t), 4 * np.cos(2 * np.pi * t / DAY))


def outliers(t, rng):
    y = 50 + shape(t)
    y[rng.choice(np.arange(BEFORE, BEFORE + 2 * DAY), 6, replace=False)] += 400
    return y


def missing_days(t, rng):
    y = 50 + shape(t)
    y[BEFORE - 6 * DAY : BEFORE] = math.nan
    return y


def counter_reset(t, rng):
    """A count that grows until it starts again at 0."""
    return np.where(t < BEFORE, t, t - BEFORE) * 1.0


CASES = {f.__name__: f for f in (level_shift, changed_season, outliers, missing_days, counter_reset)}


def ratios(case, seed, parts):
    """For parts (first, last) of the rows after the change: mean error over that of a forecaster that began there."""
    rng = np.random.default_rng(seed)
    t = np.arange(BEFORE + AFTER)
    y = CASES[case](t, rng) + NOISE * rng.normal(size=len(t))
    old, fresh = Forecaster(H, season=DAY).run(y)[BEFORE:], Forecaster(H, season=DAY).run(y[BEFORE:])
    found = []
    for first, last in parts:
        origins = np.arange(first, min(last, AFTER - H))
        truth = y[BEFORE + origins[:, None] + np.arange(1, H + 1)]
        errors = [np.nanmean(np.abs(P[origins] - truth)) for P in (old, fresh)]
        found.append(float(errors[0] / errors[1]))
    return found
