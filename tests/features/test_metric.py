"""The learned metric against its definition with gradients by finite differences, and what it is for."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import from_bytes, to_bytes
from nystream.features import LearnedMetric
from nystream.features.metric import FULL
from nystream.kernels import median_distance


def data(n=60, d=4, outputs=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = np.column_stack([np.sin(2 * X[:, 0] + X[:, 1]), X[:, 0] ** 2, np.cos(X[:, 2])])[:, :outputs]
    return X, Y + 5.0


def slow_round(X, Y, lam, reg, diagonal=False, at=None):
    """One round: kernel ridge, central differences of the fitted function, matrix square root."""
    n, d = X.shape
    width = np.median([r for i in range(n) for j in range(i) if (r := np.linalg.norm(X[i] - X[j])) > 0])

    def kernel(A, B):
        return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2) / (2 * width**2))

    alpha = np.linalg.solve(kernel(X, X) + lam * np.eye(n), Y)
    M = np.zeros((d, d))
    for x in X if at is None else X[at]:
        steps = 1e-5 * np.eye(d)
        J = (kernel(x + steps, X) - kernel(x - steps, X)) @ alpha / 2e-5
        M += J @ J.T
    M = np.diag(M.diagonal()) if diagonal else M
    values, Q = np.linalg.eigh(M * d / np.trace(M) + reg * np.eye(d))
    return (Q * np.sqrt(values)) @ Q.T


@pytest.mark.parametrize("rounds", [1, 2, 3])
@pytest.mark.parametrize("outputs", [1, 3])
def test_it_is_the_root_of_the_average_gradient_product_round_after_round(rounds, outputs):
    X, Y = data(outputs=outputs)
    metric = LearnedMetric(rounds, lam=0.05, reg=0.02).fit(X, Y)
    T = np.eye(4)
    for _ in range(rounds):
        T = slow_round(X @ T.T, Y - Y.mean(axis=0), 0.05, 0.02) @ T
    assert_allclose(metric.matrix, T, rtol=1e-5, atol=1e-6)
    assert_allclose(metric.transform(X), X @ T.T, rtol=1e-5, atol=1e-5)


def test_many_columns_get_a_diagonal():
    X, Y = data(n=25, d=FULL + 1, outputs=1)
    metric = LearnedMetric(1).fit(X, Y)
    assert metric.map_.shape == (FULL + 1,)
    assert_allclose(metric.matrix, slow_round(X, Y - Y.mean(axis=0), 0.01, 0.01, diagonal=True), rtol=1e-4, atol=1e-5)
    assert_allclose(metric.transform(X), X @ metric.matrix, rtol=1e-12, atol=1e-14)


def test_gradients_may_be_taken_at_some_rows_only():
    X, Y = data()
    metric = LearnedMetric(1, gradients=20).fit(X, Y)
    at = np.linspace(0, len(X) - 1, 20).round().astype(int)
    assert_allclose(metric.matrix, slow_round(X, Y - Y.mean(axis=0), 0.01, 0.01, at=at), rtol=1e-5, atol=1e-6)
    assert_array_equal(LearnedMetric(gradients=500).fit(X, Y).map_, LearnedMetric().fit(X, Y).map_)


def test_a_direction_without_influence_is_forgotten_and_a_rotation_is_followed():
    X, _ = data(n=400)
    w = np.array([0.6, 0.8, 0.0, 0.0])
    metric = LearnedMetric().fit(X, np.sin(3 * X @ w))
    seen, unseen = np.linalg.norm(metric.matrix @ w), np.linalg.norm(metric.matrix @ np.array([0.8, -0.6, 0.0, 0.0]))
    assert seen > 10 * unseen


def test_units_and_offsets_of_the_labels_do_not_matter():
    X, Y = data()
    expected = LearnedMetric().fit(X, Y).map_
    for unit, offset in ((1e-6, 0.0), (1e6, -3e6), (1.0, 100.0)):
        assert_allclose(LearnedMetric().fit(X, unit * Y + offset).map_, expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("d", [3, FULL + 5])
def test_nothing_to_learn_gives_all_directions_alike(d):
    X = np.random.default_rng(0).normal(size=(30, d))
    started = LearnedMetric()
    started.start(d)
    expected = np.sqrt(1.01) * np.eye(d)
    assert_allclose(started.matrix, expected)
    assert_allclose(LearnedMetric(1).fit(X, np.full(30, 7.0)).matrix, expected, atol=1e-14)
    assert_allclose(LearnedMetric().fit(X[:1], [1.0]).matrix, expected, atol=1e-14)
    same = LearnedMetric().fit(np.zeros((20, d)), np.arange(20.0)).matrix
    assert np.isfinite(same).all()


def test_at_most_so_many_rows_are_drawn_by_the_seed():
    X, Y = data(n=100)
    one = LearnedMetric(rows=40, seed=3).fit(X, Y)
    chosen = np.sort(np.random.default_rng(3).choice(100, 40, replace=False))
    assert_array_equal(one.map_, LearnedMetric(rows=40).fit(X[chosen], Y[chosen]).map_)
    assert not np.array_equal(one.map_, LearnedMetric(rows=40, seed=4).fit(X, Y).map_)


@pytest.mark.parametrize("d", [4, 40])
def test_a_row_has_the_same_bits_in_any_block(d):
    X, Y = data(d=d)
    metric = LearnedMetric().fit(X, Y)
    Z = metric.transform(X)
    assert_array_equal(np.array([metric.row(x) for x in X]), Z)
    assert_array_equal(metric.transform(X[7:20]), Z[7:20])


def test_new_columns_count_as_an_average_direction():
    X, Y = data()
    metric = LearnedMetric().fit(X, Y)
    Z = metric.transform(X)
    metric.widen(6)
    assert_allclose(metric.transform(np.column_stack([X, np.zeros((60, 2))]))[:, :4], Z, rtol=1e-12, atol=1e-14)
    assert_allclose(metric.transform(np.eye(6)[4:])[:, 4:], np.sqrt(1.01) * np.eye(2), atol=1e-14)


def test_copies_and_files_map_alike():
    X, Y = data()
    metric = LearnedMetric().fit(X, Y)
    for twin in (copy.deepcopy(metric), from_bytes(to_bytes(metric))):
        assert_array_equal(twin.transform(X), metric.transform(X))


def test_what_makes_no_sense_is_refused():
    X, Y = data()
    with pytest.raises(TypeError, match="fit"):
        LearnedMetric().partial_fit(X, Y)
    with pytest.raises(ValueError, match="y is missing"):
        LearnedMetric().fit(X)
    with pytest.raises(ValueError, match="rounds"):
        LearnedMetric(0)


def test_the_median_distance_is_that_of_distinct_rows_spread_over_the_block():
    X, _ = data(n=31)
    X[5:15] = X[4]
    slow = [r for i in range(31) for j in range(i) if (r := np.linalg.norm(X[i] - X[j])) > 0]
    assert_allclose(median_distance(X), np.median(slow), rtol=1e-2)  # the root of a median of squares
    some = X[[0, 10, 20, 30]]
    assert median_distance(X, sample=4) == median_distance(some)
    assert median_distance(np.zeros((5, 2))) == 1.0


def test_weights_count_relative_to_their_mean_and_rows_of_weight_0_are_not_there():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(120, 3))
    y = np.where(np.arange(120) < 60, np.sin(2 * X[:, 0]), np.sin(2 * X[:, 1]))
    plain = LearnedMetric().fit(X, y).matrix
    assert_allclose(LearnedMetric().fit(X, y, np.full(120, 7.0)).matrix, plain, rtol=1e-9, atol=1e-9)
    half = (np.arange(120) < 60).astype(float)
    assert_allclose(
        LearnedMetric().fit(X, y, half).matrix, LearnedMetric().fit(X[:60], y[:60]).matrix, rtol=1e-9, atol=1e-9
    )
    tilted = LearnedMetric().fit(X, y, np.where(half > 0, 20.0, 1.0)).matrix
    along = np.linalg.norm(tilted, axis=0) / np.linalg.norm(plain, axis=0)
    assert along[0] > 1 > along[1]
