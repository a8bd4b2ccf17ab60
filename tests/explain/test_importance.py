"""Importance by permutation: the truth where it is known, coverage of the intervals, bounds on the work."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nystream.explain import permutation_importance
from nystream.explain.errors import error_rate, of_probabilities, of_score, squared_error

SLOPES = np.array([2.0, 1.0, 0.0])
NOISE = 0.8


def linear(columns):
    return sum(slope * columns[name] for name, slope in zip("abc", SLOPES, strict=True))[:, None]


def rows(rng, n, memory=0.0):
    """Independent standard normal columns, each value keeping `memory` of the one before it, and their labels."""
    X = rng.normal(size=(n, 3))
    for t in range(1, n):
        X[t] = memory * X[t - 1] + np.sqrt(1 - memory**2) * X[t]
    columns = dict(zip("abc", X.T, strict=True))
    return columns, linear(columns) + NOISE * rng.normal(size=(n, 1))


def measured(columns, Y, ask=linear, **settings):
    error = squared_error(Y)
    return permutation_importance(ask, columns, error.losses, unit=error.unit, constant=error.constant, **settings)


def test_the_increase_is_twice_the_variance_that_a_column_explains_over_that_of_the_noise():
    columns, Y = rows(np.random.default_rng(0), 4000)
    found = measured(columns, Y)
    assert list(found) == ["a", "b", "c"]
    truth = 2 * SLOPES**2 / NOISE**2
    assert_allclose([c.increase for c in found.columns], truth, rtol=0.06)
    assert_allclose(list(found.values()), truth / truth.sum(), atol=0.02)
    assert_allclose(found.present, NOISE**2, rtol=0.05)
    assert (found.unit, found.rows) == ("squared error", 4000)


def test_a_column_that_is_not_used_is_worth_exactly_nothing():
    columns, Y = rows(np.random.default_rng(1), 100)
    last = measured(columns, Y).columns[-1]
    assert last == ("c", 0.0, 0.0, 0.0, 0.0, pytest.approx(np.nan, nan_ok=True))


@pytest.mark.parametrize(("memory", "least"), [(0.0, 0.84), (0.5, 0.80)])
def test_intervals_cover_the_truth_about_as_often_as_they_say(memory, least):
    truth, rng, covered = 2 * SLOPES**2 / NOISE**2, np.random.default_rng(2), np.zeros(2)
    for _ in range(200):
        found = {c.column: c for c in measured(*rows(rng, 256, memory)).columns}
        for j, name in enumerate("ab"):
            covered[j] += found[name].low <= truth[j] <= found[name].high
    assert (covered / 200 >= least).all(), covered / 200
    assert (covered / 200 <= 0.97).all(), covered / 200


def test_a_wider_coverage_is_a_wider_interval_around_the_same_increase():
    columns, Y = rows(np.random.default_rng(3), 200)
    narrow, wide = (measured(columns, Y, coverage=coverage) for coverage in (0.5, 0.99))
    for a, b in zip(narrow.columns[:2], wide.columns[:2], strict=True):
        assert a.increase == b.increase
        assert b.low < a.low < a.increase < a.high < b.high


def test_the_same_seed_gives_the_same_figures_and_another_one_others():
    columns, Y = rows(np.random.default_rng(4), 60)
    assert measured(columns, Y).columns[0] == measured(columns, Y).columns[0]
    assert measured(columns, Y, seed=1).columns[0] != measured(columns, Y).columns[0]


def test_where_nothing_matters_all_columns_share_alike():
    columns, Y = rows(np.random.default_rng(5), 50)
    found = measured(columns, Y, ask=lambda columns: np.zeros((len(columns["a"]), 1)))
    assert_allclose(list(found.values()), 1 / 3)


def test_an_exact_fit_has_a_large_and_finite_importance():
    columns, _ = rows(np.random.default_rng(6), 80)
    found = measured(columns, linear(columns))
    assert found.present == 0
    assert np.isfinite([c[1:5] for c in found.columns]).all()
    assert found["a"] > found["b"] > found["c"] == 0


@pytest.mark.parametrize("d", [1, 30, 3000])
def test_the_work_is_bounded_and_comes_in_large_blocks(d):
    rng, asked = np.random.default_rng(7), []

    def ask(columns):
        asked.append(len(columns["0"]))
        return columns["0"][:, None]

    X = rng.normal(size=(512, d))
    columns = {str(j): X[:, j] for j in range(d)}
    found = measured(columns, X[:, :1] + 0.1 * rng.normal(size=(512, 1)), ask=ask)
    assert sum(asked) <= max(12_000 + 512, 17 * d)
    assert max(asked) <= 4096
    assert len(asked) <= 2 + sum(asked) // 2048
    assert found["0"] == 1


def test_words_dates_and_missing_values_change_places_like_numbers():
    rng = np.random.default_rng(8)
    word = np.array(["x", "y", None], dtype=object)[rng.integers(3, size=300)]
    when = np.datetime64("2024-01-01", "us") + rng.integers(1000, size=300).astype("timedelta64[h]")
    number = np.where(rng.random(300) < 0.2, np.nan, rng.normal(size=300))

    def ask(columns):
        days = (columns["when"] - np.datetime64("2024-01-01")) / np.timedelta64(1, "D")
        return ((columns["word"] == "x") + np.nan_to_num(columns["number"]) + days / 20)[:, None]

    columns = {"word": word, "when": when, "number": number}
    found = measured(columns, ask(columns) + 0.1 * rng.normal(size=(300, 1)), ask=ask)
    assert set(found) == {"word", "when", "number"}
    assert all(c.low > 0 for c in found.columns)


def test_errors_of_classes_scores_and_several_targets():
    k = np.array([0, 1, 1])
    at = np.array([2, 0])
    P = np.array([[0.2, 0.8], [0.4, 0.6]])
    assert_allclose(of_probabilities(k).losses(P, at), [0.08, 0.72])
    assert_allclose(error_rate(k).losses(P, at), [0, 1])
    assert error_rate(k).constant == pytest.approx(1 / 3)
    assert_allclose(of_score(np.array([0.0, 2.0, 4.0])).losses(np.array([[5.0], [0.0]]), at), [8 / 3 + 1, 8 / 3])
    Y = np.array([[0.0, 0.0], [2.0, 200.0]])
    assert_allclose(squared_error(Y).losses(np.zeros((2, 2)), np.array([0, 1])), [0.0, 4.0])
    assert squared_error(Y).constant == 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"coverage": 1.0}, "coverage must be"), ({"repeats": 0}, "repeats must be")],
)
def test_bad_settings_are_refused(settings, message):
    columns, Y = rows(np.random.default_rng(9), 20)
    with pytest.raises(ValueError, match=message):
        measured(columns, Y, **settings)
    with pytest.raises(ValueError, match="at least 2 rows"):
        measured({name: values[:1] for name, values in columns.items()}, Y[:1])


def test_it_prints_as_a_table():
    columns, Y = rows(np.random.default_rng(10), 50)
    lines = str(measured(columns, Y, learnt={"a": 0.75, "b": 0.25})).splitlines()
    assert lines[0].split() == ["column", "share", "increase", "90%", "interval", "learnt"]
    assert lines[1].startswith("a ")
    assert lines[1].endswith("75.0%")
    assert lines[-1].startswith("increase: how much the squared error (")
