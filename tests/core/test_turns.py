"""Reflections of a basis on moving landmarks: orthonormal after thousands of moves, functions carried exactly."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream._core.landmarks import Turns
from nystream.features import AdaptiveNystrom
from nystream.kernels import Gaussian, Laplacian, Linear, Polynomial

RIDGE = 1e-8


def started(kernel, points, rank):
    """(Turns, W, ridge) on the eigenvectors of the kernel between the points."""
    E = kernel(points, points)
    ridge = RIDGE * E.trace()
    S, U = np.linalg.eigh(E)
    W = np.ascontiguousarray((U / np.sqrt(np.maximum(S, 0) + ridge)).T[::-1])
    return Turns(W, E, rank, ridge, float(E.trace())), W, ridge


def replace(turns, kernel, points, q, point):
    k = np.ascontiguousarray(kernel.row(points, point))
    sound = turns.move(q, k, float(kernel.diag(point[None])[0]))
    points[q] = point
    return sound


def skew(W, kernel, points, ridge):
    """How far the functions are from orthonormal."""
    M = kernel(points, points) + ridge * np.eye(len(points))
    return np.abs(W @ M @ W.T - np.eye(len(W))).max()


@pytest.mark.parametrize("rank", [40, 32, 13, 1])
@pytest.mark.parametrize("kernel", [Gaussian(1.0), Gaussian(4.0), Laplacian(1.0)], ids=repr)
def test_the_basis_stays_orthonormal_over_thousands_of_moves(kernel, rank):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 3))
    turns, W, ridge = started(kernel, points, rank)
    for t in range(5000):
        q = int(rng.integers(40))
        other = points[int(rng.integers(40))]
        point = other + 1e-9 * rng.normal(size=3) if t % 3 == 0 else rng.normal(size=3)  # every third is a near twin
        assert replace(turns, kernel, points, q, point)
        if t % 500 == 499:
            assert skew(W, kernel, points, ridge) < 1e-7  # rounding times the condition, 1e8


@pytest.mark.parametrize("rank", [25, 20, 4])
def test_carried_weights_are_the_projection_of_the_function(rank):
    """In the space of the kernel with a ridge at the landmarks, where the inner products of functions are known."""
    rng = np.random.default_rng(1)
    kernel, points = Gaussian(0.8), rng.normal(size=(25, 3))
    turns, W, ridge = started(kernel, points, rank)
    w = rng.normal(size=(2, rank))
    for t in range(400):
        old, coef = points.copy(), w @ W[:rank]
        q = t % 25
        replace(turns, kernel, points, q, points[q] + 0.3 * rng.normal(size=3))
        before = w.copy()
        turns.carry(w)
        cross = kernel(points, old) + ridge * np.eye(25)
        cross[q, q] -= ridge  # the landmark that moved is another point
        inner = W[:rank] @ cross @ coef.T  # <h_j, f>, f the old function
        assert_allclose(w, inner.T, rtol=0, atol=1e-9)
        assert_allclose(w, before @ turns.matrix.T, rtol=0, atol=1e-12)
        assert np.linalg.norm(w) <= np.linalg.norm(before) * (1 + 1e-12)


def test_below_full_rank_the_features_follow_the_leading_eigenvectors():
    X = np.random.default_rng(2).normal(size=(1060, 8))
    features = AdaptiveNystrom(Gaussian(2.5), X[:60], 48, 0.0)
    features.start(8)
    ratios = []
    for t, x in enumerate(X[60:]):
        features.observe(x)
        if t % 20 == 19:
            E = Gaussian(2.5)(features.points, features.points)
            Z = features.transform(features.points)
            values = np.linalg.eigvalsh(E)[:12]
            ratios.append(np.linalg.norm(E - Z @ Z.T) / np.sqrt((values**2).sum()))
    assert np.mean(ratios) < 1.05
    assert max(ratios) < 1.4
    assert 1.0 - 1e-3 < min(ratios) < 1.01


def test_landmarks_that_all_come_together_and_part_again_lose_nothing():
    rng = np.random.default_rng(3)
    kernel, points = Gaussian(1.0), rng.normal(size=(20, 2))
    turns, W, ridge = started(kernel, points, 16)
    for q in range(20):
        assert replace(turns, kernel, points, q, np.zeros(2))
    assert skew(W, kernel, points, ridge) < 1e-7  # rounding times the condition, 1e8
    for q in range(20):
        assert replace(turns, kernel, points, q, rng.normal(size=2))
    assert skew(W, kernel, points, ridge) < 1e-7  # rounding times the condition, 1e8
    X = rng.normal(size=(50, 2))
    Z = kernel(X, points) @ W.T
    K = kernel(X, points) @ np.linalg.solve(kernel(points, points) + ridge * np.eye(20), kernel(points, X))
    assert_allclose(Z @ Z.T, K, rtol=0, atol=1e-8)


@pytest.mark.parametrize("kernel", [Polynomial(3), Linear()], ids=repr)
def test_a_kernel_whose_scale_grows_gets_a_new_basis(kernel):
    """A ridge of the first rows' scale would be lost beside those of the last ones; the function goes on."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(600, 4)) * np.geomspace(1, 1e4, 600)[:, None]
    features = AdaptiveNystrom(kernel, X[:20], 20, 0.0)
    features.start(4)
    w, ridges = np.zeros(20), set()
    for x in X[20:]:
        before = features.transform(x[None])[0] @ w
        change = features.observe(x)
        if change is not None:
            w = change.transport @ w
        z = features.transform(x[None])[0]
        assert np.isfinite(before)
        w = w + (1.0 - z @ w) * z / (1 + z @ z)
        ridges.add(features.ridge_)
    assert len(ridges) > 5
    M = kernel(features.points, features.points)
    Z = features.transform(features.points)
    assert np.linalg.norm(Z @ Z.T - M) < 1e-5 * np.linalg.norm(M)


def test_what_is_not_finite_or_not_there_is_refused_and_changes_nothing():
    points = np.random.default_rng(5).normal(size=(5, 2))
    turns, W, _ = started(Gaussian(), points, 4)
    before = W.copy()
    for row, own in ((np.full(5, np.nan), 1.0), (np.ones(5), np.inf)):
        with pytest.raises(ValueError, match="the kernel between landmarks is not finite"):
            turns.move(0, row, own)
    with pytest.raises(IndexError, match="no landmark 5"):
        turns.move(5, np.ones(5), 1.0)
    with pytest.raises(ValueError, match=r"shape \(5,\)"):
        turns.move(0, np.ones(4), 1.0)
    with pytest.raises(ValueError, match="square matrix of float64 rows and a rank"):
        Turns(W, np.ones((5, 5)), 6, 1e-8, 5.0)
    assert_array_equal(W, before)
