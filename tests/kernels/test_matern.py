"""The Matern kernels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream.kernels import Laplacian, Matern


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("d", [1, 6, 50])
def test_values_are_those_of_the_bessel_function_and_of_scikit_learn(nu, d):
    special = pytest.importorskip("scipy.special")
    gp = pytest.importorskip("sklearn.gaussian_process.kernels")
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, d)), rng.normal(size=(9, d))
    u = np.sqrt(2 * nu) * np.linalg.norm(X[:, None] - Y, axis=2) / 1.7
    assert_allclose(Matern(nu, 1.7)(X, Y), 2 ** (1 - nu) / special.gamma(nu) * u**nu * special.kv(nu, u), rtol=1e-12)
    assert_allclose(Matern(nu, sigma=1.7)(X, Y), gp.Matern(length_scale=1.7, nu=nu)(X, Y), rtol=1e-12)


def test_one_half_on_one_column_is_the_laplacian():
    X = np.random.default_rng(0).normal(size=(12, 1))
    assert_allclose(Matern(0.5, sigma=2.0)(X, X), Laplacian(2.0)(X, X), rtol=1e-14)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_far_points_and_extreme_widths_give_the_limits(nu):
    X = np.array([[0.0, 0.0], [1e100, 0.0], [-1e200, 1e200]])
    assert_array_equal(Matern(nu)(X, X), np.eye(3))
    assert_array_equal(Matern(nu, 1e-310)(X, X), np.eye(3))
    assert_array_equal(Matern(nu, 1e300)(X[:2], X[:2]), np.ones((2, 2)))


@pytest.mark.parametrize("nu", [0, 1, 2, 1.0, 3.5, np.nan, "1.5", None])
def test_another_smoothness_is_refused(nu):
    with pytest.raises(ValueError, match=r"nu must be 0\.5, 1\.5 or 2\.5, got"):
        Matern(nu)


@pytest.mark.parametrize("sigma", [0, -1.0, np.nan])
def test_a_width_that_is_not_positive_is_refused(sigma):
    with pytest.raises(ValueError, match=r"sigma must be a number greater than 0, got"):
        Matern(1.5, sigma)
