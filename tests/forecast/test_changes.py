"""Changed series: within a few days a forecaster is as good as a fresh one that began at the change."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nystream import Forecaster

DAY, H = 24, 12
BEFORE, AFTER = 40 * DAY, 14 * DAY


def shape(t):
    return 5 * np.sin(2 * np.pi * t / DAY) + 2 * np.cos(4 * np.pi * t / DAY)


def level_shift(t, rng):
    return 50 + shape(t) + 30 * (t >= BEFORE)


def changed_season(t, rng):
    return 50 + np.where(t < BEFORE, shape(t), 4 * np.cos(2 * np.pi * t / DAY))


def outliers(t, rng):
    y = 50 + shape(t)
    far = rng.choice(np.arange(BEFORE, BEFORE + 2 * DAY), 6, replace=False)
    y[far] += 400
    return y


def missing_days(t, rng):
    y = 50 + shape(t)
    y[BEFORE - 6 * DAY : BEFORE] = math.nan
    return y


def counter_reset(t, rng):
    """A count that grows until it starts again at 0."""
    return np.where(t < BEFORE, t, t - BEFORE) * 1.0


LIMITS = {level_shift: 1.15, changed_season: 1.15, outliers: 1.15, missing_days: 1.15, counter_reset: 2.5}
"""Error over that of a fresh forecaster. A counter that resets falls by a thousand deviations: this takes longer."""


@pytest.mark.parametrize("change", LIMITS)
def test_as_good_as_a_fresh_forecaster_after_five_days(change):
    ratios = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        t = np.arange(BEFORE + AFTER)
        y = change(t, rng) + 0.5 * rng.normal(size=len(t))
        old = Forecaster(H, season=DAY).run(y)
        fresh = Forecaster(H, season=DAY).run(y[BEFORE:])
        origins = np.arange(BEFORE + 5 * DAY, len(y) - H)
        truth = np.array([y[o + 1 : o + 1 + H] for o in origins])
        ratios.append(np.nanmean(np.abs(old[origins] - truth)) / np.nanmean(np.abs(fresh[origins - BEFORE] - truth)))
    assert np.mean(ratios) < LIMITS[change]
