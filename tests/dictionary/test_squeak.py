"""SQUEAK and DISQUEAK: their definition with the same draws, unbiased weights, accuracy, merges in any tree."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from nystream import Nystrom, from_bytes, to_bytes
from nystream.dictionary import KORS, SQUEAK, disqueak, theory_copies
from nystream.kernels import Gaussian, Linear
from nystream.runtime.threads import at_most

G = Gaussian(0.5)


def thinned(points, odds, copies, total, rng, eps, ridge, inside):
    """The paper's scores by a plain solve, (1 - eps)/ridge (k_ii - k_i' S (S K S + inside I)^-1 S k_i)."""
    w = np.sqrt(copies / (total * odds))
    K = oracles.gaussian(points, points, 0.5)
    M = w[:, None] * K * w + inside * np.eye(len(w))
    scores = (
        (1 - eps) / ridge * (K.diagonal() - np.einsum("ij,ij->j", w[:, None] * K, np.linalg.solve(M, w[:, None] * K)))
    )
    new = np.minimum(odds, scores)
    left = rng.binomial(copies, np.minimum(new / odds, 1.0))
    return points[left > 0], new[left > 0], left[left > 0]


@pytest.mark.parametrize("block", [1, 7])
def test_rows_enter_and_are_thinned_as_in_the_definition(block):
    X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    dictionary = SQUEAK(G, 0.5, eps=0.3, copies=5, block=block, seed=4).partial_fit(X)
    rng = np.random.default_rng(4)
    points, odds, copies = np.zeros((0, 2)), np.zeros(0), np.zeros(0, dtype=int)
    for i in range(0, 60, block):
        rows = X[i : i + block]
        points = np.vstack([points, rows])
        odds, copies = np.append(odds, np.ones(len(rows))), np.append(copies, np.full(len(rows), 5))
        points, odds, copies = thinned(points, odds, copies, 5, rng, 0.3, 0.5, 0.5)
    assert_array_equal(dictionary.points, points)
    assert_allclose(dictionary.weights, copies / (5 * odds), rtol=1e-8)
    assert 5 < dictionary.n < 60


def test_merging_thins_the_union_with_a_larger_ridge_inside():
    X = np.random.default_rng(0).uniform(-1, 1, (80, 2))
    left, right = (SQUEAK(G, 0.5, copies=5, seed=i).partial_fit(part) for i, part in enumerate(np.split(X, 2)))
    rng = from_bytes(to_bytes(left)).rng_
    union = [
        np.concatenate(pair)
        for pair in ((left.points_, right.points_), (left.odds_, right.odds_), (left.copies_, right.copies_))
    ]
    points, odds, copies = thinned(*union, 5, rng, 0.5, 0.5, 0.5 * 1.5)
    before = to_bytes(right)
    merged = left.merge(right)
    assert merged is left
    assert to_bytes(right) == before
    assert_array_equal(merged.points, points)
    assert_allclose(merged.weights, copies / (5 * odds), rtol=1e-8)
    assert merged.n_seen == 80


def test_weights_are_unbiased():
    """The mean over seeds of the weighted sum of phi phi' is that of all rows, with merges and without."""
    X = np.random.default_rng(0).normal(size=(60, 2))
    total = np.zeros((2, 2, 2))
    for seed in range(300):
        one = SQUEAK(Linear(), 1.0, copies=2, block=10, seed=seed).partial_fit(X)
        two = disqueak(X, 4, SQUEAK(Linear(), 1.0, copies=2, block=10, seed=seed))
        for i, found in enumerate((one, two)):
            total[i] += found.points.T @ (found.weights[:, None] * found.points) / 300
    assert_allclose(total, np.broadcast_to(X.T @ X, (2, 2, 2)), atol=7.0)
    assert abs(X.T @ X).max() > 50


def accuracy(dictionary, X):
    """Largest |eigenvalue - 1| of the weighted covariance against that of all rows, both with the ridge."""
    A = dictionary.ridge * np.eye(X.shape[1]) + X.T @ X
    B = dictionary.ridge * np.eye(X.shape[1]) + dictionary.points.T @ (dictionary.weights[:, None] * dictionary.points)
    root = np.linalg.inv(np.linalg.cholesky(A))
    return np.abs(np.linalg.eigvalsh(root @ B @ root.T) - 1).max()


@pytest.mark.parametrize("parts", [1, 4, 16])
def test_the_covariance_is_within_eps_and_the_size_within_its_bound(parts):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3200, 3)) * [1.0, 0.3, 0.1]
    X /= np.linalg.norm(X, axis=1)[:, None]
    effective = np.trace(np.linalg.solve(X.T @ X + np.eye(3), X.T @ X))
    for copies, limit in ((20, 0.9), (200, 0.5)):
        for seed in range(3):
            found = disqueak(X, parts, SQUEAK(Linear(), 1.0, copies=copies, seed=seed))
            assert accuracy(found, X) < limit
            assert found.n <= 3 * copies * effective
            assert_allclose(found.effective_dimension(), effective, rtol=0.2)
    assert theory_copies(3200, 0.1) > 200


def test_it_is_smaller_than_kors_of_one_pass_and_makes_as_good_features():
    X = np.random.default_rng(0).uniform(-1, 1, (3000, 2))
    found = SQUEAK(G, 1.0, copies=4, seed=0).partial_fit(X)
    online = KORS(G, 1.0, beta=4.0)
    online.start(2)
    online.run(X, np.random.default_rng(0).random(3000))
    errors = [Nystrom(G, points).fit(X).residual(X).mean() for points in (found.points, online.points)]
    assert found.n < 0.8 * online.n
    assert errors[0] < 0.01


def test_parts_are_the_same_in_any_number_of_threads_and_files_go_on():
    X = np.random.default_rng(0).uniform(-1, 1, (1000, 2))
    with at_most(1):
        one = disqueak(X, 5, SQUEAK(G, 1.0, seed=3))
    with at_most(4):
        four = disqueak(X, 5, SQUEAK(G, 1.0, seed=3))
    assert to_bytes(one) == to_bytes(four)
    again = from_bytes(to_bytes(one))
    for dictionary in (one, again):
        dictionary.partial_fit(X[:100])
    assert to_bytes(one) == to_bytes(again)
    assert one.clone().n == 0


def test_what_cannot_be_merged_is_refused_and_nothing_changes():
    X = np.random.default_rng(0).uniform(-1, 1, (100, 2))
    one = SQUEAK(G, 1.0, seed=0).partial_fit(X)
    before = to_bytes(one)
    for other, message in [
        (SQUEAK(G, 2.0).partial_fit(X), "equal parameters"),
        (SQUEAK(G, 1.0), "has not"),
        (SQUEAK(G, 1.0).partial_fit(X[:, :1]), "equal columns; got 2 and 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            one.merge(other)
    assert to_bytes(one) == before
    with pytest.raises(ValueError, match="has seen no rows yet"):
        _ = SQUEAK(G, 1.0).points
    with pytest.raises(ValueError, match="parts must be at most the number of rows, 100; got 101"):
        disqueak(X, 101, SQUEAK(G, 1.0))
    with pytest.raises(ValueError, match="seed is an int or None"):
        disqueak(X, 2, SQUEAK(G, 1.0, seed=np.random.default_rng(0)))
    for settings, message in [
        ({"eps": 1.0}, "eps must be"),
        ({"copies": 0}, "copies must be"),
        ({"block": 0}, "block"),
    ]:
        with pytest.raises(ValueError, match=message):
            SQUEAK(G, 1.0, **settings)


def test_a_row_that_the_kernel_does_not_see_is_not_kept():
    dictionary = SQUEAK(Linear(), 1.0, seed=0).partial_fit(np.zeros((10, 2)))
    assert dictionary.n == 0
    assert dictionary.partial_fit(np.eye(2)).n_seen == 12
    assert dictionary.effective_dimension() <= 2.0
