"""KORS as a feature map: coordinates of the kept atoms, coins, isometric growth, shrinking and merging."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from nystream import persist
from nystream.dictionary import KORS as Dictionary
from nystream.features import KORS, Nystrom
from nystream.kernels import Gaussian, Linear, Matern
from nystream.learners import ONS
from oracles.newton import Coins


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (400, 2))
    X[200::5] = X[:40]
    return X


def test_the_atoms_are_those_that_the_coins_keep(X):
    """U_1..U_T = default_rng(seed).random(T); duplicates that are kept add no coordinate."""
    features = KORS(Gaussian(0.3), 0.1, seed=3).fit(X)
    dictionary = Dictionary(Gaussian(0.3), 0.1)
    dictionary.start(2)
    _, _, kept = dictionary.run(X, np.random.default_rng(3).random(400))
    assert_array_equal(features.sampler_.points, X[kept])
    assert_array_equal(features.points, Nystrom(Gaussian(0.3), X[kept]).fit(X).points)
    assert features.dim < kept.sum() < 300
    assert_allclose(features.transform(X), Nystrom(Gaussian(0.3), features.points).fit(X).transform(X), atol=1e-9)
    assert features.u_ == np.random.default_rng(3).random(401)[-1]


def test_golden_dictionary():
    X, _, _ = oracles.golden_stream()
    features = KORS(Gaussian(0.3), 0.5, seed=Coins(oracles.golden_uniforms())).fit(X)
    assert features.sampler_.n == features.dim == 38


def test_observing_rows_equals_fitting_blocks_and_moves_by_isometries(X):
    fitted, rows = KORS(Gaussian(0.3), 0.1, seed=3).fit(X), KORS(Gaussian(0.3), 0.1, seed=3)
    rows.start(2)
    w = np.zeros(0)
    for x in X:
        before = rows.transform(X[:50]) @ w
        change = rows.observe(x)
        if change is None:
            continue
        T = change.transport
        assert_array_equal(T, np.eye(rows.dim, rows.dim - 1))
        assert_allclose(rows.transform(X[:50]) @ (T @ w), before, atol=1e-9)
        assert_allclose(rows.residual(x[None]), 0.0, atol=1e-12)
        w = np.random.default_rng(rows.dim).normal(size=rows.dim)
    assert rows.dim == fitted.dim
    assert_allclose(rows.transform(X), fitted.transform(X), atol=1e-9)
    pieces = KORS(Gaussian(0.3), 0.1, seed=3)
    for i in range(0, 400, 33):
        pieces.partial_fit(X[i : i + 33])
    assert_allclose(pieces.transform(X), fitted.transform(X), atol=1e-9)


def test_what_the_features_miss_is_far_below_mu():
    """|(I - P) C (I - P)| <= mu eps/(1 - eps) with theory's beta; here beta is 2 and the margin large."""
    X = np.random.default_rng(1).uniform(-1, 1, (4000, 1))
    features = KORS(Gaussian(0.5), 1.0, beta=2.0, seed=0).fit(X)
    K = Gaussian(0.5)(X[::4], X[::4]) - features.transform(X[::4]) @ features.transform(X[::4]).T
    assert features.dim < 20
    assert np.linalg.eigvalsh(K)[-1] * 4 < 0.05


def test_a_full_map_is_settled_and_a_learner_then_runs_whole_blocks(X):
    y = np.sin(3 * X[:, 0])
    block, rows = (ONS(KORS(Gaussian(0.3), 0.01, max_atoms=25, seed=0), clip=1.0) for _ in range(2))
    expected = [rows.step(a, b) for a, b in zip(X, y, strict=True)]
    assert_allclose(block.run(X, y), expected, atol=1e-9)
    assert block.features_.settled
    assert block.size == 25
    assert block.features_.observe(np.array([9.0, 9.0])) is None
    assert not KORS(Gaussian(0.3), 0.01, max_atoms=25).settled


def test_an_unlimited_map_grows_with_its_learner(X):
    y = np.sin(3 * X[:, 0])
    block, rows = (ONS(KORS(Gaussian(0.3), 0.1, seed=0), clip=1.0) for _ in range(2))
    assert_allclose(block.run(X, y), [rows.step(a, b) for a, b in zip(X, y, strict=True)], atol=1e-9)
    assert block.size == KORS(Gaussian(0.3), 0.1, seed=0).fit(X).dim
    assert np.mean((block.predict(X) - y) ** 2) < 0.1 * y.var()


def test_shrinking_and_merging_keep_the_span(X):
    whole = KORS(Gaussian(0.5), 0.1, beta=3.0, seed=0).fit(X)
    atoms = whole.sampler_.n
    whole.shrink()
    assert whole.sampler_.n < atoms
    parts = [KORS(Gaussian(0.5), 0.1, beta=3.0, seed=i).fit(part) for i, part in enumerate(np.split(X, 4))]
    total = sum(part.sampler_.n for part in parts)
    merged = parts[0].merge(*parts[1:])
    assert merged is parts[0]
    assert merged.dim <= merged.sampler_.n < 0.7 * total
    for features in (whole, merged):
        assert features.transform(X).shape == (400, features.dim)
        assert features.residual(X).mean() < 0.02
    again = merged.partial_fit(X[:50])
    assert again.dim >= merged.dim
    with pytest.raises(ValueError, match="has seen no data yet"):
        merged.merge(KORS(Gaussian(0.5), 0.1, beta=3.0))
    with pytest.raises(ValueError, match="equal parameters"):
        merged.merge(KORS(Gaussian(0.5), 0.2, beta=3.0, seed=0).fit(X))


def test_copies_share_nothing_and_go_on_with_the_pending_coin(X):
    features = KORS(Matern(), 0.1, seed=5).fit(X[:100])
    for twin in (copy.deepcopy(features), persist.from_bytes(persist.to_bytes(features))):
        assert_array_equal(twin.transform(X), features.transform(X))
        reference = KORS(Matern(), 0.1, seed=5).fit(X)
        twin.partial_fit(X[100:])
        assert_allclose(twin.transform(X), reference.transform(X), atol=1e-9)
        assert features.dim < twin.dim
    assert features.nbytes > 8 * features.dim**2


def test_more_columns_of_zeros_change_no_feature(X):
    features = KORS(Gaussian(0.5), 0.1, seed=0).fit(X[:100])
    Z = features.transform(X)
    features.widen(3)
    assert_allclose(features.transform(np.hstack([X, np.zeros((400, 1))])), Z, atol=1e-12)
    features.partial_fit(np.ones((3, 3)))


def test_hard_rows_leave_everything_finite():
    rng = np.random.default_rng(2)
    X = np.vstack([np.zeros((100_000, 2)), 1e-9 * rng.normal(size=(50, 2)), 1e6 * rng.normal(size=(20, 2))])
    features = KORS(Gaussian(0.5), 1e-8, seed=0).fit(X)
    assert np.isfinite(features.transform(X[-100:])).all()
    assert features.dim < 40
    linear = KORS(Linear(), 1.0, seed=0).fit(np.vstack([np.zeros((5, 2)), 1e6 * rng.normal(size=(20, 2))]))
    assert linear.dim == 2
    empty = KORS(Linear(), 1.0, seed=0).fit(np.zeros((5, 2)))
    assert empty.transform(np.ones((3, 2))).shape == (3, 0)


def test_scikit_learn_takes_it_in_a_pipeline(X):
    pipeline = pytest.importorskip("sklearn.pipeline")
    linear = pytest.importorskip("sklearn.linear_model")
    y = np.sin(2 * X[:, 0])
    model = pipeline.make_pipeline(KORS(Gaussian(0.5), 0.01, seed=0), linear.Ridge(1e-6, fit_intercept=False)).fit(X, y)
    assert np.abs(model.predict(X) - y).max() < 0.05


def test_bad_arguments_are_refused_with_the_way_out():
    with pytest.raises(ValueError, match="kernel must be a kernel such as"):
        KORS("rbf", 1.0)
    for name, bad in [("mu", 0.0), ("eps", 1.0), ("beta", 0.0), ("max_atoms", 0), ("seed", -1)]:
        with pytest.raises(ValueError, match=f"{name} must be"):
            KORS(Gaussian(), **{"mu": 1.0, name: bad})
