"""The growing factor of nested coordinates: right numbers, and the same bits however many rows are solved together."""

from __future__ import annotations

import copy
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import solve_triangular

from nystream._core.linalg import NestedFactor, lanes

SIZES = [0, 1, 7, 8, 9, 16, 33, 70, 300, 800]


def lower(n, seed=0):
    rng = np.random.default_rng(seed)
    R = np.tril(rng.normal(size=(n, n))) / np.sqrt(max(n, 1))
    np.fill_diagonal(R, rng.uniform(0.5, 2.0, n))
    return R


def rows(n, m=70, seed=1):
    return np.random.default_rng(seed).normal(size=(m, n))


@pytest.mark.parametrize("n", SIZES)
def test_solves_equal_those_of_the_plain_matrix(n):
    R, K = lower(n), rows(n)
    factor = NestedFactor(R)
    assert_array_equal(factor.matrix, R)
    Z, squares = factor.forward(K)
    A = factor.backward(Z)
    assert Z.shape == A.shape == (70, factor.width)
    assert factor.width % 8 == 0
    assert factor.width > n
    if n:
        expected = solve_triangular(R, K.T, lower=True).T
        scale = np.abs(expected).max()
        assert_allclose(Z[:, :n], expected, atol=1e-11 * scale)
        assert_allclose(squares, (expected**2).sum(axis=1), rtol=1e-11)
        back = solve_triangular(R, expected.T, lower=True, trans="T").T
        assert_allclose(A[:, :n], back, atol=1e-10 * np.abs(back).max())
    assert not Z[:, n:].any()
    assert not A[:, n:].any()


@pytest.mark.parametrize("n", SIZES)
def test_a_row_has_the_same_bits_in_every_company(n):
    factor, K = NestedFactor(lower(n)), rows(n, 150)
    Z, squares = factor.forward(K)
    A = factor.backward(Z)
    for m in (1, 2, 3, 5, 6, 15, 16, 17, 33, 64, 149):
        part, sums = factor.forward(K[:m])
        assert_array_equal(part, Z[:m])
        assert_array_equal(sums, squares[:m])
        assert_array_equal(factor.backward(Z[:m]), A[:m])
    for t in (0, 77, 149):
        z, square = factor.forward_row(K[t])
        assert_array_equal(z, Z[t])
        assert square == squares[t]


def test_coordinates_of_fewer_rows_are_the_first_of_more():
    R, K = lower(100), rows(100)
    Z, _ = NestedFactor(R).forward(K)
    for n in (1, 8, 50, 99):
        part, _ = NestedFactor(R[:n, :n]).forward(np.ascontiguousarray(K[:, :n]))
        assert_array_equal(part[:, :n], Z[:, :n])


def test_zeros_in_the_last_numbers_stay_zeros_on_the_way_back():
    Z = rows(40)
    Z[:, 25:] = 0.0
    A = NestedFactor(lower(40)).backward(Z)
    assert not A[:, 25:].any()
    assert_allclose(
        A[:, :25], NestedFactor(lower(40)[:25, :25]).backward(Z)[:, :25], rtol=1e-12, atol=1e-12 * np.abs(A).max()
    )


def test_growing_row_by_row_reallocates_seldom_and_keeps_everything():
    R, grown, held = lower(200), NestedFactor(), set()
    for i, row in enumerate(R):
        grown.append(row[:i].copy(), row[i])
        held.add(grown.nbytes)
    assert_array_equal(grown.matrix, R)
    assert_array_equal(grown.diagonal, R.diagonal())
    assert len(held) < 12
    assert max(held) < 3 * R.nbytes
    twin = copy.deepcopy(grown)
    twin.append(np.zeros(200), 1.0)
    assert (grown.n, twin.n) == (200, 201)


def test_results_go_where_they_are_wanted():
    factor, K = NestedFactor(lower(20)), rows(20)
    Z, _ = factor.forward(K)
    for columns in (20, 24, 41):
        out = np.full((70, columns), np.nan)
        assert factor.forward(K, out)[0] is out
        assert_array_equal(out[:, :20], Z[:, :20])
        assert not out[:, 20:].any()
        assert_array_equal(factor.backward(Z, np.full((70, columns), np.nan))[:, :20], factor.backward(Z)[:, :20])


def test_arrays_that_do_not_fit_are_refused():
    factor = NestedFactor(lower(5))
    for wrong in (
        lambda: factor.forward(rows(4)),
        lambda: factor.forward(np.asfortranarray(rows(5))),
        lambda: factor.forward(rows(5).astype(np.float32)),
        lambda: factor.forward(rows(5), np.empty((70, 4))),
        lambda: factor.forward(rows(5), np.empty((69, 5))),
        lambda: factor.forward_row(np.zeros(4)),
        lambda: factor.backward(rows(4)),
        lambda: factor.append(np.zeros(4), 1.0),
        lambda: factor.append(np.zeros(5), 0.0),
        lambda: factor.append(np.zeros(5), float("nan")),
    ):
        with pytest.raises(ValueError, match=r".{10}"):
            wrong()
    assert factor.n == 5


PROGRAM = """
import numpy as np
from nystream._core.linalg import NestedFactor, lanes
rng = np.random.default_rng(0)
R = np.tril(rng.normal(size=(90, 90))) / 10 + np.eye(90)
factor, K = NestedFactor(R), rng.normal(size=(50, 90))
Z, squares = factor.forward(K)
for t in range(50):
    z, square = factor.forward_row(K[t])
    assert np.array_equal(z, Z[t]) and square == squares[t]
    assert np.array_equal(factor.backward(Z[t : t + 1])[0], factor.backward(Z)[t])
print(lanes(), *factor.backward(Z)[::7, ::7].ravel().tolist())
"""


def test_instruction_sets_agree_with_each_other_and_each_with_itself():
    found = {}
    for isa in ("base", "avx2", "avx512"):
        environment = {**os.environ, "NYSTREAM_ISA": isa}
        command = [sys.executable, "-c", PROGRAM]
        out = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout.split()
        found[isa] = np.array(out[1:], dtype=float)
    assert_allclose(found["avx2"], found["base"], rtol=1e-9, atol=1e-12)
    assert_allclose(found["avx512"], found["base"], rtol=1e-9, atol=1e-12)
    assert lanes() in (1, 2, 4, 16)
