"""Kernel rows of landmarks, with and without the constant: definitions, and equality with whitened features."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import PKAWV, PKRR, Fourier, Gaussian, Linear, Nystrom, Polynomial, from_bytes, to_bytes
from nystream.features import Landmarks, WithConstant

X = np.random.default_rng(0).uniform(-1, 1, (200, 3))
Y = np.column_stack([np.sin(3 * X[:, 0]) + 2, X[:, 1] * X[:, 2]])
KERNEL = Gaussian(0.5)


def test_the_features_are_kernel_rows_and_the_penalty_their_gram_matrix():
    features = Landmarks(KERNEL, X[:20]).fit(X)
    assert_array_equal(np.sort(features.points_, axis=0), np.sort(X[:20], axis=0))
    assert_array_equal(features.transform(X), KERNEL(X, features.points_))
    assert_array_equal(features.row(X[3]), features.transform(X)[3])
    assert_array_equal(features.penalty, KERNEL(features.points_, features.points_))


@pytest.mark.parametrize("learner", [PKRR, PKAWV])
@pytest.mark.parametrize("constant", [False, True])
def test_the_model_is_that_of_whitened_features(learner, constant):
    models = []
    for kind in (Landmarks, Nystrom):
        features = kind(KERNEL, X[:25])
        models.append(learner(WithConstant(features) if constant else features, lam=0.05))
    raw, white = models
    assert_allclose(raw.run(X, Y), white.run(X, Y), rtol=1e-7, atol=1e-9)
    assert_allclose(raw.predict(X), white.predict(X), rtol=1e-7, atol=1e-9)
    assert_allclose(raw.leverage(X), white.leverage(X), rtol=1e-6)
    for said in ("regret", "regret_bound", "log_det", "effective_dimension"):
        assert_allclose(getattr(raw, said)(), getattr(white, said)(), rtol=1e-7)


def test_dependent_landmarks_are_left_out():
    repeated = np.vstack([X[:10], X[:10], X[4:5] + 1e-9])
    features = Landmarks(KERNEL, repeated).fit(X)
    assert features.dim == 10
    narrow = Landmarks(Gaussian(2.0), np.linspace(0, 1, 300)[:, None]).fit(X[:, :1])
    assert narrow.dim < 20
    assert np.linalg.eigvalsh(narrow.penalty).min() > 0
    assert Landmarks(Linear(), X[:50]).fit(X).dim == 3


def test_near_copies_among_the_landmarks_do_not_spoil_a_long_run():
    """All rows are landmarks, so that the model is kernel ridge regression, each row five times."""
    wide = Gaussian(3.0)
    model = PKRR(Landmarks(wide, np.vstack([X, X + 1e-4])), lam=1e-3)
    model.run(np.tile(X, (5, 1)), np.tile(Y, (5, 1)))
    K = wide(X, X)
    assert_allclose(model.predict(X), K @ np.linalg.solve(K + 1e-3 / 5 * np.eye(200), Y), atol=1e-5)


def test_what_cannot_be_used_is_refused():
    with pytest.raises(ValueError, match=r"k\(a, a\) is 0"):
        Landmarks(Linear(), np.zeros((4, 3))).fit(X)
    with pytest.raises(ValueError, match="landmarks have 2 columns"):
        Landmarks(KERNEL, X[:5, :2]).fit(X)
    with pytest.raises(ValueError, match="kernel"):
        Landmarks("gaussian", X)
    with pytest.raises(ValueError, match="tol"):
        Landmarks(KERNEL, X, tol=1.0)
    with pytest.raises(ValueError, match="scale the inputs"):
        PKRR(WithConstant(Landmarks(Polynomial(9), X[:5])), lam=0.1).run(1e30 * X, Y)
    with pytest.raises(ValueError, match="does not move"):
        WithConstant(Nystrom(KERNEL, 5)).start(3)
    with pytest.raises(ValueError, match="feature map"):
        WithConstant(KERNEL)
    with pytest.raises(ValueError, match="fitted on 3"):
        WithConstant(Fourier(KERNEL, 8, seed=0).fit(X)).start(2)


def test_the_constant_is_the_last_feature():
    inner = Fourier(KERNEL, 8, seed=0)
    features = WithConstant(inner).fit(X)
    assert_array_equal(features.transform(X), np.column_stack([inner.fit_transform(X), np.ones(200)]))
    assert_array_equal(features.row(X[5]), features.transform(X)[5])
    assert features.penalty is None
    assert_array_equal(WithConstant().fit_transform(X), np.column_stack([X, np.ones(200)]))


def test_late_columns_are_followed_where_the_features_stay_as_many():
    wide = np.column_stack([X, np.zeros(200)])
    for pattern in (
        Landmarks(KERNEL, X[:9]),
        WithConstant(Landmarks(KERNEL, X[:9])),
        WithConstant(Nystrom(KERNEL, X[:9])),
    ):
        features = pattern.clone().fit(X)
        Z = features.transform(X)
        features.widen(4)
        assert_allclose(features.transform(wide), Z, rtol=1e-12, atol=1e-14)
    with pytest.raises(TypeError, match="more columns"):
        WithConstant().fit(X).widen(4)


@pytest.mark.parametrize("pattern", [Landmarks(KERNEL, X[:9]), WithConstant(Landmarks(KERNEL, X[:9]))], ids=repr)
def test_copies_and_files_map_alike(pattern):
    features = pattern.clone().fit(X)
    for twin in (copy.deepcopy(features), from_bytes(to_bytes(features))):
        assert_array_equal(twin.transform(X), features.transform(X))
