"""The compiled map: features and nearest landmarks of rows and blocks, kept right while landmarks move."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream._core.landmarks import LandmarkMap, Sight
from nystream.kernels import Gaussian, Kernel, Laplacian, Linear, Matern, Polynomial


class Own(Kernel):
    def __call__(self, X, Y):
        return np.exp(-np.abs(X[:, None] - Y[None]).max(2))


KERNELS = [Gaussian(0.9), Matern(1.5, 2.0), Laplacian(), Polynomial(3), Linear(), 2.0 * Gaussian(), Own()]


def example(kernel, m=13, d=3, r=7, n=150, seed=0):
    rng = np.random.default_rng(seed)
    points, rotation, X = rng.normal(size=(m, d)), rng.normal(size=(r, m)), rng.normal(size=(n, d))
    X[10] = points[4]
    return LandmarkMap(kernel, points, rotation), points, rotation, X


def nearest(X, points):
    squares = ((X[:, None] - points) ** 2).sum(2)
    return squares.argmin(1), squares.min(1)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("d", [1, 3, 40])
def test_rows_blocks_and_sights_agree_with_the_definition(kernel, d):
    map, points, rotation, X = example(kernel, d=d)
    Z = np.empty((150, 7))
    map.map(X, Z)
    assert_allclose(Z, kernel(X, points) @ rotation.T, rtol=1e-11, atol=1e-11)
    sight = Sight(map, X)
    q, gap = nearest(X, points)
    assert_array_equal(sight.near, q)
    assert_allclose(sight.gap, gap, rtol=1e-12, atol=1e-12)
    same = assert_array_equal if kernel.compiled is not None else partial(assert_allclose, rtol=1e-11, atol=1e-11)
    same(sight.features(0, 150), Z)
    for t, x in enumerate(X):
        same(map.row(x), Z[t])
        z, near, distance = map.meet(x)
        same(z, Z[t])
        assert (near, distance) == (sight.near[t], sight.gap[t])


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_sight_follows_landmarks_that_move(kernel):
    map, points, rotation, X = example(kernel)
    assert not np.shares_memory(map.rotation, rotation)
    sight = Sight(map, X)
    rng = np.random.default_rng(1)
    for start in range(0, 150, 7):
        q = int(rng.integers(13))
        points[q] = rng.normal(size=3) if start % 2 else X[min(start + 3, 149)]
        map.rotation[:] = rng.normal(size=rotation.shape)
        sight.moved(q, start)
        fresh = Sight(map, X)
        assert_array_equal(sight.near[start:], fresh.near[start:])
        assert_array_equal(sight.gap[start:], fresh.gap[start:])
        assert_allclose(sight.features(start, 150), fresh.features(start, 150), rtol=1e-12, atol=1e-12)


def test_equal_distances_go_to_the_least_index_also_after_a_move():
    points = np.array([[1.0], [5.0], [-1.0]])
    sight = Sight(LandmarkMap(Gaussian(), points, np.eye(3)), np.zeros((2, 1)))
    assert sight.near.tolist() == [0, 0]
    points[1] = 1.0
    sight.moved(1, 0)
    assert sight.near.tolist() == [0, 0]
    points[0] = -1.0
    sight.moved(0, 0)
    assert sight.near.tolist() == [0, 0]
    points[0] = 3.0
    sight.moved(0, 1)
    assert sight.near.tolist() == [0, 1]
    assert sight.gap.tolist() == [1.0, 1.0]


def test_far_finds_the_first_row_at_least_eps_away():
    points = np.zeros((1, 1))
    sight = Sight(LandmarkMap(Gaussian(), points, np.eye(1)), np.array([[0.0], [1.0], [2.0], [1.0]]))
    assert [sight.far(0, eps) for eps in (0.0, 0.5, 1.0, 4.0, 4.5, np.inf)] == [0, 1, 1, 2, 4, 4]
    assert [sight.far(start, 1.0) for start in range(5)] == [1, 1, 2, 3, 4]


def test_shapes_that_do_not_fit_are_refused():
    map, _, _, X = example(Gaussian())
    with pytest.raises(ValueError, match=r"shape \(150, 7\)"):
        map.map(X, np.empty((150, 6)))
    with pytest.raises(ValueError, match=r"shape \(3,\)"):
        map.row(X[0, :2])
    with pytest.raises(IndexError, match=r"rows 5\.\.151 of a block of 150"):
        Sight(map, X).features(5, 151)
    with pytest.raises(IndexError, match="no landmark 13"):
        Sight(map, X).moved(13, 0)
