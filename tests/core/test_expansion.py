"""The compiled terms: blocks, growth, settlement, and kernels that only Python knows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream._core.expansions import Rounds
from nystream._core.terms import Eviction, Terms
from nystream.kernels import Gaussian, Kernel, Linear
from nystream.losses import Hinge

ROWS = 100


class Product(Kernel):
    """<x, y>, by Python; counts its calls."""

    calls = 0

    def __call__(self, X, Y):
        type(self).calls += 1
        return X @ Y.T


def stored(kernel, n=ROWS, d=4, K=2, seed=0):
    rng = np.random.default_rng(seed)
    terms = Terms(kernel, d, K)
    X, A = rng.normal(size=(n, d)), rng.normal(size=(n, K))
    for i in range(n):
        terms.store(X[i], A[i], float(kernel.diag(X[i : i + 1])[0]), i)
    return terms, X, A


@pytest.mark.parametrize("n", [0, 1, 15, 16, 17, 100])
def test_predictions_are_kernel_times_coefficients(n):
    terms, X, A = stored(Gaussian(1.0), n)
    Z = np.random.default_rng(1).normal(size=(131, 4))
    assert_allclose(terms.predict(Z), Gaussian(1.0)(Z, X) @ A if n else np.zeros((131, 2)), atol=1e-13)


def test_growth_by_doubling_keeps_every_entry():
    terms, X, A = stored(Linear())
    assert terms.capacity == 128
    assert_array_equal(terms.points, X)
    assert_array_equal(terms.coef, A)
    assert_array_equal(terms.birth, np.arange(ROWS))
    assert_array_equal(terms.own, Linear().diag(X))


def test_a_python_kernel_is_asked_once_per_block_not_once_per_row():
    terms, X, _ = stored(Product())
    Product.calls = 0
    terms.open_block(X[:50], 10**6)
    for j in range(50):
        terms.begin_round(j)
        terms.store(X[j], np.ones(2), terms.own_value(), j)
        terms.forget(0)
    assert Product.calls == 2  # against the points, and the block's own Gram matrix


def test_a_point_from_elsewhere_is_compared_with_the_rows_to_come():
    for kernel in (Linear(), Product()):
        terms, X, _ = stored(kernel, 5)
        rows = np.random.default_rng(2).normal(size=(4, 4))
        terms.open_block(rows, 10**6)
        terms.begin_round(1)
        terms.store(10 * X[0], np.ones(2), 1.0, 9)
        terms.replace(0, -X[1], np.ones(2), 1.0, 9)
        for j in (1, 2, 3):
            expected = rows[j] @ np.vstack([-X[1], X[1:], 10 * X[0]]).T
            assert_allclose(terms.begin_round(j) if j > 1 else terms.kernel_row(), expected, atol=1e-13)


def test_the_running_sum_is_settled_before_it_swamps_the_rounds():
    terms = Terms(Gaussian(1.0), 1, 1)
    x = np.zeros((1, 1))
    for t in range(25_000):
        terms.open_block(x, 10**6)
        terms.begin_round(0)
        if t == 12_345:
            terms.store(x[0], np.array([3.0]), 1.0, t)
        assert terms.cum <= 1e4 * terms.scale + 1
    assert terms.averaged_coef[0, 0] == pytest.approx(3.0 * (25_000 - 12_346) / 25_000, rel=1e-12)


def test_rounds_go_forward_and_stay_inside_their_block():
    terms, X, _ = stored(Linear())
    terms.open_block(X[:3], 10**6)
    terms.begin_round(2)
    for j in (1, 3, -1):
        with pytest.raises(IndexError, match=f"row {j} is not one to come of the open block of 3 rows"):
            terms.begin_round(j)
    with pytest.raises(IndexError, match="no point 100"):
        terms.forget(100)


def test_arrays_of_the_wrong_kind_are_refused():
    terms, X, _ = stored(Linear())
    for bad in (X[:, :3], X.astype(np.float32), np.asfortranarray(X)):
        with pytest.raises(ValueError, match="C-ordered float64"):
            terms.predict(bad)
        with pytest.raises(ValueError, match="C-ordered float64"):
            terms.open_block(bad, 10**6)
    with pytest.raises(ValueError, match="shape"):
        terms.values(np.zeros(3))


def test_a_loop_for_one_width_refuses_another():
    terms, X, _ = stored(Gaussian(1.0), K=1)
    rounds = Rounds(terms, Eviction(terms, "none", 0), Hinge(), "implicit", eta=1.0, sqrt_schedule=False, lam=0.1)
    with pytest.raises(ValueError, match="C-ordered float64"):
        rounds.run(X[:, :2].copy(), np.ones((ROWS, 1)), None, 1)
    with pytest.raises(ValueError, match="C-ordered float64"):
        rounds.run(X, np.ones((ROWS, 2)), None, 1)
    assert terms.n == ROWS
