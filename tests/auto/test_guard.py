"""Labels that hardly ever change: the guard as defined, its rounds, and the automatic learner beside no change."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import from_bytes, to_bytes
from nystream.auto.learner import Auto
from nystream.auto.outputs import PersistenceStage
from nystream.auto.recipe import Recipe
from oracles.auto import guarded_classes, guarded_numbers

SMALL = Recipe((1, 2, 5, 20, 60), landmarks=15, big=30, small=10, ring=40, refresh=25, window=30, metric=50)


def numbers(n, seed=0):
    """Targets that stand still for long, jump for a row, stand still but for a little noise, and one of noise."""
    rng = np.random.default_rng(seed)
    steps = np.cumsum(np.where(rng.random(n) < 1 / 60, rng.normal(size=n), 0.0))
    demand = np.where(rng.random(n) < 1 / 50, rng.integers(1, 9, n), 0)
    noisy = np.cumsum(rng.random(n) < 1 / 60) + 0.003 * rng.normal(size=n)
    Y = np.column_stack([steps, demand, noisy, rng.normal(size=n)])
    return Y + 0.2 * rng.normal(size=Y.shape), Y, rng.choice([0.5, 1.0, 3.0], size=n)


def classes(n, K, seed=0):
    rng = np.random.default_rng(seed)
    y = np.cumsum(np.where(rng.random(n) < 1 / 40, rng.integers(1, max(K, 2), n), 0)) % K
    y[n // 2 :: 50] = 0  # some changes do not last
    P = rng.normal(size=(n, K))
    return P - np.log(np.exp(P).sum(axis=1, keepdims=True)), y.astype(float), rng.choice([0.5, 1.0, 3.0], size=n)


def switching(n, every, seed=0):
    rng = np.random.default_rng(seed)
    y = np.cumsum(rng.random(n) < 1 / every) % 2
    return rng.normal(size=(n, 3)), y.astype(float)


@pytest.mark.parametrize("weighted", [False, True])
def test_numbers_as_defined_every_target_by_itself(weighted):
    P, Y, w = numbers(600)
    w = w if weighted else None
    guard = PersistenceStage(classes=False)
    guard.start(4)
    Q = guard.run(P, Y, w)
    for k in range(4):
        assert_allclose(Q[:, k], guarded_numbers(P[:, k], Y[:, k], w), rtol=1e-9, atol=1e-9)
    assert [bool((Q[:, k] != P[:, k]).any()) for k in range(4)] == [True, True, True, False]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("K", [2, 4])
def test_classes_as_defined(K, weighted):
    P, y, w = classes(600, K)
    w = w if weighted else None
    guard = PersistenceStage(classes=True)
    guard.start(K)
    Q = guard.run(P, y, w)
    assert_allclose(Q, guarded_classes(P, y, w), rtol=1e-9, atol=1e-12)
    assert_allclose(np.exp(Q).sum(axis=1), 1.0)
    assert 5 < (Q != P).any(axis=1).sum() < 60


@pytest.mark.parametrize("task", ["numbers", "classes"])
def test_blocks_rows_and_files_make_no_difference_and_asking_leaves_no_trace(task):
    P, Y, w = numbers(300) if task == "numbers" else classes(300, 3)
    whole, parts = (PersistenceStage(classes=task == "classes") for _ in range(2))
    whole.start(P.shape[1])
    parts.start(P.shape[1])
    Q = whole.run(P, Y, w)
    for i, j in [(0, 1), (1, 2), (2, 90), (90, 91), (91, 300)]:
        assert_array_equal(parts.predict(P[i:j])[0], Q[i])
        assert_array_equal(parts.run(P[i:j], Y[i:j], w[i:j]), Q[i:j])
        parts = from_bytes(to_bytes(parts))
    assert to_bytes(parts) == to_bytes(whole)


def test_a_late_class_makes_no_difference_to_the_state():
    P, y, _ = classes(300, 2)
    wide = np.column_stack([P, np.full(300, -50.0)])
    late, known = PersistenceStage(classes=True), PersistenceStage(classes=True)
    late.start(2)
    known.start(3)
    late.run(P[:150], y[:150], None)
    Q = np.vstack([known.run(wide[:150], y[:150], None), known.run(wide[150:], y[150:], None)])
    assert_allclose(late.run(wide[150:], y[150:], None), Q[150:])


def test_an_accident_decides_nothing_for_long():
    rng = np.random.default_rng(1)
    y = np.where(rng.random(3000) < 0.03, rng.integers(1, 9, 3000), 0).astype(float)
    y[30] = 1e75
    p = np.full(3000, y[31:].mean())
    guard = PersistenceStage(classes=False)
    guard.start(1)
    q = guard.run(p[:, None], y[:, None], None)[:, 0]
    assert np.mean((q - y)[1500:] ** 2) < 1.1 * np.mean((p - y)[1500:] ** 2)


@pytest.mark.parametrize("every", [50, 200])
@pytest.mark.parametrize("seed", [1, 2])
def test_classes_that_rarely_change_cost_no_more_mistakes_than_no_change(every, seed):
    X, y = switching(2000, every, seed)
    mistakes = np.sum(Auto(task="classification", recipe=SMALL).run(X, y).argmax(axis=1) != y)
    assert mistakes <= np.sum(y[1:] != y[:-1])


@pytest.mark.parametrize("scale", [1e-6, 3.0])
def test_numbers_that_rarely_change_are_forecast_as_well_as_by_no_change(scale):
    X, y = switching(2000, 200)
    y = scale * (5 + y)
    p = Auto(recipe=SMALL).run(X, y)
    assert np.sum((p[40:] - y[40:]) ** 2) < 1.002 * np.sum((y[40:] - y[39:-1]) ** 2)


def test_changes_that_do_not_last_cost_two_mistakes():
    X, _ = switching(1500, 50)
    y = (np.random.default_rng(3).random(1500) < 0.03).astype(float)
    with_guard, without = Auto(task="classification", recipe=SMALL), Auto(task="classification", recipe=SMALL)
    without.reserve(3, 2)
    without.pipeline_.stages_.persistence_ = None
    wrong, before = (np.sum(model.run(X, y).argmax(axis=1) != y) for model in (with_guard, without))
    assert wrong <= before + 2


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_where_labels_change_nothing_is_different_and_a_model_without_it_goes_on_so(task):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(400, 3))
    y = np.sin(X[:, 0]) if task == "regression" else (X[:, 0] > 0).astype(float)
    models = [Auto(task=task, recipe=SMALL) for _ in range(2)]
    models[1].reserve(3, 2 if task == "classification" else 1)
    models[1].pipeline_.stages_.persistence_ = None
    models[1] = from_bytes(to_bytes(models[1]))
    assert models[1].pipeline_.stages_.persistence_ is None
    assert_array_equal(models[0].run(X, y), models[1].run(X, y))


def test_it_tells_that_the_last_label_carries_the_prediction():
    X, y = switching(600, 100)
    model = Auto(recipe=SMALL)
    model.run(X, y)
    shares = model.weights()
    assert sum(shares.values()) == pytest.approx(1.0)
    assert shares["the last labels"] > 0.8
    assert "labels hardly ever change" in model.explain()
    assert Auto(recipe=SMALL, lags=False).run(X, y).shape == (600,)
