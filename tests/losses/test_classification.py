"""The logistic root at full accuracy, novelty without labels, constants that are refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from nystream.losses import Hinge, Logistic, Novelty, SquaredHinge


def test_logistic_step_solves_its_equation_where_alpha_is_far_below_c():
    scales, margins = np.geomspace(1e-8, 1e8, 17), [-1e3, -50.0, -1.0, 0.0, 1.0, 50.0, 700.0]
    s, c, m = np.meshgrid(scales, scales, margins)
    alpha = Logistic().implicit(1.0, m, s, c)
    u = m + s * alpha
    # rounding of u moves c sigma(-u) by a relative |u| 1e-16; an error of alpha comes back multiplied by 1 + s alpha
    assert (np.abs(alpha / (c * expit(-u)) - 1) <= 1e-14 * (4 + np.abs(u) + s * alpha)).all()


def test_logistic_step_is_antisymmetric_in_the_label():
    p = np.linspace(-5, 5, 21)
    assert_allclose(Logistic().implicit(-1.0, -p, 2.0, 3.0), -Logistic().implicit(1.0, p, 2.0, 3.0), rtol=0)


def test_logistic_value_and_slope_survive_huge_margins():
    loss = Logistic()
    assert loss.value(1.0, 800.0) == 0.0
    assert loss.value(1.0, 30.0) == pytest.approx(np.exp(-30.0), rel=1e-12)
    assert loss.grad(-1.0, 1e308) == 1.0
    assert loss.second(1.0, -1e5) == 0.0
    assert_allclose(loss.value(1.0, np.array([800.0, 30.0, -1e308])), [0.0, np.exp(-30.0), 1e308], rtol=1e-12)


def test_novelty_ignores_the_label():
    loss, p = Novelty(), np.array([0.2, 1.0, 3.0])
    for y in (None, np.nan, np.full(3, np.nan), "none"):
        assert_allclose(loss.value(y, p), [0.8, 0.0, 0.0])
        assert_allclose(loss.grad(y, p), [-1.0, 0.0, 0.0])
        assert_allclose(loss.second(y, p), 0.0)
        assert_allclose(loss.implicit(y, p, 2.0, 1.0), [0.4, 0.0, 0.0])
    assert loss.implicit(None, 0.2, 2.0, 1.0) == 0.4


def test_a_margin_of_zero_is_the_perceptron_loss():
    assert Hinge(0.0).grad(1.0, -0.5) == -1.0
    assert Hinge(0.0).grad(1.0, 0.0) == 0.0


@pytest.mark.parametrize("kind", [Hinge, SquaredHinge, Novelty])
def test_a_bad_margin_is_refused_by_name(kind):
    for bad in (-1.0, np.inf, "1", True):
        with pytest.raises(ValueError, match="rho must be a number at least 0"):
            kind(rho=bad)
