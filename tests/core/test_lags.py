"""Running means of labels and fixed-share weights against their recursions, in any blocks."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nystream._core.auto.fixed_share import fixed_share
from nystream._core.auto.lags import lagged

RATES = np.array([1.0, 0.1])


@pytest.mark.parametrize("size", [1, 7, 50])
def test_means_before_each_row_follow_the_recursion(size):
    T = np.random.default_rng(0).normal(size=(50, 3))
    means = np.full((2, 3), np.nan)
    got = np.concatenate([lagged(T[i : i + size], means, RATES) for i in range(0, 50, size)])
    now = None
    for t in range(50):
        assert_allclose(got[t], np.full((2, 3), np.nan) if now is None else now)
        now = np.tile(T[t], (2, 1)) if now is None else now + RATES[:, None] * (T[t] - now)
    assert_allclose(means, now)
    assert_allclose(got[1:, 0], T[:-1], atol=1e-14)


@pytest.mark.parametrize("size", [1, 7, 50])
def test_weights_before_each_row_follow_the_recursion(size):
    losses = np.random.default_rng(0).exponential(size=(50, 2, 4)) * 1e3  # as large as outliers make them
    weights = np.full((2, 4), 0.25)
    got = np.concatenate([fixed_share(losses[i : i + size], weights, 0.5, 0.01) for i in range(0, 50, size)])
    v = np.full((2, 4), 0.25)
    for t in range(50):
        assert_allclose(got[t], v, atol=1e-14)
        u = np.log(v) - 0.5 * losses[t]
        u = np.exp(u - u.max(axis=1, keepdims=True))
        v = 0.99 * u / u.sum(axis=1, keepdims=True) + 0.01 / 4
    assert_allclose(weights, v, atol=1e-14)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"means must be \(2, 3\)"):
        lagged(np.zeros((1, 3)), np.zeros((2, 2)), RATES)
    with pytest.raises(ValueError, match=r"weights must be \(2, 4\)"):
        fixed_share(np.zeros((1, 2, 4)), np.zeros((2, 3)), 0.5, 0.01)
