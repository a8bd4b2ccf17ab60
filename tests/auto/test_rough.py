"""Experts with a rough kernel: least squares as defined, rows in groups, changes since the last label."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import from_bytes, to_bytes
from nystream.auto.experts import JITTER, Innovation, LaplacianRidge
from nystream.auto.learner import Auto
from nystream.auto.recipe import Recipe
from nystream.auto.views import LAPLACIAN_LAM, LaplacianView
from nystream.scaling import StandardScale

SMALL = Recipe((1, 2, 5, 20, 60, 200), landmarks=15, big=30, small=10, ring=40, refresh=25, window=30, metric=80)


def fitted(m=40, outputs=2, weighted=False):
    rng = np.random.default_rng(0)
    X, Y, w = rng.normal(size=(150, 3)), rng.normal(size=(150, outputs)), rng.uniform(0.5, 2, 150)
    given = w if weighted else None
    view, expert = LaplacianView(StandardScale()), LaplacianRidge(m)
    view.fit(X, Y, given, rows=60)
    expert.fit(view, X, Y, given, np.random.default_rng(1))
    return view, expert, X, Y, given


def slow_weights(view, expert, X, Y, w):
    """The Nystrom ridge on these landmarks, by the normal equations."""
    U, points = view(X), expert.points_

    def kernel(A, B):
        return np.exp(-np.abs(A[:, None] - B[None]).sum(axis=2))

    Z = np.hstack([kernel(U, points), np.ones((len(U), 1))])
    P = np.zeros((len(points) + 1, len(points) + 1))
    P[:-1, :-1] = kernel(points, points)
    P += JITTER * np.eye(len(P))
    P[-1, -1] = 1.0
    W = np.ones(len(X)) if w is None else w
    return np.linalg.solve(LAPLACIAN_LAM * P + (Z * W[:, None]).T @ Z, (Z * W[:, None]).T @ Y).T


@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_least_squares_on_its_landmarks(weighted):
    view, expert, X, Y, w = fitted(weighted=weighted)
    assert_allclose(expert.weights_, slow_weights(view, expert, X, Y, w), rtol=1e-5, atol=1e-6)
    assert len(expert.points_) == 40


def test_rows_learnt_later_are_as_if_they_had_been_there():
    view, expert, X, Y, _ = fitted()
    rng = np.random.default_rng(2)
    more, labels = rng.normal(size=(expert.first, 3)), rng.normal(size=(expert.first, 2))
    before = expert.predict(view(more))
    assert_array_equal(expert.run(view(more), labels, None), before)
    expected = slow_weights(view, expert, np.vstack([X, more]), np.vstack([Y, labels]), None)
    assert_allclose(expert.weights_, expected, rtol=1e-5, atol=1e-6)


def test_equal_rows_are_one_landmark():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(20, 2)), 5, axis=0)
    view, expert = LaplacianView(StandardScale()), LaplacianRidge(90)
    view.fit(X, X[:, :1])
    expert.fit(view, X, X[:, :1], None, rng)
    assert len(expert.points_) <= 20


@pytest.mark.parametrize("size", [1, 7, 64, 65])
def test_blocks_do_not_matter_nor_does_saving_between_them(size):
    view, expert, *_ = fitted()
    twin = from_bytes(to_bytes(expert))
    rng = np.random.default_rng(3)
    U, Y = view(rng.normal(size=(150, 3))), rng.normal(size=(150, 2))
    whole, parts = expert.run(U, Y, None), []
    for i in range(0, 150, size):
        parts.append(twin.run(U[i : i + size], Y[i : i + size], None))
        twin = from_bytes(to_bytes(twin))
    assert_array_equal(np.vstack(parts), whole)


def walk(n=500, seed=0):
    """Labels that move by what the first column says, from where they were."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, 100 + np.cumsum(np.sign(X[:, 0]) + 0.05 * rng.normal(size=n))


def test_changes_since_the_last_label_are_learnt():
    X, y = walk()
    model = Auto(recipe=SMALL)
    p = model.run(X, y)
    assert not model.expert_set_.experts_["change"].helpless
    assert "change since the last label" in model.explain()
    moves = np.mean(np.diff(y) ** 2)
    assert np.mean((p[250:] - y[250:]) ** 2) < 0.1 * moves


def test_where_labels_do_not_follow_each_other_no_change_is_forecast_and_nothing_kept():
    X, _ = walk()
    model = Auto(recipe=SMALL)
    model.run(X, np.abs(X[:, 0]))
    expert = model.expert_set_.experts_["change"]
    assert expert.helpless
    assert expert.nbytes == 0
    assert model.weights()["no change"] < 0.1


@pytest.mark.parametrize("outputs", [1, 2])
def test_changes_in_blocks_rows_and_after_saving_are_the_same(outputs):
    X, y = walk(300)
    Y = np.column_stack([y, -2 * y + X[:, 1]])[:, :outputs]
    whole = Auto(recipe=SMALL).run(X, Y)
    model, parts = Auto(recipe=SMALL), []
    for i in range(0, 300, 37):
        predicted = model.predict(X[i : i + 1], ahead=1) if i else np.zeros(outputs)
        parts.append(np.reshape(model.run(X[i : i + 37], Y[i : i + 37]), (-1, outputs)))
        assert_array_equal(np.reshape(predicted, -1), parts[-1][0])
        model = from_bytes(to_bytes(model))
    assert_array_equal(np.vstack(parts), np.reshape(whole, (-1, outputs)))


def test_columns_may_come_late():
    X, y = walk(260)
    model = Auto(recipe=SMALL)
    model.run(X, y)
    before = model.predict(X[:5])
    model.widen(3)
    assert_allclose(model.predict(np.hstack([X[:5], np.zeros((5, 1))])), before, rtol=1e-9)


def test_without_lags_and_for_classes_there_is_no_such_expert():
    X, y = walk(30)
    for model, labels in ((Auto(lags=False, recipe=SMALL), y), (Auto(task="classification", recipe=SMALL), y > 100)):
        model.run(X, np.asarray(labels, dtype=float))
        assert "change" not in model.expert_set_.names
        assert "rough" in model.expert_set_.names


def test_images_have_no_rough_kernels():
    rng = np.random.default_rng(0)
    model = Auto(recipe=SMALL)
    model.run(rng.normal(size=(8, 101)), rng.normal(size=8))
    assert not {"rough", "change"} & set(model.expert_set_.names)


def test_a_change_expert_alone_adds_to_the_last_label():
    rng = np.random.default_rng(0)
    X, Y = np.hstack([rng.normal(size=(80, 3)), rng.normal(size=(80, 2))]), rng.normal(size=(80, 1))
    expert = Innovation(20, 1)
    expert.rest()
    assert_array_equal(expert.predict(X[:, :1]), X[:, :1])
    view = LaplacianView(StandardScale())
    view.fit(X, Y - X[:, :1])
    expert.fit(view, X, Y, None, rng)
    rows = np.hstack([X[:, :1], view(X)])
    assert np.mean((expert.predict(rows) - Y) ** 2) < np.mean((X[:, :1] - Y) ** 2)
