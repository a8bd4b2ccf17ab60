"""Nystrom features, with given landmarks and with landmarks taken from the stream."""

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import persist
from nystream.features import Nystrom
from nystream.kernels import Gaussian, Linear, Matern, Polynomial


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(40, 3))


def test_products_of_features_are_the_projected_kernel(X):
    kernel, A = Gaussian(1.5) + 0.1 * Polynomial(2), X[:15]
    Z = Nystrom(kernel, A).fit(X).transform(X)
    projected = kernel(X, A) @ np.linalg.solve(kernel(A, A), kernel(A, X))
    assert_allclose(Z @ Z.T, projected, rtol=1e-7, atol=1e-8)
    assert_allclose((Z @ Z.T)[:15], kernel(A, X), rtol=1e-8, atol=1e-9)


def test_residual_is_what_the_features_miss(X):
    features = Nystrom(Matern(), X[:15]).fit(X)
    Z = features.transform(X)
    assert_allclose(features.residual(X), 1 - (Z * Z).sum(1), atol=1e-12)
    assert features.residual(X)[:15].max() < 1e-12


def test_a_number_takes_the_first_independent_rows(X):
    stream = np.vstack([X[:4], X[:4], X[2:]])
    counted, given = Nystrom(Gaussian(), 10).fit(stream), Nystrom(Gaussian(), X[:10]).fit(X)
    assert_array_equal(counted.points, X[:10])
    assert_array_equal(counted.transform(X), given.transform(X))
    assert counted.settled
    assert given.settled


def test_a_number_beyond_what_there_is_takes_all(X):
    features = Nystrom(Linear(), 10).fit(X)
    assert features.dim == 3
    assert not features.settled


def test_collecting_moves_the_map_by_isometries_that_carry_weights(X):
    """Weights learnt on few landmarks give the same predictions after the transport, on every row of their span."""
    features = Nystrom(Gaussian(), 6)
    features.start(3)
    w = np.zeros(0)
    for t, x in enumerate(np.repeat(X[:8], 2, axis=0)):
        before = features.transform(X) @ w
        change = features.observe(x)
        assert (change is not None) == (t % 2 == 0 and t < 12)
        if change is not None:
            T = change.transport
            assert T.shape == (features.dim, features.dim - 1)
            assert_array_equal(T.T @ T, np.eye(features.dim - 1))
            w = T @ w
            assert_allclose(features.transform(X) @ w, before, rtol=1e-10, atol=1e-12)
            w = w + np.arange(1.0, features.dim + 1)
    assert features.dim == 6


def test_partial_fit_in_pieces_equals_fit(X):
    whole, pieces = Nystrom(Gaussian(), 20).fit(X), Nystrom(Gaussian(), 20)
    for i in range(0, 40, 7):
        pieces.partial_fit(X[i : i + 7])
    assert_array_equal(whole.transform(X), pieces.transform(X))
    refitted = pieces.fit(X[::-1])
    assert_array_equal(refitted.points, X[::-1][:20])


def test_rows_blocks_and_given_memory_agree(X):
    features = Nystrom(Matern(0.5), X[:9]).fit(X)
    Z = features.transform(X)
    assert_allclose(np.stack([features.row(x) for x in X]), Z, rtol=1e-12, atol=1e-14)
    out = np.empty((40, 9))
    assert features.transform(np.asfortranarray(X), out) is out
    assert_array_equal(out, Z)


def test_copies_share_nothing_and_go_on_where_they_were(X):
    features = Nystrom(Gaussian(), 20).fit(X[:5])
    for twin in (copy.deepcopy(features), persist.from_bytes(persist.to_bytes(features))):
        assert_array_equal(twin.transform(X), features.transform(X))
        twin.partial_fit(X)
        assert (twin.dim, features.dim) == (20, 5)
    fixed = Nystrom(Gaussian(), X[:5]).fit(X)
    again = persist.from_bytes(persist.to_bytes(fixed))
    assert_array_equal(again.landmarks, fixed.landmarks)
    assert_array_equal(again.transform(X), fixed.transform(X))


def test_more_columns_of_zeros_change_no_feature(X):
    features = Nystrom(Gaussian(), 10).fit(X[:6])
    Z = features.transform(X)
    features.widen(4)
    wide = np.hstack([X, np.zeros((40, 1))])
    assert_allclose(features.transform(wide), Z, rtol=1e-12, atol=1e-13)
    assert features.observe(np.ones(4)) is not None


def test_scikit_learn_takes_it_in_a_pipeline(X):
    sk = pytest.importorskip("sklearn")
    pipeline = pytest.importorskip("sklearn.pipeline")
    linear = pytest.importorskip("sklearn.linear_model")
    y = np.sin(2 * X[:, 0])
    model = pipeline.make_pipeline(Nystrom(Gaussian(), 40), linear.Ridge(1e-6, fit_intercept=False)).fit(X, y)
    assert np.abs(model.predict(X) - y).max() < 1e-3  # as many landmarks as rows interpolate
    assert sk.base.clone(model).get_params()["nystrom__landmarks"] == 40


def test_bad_arguments_are_refused_with_the_way_out(X):
    for landmarks in (0, -3, 2.5, True, None, "all"):
        with pytest.raises(ValueError, match="landmarks must be a whole number of at least 1, got"):
            Nystrom(Gaussian(), landmarks)
    with pytest.raises(ValueError, match=r"kernel must be a kernel such as Gaussian\(1.0\), got 'rbf'"):
        Nystrom("rbf", 5)
    with pytest.raises(ValueError, match="landmarks has nan at row 0, column 1"):
        Nystrom(Gaussian(), [[0.0, np.nan]])
    with pytest.raises(ValueError, match="landmarks must be two-dimensional"):
        Nystrom(Gaussian(), [1.0, 2.0])
    with pytest.raises(ValueError, match="landmarks have 2 columns, but the rows have 3"):
        Nystrom(Gaussian(), X[:4, :2]).fit(X)
    with pytest.raises(ValueError, match="no landmark can be used"):
        Nystrom(Linear(), np.zeros((2, 3))).fit(X)
    with pytest.raises(ValueError, match="has seen no data yet"):
        Nystrom(Gaussian(), 5).transform(X)


def test_before_it_has_seen_data_it_says_so(X):
    for ask in (lambda f: f.points, lambda f: f.residual(X), lambda f: f.transform(X)):
        with pytest.raises(ValueError, match="this Nystrom has seen no data yet; call fit"):
            ask(Nystrom(Gaussian(), 3))
