"""The Gaussian kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream.kernels import Gaussian


@pytest.mark.parametrize("sigma", [0.3, 1, 2.5])
def test_values_are_those_of_the_formula_and_of_scikit_learn(sigma):
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 4)), rng.normal(size=(9, 4))
    expected = np.exp(-((X[:, None] - Y) ** 2).sum(2) / (2 * sigma**2))
    assert_allclose(Gaussian(sigma)(X, Y), expected, rtol=1e-12)
    assert_allclose(Gaussian(sigma)(X, Y), pairwise.rbf_kernel(X, Y, gamma=1 / (2 * sigma**2)), rtol=1e-12)


def test_identical_rows_have_the_value_one():
    X = np.random.default_rng(0).normal(1e6, 1.0, size=(30, 40))
    assert_array_equal(Gaussian(0.1)(X, X.copy()).diagonal(), np.ones(30))
    assert_array_equal(Gaussian().diag(X), np.ones(30))


def test_extreme_widths_give_the_limits():
    X = np.array([[0.0], [1.0], [1e160]])
    assert_array_equal(Gaussian(1e-200)(X, X), np.eye(3))
    # (1e160)^2 overflows: for any width that is as far as can be
    assert_array_equal(Gaussian(1e200)(X, X), [[1, 1, 0], [1, 1, 0], [0, 0, 1]])


@pytest.mark.parametrize("sigma", [0, 0.0, -1.0, np.nan, np.inf, "1", None, True])
def test_a_width_that_is_not_positive_is_refused(sigma):
    with pytest.raises(ValueError, match=r"sigma must be a number greater than 0, got"):
        Gaussian(sigma)
