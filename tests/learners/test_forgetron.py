"""The Forgetron against its definition and its own promise."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream.kernels import Gaussian, Kernel, Linear, Normalized, Polynomial
from nystream.learners import Forgetron, Perceptron
from oracles import gaussian
from oracles.budget import forgetron, stream


class Slow(Kernel):
    """The Gaussian kernel as a user would write it."""

    def __call__(self, X, Y):
        return gaussian(X, Y, 0.5)


@pytest.mark.parametrize("budget", [1, 5, 20])
@pytest.mark.parametrize("kernel", [Gaussian(0.5), Slow()], ids=["compiled", "python"])
def test_the_forgetron_is_its_definition(budget, kernel):
    X, y = stream()
    P, record = forgetron(gaussian(X, X, 0.5), y, budget)
    model = Forgetron(kernel, budget=budget)
    assert_allclose(model.run(X, y), P, rtol=1e-10, atol=1e-11)
    phi, Q, M = record[-1]
    assert_allclose(model.ledger_, [Q, M, phi], rtol=1e-9)


@pytest.mark.parametrize("budget", [3, 10, 40])
def test_coefficients_never_grow_and_the_damage_stays_within_the_allowance(budget):
    X, y = stream(1500, seed=1)
    model = Forgetron(Gaussian(0.5), budget=budget)
    shrunk = 0
    for x, label in zip(X, y, strict=True):
        model.step(x, label)
        Q, M, phi = model.ledger_
        assert 0 <= phi <= 1
        assert Q <= 15 / 32 * M + 1e-9
        assert model.size <= budget
        shrunk += phi < 1
    assert shrunk > 100  # the allowance was felt
    assert np.abs(model.expansion_.coef).max() <= 1


def test_a_budget_that_is_never_reached_changes_nothing():
    X, y = stream()
    assert_array_equal(Forgetron(Gaussian(0.5), budget=300).run(X, y), Perceptron(Gaussian(0.5)).run(X, y))


def test_a_kernel_with_too_large_values_is_refused_before_anything_is_learnt():
    X, y = stream()
    model = Forgetron(Linear(), budget=10)
    model.run(0.1 * X[:50], y[:50])
    before = model.to_bytes()
    for learn in (lambda: model.run(10 * X, y), lambda: model.step(10 * X[0], y[0])):
        with pytest.raises(ValueError, match=r"Forgetron needs k\(x, x\) <= 1, .*use Normalized\(Linear\(\)\)"):
            learn()
    assert model.to_bytes() == before
    assert np.isfinite(Forgetron(Normalized(Polynomial(2)), budget=10).run(10 * X, y)).all()


def test_bad_arguments_are_refused_by_the_constructor():
    with pytest.raises(ValueError, match="budget must be a whole number of at least 1"):
        Forgetron(Gaussian(), budget=0)
