"""The factor from scratch and the fading sums, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream._core.linalg import add_gram, factor_columns, fade, pack_columns, pivot_columns, right_side


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


def in_panels(dim, width):
    return [(i, min(dim, i + width)) for i in range(0, dim, width)]


@pytest.mark.parametrize("dim", [1, 7, 8, 9, 30])
@pytest.mark.parametrize("K", [1, 3, 9])
@pytest.mark.parametrize("width", [8, 16, 40])
def test_the_factor_is_that_of_the_matrix(dim, K, width):
    rng = np.random.default_rng(dim)
    R = rng.normal(size=(dim, dim))
    A, b = R @ R.T + np.eye(dim), rng.normal(size=(dim, K))
    tiles, dinv, q = arrays(dim, K)
    C = np.tril(A) + np.triu(np.full((dim, dim), np.nan), 1)  # what is above the diagonal is not read
    for i, j in in_panels(dim, width):
        assert factor_columns(C, i, j) == 0
        pack_columns(C, i, j, tiles, dinv)
    assert_allclose(np.tril(C) @ np.tril(C).T, A, rtol=1e-10, atol=1e-11)
    right_side(C, b.copy(), q)
    L = unpacked(tiles, dim)
    assert_array_equal(np.triu(L), 0.0)
    assert_array_equal(L[dim:], 0.0)
    L = L[:dim, :dim] + np.eye(dim)
    assert_allclose((L / dinv[:dim]) @ L.T, A, rtol=1e-10, atol=1e-11)
    assert_allclose((L / dinv[:dim]) @ q[:dim, :K], b, rtol=1e-9, atol=1e-10)
    assert not q[dim:].any()
    assert not q[:, K:].any()


@pytest.mark.parametrize("width", [1, 2, 4])
def test_an_indefinite_matrix_is_found_at_the_column_where_it_is(width):
    A = np.diag([1.0, 2.0, -1.0, 3.0])
    assert next(failed for i, j in in_panels(4, width) if (failed := factor_columns(A, i, j))) == 3


@pytest.mark.parametrize("width", [1, 5, 8, 50])
@pytest.mark.parametrize("rank", [3, 20, 40])
def test_columns_are_chosen_by_what_is_left_of_them(rank, width):
    rng = np.random.default_rng(rank)
    R = rng.normal(size=(40, rank)) * rng.uniform(0.5, 2, size=(40, 1))
    A = R @ R.T
    U, order, found = A.copy(), np.arange(40, dtype=np.int32), 0
    for i, j in in_panels(40, width):
        found = pivot_columns(U, order, i, j, 1e-8)
        if found < j:
            break
    assert found == rank
    left, chosen = A.copy(), []
    for _ in range(rank):  # the definition: the largest pivot, and what it explains is taken out
        k = int(np.argmax(left.diagonal()))
        chosen.append(k)
        left -= np.outer(left[k], left[k]) / left[k, k]
    assert order[:rank].tolist() == chosen
    factor = np.triu(U)[:rank]
    assert_allclose(factor.T @ factor, A[np.ix_(order, order)], rtol=1e-8, atol=1e-8)


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
    for begin, end in ((0, 10), (3, 3), (-1, 2)):
        with pytest.raises(ValueError, match="square"):
            factor_columns(np.eye(9), begin, end)
        with pytest.raises(ValueError, match="square"):
            pivot_columns(np.eye(9), np.arange(9, dtype=np.int32), begin, end, 0.0)
    with pytest.raises(ValueError, match="square"):
        factor_columns(np.ones((9, 8)), 0, 8)
    for C, begin, end in ((np.eye(8), 0, 8), (np.eye(9), 1, 9), (np.eye(9), 0, 7)):
        with pytest.raises(ValueError, match="do not fit"):
            pack_columns(C, begin, end, tiles, dinv)
    for C, b in ((np.eye(9), np.ones((8, 1))), (np.eye(32), np.ones((32, 1)))):
        with pytest.raises(ValueError, match="do not fit"):
            right_side(C, b, q)
    with pytest.raises(ValueError, match="do not fit"):
        fade(np.ones((3, 4)), 0.9, np.eye(3), np.ones((3, 1)))


@pytest.mark.parametrize(("n", "dim"), [(0, 3), (1, 1), (5, 7), (90, 30)])
def test_products_are_added_to_the_lower_triangle_alone(n, dim):
    rng = np.random.default_rng(n)
    Z, G = rng.normal(size=(n, dim)), rng.normal(size=(dim, dim))
    found = G.copy()
    add_gram(Z, found)
    assert_allclose(np.tril(found), np.tril(G + Z.T @ Z), rtol=1e-13, atol=1e-13)
    assert_array_equal(np.triu(found, 1), np.triu(G, 1))
    with pytest.raises(ValueError, match="do not fit"):
        add_gram(Z, np.ones((dim + 1, dim + 1)))
