"""Maps that take new columns: what was seen keeps its features, and the wider map stands for the kernel as before."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import persist
from nystream.features import Fourier, Nystrom
from nystream.kernels import Gaussian, Laplacian, Matern

X = np.random.default_rng(0).normal(size=(30, 5))
NARROW = X * [1, 1, 1, 0, 0]
KERNELS = [Gaussian(1.3), Laplacian(1.7), Matern(0.5, 1.2), Matern(1.5, 0.7), Matern(2.5, 2.0), 3.0 * Gaussian(1.0)]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("dim", [20_000])
def test_widened_fourier_features_approximate_the_kernel_on_all_columns(kernel, dim):
    features = Fourier(kernel, dim, seed=0)
    features.start(3)
    before = features.transform(X[:, :3])
    features.widen(4)
    features.widen(5)
    assert_array_equal(features.transform(NARROW), before)
    Z = features.transform(X)
    amplitude = kernel(X[:1], X[:1])[0, 0]
    # the mean of dim / 2 cosines: one standard error is at most 1 / sqrt(dim); 435 pairs
    assert_allclose(Z @ Z.T, kernel(X, X), rtol=0, atol=4.5 * amplitude / np.sqrt(dim))


def test_orthogonal_directions_may_be_widened_too():
    features = Fourier(Gaussian(1.5), 20_000, orthogonal=True, seed=0)
    features.start(3)
    features.widen(5)
    Z = features.transform(X)
    assert_allclose(Z @ Z.T, Gaussian(1.5)(X, X), rtol=0, atol=4.5 / np.sqrt(20_000))


def test_a_widened_map_is_saved_and_widened_on_as_if_it_had_stayed():
    features = Fourier(Matern(1.5, 1.0), 40, seed=None)
    features.start(2)
    features.widen(3)
    twin = persist.from_bytes(persist.to_bytes(features))
    for each in (features, twin):
        each.widen(5)
    assert_array_equal(twin.transform(X), features.transform(X))


def test_a_sum_of_kernels_cannot_be_widened_and_says_so():
    features = Fourier(Gaussian(1.0) + Laplacian(1.0), 20, seed=0)
    features.start(3)
    with pytest.raises(TypeError, match="cannot take more columns"):
        features.widen(4)


def test_widened_nystrom_features_are_those_of_landmarks_with_zeros():
    features = Nystrom(Gaussian(1.0), X[:8, :3])
    features.start(3)
    before = features.transform(X[:, :3])
    features.widen(5)
    assert_allclose(features.transform(NARROW), before, rtol=1e-12, atol=1e-14)
    wide = Nystrom(Gaussian(1.0), NARROW[:8])
    wide.start(5)
    assert_allclose(features.transform(X), wide.transform(X), rtol=1e-12, atol=1e-14)
