"""Running standardisation against its definition."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import streams


def slowly(X):
    """Row t with the mean and deviation of the known values of rows 0..t."""
    Z = np.full_like(X, np.nan)
    for t in range(len(X)):
        for j in range(X.shape[1]):
            if np.isnan(X[t, j]):
                continue
            past = X[: t + 1, j]
            past = past[~np.isnan(past)]
            deviation = past.std() if np.ptp(past) > 0 else 1.0
            Z[t, j] = (X[t, j] - past.mean()) / deviation
    return Z


def test_each_row_uses_the_rows_up_to_and_including_itself():
    X = np.random.default_rng(0).normal(3.0, 2.0, size=(200, 4))
    Z, _ = streams.arrays(X).standardize()
    assert_allclose(Z, slowly(X), rtol=1e-10, atol=1e-12)
    assert_array_equal(Z[0], 0.0)


def test_missing_values_stay_and_do_not_count():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 3))
    X[rng.random(X.shape) < 0.3] = np.nan
    X[:40, 1] = np.nan
    Z, _ = streams.arrays(X).standardize()
    assert_allclose(Z, slowly(X), rtol=1e-9, atol=1e-12)


def test_a_constant_column_becomes_exactly_zero():
    X = np.full((1000, 2), [0.1, 1e9 + 0.1])
    Z, _ = streams.arrays(X).standardize()
    assert_array_equal(Z, 0.0)


def test_a_large_offset_costs_no_accuracy():
    """The textbook formula E[x^2] - E[x]^2 has no correct digit left here."""
    X = np.random.default_rng(2).normal(size=(500, 1))
    Z, _ = streams.arrays(X + 1e9).standardize()
    rounded, _ = streams.arrays((X + 1e9) - 1e9).standardize()
    assert_allclose(Z, rounded, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", [1, 2, 31, 1024])
def test_blocks_do_not_matter_with_missing_values_either(size):
    rng = np.random.default_rng(3)
    X = rng.lognormal(size=(300, 3))
    X[rng.random(X.shape) < 0.2] = np.nan
    stream = streams.arrays(X).standardize()
    assert_array_equal(np.concatenate([x for x, _ in stream.blocks(size)]), stream.load()[0])


def test_targets_are_left_alone():
    y = np.arange(10.0) * 100
    assert_array_equal(streams.arrays(np.ones((10, 1)), y).standardize().load()[1], y)
