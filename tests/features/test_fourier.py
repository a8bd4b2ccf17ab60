"""Fourier features: unbiased, of the right length, orthogonal where asked, equal for equal seeds."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import persist
from nystream.features import Fourier
from nystream.kernels import Gaussian, Laplacian, Linear, Matern, Normalized, Polynomial

PAIR = np.array([[0.3, -0.2, 0.5, 0.1], [-0.4, 0.4, 0.1, 0.6]])
DEVIATIONS = 4.5
"""A right estimate leaves this many standard errors once in 150 000 times."""


def estimates(kernel, seeds, dim, X=PAIR, **params):
    """z(x)'z(y) of independent maps."""
    values = []
    for seed in range(seeds):
        z, w = Fourier(kernel, dim, seed=seed, **params).fit_transform(X)
        values.append(z @ w)
    return np.array(values)


@pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(0.9),
        Laplacian(1.5),
        Matern(0.5, 1.2),
        Matern(1.5, 1.2),
        Matern(2.5, 1.2),
        0.3 * Gaussian(0.5),
        Gaussian(1.0) * Laplacian(3.0),
        2.0 * Gaussian(0.5) + Laplacian(2.0),
    ],
    ids=repr,
)
def test_estimates_of_the_kernel_are_unbiased(kernel):
    values = estimates(kernel, 400, 40)
    error = values.mean() - kernel(PAIR[:1], PAIR[1:])[0, 0]
    assert abs(error) < DEVIATIONS * values.std() / math.sqrt(len(values))


def test_the_error_is_that_of_averaging_independent_cosines():
    k = Gaussian(0.9)(PAIR[:1], PAIR[1:])[0, 0]
    values = estimates(Gaussian(0.9), 2000, 20)
    variance = ((1 + k**4) / 2 - k * k) / 10  # cos^2 u = (1 + cos 2u)/2, and E cos 2u = k^4
    assert_allclose(values.var(), variance, rtol=DEVIATIONS * math.sqrt(2 / 2000))


def test_orthogonal_directions_are_unbiased_with_a_smaller_error():
    X = np.array([[0.3, -0.2, 0.5, 0.1, 0.7, -0.4, 0.2, 0.9], np.zeros(8)])
    plain = estimates(Gaussian(1.0), 500, 16, X)
    orthogonal = estimates(Gaussian(1.0), 500, 16, X, orthogonal=True)
    error = orthogonal.mean() - Gaussian(1.0)(X[:1], X[1:])[0, 0]
    assert abs(error) < DEVIATIONS * orthogonal.std() / math.sqrt(500)
    assert orthogonal.var() < 0.6 * plain.var()  # measured 0.31 over 2000 seeds; one would be 4 deviations away


def test_directions_are_orthogonal_in_blocks_of_the_number_of_columns():
    features = Fourier(Gaussian(0.5), 26, orthogonal=True, seed=3)
    features.start(5)
    for block in (features.W_[:, :5], features.W_[:, 5:10], features.W_[:, 10:]):
        G = block.T @ block
        assert_allclose(G, np.diag(np.diag(G)), rtol=0, atol=1e-12)
    wide = Fourier(Gaussian(0.5), 4000, orthogonal=True, seed=3)
    wide.start(5)
    squares = (wide.W_**2).sum(0) * 0.25  # chi-square with 5 degrees of freedom: mean 5, variance 10
    assert abs(squares.mean() - 5) < DEVIATIONS * math.sqrt(10 / 2000)


def test_features_are_cosines_and_sines_of_the_directions():
    X = 3 * np.random.default_rng(0).normal(size=(70, 6))
    features = Fourier(2.0 * Gaussian(0.7), 250, seed=1).fit(X)
    assert features.W_.shape == (6, 125)
    U = X @ features.W_
    expected = np.hstack([np.cos(U), np.sin(U)]) * math.sqrt(2 / 125)
    assert_allclose(features.transform(X), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("kernel", [Gaussian(0.5), 0.3 * Laplacian(2.0), Gaussian(1.0) + Matern(0.5, 1.0)], ids=repr)
def test_the_length_of_a_feature_vector_is_the_kernels_diagonal(kernel):
    X = np.random.default_rng(0).normal(size=(30, 3)) * np.logspace(-3, 12, 30)[:, None]
    Z = Fourier(kernel, 60, seed=0).fit_transform(X)
    assert_allclose((Z * Z).sum(1), kernel.diag(X), rtol=1e-13)


def test_rows_too_large_for_an_angle_stay_finite():
    X = np.array([[1e308, -1e308, 1e308]])
    Z = Fourier(Gaussian(1e-3), 60, seed=0).fit_transform(X)
    assert_allclose((Z * Z).sum(1), 1.0)


def test_a_row_alone_has_the_bits_it_has_in_a_block():
    X = np.random.default_rng(0).normal(size=(41, 7))
    features = Fourier(Gaussian(1.0), 106, orthogonal=True, seed=0).fit(X)
    Z = features.transform(X)
    assert_array_equal([features.row(x) for x in X], Z)


def test_dim_is_known_before_the_start():
    assert Fourier(Gaussian(1.0), 12).dim == 12


def test_equal_seeds_draw_equal_directions_and_a_generator_is_not_advanced():
    def directions(seed):
        features = Fourier(Gaussian(1.0), 8, seed=seed)
        features.start(3)
        return features.W_

    rng = np.random.default_rng(5)
    assert_array_equal(directions(5), directions(5))
    assert_array_equal(directions(rng), directions(5))
    assert_array_equal(directions(rng), directions(5))
    assert rng.random() == np.random.default_rng(5).random()
    assert (directions(None) != directions(None)).all()
    assert (directions(6) != directions(5)).all()


@pytest.mark.parametrize("twin", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m)),
                                  lambda m: persist.from_bytes(persist.to_bytes(m))])  # fmt: skip
@pytest.mark.parametrize("seed", [None, 3, np.random.default_rng(3)], ids=["none", "int", "generator"])
def test_copies_and_files_keep_the_directions(twin, seed):
    X = np.random.default_rng(0).normal(size=(5, 3))
    features = Fourier(2.0 * Gaussian(1.0), 30, seed=seed).fit(X)
    other = twin(features)
    assert_array_equal(other.transform(X), features.transform(X))
    assert not np.shares_memory(other.W_, features.W_)
    assert other.nbytes == features.nbytes == 8 * 3 * 15


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(3), Normalized(Polynomial(3)), Gaussian(1.0) + Linear(), None])
def test_kernels_without_a_spectrum_are_refused(kernel):
    with pytest.raises(TypeError, match=r"needs a shift-invariant kernel, got .*; use Nystrom for any kernel"):
        Fourier(kernel, 10)


def test_orthogonal_is_refused_for_other_kernels():
    with pytest.raises(
        TypeError, match=r"orthogonal=True needs a Gaussian kernel, got Laplacian.*leave orthogonal=False"
    ):
        Fourier(Laplacian(1.0), 10, orthogonal=True)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"dim": 7}, r"dim must be even .*got 7; use 8"),
        ({"dim": 0}, "dim must be a whole number of at least 2, got 0"),
        ({"dim": 10.0}, "dim must be a whole number of at least 2"),
        ({"dim": 10, "seed": -1}, "seed must be a whole number of at least 0"),
        ({"dim": 10, "seed": "x"}, "seed must be a whole number of at least 0"),
    ],
)
def test_bad_parameters_are_refused_at_once(params, message):
    with pytest.raises(ValueError, match=message):
        Fourier(Gaussian(1.0), **params)
