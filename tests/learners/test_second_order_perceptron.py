"""The second-order perceptron against its definition on explicit features, and against the published form."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from nystream.kernels import Gaussian, Linear, Polynomial
from nystream.learners.second_order_perceptron import SecondOrderPerceptron
from oracles.newton import quadratic_features
from oracles.second_order import second_order_perceptron


def stream(n=300, seed=0):
    """Overlapping classes, with repeats of earlier points (with other labels among them) and one point many times."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[100:130], X[150:200] = X[:30], X[0]
    return X, np.where(np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize(("lam", "close"), [(1.0, 1e-11), (0.1, 1e-10), (1e-3, 1e-8)])
@pytest.mark.parametrize("size", [1, 7, 300])
def test_margins_equal_the_definition_on_explicit_features(lam, close, size):
    X, y = stream()
    learner = SecondOrderPerceptron(Polynomial(2), lam=lam)
    got = np.concatenate([learner.run(X[i : i + size], y[i : i + size]) for i in range(0, 300, size)])
    expected = second_order_perceptron(quadratic_features(X), y, lam, counting=False)
    assert_allclose(got, expected, rtol=0, atol=close)
    assert learner.mistakes == learner.size == np.count_nonzero((expected >= 0) != (y > 0))


def test_counting_the_input_itself_as_published_changes_no_sign():
    X, y = stream()
    published = second_order_perceptron(quadratic_features(X), y, 0.5, counting=True)
    assert_array_equal(SecondOrderPerceptron(Polynomial(2), lam=0.5).run(X, y) >= 0, published >= 0)


def test_golden_value():
    X, _, signs = oracles.golden_stream()
    learner = SecondOrderPerceptron(Gaussian(0.3))
    learner.run(X, signs)
    assert learner.mistakes == 5


def test_it_is_kernel_ridge_on_its_mistakes():
    X, y = stream()
    learner = SecondOrderPerceptron(Gaussian(1.0), lam=0.3)
    p = learner.run(X, y)
    wrong = (p >= 0) != (y > 0)
    K = oracles.gaussian(X[wrong], X[wrong], 1.0)
    ridge = oracles.gaussian(X, X[wrong], 1.0) @ np.linalg.solve(K + 0.3 * np.eye(len(K)), y[wrong])
    assert_allclose(learner.predict(X), ridge, atol=1e-10)
    assert_allclose(learner.log_det(), oracles.log_det(K, 0.3), rtol=1e-10)


def test_inputs_without_a_feature_are_mistakes_that_teach_nothing():
    learner = SecondOrderPerceptron(Linear())
    assert_array_equal(learner.run(np.zeros((3, 2)), [-1.0, 1.0, -1.0]), np.zeros(3))
    assert (learner.mistakes, learner.size) == (2, 0)
    learner.run(np.ones((1, 2)), [-1.0])
    assert learner.predict(np.ones((1, 2)))[0] < 0


def test_hard_points_stay_finite():
    X, _ = stream()
    hard = np.vstack([np.repeat(X[:1], 500, axis=0), X[:1] + 1e-9, 1e6 * X[:9], X])
    signs = np.resize([1.0, -1.0, -1.0], len(hard))
    for kernel in (Gaussian(1.0), Polynomial(2)):
        learner = SecondOrderPerceptron(kernel, lam=1e-6)
        assert np.isfinite(learner.run(hard, signs)).all()
        assert np.isfinite(learner.predict(hard)).all()


def test_new_columns_change_nothing_for_points_without_them():
    X, y = stream()
    learner, wide = SecondOrderPerceptron(Gaussian(1.0)), SecondOrderPerceptron(Gaussian(1.0))
    learner.run(X[:150], y[:150])
    padded = np.hstack([X, np.zeros((300, 1))])
    wide.run(padded[:150], y[:150])
    learner.widen(4)
    assert_allclose(learner.run(padded[150:], y[150:]), wide.run(padded[150:], y[150:]), atol=1e-12)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="kernel must be a kernel"):
        SecondOrderPerceptron(1.0)
    with pytest.raises(ValueError, match="lam must be"):
        SecondOrderPerceptron(Gaussian(1.0), lam=0.0)
    with pytest.raises(ValueError, match="-1 or \\+1"):
        SecondOrderPerceptron(Gaussian(1.0)).run(np.ones((1, 1)), [0.0])
