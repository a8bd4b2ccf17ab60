"""Changed series: within a few days a forecaster is as good as a fresh one that began at the change."""

from __future__ import annotations

import numpy as np
import pytest
from changed_series import AFTER, BEFORE, CASES, DAY, ratios

LIMITS = dict.fromkeys(CASES, 1.15) | {"counter_reset": 2.0}
"""A counter that resets takes five days: between the third and the fifth the old engine leads once more."""


@pytest.mark.parametrize("case", CASES)
def test_as_good_as_a_fresh_forecaster_after_three_days(case):
    found = [ratios(case, seed, [(3 * DAY, AFTER)])[0] for seed in range(2)]
    assert np.mean(found) < LIMITS[case]


def test_cases_change_at_the_same_row():
    for make in CASES.values():
        t = np.arange(BEFORE + AFTER)
        y = make(t, np.random.default_rng(0))
        assert y.shape == t.shape
        assert np.isfinite(y[BEFORE])
