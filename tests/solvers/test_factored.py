"""The factor A = L D L' as an object: what it holds is A, and what is done to it keeps A."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import persist
from nystream.solvers.factored import Factored


def filled(dim=11, outputs=3, lam=0.3, seed=0):
    """A factor of lam I + Z'Z with a right-hand side, and the two."""
    rng = np.random.default_rng(seed)
    Z, b = rng.normal(size=(20, dim)), rng.normal(size=(dim, outputs))
    A = lam * np.eye(dim) + Z.T @ Z
    factored = Factored(lam)
    factored.start(dim, outputs)
    factored._take(A, b)
    return factored, A, b


def test_what_it_holds_is_the_matrix_and_the_right_side():
    factored, A, b = filled()
    L = factored.factor
    assert_array_equal(L, np.tril(L))
    assert_array_equal(L.diagonal(), np.ones(11))
    assert_allclose(factored.matrix, A, atol=1e-12)
    assert_allclose(factored.right_side, b, atol=1e-12)
    assert_allclose(factored.weights, np.linalg.solve(A, b), atol=1e-12)
    assert factored.nbytes == 8 * (3 * 64 + 16 + 16 * 8)


@pytest.mark.parametrize("dim", [11, 12, 16, 17, 40])
def test_widening_appends_the_ridge(dim):
    factored, A, b = filled()
    factored.widen(dim)
    expected = 0.3 * np.eye(dim)
    expected[:11, :11] = A
    assert_allclose(factored.matrix, expected, atol=1e-12)
    assert_allclose(factored.right_side, np.vstack([b, np.zeros((dim - 11, 3))]), atol=1e-12)


@pytest.mark.parametrize("new", [11, 14, 20])
def test_an_isometry_carries_the_metric_and_the_weights(new):
    factored, A, b = filled()
    T = np.linalg.qr(np.random.default_rng(1).normal(size=(new, 11)))[0]
    factored.carry(T)
    assert_allclose(factored.matrix, T @ A @ T.T + 0.3 * (np.eye(new) - T @ T.T), atol=1e-11)
    assert_allclose(factored.weights, T @ np.linalg.solve(A, b), atol=1e-11)


def test_a_matrix_that_is_not_positive_is_refused_with_nothing_changed():
    factored, A, b = filled()
    with pytest.raises(ValueError, match="not positive definite, by rounding, at feature"):
        factored._take(-A, b)
    assert_allclose(factored.matrix, A, atol=1e-12)


def test_copies_and_files_hold_the_same_bits_in_their_own_memory():
    factored, _, _ = filled()
    for twin in (copy.deepcopy(factored), persist.from_bytes(persist.to_bytes(factored))):
        assert_array_equal(twin.matrix, factored.matrix)
        assert_array_equal(twin.q_, factored.q_)
        assert not np.shares_memory(twin.tiles_, factored.tiles_)
        assert twin.tiles_.ctypes.data % 64 == 0
