"""The maintained inverse of a Gram matrix against a fresh one."""

from __future__ import annotations

import copy

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from nystream.dictionary import GramInverse
from nystream.kernels import Gaussian


def started(X: np.ndarray, sigma: float = 0.5) -> GramInverse:
    inverse = GramInverse()
    K = Gaussian(sigma)(X, X) + 1e-10 * np.eye(len(X))
    inverse.compiled.restore(K, np.linalg.inv(K), 0)
    return inverse


def test_a_thousand_exchanges_leave_the_inverse_of_the_points_that_are_there():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (40, 3))
    inverse = started(X)
    for x in rng.uniform(-1, 1, (1000, 3)):
        r = int(rng.integers(40))
        inverse.compiled.replace(r, Gaussian(0.5).row(X, x), 1.0)
        X[r] = x
    K = Gaussian(0.5)(X, X) + 1e-10 * np.eye(40)
    assert_allclose(inverse.compiled.gram, K, rtol=1e-15)
    assert np.abs(inverse.matrix @ K - np.eye(40)).max() < 1e-6
    assert inverse.compiled.changes == 1000


def test_the_projection_of_the_point_that_leaves_is_least_squares():
    rng = np.random.default_rng(1)
    X, x = rng.uniform(-1, 1, (12, 3)), rng.uniform(-1, 1, 3)
    K = Gaussian(0.5)(X, X)
    for r in range(12):
        span = X.copy()
        span[r] = x
        wanted = np.linalg.solve(Gaussian(0.5)(span, span), Gaussian(0.5).row(span, X[r]))
        got = started(X).compiled.replace(r, Gaussian(0.5).row(X, x), 1.0)
        assert_allclose(got, wanted, rtol=1e-6, atol=1e-7)
    assert np.linalg.cond(K) < 1e4


def test_a_point_that_repeats_a_stored_one_takes_its_place():
    X = np.random.default_rng(2).uniform(-1, 1, (10, 2))
    inverse = started(X)
    before = inverse.matrix
    projection = inverse.compiled.replace(4, Gaussian(0.5).row(X, X[4]), 1.0)
    assert_allclose(projection, np.eye(10)[4], atol=1e-6)
    assert_allclose(inverse.matrix, before, rtol=1e-6, atol=1e-6)


def test_a_copy_goes_on_by_itself():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (10, 2))
    one = started(X)
    two = copy.deepcopy(one)
    two.compiled.replace(0, Gaussian(0.5).row(X, np.zeros(2)), 1.0)
    assert_array_equal(one.matrix, started(X).matrix)
    assert np.abs(one.matrix - two.matrix).max() > 0.1
    assert (one.n, one.nbytes) == (two.n, two.nbytes)
    assert GramInverse().nbytes == 0
