"""fit_bulk: the model of one pass for least squares on features and dictionaries, and what it counts."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import oracles
from nystream import PKAWV, PKRR, Fourier, Gaussian, NystromPKAWV, NystromPKRR, Taylor, from_bytes
from nystream.learners.families.bulk import BULK

G = Gaussian(1.0)


def stream(n=600, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n)


def test_it_is_ridge_regression_by_definition():
    X, y = stream(120)
    w = np.random.default_rng(1).integers(0, 3, 120).astype(float)
    features = Fourier(G, 30, seed=0)
    model = PKRR(features, lam=0.3).fit_bulk(X, y, w)
    Q = stream(20, seed=2)[0]
    Z, A = features.fit_transform(np.vstack([X, Q])), 0.3 * np.eye(30)
    A += (Z[:120] * w[:, None]).T @ Z[:120]
    assert_allclose(model.predict(Q), Z[120:] @ np.linalg.solve(A, Z[:120].T @ (w * y)), atol=1e-10)
    assert model.n_seen == np.count_nonzero(w)


@pytest.mark.parametrize(
    "pattern",
    [
        PKRR(Fourier(G, 80, seed=0), lam=1e-3),
        PKAWV(Taylor(G, degree=5), lam=0.01, clip=2.0),
        NystromPKRR(G, lam=0.1, mu=0.5, seed=0),
        NystromPKRR(G, lam=0.1, dictionary="ald", nu=0.1),
        NystromPKAWV(G, lam=0.1, dictionary=stream(40)[0]),
        NystromPKAWV(G, lam=0.1, mu=1.0, seed=0, memory="exact"),
    ],
    ids=repr,
)
def test_more_than_one_block_two_targets_and_a_stream_after_it(pattern):
    X, y = stream(BULK + 700)
    Y = np.column_stack([y, X[:, 1] ** 2])
    passed, bulk = pattern.clone(), pattern.clone()
    passed.run(X[:-200], Y[:-200])
    bulk.fit_bulk(X[:-200], Y[:-200])
    assert bulk.size == passed.size
    assert_allclose(bulk.effective_dimension(), passed.effective_dimension(), atol=1e-7)
    if isinstance(pattern, NystromPKAWV):
        assert_allclose(bulk.missed(), passed.missed(), rtol=1e-6, atol=1e-6)
    assert_allclose(from_bytes(bulk.to_bytes()).run(X[-200:], Y[-200:]), passed.run(X[-200:], Y[-200:]), atol=1e-8)


def test_in_the_middle_of_a_stream_the_regret_is_that_of_the_predicted_rows():
    X, y = stream(400)
    model = PKRR(Fourier(G, 40, seed=0), lam=0.5)
    p = model.run(X[:100], y[:100])
    model.fit_bulk(X[100:300], y[100:300])
    q = model.run(X[300:], y[300:])
    Z = Fourier(G, 40, seed=0).fit_transform(X)

    def best(rows):
        return oracles.best_in_hindsight(Z[rows] @ Z[rows].T, y[rows, None], 0.5)

    gained = best(slice(0, 300)) - best(slice(0, 100))
    loss = ((p - y[:100]) ** 2).sum() + gained + ((q - y[300:]) ** 2).sum()
    assert_allclose(model.regret(), loss - best(slice(0, 400)), atol=1e-8)
    assert 0 < model.regret() <= model.regret_bound()


def test_exact_memory_takes_a_file_only_at_the_start():
    X, y = stream(60)
    model = NystromPKRR(G, memory="exact", seed=0)
    model.run(X[:10], y[:10])
    before = model.to_bytes()
    with pytest.raises(ValueError, match="fit_bulk comes before all other rows"):
        model.fit_bulk(X, y)
    assert model.to_bytes() == before


def test_bad_rows_leave_a_fresh_model_fresh():
    X, y = stream(30)
    X[7, 1] = np.nan
    model = PKRR(Fourier(G, 20, seed=0))
    with pytest.raises(ValueError, match="X"):
        model.fit_bulk(X, y)
    assert model.n_seen == 0
    assert model.fit_bulk(X[:0], y[:0]).n_seen == 0
    model.fit_bulk(X[8:, :2], y[8:])  # still free to begin with other columns
    assert model.n_seen == 22
