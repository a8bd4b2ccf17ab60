"""The algebra of kernels: nested expressions mean what they say, and bad ones are refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream.kernels import Gaussian, Kernel, Laplacian, Linear, Normalized, Polynomial, Product, Scaled, Sum

a, b, c = Gaussian(0.7), Polynomial(3), Laplacian(2.0)


class Cosine(Kernel):
    """A user's kernel with a parameter."""

    def __init__(self, power=1):
        self.power = power

    def __call__(self, X, Y):
        return (X @ Y.T / np.outer(np.linalg.norm(X, axis=1), np.linalg.norm(Y, axis=1))) ** self.power


@pytest.fixture
def XY():
    rng = np.random.default_rng(0)
    return rng.normal(size=(7, 3)), rng.normal(size=(5, 3))


def test_nested_sums_and_products_keep_their_structure(XY):
    X, Y = XY
    A, B, C = a(X, Y), b(X, Y), c(X, Y)
    assert_allclose(((a + b) * c)(X, Y), (A + B) * C, rtol=1e-14, atol=1e-14)
    assert_allclose((a + b * c)(X, Y), A + B * C, rtol=1e-14, atol=1e-14)
    assert_allclose((a * (b + 2 * c))(X, Y), A * (B + 2 * C), rtol=1e-14, atol=1e-14)
    assert_allclose((2 * (a + b) * (c * a))(X, Y), 2 * (A + B) * (C * A), rtol=1e-14, atol=1e-14)


def test_a_user_kernel_takes_part_with_rows_and_diagonals(XY):
    X, Y = XY
    k = (0.5 * Cosine(3) + a) * (Cosine() + c)
    U = Cosine()(X, Y)
    assert_allclose(k(X, Y), (0.5 * U**3 + a(X, Y)) * (U + c(X, Y)), rtol=1e-13, atol=1e-14)
    assert_allclose(k.row(X, Y[2]), k(X, Y)[:, 2], rtol=1e-14, atol=1e-14)
    assert_allclose(k.diag(X), np.full(7, 1.5 * 2), rtol=1e-14)


@pytest.mark.parametrize("factor", [2, 2.0, np.float64(2.0), np.float32(2.0), np.int64(2)])
def test_any_number_scales_a_kernel_from_either_side(factor, XY):
    X, Y = XY
    for k in (factor * a, a * factor):
        assert isinstance(k, Scaled)
        assert_array_equal(k(X, Y), 2 * a(X, Y))


@pytest.mark.parametrize("factor", [0, -1.0, np.nan, np.inf, True])
def test_a_factor_that_is_not_positive_is_refused(factor):
    with pytest.raises(ValueError, match="factor of a kernel must be a number greater than 0"):
        factor * a


@pytest.mark.parametrize("other", [None, "a", [1], np.ones(3)])
def test_other_operands_are_refused(other):
    with pytest.raises(TypeError):
        a + other
    with pytest.raises(TypeError):
        a * other


def test_parts_must_be_kernels():
    for make in (lambda: Sum(a, 1.0), lambda: Product("rbf", a), lambda: Scaled(None, 1.0), lambda: Normalized("rbf")):
        with pytest.raises(ValueError, match=r"must be a kernel such as Gaussian\(1.0\), got"):
            make()


def test_a_kernel_without_a_formula_says_so(XY):
    with pytest.raises(TypeError, match="must define __call__"):
        Kernel()(*XY)


def test_parameters_of_parts_can_be_read_and_set():
    k = 2.0 * a + b
    assert k.get_params()["a__kernel__sigma"] == 0.7
    assert k.clone().set_params(a__kernel__sigma=3.0, b__degree=2) == 2.0 * Gaussian(3.0) + Polynomial(2)


def test_normalized_has_a_unit_diagonal_and_cosines(XY):
    X, Y = XY
    k = Normalized(Linear())
    assert_array_equal(k(X, X).diagonal(), np.ones(7))
    assert_allclose(k(X, Y), Cosine()(X, Y), rtol=1e-14, atol=1e-15)
    assert_allclose(Normalized(3.0 * a)(X, Y), a(X, Y), rtol=1e-14)


def test_normalized_is_zero_where_there_is_no_feature():
    X = np.array([[0.0, 0.0], [1.0, 2.0]])
    k = Normalized(Linear())
    assert k(X, X).tolist() == [[0.0, 0.0], [0.0, 1.0]]
    assert k.diag(X).tolist() == [0.0, 1.0]
    assert k.row(X, X[0]).tolist() == [0.0, 0.0]


def test_normalized_survives_diagonals_whose_product_overflows():
    X = np.array([[1e10, 0.0], [1e10, 1e10], [1e-9, 0.0]])
    k = Normalized(Polynomial(9, offset=0.0))  # diagonals 1e180, 5e182, 1e-162
    assert_array_equal(k(X, X).diagonal(), np.ones(3))
    assert_allclose(k(X[:1], X[1:])[0], [2.0**-4.5, 1.0], rtol=1e-13)
