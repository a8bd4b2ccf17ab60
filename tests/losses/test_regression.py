"""How the regression losses relate to each other, and the constants that are refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nystream.losses import Absolute, EpsilonInsensitive, Huber, Pinball, Squared

Y, P = np.random.default_rng(0).normal(0, 2, (2, 100))
S, C = 10 ** np.random.default_rng(1).uniform(-2, 2, (2, 100))


def test_squared_carries_no_half():
    assert Squared().value(1.0, 3.0) == 4.0
    assert Squared().grad(1.0, 3.0) == 4.0
    assert Squared().second(1.0, 3.0) == 2.0


def test_huber_with_a_wide_core_is_half_the_squared_loss():
    wide = Huber(1e6)
    assert_allclose(2 * wide.value(Y, P), Squared().value(Y, P))
    assert_allclose(wide.implicit(Y, P, S, 2 * C), Squared().implicit(Y, P, S, C), rtol=1e-12)


def test_huber_with_a_tiny_core_is_a_scaled_absolute_loss():
    assert_allclose(Huber(1e-9).grad(Y, P), 1e-9 * Absolute().grad(Y, P))


def test_pinball_of_one_half_is_half_the_absolute_loss():
    assert_allclose(Pinball().value(Y, P), 0.5 * Absolute().value(Y, P))
    assert_allclose(Pinball().implicit(Y, P, S, 2 * C), Absolute().implicit(Y, P, S, C))


def test_pinball_is_least_at_the_quantile():
    sample = np.random.default_rng(2).exponential(size=501)
    grid = np.linspace(0, 5, 1001)
    risk = Pinball(0.9).value(sample[:, None], grid).mean(axis=0)
    assert grid[risk.argmin()] == pytest.approx(np.quantile(sample, 0.9), abs=2e-2)


def test_a_tube_of_width_zero_is_the_absolute_loss():
    assert_allclose(EpsilonInsensitive(0.0).implicit(Y, P, S, C), Absolute().implicit(Y, P, S, C))


def test_subgradients_at_the_kinks_are_zero():
    assert Absolute().grad(0.5, 0.5) == Pinball(0.9).grad(0.5, 0.5) == EpsilonInsensitive(0.5).grad(0.0, 0.5) == 0.0
    zero = np.zeros(1)
    for loss in (Absolute(), Pinball(0.9), EpsilonInsensitive(0.0)):
        assert loss.grad(zero, zero) == 0.0


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: EpsilonInsensitive(-0.1), "eps must be a number at least 0"),
        (lambda: Huber(0.0), "delta must be a number greater than 0"),
        (lambda: Pinball(1.0), "q must be a number greater than 0 and less than 1"),
        (lambda: Pinball(np.nan), "q must be"),
    ],
)
def test_bad_constants_are_refused_by_name(build, message):
    with pytest.raises(ValueError, match=message):
        build()
