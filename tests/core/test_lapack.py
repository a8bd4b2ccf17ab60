"""Calls of BLAS and LAPACK by the core: what SciPy's own wrappers give."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import lapack

from nystream._core.linalg.lapack import add_gram, pivots


@pytest.mark.parametrize(("n", "dim"), [(0, 3), (1, 1), (5, 7), (90, 30)])
def test_products_are_added_to_the_lower_triangle_alone(n, dim):
    rng = np.random.default_rng(n)
    Z, G = rng.normal(size=(n, dim)), rng.normal(size=(dim, dim))
    found = G.copy()
    add_gram(Z, found)
    assert_allclose(np.tril(found), np.tril(G + Z.T @ Z), rtol=1e-13, atol=1e-13)
    assert_array_equal(np.triu(found, 1), np.triu(G, 1))


@pytest.mark.parametrize("rank", [1, 4, 12])
def test_pivots_are_those_of_lapack(rank):
    rng = np.random.default_rng(rank)
    A = rng.normal(size=(12, rank)) * np.exp(rng.normal(size=12))[:, None]
    K = np.asfortranarray(A @ A.T)
    _, order, found, _ = lapack.dpstrf(K, tol=1e-8, lower=1)
    assert found == rank
    assert_array_equal(pivots(K.copy(order="F"), 1e-8), order[:found] - 1)


def test_no_pivot_above_the_tolerance_is_none():
    assert len(pivots(np.zeros((3, 3), order="F"), 0.5)) == 0


def test_arrays_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="do not fit"):
        add_gram(np.ones((4, 3)), np.ones((4, 4)))
    with pytest.raises(ValueError, match="do not fit"):
        pivots(np.ones((3, 2), order="F"), 0.1)
