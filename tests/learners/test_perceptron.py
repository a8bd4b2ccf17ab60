"""The perceptron and its random budget, against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream.kernels import Gaussian, Kernel, Linear
from nystream.learners import Perceptron, RandomBudgetPerceptron
from nystream.losses import MulticlassHinge
from oracles import gaussian
from oracles.budget import classes, corrections, perceptron, perceptron_classes, random_budget, stream

CLOSE = {"rtol": 1e-10, "atol": 1e-11}


class Slow(Kernel):
    """The Gaussian kernel as a user would write it: the compiled loops have to ask Python."""

    def __call__(self, X, Y):
        return gaussian(X, Y, 0.5)


def test_the_perceptron_is_its_definition():
    X, y = stream()
    model = Perceptron(Gaussian(0.5))
    P = model.run(X, y)
    assert_allclose(P, corrections(gaussian(X, X, 0.5), y, perceptron)[:, 0], **CLOSE)
    assert model.size == np.sum(y * P <= 0)
    assert set(model.expansion_.coef.ravel()) == {-1.0, 1.0}


def test_with_classes_the_label_rises_and_its_rival_falls():
    X, y = classes()
    P = Perceptron(Gaussian(0.5), loss=MulticlassHinge(4)).run(X, y)
    assert_allclose(P, corrections(gaussian(X, X, 0.5), y, perceptron_classes, 4), **CLOSE)


@pytest.mark.parametrize("rule", ["signs", "classes"])
def test_the_linear_kernel_holds_weights_instead_of_points(rule):
    X, y = stream() if rule == "signs" else classes()
    loss, slow, K = ("hinge", perceptron, 1) if rule == "signs" else (MulticlassHinge(4), perceptron_classes, 4)
    linear, stored = Perceptron(Linear(), loss=loss), Perceptron(1.0 * Linear(), loss=loss)
    P = linear.run(X, y)
    assert_allclose(P.reshape(300, K), corrections(X @ X.T, y, slow, K), **CLOSE)
    assert_allclose(stored.run(X, y), P, **CLOSE)
    assert linear.size == 3 < stored.size
    assert_allclose(linear.averaged(X), stored.averaged(X), **CLOSE)


def test_the_mean_hypothesis_is_the_mean_of_the_hypotheses():
    X, y = stream(120)
    for kernel in (Gaussian(0.5), Linear()):
        model, seen = Perceptron(kernel), []
        for x, label in zip(X, y, strict=True):
            seen.append(model.predict(X))
            model.step(x, label)
        assert_allclose(model.averaged(X), np.mean(seen, axis=0), **CLOSE)


def test_a_zero_prediction_is_a_mistake():
    model = Perceptron(Gaussian(1.0))
    assert model.step(np.zeros(2), 1.0) == 0.0
    assert model.size == 1


def test_a_point_without_length_is_not_stored():
    X = np.vstack([np.zeros((5, 2)), np.ones((1, 2))])
    model = RandomBudgetPerceptron(Linear(), budget=3, seed=0)
    model.run(X, np.ones(6))
    assert model.size == 1


def test_the_random_budget_is_its_definition_with_one_uniform_per_removal():
    X, y = stream()
    K = gaussian(X, X, 0.5)
    P, f = random_budget(K, y, budget=20, seed=3)
    for kernel in (Gaussian(0.5), Slow()):
        model = RandomBudgetPerceptron(kernel, budget=20, seed=3)
        assert_allclose(model.run(X, y), P, **CLOSE)
        assert_allclose(model.expansion_.points, X[f.index])
        rng = np.random.default_rng(3)
        rng.random(int(np.sum(y * P <= 0)) - 20)
        assert model.rng_.bit_generator.state == rng.bit_generator.state


def test_a_budget_that_is_never_reached_changes_nothing():
    X, y = stream()
    assert_array_equal(
        RandomBudgetPerceptron(Gaussian(0.5), budget=300, seed=0).run(X, y), Perceptron(Gaussian(0.5)).run(X, y)
    )


def test_the_seed_decides_the_removals_and_is_not_used_up():
    X, y = stream()
    seed = np.random.default_rng(5)
    one, two, other = (RandomBudgetPerceptron(Gaussian(0.5), budget=10, seed=s).run(X, y) for s in (seed, seed, 6))
    assert_array_equal(one, two)
    assert np.abs(one - other).max() > 0.1


def test_a_class_may_appear_late():
    X, y = classes()
    order = np.argsort(y == 3, kind="stable")
    X, y = X[order], y[order]
    for learner in (
        Perceptron(Linear(), loss="multiclass_hinge"),
        RandomBudgetPerceptron(Gaussian(0.7), budget=8, loss="multiclass_hinge", seed=1),
    ):
        block = learner.run(X, y)
        assert block.shape == (300, 4)
        assert np.isneginf(block[0, 3])
        assert np.isfinite(learner.predict(X)).all()


def test_bad_arguments_are_refused_by_the_constructor():
    with pytest.raises(ValueError, match="loss must be one of 'hinge', 'multiclass_hinge'; got 'squared'"):
        Perceptron(Gaussian(), loss="squared")
    with pytest.raises(ValueError, match="kernel must be a kernel"):
        Perceptron("rbf")
    with pytest.raises(ValueError, match="budget must be a whole number of at least 1"):
        RandomBudgetPerceptron(Gaussian(), budget=0)
    with pytest.raises(ValueError, match="seed must be"):
        RandomBudgetPerceptron(Gaussian(), seed=-1)
    with pytest.raises(ValueError, match="does not take weights"):
        Perceptron(Gaussian()).run(np.zeros((1, 2)), [1.0], weights=[2.0])
