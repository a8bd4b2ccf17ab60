"""NAROW against its definition on explicit features, its design rule, and hard inputs."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import oracles
from nystream.kernels import Gaussian, Linear, Polynomial
from nystream.learners.narow import NAROW
from oracles.newton import quadratic_features
from oracles.second_order import narow


def stream(n=300, seed=0):
    """Overlapping classes, with repeats of earlier points and one point many times."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[100:130], X[150:200] = X[:30], X[0]
    return X, np.where(np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)


@pytest.mark.parametrize(("lam", "close"), [(1.0, 1e-11), (0.1, 1e-9), (1e-3, 1e-7)])
@pytest.mark.parametrize("b", [2.0, 20.0])
@pytest.mark.parametrize("size", [1, 7, 300])
def test_margins_equal_the_definition_on_explicit_features(lam, close, b, size):
    X, y = stream()
    learner = NAROW(Polynomial(2), lam=lam, b=b)
    got = np.concatenate([learner.run(X[i : i + size], y[i : i + size]) for i in range(0, 300, size)])
    expected, updates = narow(quadratic_features(X), y, lam, b)
    assert_allclose(got, expected, rtol=0, atol=close)
    assert learner.size == len(updates)
    assert learner.mistakes == np.count_nonzero((expected >= 0) != (y > 0))
    assert 0 < learner.factor_.n < learner.size  # both kinds of update happened


def test_golden_values():
    X, _, signs = oracles.golden_stream()
    learner = NAROW(Gaussian(0.3))
    learner.run(X, signs)
    assert (learner.size, learner.mistakes) == (46, 4)


def test_after_an_update_the_uncertainty_is_at_most_one_over_b():
    X, y = stream()
    learner = NAROW(Gaussian(1.0), lam=0.5, b=3.0)
    for x, label in zip(X, y, strict=True):
        size, before = learner.size, learner.factor_.leverage(x[None])[0] if learner.n_seen else 2.0
        learner.step(x, label)
        after = learner.factor_.leverage(x[None])[0]
        expected = min(before, 1 / 3) if learner.size > size else before
        assert_allclose(after, expected, rtol=1e-9)


def test_a_small_b_never_changes_the_metric():
    X, y = stream()
    learner = NAROW(Gaussian(1.0), lam=2.0, b=2.0)  # b = lam / k(x, x)
    p = learner.run(X, y)
    assert learner.factor_.n == 0
    learnt = y * p < 1  # then it is a perceptron with margin 1, theta / lam
    assert_allclose(learner.predict(X), oracles.gaussian(X, X[learnt], 1.0) @ y[learnt] / 2.0, atol=1e-10)


def test_inputs_without_a_feature_teach_nothing():
    learner = NAROW(Linear())
    learner.run(np.zeros((3, 2)), [-1.0, 1.0, -1.0])
    assert (learner.mistakes, learner.size) == (2, 0)


def test_hard_points_stay_finite():
    X, _ = stream()
    hard = np.vstack([np.repeat(X[:1], 500, axis=0), X[:1] + 1e-9, 1e6 * X[:9], X])
    signs = np.resize([1.0, -1.0, -1.0], len(hard))
    for kernel in (Gaussian(1.0), Polynomial(2)):
        learner = NAROW(kernel, lam=1e-6)
        assert np.isfinite(learner.run(hard, signs)).all()
        assert np.isfinite(learner.predict(hard)).all()


def test_new_columns_change_nothing_for_points_without_them():
    X, y = stream()
    learner, wide = NAROW(Gaussian(1.0)), NAROW(Gaussian(1.0))
    learner.run(X[:150], y[:150])
    padded = np.hstack([X, np.zeros((300, 1))])
    wide.run(padded[:150], y[:150])
    learner.widen(4)
    assert_allclose(learner.run(padded[150:], y[150:]), wide.run(padded[150:], y[150:]), atol=1e-11)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="kernel must be a kernel"):
        NAROW("gaussian")
    with pytest.raises(ValueError, match="b must be"):
        NAROW(Gaussian(1.0), b=0.0)
