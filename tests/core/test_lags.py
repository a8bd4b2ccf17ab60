"""Running means of labels and fixed-share weights against their recursions, in any blocks."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream._core.auto.mixtures import mix_shared
from nystream._core.auto.stack import lagged

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
def test_further_rows_are_the_labels_before_the_last_one(size):
    T = np.random.default_rng(0).normal(size=(50, 3))
    means = np.full((4, 3), np.nan)
    got = np.concatenate([lagged(T[i : i + size], means, RATES) for i in range(0, 50, size)])
    plain = np.full((2, 3), np.nan)
    assert_array_equal(got[:, :2], lagged(T, plain, RATES))
    assert_array_equal(means[:2], plain)
    assert np.isnan(got[0]).all()
    assert_array_equal(got[2:, 2:], got[1:-1, [0, 2]])
    assert_array_equal(got[1, 2:], T[[0, 0]])


@pytest.mark.parametrize("size", [1, 7, 50])
def test_mixed_by_weights_that_follow_the_recursion(size):
    rng = np.random.default_rng(0)
    Q, Y = 30 * rng.normal(size=(50, 2, 4)), rng.normal(size=(50, 2))  # losses as large as outliers make them
    weights, losses = np.full((2, 4), 0.25), np.zeros((2, 4))
    parts = [slice(i, i + size) for i in range(0, 50, size)]
    got = np.concatenate([mix_shared(Q[part].copy(), weights, losses, 40.0, 0.5, 0.01, Y[part]) for part in parts])
    v, total = np.full((2, 4), 0.25), np.zeros((2, 4))
    for t in range(50):
        q = np.clip(Q[t], -40.0, 40.0)
        assert_allclose(got[t], (v * q).sum(axis=1), rtol=1e-12)
        total += (q - Y[t][:, None]) ** 2
        u = np.log(v) - 0.5 * (q - Y[t][:, None]) ** 2
        u = np.exp(u - u.max(axis=1, keepdims=True))
        v = 0.99 * u / u.sum(axis=1, keepdims=True) + 0.01 / 4
    assert_allclose(weights, v, atol=1e-14)
    assert_allclose(losses, total, rtol=1e-13)
    before = weights.copy()
    assert_allclose(
        mix_shared(Q[:1].copy(), weights, losses, 40.0, 0.5, 0.01)[0], (v * np.clip(Q[0], -40, 40)).sum(axis=1)
    )
    assert np.array_equal(weights, before)


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"shape \(2, 3\) is needed"):
        lagged(np.zeros((1, 3)), np.zeros((2, 2)), RATES)
    with pytest.raises(ValueError, match=r"shape \(2, 4\) is needed"):
        mix_shared(np.zeros((1, 2, 4)), np.zeros((2, 3)), np.zeros((2, 4)), 1.0, 0.5, 0.01)
