"""Dictionaries of parts become one of all: its accuracy, its size, and that it depends on the seed alone."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nystream.dictionary import KORS, merge_dictionaries, theory_beta
from nystream.kernels import Gaussian, Linear

ROUNDS, RIDGE = 1500, 1.0


def unit_vectors(seed: int) -> np.ndarray:
    X = np.random.default_rng(seed).normal(size=(ROUNDS, 3)) * [1.0, 0.3, 0.1]
    return X / np.linalg.norm(X, axis=1)[:, None]


def sampled(X: np.ndarray, parts: int, seed: int, **settings) -> list[KORS]:
    found = []
    for i, rows in enumerate(np.array_split(X, parts)):
        sampler = KORS(**settings)
        sampler.start(X.shape[1])
        sampler.run(rows, np.random.default_rng([seed, i]).random(len(rows)))
        found.append(sampler)
    return found


def accuracy(X: np.ndarray, dictionary: KORS) -> float:
    """Largest |eigenvalue - 1| of A^-1/2 B A^-1/2, covariances of all rows and of the weighted atoms, with ridges."""
    A = RIDGE * np.eye(X.shape[1]) + X.T @ X
    atoms = dictionary.points / np.sqrt(dictionary.odds)[:, None]
    root = np.linalg.inv(np.linalg.cholesky(A))
    B = RIDGE * np.eye(X.shape[1]) + atoms.T @ atoms
    return float(np.abs(np.linalg.eigvalsh(root @ B @ root.T) - 1).max())


@pytest.mark.parametrize("parts", [1, 3, 4, 16])
def test_theorys_beta_keeps_the_accuracy_through_the_tree(parts):
    eps = 0.5
    settings = {"kernel": Linear(), "ridge": RIDGE, "eps": eps, "beta": theory_beta(ROUNDS, 0.1, eps)}
    for seed in range(2):
        X = unit_vectors(seed)
        pieces = sampled(X, parts, seed, **settings)
        merged = merge_dictionaries(pieces, seed)
        assert accuracy(X, merged) <= eps
        assert merged.n <= sum(piece.n for piece in pieces)


def test_weights_that_are_forgotten_are_caught_by_the_accuracy():
    X = unit_vectors(0)
    merged = merge_dictionaries(
        sampled(X, 4, 0, kernel=Linear(), ridge=RIDGE, eps=0.5, beta=theory_beta(ROUNDS, 0.1)), 0
    )
    unweighted = copy.deepcopy(merged)
    unweighted.odds_.view[:] = 1.0
    assert accuracy(X, unweighted) > 0.5


def test_the_size_stays_that_of_one_pass_where_the_parts_add_up_to_many_times_it():
    X = np.random.default_rng(0).uniform(-1, 1, (ROUNDS, 2))
    settings = {"kernel": Gaussian(0.5), "ridge": 1.0, "beta": 2.0}
    sizes = {parts: merge_dictionaries(sampled(X, parts, 1, **settings), 1).n for parts in (1, 4, 16)}
    union = sum(piece.n for piece in sampled(X, 16, 1, **settings))
    assert sizes[16] < 0.4 * union
    assert sizes[16] < 1.5 * sizes[1]


def test_the_result_depends_on_parts_order_and_seed_alone_and_the_parts_stay():
    X = np.random.default_rng(0).uniform(-1, 1, (600, 2))
    pieces = sampled(X, 5, 2, kernel=Gaussian(0.5), ridge=0.5)
    before = [piece.points.copy() for piece in pieces]
    first, second, other = (merge_dictionaries(pieces, seed) for seed in (7, 7, 8))
    assert_array_equal(first.points, second.points)
    assert_array_equal(first.odds, second.odds)
    assert first.n != other.n or not np.array_equal(first.points, other.points)
    for piece, points in zip(pieces, before, strict=True):
        assert_array_equal(piece.points, points)
    assert merge_dictionaries(pieces[:1]) is pieces[0]


def test_nothing_and_strangers_are_refused():
    with pytest.raises(ValueError, match="no dictionary to merge"):
        merge_dictionaries([])
    X = np.random.default_rng(0).uniform(-1, 1, (50, 2))
    strangers = [sampled(X, 1, 0, kernel=Gaussian(width), ridge=1.0)[0] for width in (0.5, 0.6)]
    with pytest.raises(ValueError, match="equal parameters"):
        merge_dictionaries(strangers)
