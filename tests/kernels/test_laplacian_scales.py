"""The Laplacian kernel with column scales: the plain kernel of scaled columns, everywhere."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import PKRR, from_bytes, to_bytes
from nystream.features import Fourier, Landmarks
from nystream.kernels import Laplacian

V = np.array([2.0, 0.0, 0.5])


def rows(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 3))


def test_it_is_the_kernel_of_scaled_columns():
    X, Y = rows(7), rows(5, 1)
    plain, scaled = Laplacian(1.5), Laplacian(1.5, V)
    assert_array_equal(scaled(X, Y), plain(X * V, Y * V))
    assert_array_equal(scaled.row(X, Y[0]), plain.row(X * V, Y[0] * V))
    assert_array_equal(scaled.diag(X), np.ones(7))
    assert_array_equal(Laplacian(1.5, np.ones(3))(X, Y), plain(X, Y))


def test_frequencies_are_those_of_the_scaled_kernel():
    a, b = (Laplacian(2.0, v).spectral_sample(50, 3, np.random.default_rng(0)) for v in (None, V))
    assert_allclose(b, a * V)
    X = rows(4)
    features = Fourier(Laplacian(2.0, [0.5, 0.0, 0.2]), 4000, seed=0)
    features.start(3)
    Z = features.transform(X)
    assert_allclose(Z @ Z.T, Laplacian(2.0, [0.5, 0.0, 0.2])(X, X), atol=0.1)


def test_learners_take_it_and_files_keep_it():
    X = rows(60)
    kernel = Laplacian(scales=V)
    model = PKRR(Landmarks(kernel, X[:20]), lam=0.1)
    model.run(X, np.sin(X[:, 0]))
    back = from_bytes(to_bytes(model))
    assert_array_equal(back.predict(X), model.predict(X))
    assert kernel == Laplacian(scales=list(V))
    assert kernel != Laplacian()
    assert "scales" in repr(kernel)
    assert "scales" not in repr(Laplacian())


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="scales must be numbers >= 0"):
        Laplacian(scales=[1.0, -1.0])
    with pytest.raises(ValueError, match="scales must be numbers >= 0"):
        Laplacian(scales=3.0)
    with pytest.raises(ValueError, match="scales for 3 columns, but rows have 2"):
        Laplacian(scales=V)(np.ones((1, 2)), np.ones((1, 2)))
    with pytest.raises(ValueError, match="there are more now"):
        Laplacian(scales=V).spectral_extend(np.ones((1, 3)), 1, np.random.default_rng(0))
