"""The span of stored points against fresh solves."""

from __future__ import annotations

import copy

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from nystream.dictionary import Span
from nystream.kernels import Gaussian


def spanned(X: np.ndarray, kernel: Gaussian) -> Span:
    span = Span()
    for i in range(len(X)):
        span.compiled.append(kernel(X[:i], X[i : i + 1])[:, 0], 1.0)
    return span


def test_projection_and_distance_are_those_of_a_fresh_solve():
    rng = np.random.default_rng(0)
    X, kernel = rng.uniform(-1, 1, (70, 3)), Gaussian(0.4)
    span = spanned(X, kernel)
    K = kernel(X, X)
    assert span.n == 70
    assert_allclose(span.matrix, np.linalg.cholesky(K), rtol=1e-9, atol=1e-12)
    for x in rng.uniform(-1, 1, (20, 3)):
        k = kernel.row(X, x)
        d, delta2 = span.compiled.coefficients(k, 1.0)
        assert_allclose(d, np.linalg.solve(K, k), rtol=1e-7, atol=1e-9)
        assert_allclose(delta2, 1 - k @ np.linalg.solve(K, k), rtol=1e-7, atol=1e-11)


def test_nearly_dependent_points_do_not_spoil_the_function():
    # condition 1e9: coefficients are not determined to 1e-7, the function that they stand for is
    rng = np.random.default_rng(1)
    kernel = Gaussian(1.0)
    X = rng.uniform(-1, 1, (25, 2))
    span = spanned(X, kernel)
    for x in rng.uniform(-1, 1, (20, 2)):
        d, delta2 = span.compiled.coefficients(kernel.row(X, x), 1.0)
        assert delta2 > -1e-12
        points, coef = np.vstack([X, x]), np.append(d, -1.0)
        assert_allclose(coef @ kernel(points, points) @ coef, delta2, atol=1e-12)


def test_a_copy_goes_on_by_itself():
    X, kernel = np.random.default_rng(2).uniform(-1, 1, (10, 2)), Gaussian(0.5)
    one = spanned(X, kernel)
    two = copy.deepcopy(one)
    two.compiled.append(kernel.row(X, np.zeros(2)), 1.0)
    assert (one.n, two.n) == (10, 11)
    assert_array_equal(one.matrix, spanned(X, kernel).matrix)
    assert_array_equal(two.matrix[:10, :10], one.matrix)
