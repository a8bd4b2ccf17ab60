"""Eigenpairs under changes of one row and column: three refreshes against a fresh decomposition."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream.dictionary import Eigenpairs, MovingLandmarks
from nystream.kernels import Gaussian


def best(E, r):
    values = np.linalg.eigvalsh(E)[::-1]
    return np.sqrt((values[r:] ** 2).sum()), values


def left(pairs):
    return np.linalg.norm(pairs.E_ - pairs.U_ * pairs.S_ @ pairs.U_.T)


def follow(pairs, kernel, X, m, eps=0.0):
    """Online k-means over X, each move put into the pairs; yields after every move."""
    landmarks = MovingLandmarks(eps)
    landmarks.start(X[:m])
    pairs.start(kernel(X[:m], X[:m]))
    for x in X[m:]:
        q = landmarks.observe(x)
        if q is not None:
            pairs.replace(q, kernel.row(landmarks.points, landmarks.points[q]))
            yield landmarks.points


@pytest.mark.parametrize("solver", ["eigh", "warm", "rank2"])
def test_the_matrix_is_that_of_the_points(solver):
    X = np.random.default_rng(0).normal(size=(80, 3))
    pairs = Eigenpairs(8, solver=solver)
    for points in follow(pairs, Gaussian(), X, 20):
        assert_array_equal(pairs.E_, Gaussian()(points, points))
        assert_allclose(pairs.U_.T @ pairs.U_, np.eye(8), atol=1e-10)
        assert (np.diff(pairs.S_) <= 0).all()


@pytest.mark.parametrize("rank", [12, 30, 60])
def test_a_warm_start_loses_nothing_that_rank_r_can_hold(rank):
    """400 forced moves: the residual stays within 1.05 of the best, eigenvalues with a gap agree to 1e-4."""
    X = np.random.default_rng(1).normal(size=(460, 8))
    pairs = Eigenpairs(rank, solver="warm")
    for _ in follow(pairs, Gaussian(2.5), X, 60):
        least, values = best(pairs.E_, rank)
        assert left(pairs) <= 1.05 * least + 1e-6 * np.linalg.norm(pairs.E_)
        apart = values[:rank] >= 2 * (values[rank] if rank < 60 else 0.0)
        assert_allclose(pairs.S_[apart], values[:rank][apart], rtol=1e-4)


def test_a_warm_start_survives_a_landmark_that_jumps():
    X = np.random.default_rng(2).normal(size=(60, 8))
    kernel, pairs = Gaussian(2.5), Eigenpairs(15, solver="warm")
    pairs.start(kernel(X, X))
    X[7] = 1.5 * np.random.default_rng(3).normal(size=8)
    pairs.replace(7, kernel.row(X, X[7]))
    assert left(pairs) <= 1.05 * best(pairs.E_, 15)[0]


def test_more_iterations_converge_to_the_eigenpairs():
    X = np.repeat(np.random.default_rng(4).normal(size=(6, 3)), 5, axis=0)
    X += 1e-3 * np.random.default_rng(5).normal(size=X.shape)  # six groups: a gap after the sixth eigenvalue
    kernel, warm, exact = Gaussian(), Eigenpairs(6, solver="warm"), Eigenpairs(6, solver="eigh")
    for pairs in (warm, exact):
        pairs.start(kernel(X, X))
    X[3] += 0.01
    for _ in range(25):  # two multiplications each
        warm.replace(3, kernel.row(X, X[3]))
    exact.replace(3, kernel.row(X, X[3]))
    assert_allclose(warm.S_, exact.S_, rtol=1e-8)
    assert_allclose(np.abs((warm.U_ * exact.U_).sum(0)), 1.0, rtol=1e-8)


@pytest.mark.parametrize("rank", [5, 30])
def test_rank2_is_the_spectrum_of_what_it_tracks(rank):
    """The eigenpairs of U S U' + a b' + b a', which for full rank is the matrix itself."""
    X = np.random.default_rng(6).normal(size=(30, 3))
    kernel, pairs = Gaussian(0.7), Eigenpairs(rank, solver="rank2")
    pairs.start(kernel(X, X))
    for q in (4, 4, 17):
        old = pairs.U_ * pairs.S_ @ pairs.U_.T
        X[q] += 0.3
        row = kernel.row(X, X[q])
        b = row - pairs.E_[q]
        b[q] /= 2
        a = np.eye(30)[q]
        expected = np.linalg.eigvalsh(old + np.outer(a, b) + np.outer(b, a))[::-1][:rank]
        pairs.replace(q, row)
        assert_allclose(pairs.S_, np.maximum(expected, 0), rtol=0, atol=1e-12)
    if rank == 30:
        assert left(pairs) < 1e-12


def test_rank2_starts_from_the_matrix_again_before_it_has_drifted_far():
    X = np.random.default_rng(7).normal(size=(450, 8))
    pairs = Eigenpairs(20, solver="rank2")
    worst = max(left(pairs) / best(pairs.E_, 20)[0] for _ in follow(pairs, Gaussian(2.5), X, 50))
    assert 1.001 < worst < 1.6
    assert pairs.age_ == 0  # 400 moves


def test_auto_is_eigh_unless_the_rank_is_below_a_third():
    E = Gaussian()(*[np.random.default_rng(8).normal(size=(30, 2))] * 2)
    for rank, chosen in ((24, "eigh"), (11, "eigh"), (10, "warm"), (1, "warm")):
        pairs = Eigenpairs(rank)
        pairs.start(E.copy())
        assert pairs.chosen == chosen
        assert pairs.exact


def test_eigenvalues_that_count_as_zero_have_no_inverse():
    pairs = Eigenpairs(4, tol=1e-3)
    pairs.start(np.diag([4.0, 0.001, 1.0, 0.0]))
    assert_array_equal(pairs.roots, [2.0, 1.0, 0.0, 0.0])
    assert_array_equal(pairs.inverse_roots, [0.5, 1.0, 0.0, 0.0])
    pairs.start(np.zeros((3, 3)))
    assert_array_equal(pairs.inverse_roots, [0.0, 0.0, 0.0])


def test_a_refresh_that_went_wrong_is_replaced_by_a_decomposition():
    X = np.random.default_rng(9).normal(size=(20, 3))
    pairs, kernel = Eigenpairs(5, solver="rank2"), Gaussian()
    pairs.start(kernel(X, X))
    pairs.U_[:, 1] = pairs.U_[:, 0]  # spoilt
    pairs.replace(0, kernel.row(X, X[0]))
    assert pairs.age_ == 0
    assert_allclose(left(pairs), best(pairs.E_, 5)[0], rtol=1e-10)


def test_numbers_that_are_not_finite_are_refused_and_change_nothing():
    pairs = Eigenpairs(2)
    pairs.start(np.eye(3))
    before = copy.deepcopy(pairs)
    with pytest.raises(ValueError, match="the kernel between landmarks is not finite"):
        pairs.replace(1, np.array([0.0, np.inf, 0.0]))
    assert_array_equal(pairs.E_, before.E_)
    assert_array_equal(pairs.S_, before.S_)
