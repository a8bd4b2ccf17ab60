"""Moments, medians and fences of columns: definitions, whole weights as repeated rows, wild values."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream.scaling.spread import fence_outliers, fences, medians, moments


def rows(n=200, seed=0):
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.normal(size=n), 1e6 * rng.exponential(size=n), np.full(n, 0.1)])


@pytest.mark.parametrize("holes", [False, True])
def test_whole_weights_count_as_repeated_rows(holes):
    X, w = rows(), np.random.default_rng(1).integers(1, 5, 200)
    if holes:
        X[::7, 0] = np.nan
    Z = np.repeat(X, w, axis=0)
    for f in (moments, medians):
        assert_allclose(f(X, w.astype(float)), f(Z), rtol=1e-12, atol=1e-14)
    weighted, repeated = fences(X[:, :2], w.astype(float)), fences(Z[:, :2])
    assert_allclose(weighted.mean(axis=0), repeated.mean(axis=0), rtol=1e-9, atol=1e-9)  # of the same trimmed range
    assert (np.diff(weighted, axis=0) >= np.diff(repeated, axis=0)).all()  # fewer rows are less sure


def test_moments_and_medians_leave_out_missing_values():
    X = rows()
    X[::3, 0] = np.nan
    mean, deviation = moments(X)
    assert_allclose(mean, np.nanmean(X, axis=0), rtol=1e-12, atol=1e-14)
    assert_allclose(deviation, [np.nanstd(X[:, 0]), X[:, 1].std(), 0.0])
    assert_allclose(medians(X), np.nanmedian(X, axis=0))
    assert_array_equal(moments(np.full((3, 1), np.nan)), [[0.0], [0.0]])
    assert_array_equal(medians(np.full((3, 1), np.nan)), [0.0])


@pytest.mark.parametrize("n", [5, 10, 40, 1000])
def test_fences_hold_the_values_and_a_fortieth_of_wild_ones_does_not_move_them_far(n):
    x = np.random.default_rng(n).normal(size=(n, 1))
    plain = fences(x)
    assert (plain[0] < x.min()) & (plain[1] > x.max())
    wild = x.copy()
    wild[: max(1, n // 40)] = 1e12
    moved = fences(wild)
    assert np.diff(moved, axis=0) < 3 * np.diff(plain, axis=0)
    assert_allclose(fences(1e-9 * x), 1e-9 * plain)


def test_fences_of_another_part_and_reach():
    x = np.arange(1000.0)[:, None]
    assert_allclose(fences(x, trimmed=0.1, reach=1.0)[:, 0], [100 - 1.02 * 799, 899 + 1.02 * 799])


def test_columns_without_a_range_have_no_fences_and_rare_values_are_not_wild():
    X = np.zeros((300, 3))
    X[::150, 1] = 5.0  # two values of three hundred differ: the whole range counts
    X[:, 2] = np.nan
    low, high = fences(X)
    assert np.isinf(low[[0, 2]]).all()
    assert np.isinf(high[[0, 2]]).all()
    assert low[1] < 0 < 5 < high[1]
    assert np.isinf(fences(np.arange(4.0)[:, None])).all()


def test_only_columns_that_wild_values_dominate_are_tamed():
    X = rows(1000)
    assert fence_outliers(X) is X
    X[::100, 0] = 1e9
    X[5, 1] = X[:, 1].max() * 3
    Z = fence_outliers(X)
    assert_array_equal(Z[:, 1:], X[:, 1:])
    kept = X[:, 0] < 1e9
    assert_array_equal(Z[kept, 0], X[kept, 0])
    assert Z[:, 0].std() < 5
    assert X[0, 0] == 1e9
