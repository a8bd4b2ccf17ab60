"""The Laplacian kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream.kernels import Laplacian


def test_values_are_those_of_the_formula_and_of_scikit_learn():
    pairwise = pytest.importorskip("sklearn.metrics.pairwise")
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 11)), rng.normal(size=(9, 11))
    assert_allclose(Laplacian(2.5)(X, Y), np.exp(-np.abs(X[:, None] - Y).sum(2) / 2.5), rtol=1e-13)
    assert_allclose(Laplacian(2.5)(X, Y), pairwise.laplacian_kernel(X, Y, gamma=1 / 2.5), rtol=1e-12)


def test_it_is_the_product_over_columns():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(6, 3)), rng.normal(size=(5, 3))
    k = Laplacian(0.8)
    columns = [k(X[:, [j]], Y[:, [j]]) for j in range(3)]
    assert_allclose(k(X, Y), np.prod(columns, axis=0), rtol=1e-14)


def test_extreme_widths_give_the_limits():
    X = np.array([[0.0], [1.0], [-1e308], [1e308]])
    assert_array_equal(Laplacian(1e-320)(X, X), np.eye(4))
    assert_array_equal(Laplacian(1e300)(X[:2], X[:2]), np.ones((2, 2)))


@pytest.mark.parametrize("sigma", [0, -1.0, np.nan, np.inf, None])
def test_a_width_that_is_not_positive_is_refused(sigma):
    with pytest.raises(ValueError, match=r"sigma must be a number greater than 0, got"):
        Laplacian(sigma)
