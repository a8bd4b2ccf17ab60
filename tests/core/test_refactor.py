"""The factor from scratch and the fading sums, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream._core.linalg.refactor import fade, refactor


def arrays(dim, K):
    blocks = -(-dim // 8)
    return np.zeros((blocks * (blocks + 1) // 2, 8, 8)), np.zeros(8 * blocks), np.zeros((8 * blocks, -(-K // 8) * 8))


def unpacked(tiles, dim):
    """L from tiles that go down one column of blocks after the other, each column by column."""
    blocks = -(-dim // 8)
    L, at = np.zeros((8 * blocks, 8 * blocks)), 0
    for k in range(blocks):
        for j in range(k, blocks):
            L[8 * j : 8 * j + 8, 8 * k : 8 * k + 8] = tiles[at].T
            at += 1
    return L


@pytest.mark.parametrize("dim", [1, 7, 8, 9, 30])
@pytest.mark.parametrize("K", [1, 3, 9])
def test_the_factor_is_that_of_the_matrix(dim, K):
    rng = np.random.default_rng(dim)
    R = rng.normal(size=(dim, dim))
    A, b = R @ R.T + np.eye(dim), rng.normal(size=(dim, K))
    tiles, dinv, q = arrays(dim, K)
    lower = np.tril(A) + np.triu(np.full((dim, dim), np.nan), 1)  # what is above the diagonal is not read
    assert refactor(lower, b.copy(), tiles, dinv, q) == 0
    L = unpacked(tiles, dim)
    assert_array_equal(np.triu(L), 0.0)
    assert_array_equal(L[dim:], 0.0)
    L = L[:dim, :dim] + np.eye(dim)
    assert_allclose((L / dinv[:dim]) @ L.T, A, rtol=1e-10, atol=1e-11)
    assert_allclose((L / dinv[:dim]) @ q[:dim, :K], b, rtol=1e-9, atol=1e-10)
    assert not q[dim:].any()
    assert not q[:, K:].any()


def test_an_indefinite_matrix_leaves_everything_as_it_was():
    A = np.diag([1.0, 2.0, -1.0, 3.0])
    tiles, dinv, q = arrays(4, 1)
    assert refactor(A, np.ones((4, 1)), tiles, dinv, q) == 3
    assert not tiles.any()
    assert not dinv.any()
    assert not q.any()


@pytest.mark.parametrize(("n", "dim", "K"), [(1, 1, 1), (5, 3, 2), (32, 20, 1), (13, 9, 7)])
def test_the_sums_fade_row_by_row(n, dim, K):
    rng = np.random.default_rng(n)
    rows = rng.normal(size=(n, dim + K + 1))
    rows[:, -1] = rng.choice([0.0, 0.5, 2.0], size=n)
    R = rng.normal(size=(dim, dim))
    gram, right = R @ R.T, rng.normal(size=(dim, K))
    A, b = gram.copy(), right.copy()
    for z, y, w in zip(rows[:, :dim], rows[:, dim:-1], rows[:, -1], strict=True):
        A, b = 0.9 * A + w * np.outer(z, z), 0.9 * b + w * np.outer(z, y)
    fade(rows, 0.9, gram, right)
    assert_allclose(np.tril(gram), np.tril(A), rtol=1e-10, atol=1e-12)
    assert_allclose(right, b, rtol=1e-10, atol=1e-12)


def test_arrays_that_do_not_fit_are_refused():
    tiles, dinv, q = arrays(9, 1)
    for A, b in ((np.eye(8), np.ones((8, 1))), (np.eye(9), np.ones((8, 1))), (np.ones((9, 8)), np.ones((9, 1)))):
        with pytest.raises(ValueError, match="do not fit"):
            refactor(A, b, tiles, dinv, q)
    with pytest.raises(ValueError, match="do not fit"):
        fade(np.ones((3, 4)), 0.9, np.eye(3), np.ones((3, 1)))
