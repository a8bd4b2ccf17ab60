"""The forgetting learner: laws, its parts put together, and the drift that it is for."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nystream import PKRR, Fourier, Gaussian, Nystrom
from nystream.features import Landmarks, WithConstant
from nystream.learners.forgetting import Forgetting

POINTS = np.random.default_rng(5).uniform(-1, 1, (15, 3))


def data(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 3))
    return X, np.sin(3 * X[:, 0]) + 2.0 + 0.1 * rng.normal(size=n)


def test_without_features_it_is_an_affine_model():
    X, y = data()
    w, Z = 0.95 ** np.arange(199.0, -1.0, -1.0), np.column_stack([X, np.ones(200)])
    model = Forgetting(decay=0.95, refresh=1)
    model.run(X, y)
    expected = np.linalg.solve(0.01 * np.eye(4) + (Z.T * w) @ Z, (Z.T * w) @ y)
    assert_allclose(model.predict(X), Z @ expected, rtol=1e-9)
    assert_allclose(model.solver_.weights[:, 0], expected, rtol=1e-8)
    assert_allclose(
        model.leverage(X), np.einsum("ij,ij->i", Z, np.linalg.solve(model.solver_.matrix, Z.T).T), rtol=1e-8
    )


def test_kernel_rows_and_whitened_features_give_the_same_predictions():
    X, y = data()
    raw, white = (
        Forgetting(WithConstant(kind(Gaussian(0.7), POINTS)), decay=0.97, refresh=3).run(X, y)
        for kind in (Landmarks, Nystrom)
    )
    assert_allclose(raw, white, rtol=1e-6, atol=1e-7)


def test_after_a_switch_it_is_soon_as_good_as_before_while_ridge_never_recovers():
    X, y = data(1000)
    y[500:] = 4.0 - y[500:]
    features = Fourier(Gaussian(0.7), 40, seed=0)
    fades, stays = (np.abs(m.run(X, y) - y) for m in (Forgetting(features, decay=0.97), PKRR(features, lam=0.01)))
    assert fades[700:].mean() < 1.2 * fades[300:500].mean()
    assert stays[700:].mean() > 3 * fades[700:].mean()


def test_a_map_that_moves_is_refused():
    X, y = data()
    with pytest.raises(ValueError, match="does not move"):
        Forgetting(Nystrom(Gaussian(1.0), 10)).run(X, y)
    with pytest.raises(ValueError, match="features must be a feature map"):
        Forgetting(Gaussian(1.0))
    with pytest.raises(ValueError, match="learnt no row"):
        Forgetting().leverage(X)
