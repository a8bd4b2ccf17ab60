"""The polynomial kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nystream.kernels import Linear, Polynomial


@pytest.mark.parametrize("degree", range(1, 13))
def test_values_are_those_of_the_formula(degree):
    rng = np.random.default_rng(degree)
    X, Y = rng.normal(size=(20, 5)), rng.normal(size=(9, 5))
    expected = (0.4 * (X @ Y.T) + 0.7) ** degree
    assert_allclose(Polynomial(degree, scale=0.4, offset=0.7)(X, Y), expected, rtol=1e-12, atol=1e-14)


def test_degree_two_is_the_inner_product_of_all_monomials():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 3))
    cross = [np.sqrt(2) * X[:, i] * X[:, j] for i in range(3) for j in range(i)]
    Z = np.column_stack([np.ones(10), np.sqrt(2) * X, X**2, *cross])
    assert_allclose(Polynomial()(X, X), Z @ Z.T, rtol=1e-12, atol=1e-13)


def test_degree_one_without_offset_is_linear():
    X = np.random.default_rng(0).normal(size=(10, 3))
    assert_allclose(Polynomial(1, offset=0.0)(X, X), Linear()(X, X), rtol=1e-15)


@pytest.mark.parametrize("degree", [0, -1, 1.5, 2.0, None])
def test_a_degree_that_is_not_a_positive_whole_number_is_refused(degree):
    with pytest.raises(ValueError, match="degree must be a whole number of at least 1, got"):
        Polynomial(degree)


def test_scale_and_offset_that_would_not_be_positive_definite_are_refused():
    with pytest.raises(ValueError, match="scale must be a number greater than 0, got 0"):
        Polynomial(scale=0)
    with pytest.raises(ValueError, match="offset must be a number at least 0, got -1"):
        Polynomial(offset=-1)
