"""Fastfood: the product of its factors, written out densely, and unbiased as Fourier features are."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose, assert_array_equal

from nystream import persist
from nystream.features import Fastfood
from nystream.kernels import Gaussian, Laplacian, Matern

DEVIATIONS = 4.5
"""A right estimate leaves this many standard errors once in 150 000 times."""


def directions(features, sigma):
    """S H G P H B / (sigma sqrt(d')), block below block, from the factors that the map drew."""
    size = features.signs_.shape[1]
    H = scipy.linalg.hadamard(size)
    blocks = []
    for signs, order, gauss, scale in zip(
        features.signs_, features.order_, features.gauss_, features.scale_, strict=True
    ):
        P = np.eye(size)[order]
        S = scale * sigma * math.sqrt(size)
        blocks.append(np.diag(S) @ H @ np.diag(gauss) @ P @ H @ np.diag(signs) / (sigma * math.sqrt(size)))
    return np.vstack(blocks)


@pytest.mark.parametrize(("d", "dim"), [(1, 2), (1, 10), (2, 6), (5, 16), (5, 38), (8, 16), (22, 200), (64, 100)])
def test_features_are_cosines_and_sines_of_the_product_of_the_factors(d, dim):
    X = np.random.default_rng(d).normal(size=(21, d))
    features = Fastfood(3.0 * Gaussian(1.7), dim, seed=dim).fit(X)
    V = directions(features, 1.7)[: dim // 2, :d]
    U = X @ V.T
    expected = np.hstack([np.cos(U), np.sin(U)]) * math.sqrt(3.0 / (dim // 2))
    assert_allclose(features.transform(X), expected, rtol=0, atol=1e-12)


def test_the_factors_are_signs_permutations_and_lengths():
    features = Fastfood(Gaussian(0.5), 4096, seed=0)
    features.start(13)
    assert features.signs_.shape == features.order_.shape == features.gauss_.shape == (128, 16)
    assert set(np.unique(features.signs_)) == {-1.0, 1.0}
    assert_array_equal(np.sort(features.order_, axis=1), np.tile(np.arange(16), (128, 1)))
    squares = (directions(features, 0.5) ** 2).sum(1) * 0.25  # chi-square, 16 degrees of freedom: variance 32
    assert abs(squares.mean() - 16) < DEVIATIONS * math.sqrt(32 / len(squares))
    assert features.nbytes == 2048 * (3 * 8 + 4)  # O(dim), whatever d


@pytest.mark.parametrize("kernel", [Gaussian(1.0), 0.3 * Gaussian(0.6)], ids=repr)
@pytest.mark.parametrize("dim", [16, 26])
def test_estimates_of_the_kernel_are_unbiased(kernel, dim):
    X = np.array([[0.3, -0.2, 0.5, 0.1, 0.7], [-0.4, 0.4, 0.1, 0.6, 0.2]])
    values = []
    for seed in range(600):
        z, w = Fastfood(kernel, dim, seed=seed).fit_transform(X)
        values.append(z @ w)
    error = np.mean(values) - kernel(X[:1], X[1:])[0, 0]
    assert abs(error) < DEVIATIONS * np.std(values) / math.sqrt(len(values))


def test_the_length_of_a_feature_vector_is_the_kernels_diagonal():
    X = np.random.default_rng(0).normal(size=(30, 3)) * np.logspace(-3, 300, 30)[:, None]
    Z = Fastfood(0.7 * Gaussian(1.0), 60, seed=0).fit_transform(X)
    assert_allclose((Z * Z).sum(1), 0.7, rtol=1e-13)


def test_a_row_alone_has_the_bits_it_has_in_a_block():
    X = np.random.default_rng(0).normal(size=(41, 7))
    features = Fastfood(Gaussian(1.0), 106, seed=0).fit(X)
    assert_array_equal([features.row(x) for x in X], features.transform(X))


def test_equal_seeds_draw_equal_factors_and_a_generator_is_not_advanced():
    X = np.random.default_rng(0).normal(size=(4, 3))
    rng = np.random.default_rng(5)
    first, second, third = (Fastfood(Gaussian(1.0), 8, seed=seed).fit_transform(X) for seed in (5, rng, rng))
    assert_array_equal(first, second)
    assert_array_equal(first, third)
    assert (Fastfood(Gaussian(1.0), 8).fit_transform(X) != first).any()


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m)),
                                  lambda m: persist.from_bytes(persist.to_bytes(m))])  # fmt: skip
def test_copies_and_files_keep_the_factors(twin):
    X = np.random.default_rng(0).normal(size=(5, 3))
    features = Fastfood(2.0 * Gaussian(1.0), 30).fit(X)
    other = twin(features)
    assert_array_equal(other.transform(X), features.transform(X))
    assert not np.shares_memory(other.gauss_, features.gauss_)


def test_dim_is_known_before_the_start_and_must_be_even():
    assert Fastfood(Gaussian(1.0), 12).dim == 12
    with pytest.raises(ValueError, match=r"dim must be even .*got 9; use 10"):
        Fastfood(Gaussian(1.0), 9)


@pytest.mark.parametrize("kernel", [Laplacian(1.0), Matern(1.5, 1.0), Gaussian(1.0) * Gaussian(1.0)], ids=repr)
def test_other_kernels_are_refused(kernel):
    with pytest.raises(TypeError, match=r"Fastfood needs a Gaussian kernel, got .*; use Fourier"):
        Fastfood(kernel, 10)
