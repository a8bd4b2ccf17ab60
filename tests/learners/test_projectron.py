"""Projectron and Projectron++ against their definitions and against the perceptron."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream.kernels import Gaussian, Kernel
from nystream.learners import Perceptron, Projectron
from nystream.losses import MulticlassHinge
from oracles import gaussian
from oracles.budget import classes, projectron, stream

SETTINGS = [
    {"tol": 0.1},
    {"tol": 0.3},
    {"tol": 0.05, "budget": 20},
    {"tol": 0.3, "plus": True},
    {"tol": 0.05, "budget": 20, "plus": True},
]


class Slow(Kernel):
    """The Gaussian kernel as a user would write it."""

    def __call__(self, X, Y):
        return gaussian(X, Y, 0.5)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_the_learner_is_its_definition(setting):
    X, y = stream()
    P, f = projectron(gaussian(X, X, 0.5), y, **setting)
    for kernel in (Gaussian(0.5), Slow()):
        model = Projectron(kernel, **setting)
        assert_allclose(model.run(X, y), P, rtol=1e-9, atol=1e-10)
        assert_array_equal(model.expansion_.points, X[f.index])
        assert_allclose(model.averaged(X), gaussian(X, X[f.index], 0.5) @ f.total[:, 0] / 300, rtol=1e-9, atol=1e-10)


def test_without_tolerance_and_budget_it_is_the_perceptron():
    X, y = stream(600, d=5)
    model = Projectron(Gaussian(0.5), tol=0.0)
    assert_allclose(model.run(X, y), Perceptron(Gaussian(0.5)).run(X, y), rtol=1e-9, atol=1e-9)
    assert model.size > 100


def test_where_points_are_nearly_dependent_it_is_still_the_perceptron():
    # every projection loses at most 1e-5 in the kernel's norm, on a Gram matrix of condition 1e10 and more
    X, y = stream(300, d=2)
    model = Projectron(Gaussian(1.0), tol=0.0)
    free = Perceptron(Gaussian(1.0))
    assert_allclose(model.run(X, y), free.run(X, y), atol=1e-3)
    assert model.size < 0.8 * free.size


@pytest.mark.parametrize(("n", "d", "tol"), [(2600, 6, 0.05), (4000, 3, 0.01), (4000, 3, 0.1)])
def test_the_inverse_gram_matrix_is_right_after_a_thousand_updates(n, d, tol):
    X, y = stream(n, d=d, seed=2)
    y = np.where(np.random.default_rng(0).random(n) < 0.2, -y, y)
    model = Projectron(Gaussian(0.5), tol=tol)
    P = model.run(X, y)
    assert np.sum(P * y <= 0) > 1000
    points, L = model.expansion_.points, model.span_.matrix
    K = Gaussian(0.5)(points, points)
    assert np.abs(L @ L.T - K).max() < 1e-13
    inverse = np.linalg.solve(L.T, np.linalg.solve(L, np.eye(len(K))))
    assert np.abs(inverse @ K - np.eye(len(K))).max() < 1e-6


def test_a_repeated_point_is_never_stored_twice():
    X, y = stream(400, d=2)
    X = np.round(2 * X) / 2
    model = Projectron(Gaussian(0.5), tol=0.0)
    model.run(X, y)
    assert len(np.unique(model.expansion_.points, axis=0)) == model.size <= 25


@pytest.mark.parametrize("plus", [False, True])
def test_two_classes_are_two_signs(plus):
    # labels 0 and 1 move two scores by one half of what one sign moves its own: margins agree for half the scores
    X, y = stream()
    tol = 0.2
    sign = Projectron(2.0 * Gaussian(0.5), tol=np.sqrt(2) * tol, plus=plus).run(X, y)
    both = Projectron(Gaussian(0.5), tol=np.sqrt(2) * tol, plus=plus, loss=MulticlassHinge(2)).run(X, (y + 1) / 2)
    assert_allclose(both[:, 1] - both[:, 0], sign, rtol=1e-9, atol=1e-10)


def test_the_plus_rule_makes_fewer_mistakes_with_as_many_points():
    # recorded: 2330 mistakes against 2167, and 433 points against 436, over six streams of 3000 rows
    mistakes, sizes = np.zeros(2), np.zeros(2)
    for seed in range(6):
        X, y = classes(3000, seed=seed)
        y = np.where(y >= 2, 1.0, -1.0)
        for i, plus in enumerate((False, True)):
            model = Projectron(Gaussian(0.5), tol=0.3, plus=plus)
            mistakes[i] += np.sum(model.run(X, y) * y <= 0)
            sizes[i] += model.size
    assert_allclose(mistakes, [2330, 2167], atol=20)
    assert_allclose(sizes, [433, 436], atol=6)


def test_bad_arguments_are_refused_by_the_constructor():
    with pytest.raises(ValueError, match="tol must be a number at least 0"):
        Projectron(Gaussian(), tol=-0.1)
    with pytest.raises(ValueError, match="budget must be"):
        Projectron(Gaussian(), budget=0)
