"""Nystrom features on moving landmarks: the map, its moves, and the weights that are carried along."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import persist
from nystream.features import AdaptiveNystrom, Nystrom
from nystream.kernels import Gaussian, Linear, Matern, Polynomial
from nystream.learners.families.feature import FeatureLearner
from nystream.solvers import OGD
from oracles.landmarks import eigenpairs, ridge

SOLVERS = ("eigh", "warm", "rank2")


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(120, 3))


@pytest.mark.parametrize("rank", [None, 7, 20])
def test_features_are_the_eigenvectors_over_their_roots(X, rank):
    features = AdaptiveNystrom(Gaussian(), X[:20], rank, np.inf).fit(X)
    r = rank or 16
    K = Gaussian()(X[:20], X[:20])
    P = eigenpairs(K, r)[2]
    Z = features.transform(X)
    assert Z.shape == (120, r)
    expected = Gaussian()(X, X[:20]) @ P
    assert_allclose(Z @ Z.T, expected @ expected.T, rtol=0, atol=1e-10)  # signs of eigenvectors are anybody's choice
    if r == 20:
        assert_allclose(Z[:20] @ Z[:20].T, K, rtol=0, atol=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("theta", [None, 0.0, 1e-3])
@pytest.mark.parametrize("rank", [5, 16, 20])
def test_the_transport_is_least_squares_at_the_new_landmarks(X, solver, theta, rank):
    """w_new = argmin |A w - targets|^2 + theta |w|^2, A the features and targets the old values there."""
    kernel = Matern(1.5, 1.0)
    features = AdaptiveNystrom(kernel, X[:20], rank, 0.0, solver=solver, theta=theta)
    features.start(3)
    w = np.random.default_rng(1).normal(size=(rank, 2))
    for x in X[20:60]:
        old = copy.deepcopy(features)
        change = features.observe(x)
        A = features.transform(features.points)
        ridge_of = 1e-8 * features.pairs_.S_[0] if theta is None else theta
        target = old.transform(features.points) @ w
        assert_allclose(change.transport @ w, ridge(A, target, ridge_of), rtol=0, atol=1e-8)
    assert features.moves == 40


@pytest.mark.parametrize("solver", SOLVERS)
def test_without_truncation_the_function_is_kept_at_the_new_landmarks(X, solver):
    """Rank m and theta 0: the orthogonal projection of the old function on the new span."""
    features = AdaptiveNystrom(Gaussian(), X[:20], 20, 0.0, theta=0.0, tol=0.0, solver=solver)
    features.start(3)
    w = np.random.default_rng(2).normal(size=20)
    for x in X[20:40]:
        old = copy.deepcopy(features)
        before = w
        w = features.observe(x).transport @ w
        assert_allclose(features.transform(features.points) @ w, old.transform(features.points) @ before, atol=1e-8)
        assert np.linalg.norm(w) <= np.linalg.norm(before) * (1 + 1e-9)  # a projection


def test_a_landmark_that_moves_to_where_it_is_changes_no_prediction(X):
    features = AdaptiveNystrom(Gaussian(), X[:20], 20, 0.0, theta=0.0)
    features.start(3)
    w = np.random.default_rng(3).normal(size=20)
    before = features.transform(X) @ w
    change = features.move(4, 1e-300, features.points[4].copy())
    assert change is not None
    assert_allclose(features.transform(X) @ (change.transport @ w), before, rtol=0, atol=1e-10)


def test_weights_that_are_not_carried_mean_another_function(X):
    features = AdaptiveNystrom(Gaussian(), X[:20], 20, 0.0)
    features.start(3)
    w = np.random.default_rng(3).normal(size=20)
    before = features.transform(X) @ w
    change = features.observe(X[30])
    kept, carried = features.transform(X) @ w, features.transform(X) @ (change.transport @ w)
    assert np.linalg.norm(kept - before) > 3 * np.linalg.norm(carried - before)


def test_rows_below_eps_and_rows_on_a_landmark_change_nothing(X):
    features = AdaptiveNystrom(Gaussian(), X[:20], eps=1e-6)
    features.start(3)
    Z = features.transform(X)
    assert features.observe(X[3] + 1e-4) is None
    assert features.observe(X[3]) is None
    assert_array_equal(features.transform(X), Z)
    assert features.moves == 0
    always = AdaptiveNystrom(Gaussian(), X[:20], eps=0.0)
    always.start(3)
    assert always.observe(X[3]) is None
    assert always.moves == 1
    assert always.motion_.counts_[3] == 2


@pytest.mark.parametrize("solver", SOLVERS)
def test_fitting_a_block_moves_the_landmarks_as_single_rows_do(X, solver):
    block, rows = (AdaptiveNystrom(Gaussian(), 20, 6, 0.2, solver=solver) for _ in range(2))
    block.fit(X)
    rows.start(3)
    for x in X:
        rows.observe(x)
    assert_array_equal(block.points, rows.points)
    assert block.moves == rows.moves > 20
    assert_allclose(block.transform(X), rows.transform(X), rtol=0, atol=1e-9)
    pieces = AdaptiveNystrom(Gaussian(), 20, 6, 0.2, solver=solver)
    for i in range(0, 120, 13):
        pieces.partial_fit(X[i : i + 13])
    assert_allclose(pieces.transform(X), rows.transform(X), rtol=0, atol=1e-9)


def test_while_it_collects_it_is_the_plain_nystrom_map_and_carries_weights(X):
    stream = np.vstack([X[:5], X[:5], X[5:]])  # 20 landmarks, 15 of them different
    features, plain = AdaptiveNystrom(Gaussian(), 20, 20, np.inf), Nystrom(Gaussian(), 20)
    features.start(3)
    plain.start(3)
    w = np.zeros(0)
    for t, x in enumerate(stream[:20]):
        before = features.transform(X) @ w
        change = features.observe(x)
        plain.observe(x)
        if change is not None:
            w = change.transport @ w
        assert_allclose(features.transform(X) @ w, before, rtol=0, atol=1e-7 if t == 19 else 1e-12)
        if t < 19:
            assert_array_equal(features.transform(X), plain.transform(X))
            w = w + 0.1
    assert not features.collecting
    assert features.settled
    assert_array_equal(features.points, stream[:20])
    assert (features.dim, plain.dim) == (20, 15)


class Recipe(FeatureLearner):
    """The map in a learner that is nothing but a map and a solver."""

    def _parts(self):
        return AdaptiveNystrom(Gaussian(), 15, 15, 0.3), OGD("squared", eta=0.2)


def test_a_learner_of_a_map_and_a_solver_follows_it_through_both_phases(X):
    y = np.sin(2 * X[:, 0])
    block, rows = Recipe(), Recipe()
    P = block.run(X, y)
    assert block.features_.moves > 30
    assert_allclose(P, [rows.step(x, label) for x, label in zip(X, y, strict=True)], rtol=0, atol=1e-12)
    assert np.mean((P[60:] - y[60:]) ** 2) < 0.7 * y.var()


def test_repeated_landmarks_have_features_that_are_zero(X):
    features = AdaptiveNystrom(Gaussian(), np.repeat(X[:3], 4, axis=0), 10, np.inf).fit(X)
    Z = features.transform(X)
    assert (np.abs(Z).max(0) > 0).sum() == 3
    assert_allclose(
        Z @ Z.T,
        Nystrom(Gaussian(), X[:3]).fit(X).transform(X) @ Nystrom(Gaussian(), X[:3]).fit(X).transform(X).T,
        atol=1e-9,
    )
    assert np.isfinite(AdaptiveNystrom(Linear(), np.zeros((4, 3)), eps=0.0).fit(X).transform(X)).all()


def test_moving_landmarks_approximate_a_drifting_stream_better():
    X = np.random.default_rng(0).normal(size=(1000, 2)) + np.linspace(0, 3, 1000)[:, None]
    K = Gaussian(1.0)(X, X)
    error = {}
    for eps in (0.0, 0.2, np.inf):
        Z = AdaptiveNystrom(Gaussian(1.0), 30, eps=eps).fit(X).transform(X)
        error[eps] = np.linalg.norm(K - Z @ Z.T) / np.linalg.norm(K)
    assert_allclose([error[e] for e in (0.0, 0.2, np.inf)], [0.1454, 0.1143, 0.2958], atol=1e-3)  # recorded


@pytest.mark.parametrize("seen", [8, 60])
def test_copies_share_nothing_and_go_on_where_they_were(X, seen):
    features = AdaptiveNystrom(Polynomial(2), 20, eps=0.5).fit(X[:seen])
    for twin in (copy.deepcopy(features), persist.from_bytes(persist.to_bytes(features))):
        assert_array_equal(twin.transform(X), features.transform(X))
        points = features.points.copy()
        twin.partial_fit(X[seen:])
        assert_array_equal(features.points, points)
        again = copy.deepcopy(features).partial_fit(X[seen:])
        assert_array_equal(twin.transform(X), again.transform(X))
        assert twin.moves == again.moves > 10


@pytest.mark.parametrize("seen", [8, 60])
def test_more_columns_of_zeros_change_no_feature(X, seen):
    features = AdaptiveNystrom(Gaussian(), 20, eps=0.3).fit(X[:seen])
    Z = features.transform(X)
    features.widen(5)
    wide = np.hstack([X, np.zeros((120, 2))])
    assert_allclose(features.transform(wide), Z, rtol=1e-12, atol=1e-13)
    features.partial_fit(wide[seen:])
    assert_allclose(features.points[:, :3], AdaptiveNystrom(Gaussian(), 20, eps=0.3).fit(X).points, atol=1e-14)


def test_a_fixed_map_keeps_the_rotation_alone(X):
    fixed, moving = (AdaptiveNystrom(Gaussian(), 50, 40, eps, solver="eigh").fit(X) for eps in (np.inf, 0.1))
    assert fixed.nbytes == 8 * (50 * 3 + 50 + 40 * 50 + 40)
    assert moving.nbytes == fixed.nbytes + 8 * (50 * 50 + 50 * 40)
    reflected = AdaptiveNystrom(Gaussian(), 50, 40, 0.1, solver="reflect").fit(X)
    assert reflected.nbytes == fixed.nbytes + 8 * (50 * 50 + 10 * 50)


def test_scikit_learn_takes_it_in_a_pipeline(X):
    sk = pytest.importorskip("sklearn")
    pipeline = pytest.importorskip("sklearn.pipeline")
    linear = pytest.importorskip("sklearn.linear_model")
    y = np.sin(2 * X[:, 0])
    map = AdaptiveNystrom(Gaussian(), 120, 120, np.inf, tol=0.0)
    model = pipeline.make_pipeline(map, linear.Ridge(1e-9, fit_intercept=False)).fit(X, y)
    assert np.abs(model.predict(X) - y).max() < 1e-3  # as many landmarks as rows interpolate
    assert sk.base.clone(model).get_params()["adaptivenystrom__landmarks"] == 120


def test_bad_arguments_are_refused_with_the_way_out(X):
    for landmarks in (0, 2.5, None):
        with pytest.raises(ValueError, match="landmarks must be a whole number of at least 1, got"):
            AdaptiveNystrom(Gaussian(), landmarks)
    with pytest.raises(ValueError, match="rank must be at most the number of landmarks, 4, got 5"):
        AdaptiveNystrom(Gaussian(), X[:4], 5)
    with pytest.raises(ValueError, match="kernel must be a kernel"):
        AdaptiveNystrom("rbf", 5)
    with pytest.raises(ValueError, match="landmarks have 3 columns, but the rows have 2"):
        AdaptiveNystrom(Gaussian(), X[:4]).fit(X[:, :2])
    with pytest.raises(ValueError, match="has seen no data yet"):
        AdaptiveNystrom(Gaussian(), 5).transform(X)
