"""The growing factor of a regularised Gram matrix against Cholesky and dense solves; duplicates and tiny ridges."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from nystream import persist
from nystream._core.linalg import Triangle, floored_cholesky
from nystream.dictionary import GramFactor
from nystream.kernels import Gaussian, Linear, Polynomial


def started(kernel, ridge, X=None, scale=None):
    factor = GramFactor(kernel, ridge)
    factor.start(2)
    if X is not None:
        factor.extend(X, np.ones(len(X)) if scale is None else scale)
    return factor


@pytest.fixture
def data():
    """Points with repeats, scales of both signs."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (150, 2))
    X[100:120] = X[:20]
    return X, rng.normal(size=150)


@pytest.mark.parametrize("ridge", [1.0, 1e-4])
def test_the_factor_is_that_of_cholesky_whatever_the_blocks(data, ridge):
    X, scale = data
    expected = np.linalg.cholesky(scale[:, None] * oracles.gaussian(X, X, 0.5) * scale + ridge * np.eye(150))
    for size in (1, 7, 150):
        factor = started(Gaussian(0.5), ridge)
        for i in range(0, 150, size):
            part = X[i : i + size]
            C = factor.border(part, factor.whiten(part), scale[i : i + size])
            assert_array_equal(C, factor.matrix[i:, i:])
        assert_allclose(factor.matrix, expected, atol=1e-11)
        assert_array_equal(factor.points, X)
        assert_array_equal(factor.scale, scale)
    assert_allclose(started(Gaussian(0.5), ridge, X, scale).matrix, expected, atol=1e-11)


def test_leverages_and_solves_equal_dense_ones(data):
    X, scale = data
    Q = np.random.default_rng(1).uniform(-2, 2, (40, 2))
    factor = started(Gaussian(0.5), 0.3, X, scale)
    M = scale[:, None] * oracles.gaussian(X, X, 0.5) * scale
    kappa = oracles.gaussian(Q, X, 0.5) * scale
    inner = np.linalg.solve(M + 0.3 * np.eye(150), kappa.T)
    assert_allclose(factor.leverage(Q), (1 - np.einsum("ij,ji->i", kappa, inner)) / 0.3, rtol=1e-9)
    T = factor.whiten(Q)
    assert_allclose(T @ T.T, kappa @ inner, atol=1e-11)
    assert_allclose(factor.solve_transposed(T.copy()), inner.T, atol=1e-11)
    assert_allclose(factor.log_det, np.linalg.slogdet(np.eye(150) + M / 0.3)[1], rtol=1e-10)
    lever = np.linalg.solve(M + 0.3 * np.eye(150), M).diagonal()
    assert_allclose(factor.own_leverage, lever, atol=1e-11)
    assert_allclose(factor.effective_dimension, lever.sum(), rtol=1e-10)


def test_an_empty_factor_knows_only_the_ridge():
    factor = started(Gaussian(), 0.5)
    Q = np.zeros((3, 2))
    assert factor.whiten(Q).shape == (3, 0)
    assert_array_equal(factor.leverage(Q), np.full(3, 2.0))
    assert (factor.n, factor.log_det, factor.effective_dimension) == (0, 0.0, 0.0)


@pytest.mark.parametrize("ridge", [1.0, 1e-8, 1e-12])
def test_duplicates_never_bring_a_pivot_below_the_ridge(ridge):
    """n copies of one point: leverage 1/(ridge + n), from a difference of two numbers that agree to 1e-12 and more."""
    for blocks in (1, 20):
        factor = started(Gaussian(0.5), ridge)
        for part in np.array_split(np.vstack([np.ones((500, 2)), 1 + 1e-9 * np.eye(2)]), blocks):
            factor.extend(part, np.ones(len(part)))
        assert factor.matrix.diagonal().min() >= math.sqrt(ridge)
        assert np.isfinite(factor.matrix).all()
        lever = factor.leverage(np.ones((1, 2)))[0]
        assert lever >= 1 / (ridge + 502)
        assert_allclose(lever, 1 / (ridge + 502), rtol=1e-3 if ridge > 1e-9 else 10)


def test_points_without_a_feature_and_huge_ones_are_harmless():
    X = np.vstack([np.zeros((3, 2)), 1e6 * np.eye(2), np.zeros((2, 2)), [[1e6, 1e6]]])
    for kernel in (Linear(), Polynomial(2), Gaussian()):
        factor = started(kernel, 1e-8, X)
        assert np.isfinite(factor.matrix).all()
        assert np.all(factor.leverage(X) >= 0)
    assert_array_equal(started(Linear(), 1.0, X).leverage(np.zeros((1, 2))), [0.0])


def test_copies_and_files_go_on_alone(data):
    X, scale = data
    factor = started(Gaussian(0.5), 0.3, X[:90], scale[:90])
    for twin in (copy.deepcopy(factor), persist.from_bytes(persist.to_bytes(factor))):
        assert_array_equal(twin.leverage(X), factor.leverage(X))
        twin.extend(X[90:], scale[90:])
        assert (twin.n, factor.n) == (150, 90)
    assert 8 * 90 * (90 / 2 + 3) <= factor.nbytes < 8 * 90 * (90 + 3)  # half a square, and points with their scales


def test_a_rewound_factor_is_as_it_was(data):
    X, scale = data
    factor = started(Gaussian(0.5), 0.3, X[:90], scale[:90])
    before, mark = persist.to_bytes(factor), factor.mark()
    factor.extend(X[90:], scale[90:])
    factor.rewind(mark)
    assert persist.to_bytes(factor) == before
    factor.extend(X[90:], scale[90:])
    assert_allclose(factor.matrix, started(Gaussian(0.5), 0.3, X, scale).matrix, atol=1e-12)


def test_more_columns_of_zeros_change_nothing(data):
    X, _ = data
    factor = started(Gaussian(0.5), 0.3, X)
    expected = factor.leverage(X)
    factor.widen(3)
    assert_allclose(factor.leverage(np.hstack([X, np.zeros((150, 1))])), expected, rtol=1e-12)


def test_kernel_values_at_hand_need_no_second_look_at_the_points(data):
    X, scale = data
    factor = started(Gaussian(0.5), 0.3, X[:90], scale[:90])
    assert_array_equal(factor.whiten_values(factor.kernel(X, X[:90])), factor.whiten(X))
    assert_array_equal(factor.pivots, factor.matrix.diagonal() ** 2)
    assert factor.pivots.min() >= 0.3


def test_rows_of_all_sizes_with_bounded_scales_have_a_stable_factor():
    """k(x, x) from 1 to 1e25 over ridges down to 1e-8; without the bound L grew until it overflowed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3)) * 10.0 ** rng.integers(-6, 7, size=(300, 1))
    kernel, scale = Polynomial(2), 10.0 ** rng.integers(-3, 4, 300) * rng.choice([-1.0, 1.0], 300)
    for ridge in (1.0, 1e-8):
        factor = GramFactor(kernel, ridge)
        factor.start(3)
        bounded = factor.bounded(scale, kernel.diag(X))
        assert (bounded**2 * kernel.diag(X)).max() <= 1.0001e12 * ridge
        assert_array_equal(np.sign(bounded), np.sign(scale))
        factor.extend(X, bounded)
        A = bounded[:, None] * kernel(X, X) * bounded + ridge * np.eye(300)
        size = np.sqrt(A.diagonal())
        assert np.abs((factor.matrix @ factor.matrix.T - A) / np.outer(size, size)).max() < 1e-13
        assert factor.pivots.min() >= ridge


def test_scales_that_the_factor_can_bear_are_left_alone():
    factor = GramFactor(Gaussian(), 1e-6)
    factor.start(1)
    scale = np.array([1.0, -999.0, 0.0])
    assert_array_equal(factor.bounded(scale, np.array([1.0, 1.0, 0.0])), scale)


def test_the_triangle_refuses_what_does_not_fit():
    triangle = Triangle(np.eye(3))
    with pytest.raises(ValueError, match="rows of 3 float64"):
        triangle.solve(np.ones((2, 4)))
    with pytest.raises(ValueError, match="do not border"):
        triangle.border(np.ones((1, 2)), np.ones((1, 1)))
    with pytest.raises(ValueError, match="has 3 rows, not 4"):
        triangle.truncate(4)
    with pytest.raises(ValueError, match="square"):
        floored_cholesky(np.ones((2, 3)), 1.0)
    with pytest.raises(ValueError, match="ridge must be"):
        GramFactor(Gaussian(), 0.0)
