"""Streams made to break Auto: finite predictions, no warning, and better than saying nothing."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from nystream import Auto
from nystream.auto.recipe import Recipe
from nystream.auto.targets import Targets

SMALL = Recipe((1, 2, 5, 20, 60), landmarks=15, big=30, small=10, ring=200, refresh=100, window=60, metric=100)
TASKS = ["regression", "classification"]


def stream(n, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)


def said(model, X, y):
    """Predictions, with warnings as errors, nothing non-finite, also by `predict` and intervals."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        P = model.run(X, y)
        later = model.predict(X[-50:])
        if model.task == "regression":
            assert not np.isnan(model.predict_interval(X[-50:])).any()
            assert np.isfinite(P).all()
        else:
            assert not np.isnan(P).any()
            np.testing.assert_allclose(np.exp(later).sum(axis=1), 1.0)
    assert np.isfinite(later).all()
    return P


def part_of_naive(P, y, since):
    """Squared error over that about the mean, or error rate over that of the most frequent class; rows from `since`."""
    P, y = P[since:], y[since:]
    if P.ndim == 1:
        return np.mean((P - y) ** 2) / y.var()
    return (P.argmax(axis=1) != y).mean() / (1 - np.bincount(y.astype(int)).max() / len(y))


def labels(y, task):
    return y if task == "regression" else np.digitize(y, np.quantile(y, [0.33, 0.66])).astype(float)


@pytest.mark.parametrize("task", TASKS)
def test_a_constant_column_one_with_outliers_and_one_with_holes(task):
    rng = np.random.default_rng(1)
    X, y = stream(1500)
    y = labels(y, task)
    X = np.column_stack([np.full(1500, 7.0), X[:, 0], X[:, 1]])
    X[rng.random(1500) < 0.02, 1] = 1e9
    X[rng.random(1500) < 0.3, 2] = np.nan
    assert part_of_naive(said(Auto(task=task), X, y), y, 500) < 0.6


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e-74, 1e-20, 1e-10, 1e74, 1e160, 1e300])
def test_labels_whose_squares_are_no_numbers_leave_everything_finite(unit):
    X, y = stream(300)
    said(Auto(recipe=SMALL), X, unit * y)
    y[:3] = [0.0, unit, 0.0]  # and as the first that are seen
    said(Auto(recipe=SMALL), X, y)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_of_labels_do_not_matter(unit):
    X, y = stream(600)
    P = said(Auto(recipe=SMALL), X, unit * y)
    np.testing.assert_allclose(P / unit, Auto(recipe=SMALL).run(X, y), atol=1e-6)


@pytest.mark.parametrize("task", TASKS)
def test_ten_rows_only(task):
    X, y = stream(10)
    y = labels(y, task)
    P = said(Auto(task=task), X, y)
    if task == "regression":
        assert (np.abs(P[1:]) <= np.abs(y).max() + np.ptp(y)).all()
    else:
        assert P.shape == (10, 3)


def test_one_class_only_for_the_first_thousand_rows():
    X, y = stream(2500)
    c = np.where(np.arange(2500) < 1000, 0.0, (y > 0).astype(float))
    P = said(Auto(task="classification"), X, c)
    wrong = P.argmax(axis=1) != c
    assert wrong[20:1000].mean() == 0.0
    assert wrong[1500:].mean() < 0.15


@pytest.mark.parametrize("task", TASKS)
def test_a_column_that_starts_to_drift(task):
    X, y = stream(7000)
    y = labels(y, task)
    X[5000:, 2] += 0.05 * np.arange(2000)
    P = said(Auto(task=task), X, y)
    assert part_of_naive(P, y, 5000) < 0.25
    calm = part_of_naive(P[:5000], y[:5000], 3000)
    assert part_of_naive(P, y, 5500) < 2.5 * calm + 0.02


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("at", [0, 1, 37, 60, 399])
def test_a_row_without_any_value(task, at):
    X, y = stream(400)
    y = labels(y, task)
    X[at] = np.nan
    assert part_of_naive(said(Auto(task=task, recipe=SMALL), X, y), y, 200) < 0.7


@pytest.mark.parametrize("task", TASKS)
def test_nothing_but_missing_values(task):
    X, y = stream(300)
    y = labels(y, task)
    assert part_of_naive(said(Auto(task=task, recipe=SMALL), np.full_like(X, np.nan), y), y, 20) < 1.3


@pytest.mark.parametrize("task", TASKS)
def test_two_thousand_columns(task):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 2000))
    y = labels(X[:, :1500].sum(axis=1) / np.sqrt(1500) + 3 * X[:, 0], task)
    X[:, 0] *= 30
    assert part_of_naive(said(Auto(task=task, lags=False), X, y), y, 200) < 1.1


def test_constant_labels():
    X, _ = stream(300)
    P = said(Auto(recipe=SMALL), X, np.full(300, 3.0))
    np.testing.assert_allclose(P[1:], 3.0)


def test_predictions_that_were_exact_for_long_do_not_overflow_the_intervals():
    X, _ = stream(200)
    said(Auto(recipe=SMALL), X, np.where(np.arange(200) < 150, 3.0, 1e9))


# -- labels that are accidents ---------------------------------------------------------------------------------------
def clean_and_poisoned(n, bad, size):
    X, y = stream(n)
    z = np.where(bad, size * y, y)
    P, Q = Auto().run(X, y), said(Auto(), X, z)
    use = ~bad & (np.arange(n) > 300)
    return [np.sqrt(np.mean((p - y)[use] ** 2)) for p in (P, Q)], y.std()


def test_two_labels_in_a_thousand_a_million_times_too_large_hardly_matter():
    bad = np.random.default_rng(3).random(5000) < 0.002
    (clean, poisoned), deviation = clean_and_poisoned(5000, bad, 1e6)
    assert poisoned < clean + 0.1 * deviation


def test_accidents_in_the_first_rows_are_forgotten():
    bad = np.isin(np.arange(2000), [1, 7])
    (clean, poisoned), deviation = clean_and_poisoned(2000, bad, -1e6)
    assert poisoned < clean + 0.15 * deviation


def test_accidents_in_the_first_rows_cost_little_from_the_twentieth_on():
    X, y = stream(800)
    z = y.copy()
    z[[1, 7]] = 1e6, -1e6
    P, Q = Auto().run(X, y), said(Auto(), X, z)
    clean, poisoned = (np.sqrt(np.mean((p - y)[20:] ** 2)) for p in (P, Q))
    assert poisoned < 1.2 * clean


def test_labels_far_beyond_the_fences_count_as_the_middle_and_others_as_the_fence():
    targets = Targets(2)
    targets.start()
    wild = np.array([[1e9, 0.0], [-1e9, 0.0]])
    np.testing.assert_array_equal(targets.tamed(wild), wild)  # no fences so far
    Y = np.column_stack([np.arange(101.0), np.full(101, 3.0)])
    targets.enclose(Y, None)
    low, high = targets.fences_[:, 0]
    reach = 0.5 * (high - low)
    x = np.array([50 + 99 * reach, 50 + 101 * reach, 50 - 99 * reach, 50 - 101 * reach, high - 1, low + 1])
    told = targets.tamed(np.column_stack([x, 1e3 * x]))
    np.testing.assert_allclose(told[:, 0], [high, 50.0, low, 50.0, high - 1, low + 1])
    np.testing.assert_array_equal(told[:, 1], 1e3 * x)  # a constant target has no fences
    np.testing.assert_array_equal(targets.admitted(Y), Y)


def test_labels_whose_level_changes_for_good_are_no_accidents():
    X, y = stream(5000)
    y[4100:] += 1000.0
    P = said(Auto(), X, y)
    assert np.abs(P - y)[4300:].mean() < 30.0


@pytest.mark.parametrize("cut", [1, 7])
def test_accidents_are_fenced_the_same_in_any_blocks(cut):
    rng = np.random.default_rng(4)
    X, y = stream(500)
    y[rng.random(500) < 0.02] *= 1e6
    y[300:340] += 1e4
    whole, parts = Auto(recipe=SMALL), Auto(recipe=SMALL)
    P = whole.run(X, y)
    Q = np.concatenate([parts.run(X[i : i + cut], y[i : i + cut]) for i in range(0, 500, cut)])
    np.testing.assert_allclose(Q, P, atol=1e-9 * np.abs(P).max())
    bounds = [model.pipeline_.incumbent_.targets_.fences_ for model in (whole, parts)]
    np.testing.assert_array_equal(*bounds)


def test_intervals_cover_in_spite_of_accidents():
    X, y = stream(3000)
    bad = np.random.default_rng(5).random(3000) < 0.005
    z, model, inside = np.where(bad, 1e6 * y, y), Auto(recipe=SMALL), []
    for i in range(0, 3000, 50):
        if i >= 500:
            low, high = model.predict_interval(X[i : i + 50], 0.9, ahead=1)
            inside.append((low <= z[i : i + 50]) & (z[i : i + 50] <= high))
        model.run(X[i : i + 50], z[i : i + 50])
    assert 0.87 < np.mean(inside) < 0.93
