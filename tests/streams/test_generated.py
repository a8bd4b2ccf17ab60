"""Synthetic streams: seeds, beginnings, and the formulas they are made of."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import streams

NAMES = sorted(set(streams.GENERATORS) - {"alternating"})


@pytest.mark.parametrize("name", streams.GENERATORS)
def test_a_shorter_stream_is_the_beginning_of_a_longer_and_of_the_endless_one(name):
    fixed = {"horizon": 2000} if name == "drifting_gaussians" else {}
    make = streams.GENERATORS[name]
    X, y = make(n=2500, **fixed)
    for other in (make(n=1500, **fixed), make(n=None, **fixed).take(1500)):
        assert_array_equal(other.load()[0], X[:1500])
        assert_array_equal(other.load()[1], y[:1500])


@pytest.mark.parametrize("name", NAMES)
def test_seeds_make_streams_and_no_seed_makes_one_that_passes_share(name):
    make = streams.GENERATORS[name]
    assert_array_equal(make(n=50, seed=4).load()[0], make(n=50, seed=4).load()[0])
    assert (make(n=50, seed=4).load()[0] != make(n=50, seed=5).load()[0]).any()
    unseeded = make(n=50, seed=None)
    assert_array_equal(unseeded.load()[0], unseeded.load()[0])
    rng = np.random.default_rng(0)
    assert (make(n=50, seed=rng).load()[0] != make(n=50, seed=rng).load()[0]).any()


def test_the_sine_is_a_sine():
    X, y = streams.sine(1000, periods=2.0, noise=0.0)
    assert_allclose(y, np.sin(2 * np.pi * X[:, 0]), atol=1e-12)
    assert np.abs(X).max() <= 1
    _, noisy = streams.sine(1000, periods=2.0, noise=0.5)
    assert 0.45 < (noisy - y).std() < 0.55


def test_the_checkerboard_alternates_from_cell_to_cell():
    X, y = streams.checkerboard(2000, cells=3)
    cell = np.floor(3 * X).astype(int)
    for i in range(3):
        for j in range(3):
            inside = (cell == [i, j]).all(axis=1)
            assert_array_equal(y[inside], 1.0 if (i + j) % 2 == 0 else -1.0)
            assert inside.any()
    _, flipped = streams.checkerboard(2000, cells=3, noise=0.25)
    assert 0.2 < (y != flipped).mean() < 0.3


def test_drifting_gaussians_follow_their_definition():
    """After removing the turn, the means sit at 2 (cos, sin) of (label + 2 component) pi/2, deviation 0.7."""
    n = 40_000
    X, y = streams.drifting_gaussians(n, turns=3.0, seed=0)
    angle = -2 * np.pi * 3.0 * np.arange(1, n + 1) / n
    back = np.column_stack(
        [np.cos(angle) * X[:, 0] - np.sin(angle) * X[:, 1], np.sin(angle) * X[:, 0] + np.cos(angle) * X[:, 1]]
    )
    # +1 (label 0) lies at angles 0 and pi, -1 (label 1) at pi/2 and 3 pi/2.
    folded = np.where((y > 0)[:, None], back, back[:, ::-1])
    ends = np.abs(folded[:, 0])
    assert_allclose([ends.mean(), folded[:, 1].std()], [2.0, 0.7], atol=0.02)
    assert_allclose([np.mean(y), np.mean(np.sign(folded[:, 0]))], 0.0, atol=0.02)


def test_after_a_quarter_turn_each_class_sits_where_the_other_was():
    X, y = streams.drifting_gaussians(40_000, horizon=40_000, seed=1)
    early, late = slice(0, 2000), slice(9000, 11_000)
    for label in (1.0, -1.0):
        before = np.abs(X[early][y[early] == label]).mean(axis=0)
        after = np.abs(X[late][y[late] == -label]).mean(axis=0)
        assert_allclose(before, after, atol=0.1)


def test_friedman_is_friedmans_function_before_and_another_after_the_drift():
    X, y = streams.friedman(2000, drift="abrupt", at=1200, noise=0.0)

    def f(x):
        return 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]

    assert_allclose(y[:1200], f(X[:1200]), rtol=1e-12)
    assert_allclose(y[1200:], f(X[1200:][:, [3, 4, 0, 1, 2]]), rtol=1e-12)
    still, targets = streams.friedman(2000, noise=0.0)
    assert_array_equal(still, X)
    assert_allclose(targets, f(X), rtol=1e-12)


def test_a_gradual_drift_mixes_more_and_more_of_the_new_function():
    options = {"at": 1000, "noise": 0.0}
    _, old = streams.friedman(6000, **options)
    _, mixed = streams.friedman(6000, drift="gradual", width=4000, **options)
    changed = mixed != old
    assert not changed[:1000].any()
    assert changed[5000:].all()
    assert_allclose(changed[1000:5000].reshape(4, 1000).mean(axis=1), [0.125, 0.375, 0.625, 0.875], atol=0.05)


def test_switching_changes_the_sign_of_bumps():
    X, y = streams.switching(1000, period=300, noise=0.0, d=3)
    same, f = streams.bumps(1000, noise=0.0, d=3)
    assert_array_equal(X, same)
    sign = np.repeat([1, -1, 1, -1], [300, 300, 300, 100])
    assert_array_equal(y, sign * f)


@pytest.mark.parametrize(
    ("make", "options", "message"),
    [
        (streams.sine, {"n": 0}, "n must be a whole number of at least 1"),
        (streams.sine, {"noise": -1.0}, "noise must be a number at least 0"),
        (streams.sine, {"seed": -1}, "seed must be a whole number of at least 0"),
        (streams.checkerboard, {"cells": 0}, "cells must be a whole number of at least 1"),
        (streams.checkerboard, {"noise": 1.0}, "noise must be a number at least 0 and less than 1"),
        (streams.friedman, {"drift": "slow"}, "drift must be one of 'none', 'abrupt', 'gradual'"),
        (streams.friedman, {"d": 4}, "d must be a whole number of at least 5"),
        (streams.bumps, {"width": 0.0}, "width must be a number greater than 0"),
        (streams.switching, {"period": 0}, "period must be a whole number of at least 1"),
        (streams.drifting_gaussians, {"horizon": 0}, "horizon must be a whole number of at least 1"),
        (streams.alternating, {"C": 0.0}, "C must be a number greater than 0"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(make, options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)
