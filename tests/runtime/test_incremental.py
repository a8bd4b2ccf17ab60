"""Work in pieces: what comes out, and that no piece is large."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream._core.kernels import KernelRows
from nystream.features import Landmarks, LearnedMetric, LearnedScales
from nystream.kernels import Gaussian
from nystream.runtime import incremental as work
from nystream.solvers import AWV


def pieces(made):
    """What the pieces were, and the result."""
    found = []
    while True:
        try:
            found.append(next(made))
        except StopIteration as end:
            return found, end.value


@pytest.fixture
def small(monkeypatch):
    """Chunks that small matrices have several of."""
    monkeypatch.setattr(work, "PIECE", 2e5)


def positive_definite(n):
    R = np.random.default_rng(n).normal(size=(n, n))
    return R @ R.T + n * np.eye(n)


@pytest.mark.parametrize("n", [1, 30, 100])
def test_a_factor_in_pieces_is_the_factor(small, n):
    A = positive_definite(n)
    C = A.copy()
    found, failed = pieces(work.factor_matrix(C))
    assert failed == 0
    assert len(found) == -(-n // work.panel_width(n))
    assert n < 100 or len(found) > 5
    assert_allclose(np.tril(C), np.linalg.cholesky(A), rtol=1e-10, atol=1e-10)


def test_a_matrix_that_is_not_definite_is_told_by_its_column(small):
    A = positive_definite(100)
    A[70, 70] = -1.0
    assert pieces(work.factor_matrix(A))[1] == 71


def test_a_kernel_matrix_in_pieces_has_the_same_bits(small):
    X, kernel = np.random.default_rng(0).normal(size=(120, 3)), KernelRows("laplacian", -1.0)
    found, K = pieces(work.kernel_matrix(kernel, X, X[:50]))
    assert len(found) > 1
    assert_array_equal(K, kernel.block(X, X[:50]))


def test_a_solver_that_begins_in_pieces_is_the_solver(small):
    A, b = positive_definite(60), np.random.default_rng(1).normal(size=(60, 2))
    solver = AWV(0.1, vovk=False)
    solver.start(60, 2)
    assert len(pieces(solver.starting_from(A.copy(), b.copy()))[0]) > 4
    assert_allclose(solver.weights, np.linalg.solve(A, b), rtol=1e-9, atol=1e-12)
    assert_allclose(solver.matrix, A, rtol=1e-9, atol=1e-9)


def test_what_is_fitted_in_pieces_is_what_is_fitted_at_once(small):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 3)), rng.normal(size=150)
    for whole, sliced in ((LearnedMetric(), LearnedMetric()), (LearnedScales(rows=60), LearnedScales(rows=60))):
        found, fitted = pieces(sliced.fitting(X, y))
        assert fitted is sliced
        assert len(found) > 10
        assert_array_equal(whole.fit(X, y).parts, sliced.parts)
    one, other = (Landmarks(Gaussian(1.0), X, tol=1e-5) for _ in range(2))
    one.start(3)
    pieces(other.starting(3))
    assert_array_equal(one.points_, other.points_)


@pytest.mark.parametrize("dim", [500, 1000, 1700, 4000])
def test_no_piece_of_a_large_factor_is_large(dim):
    assert work.panel_width(dim) * dim**2 <= max(work.PIECE, 8 * dim**2)
