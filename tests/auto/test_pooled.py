"""The automatic learner from sums: parts add up, choices come from held-back rows, and it goes on online."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import nystream
from nystream.auto.pooled import PooledAuto, symmetric

SMALL = {"landmarks": 40, "big": 80, "rough": 60, "metric": 200}


def examples(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1.0, 100.0, 1.0, 1e-3]
    return X, np.sin(2 * X[:, 0]) + (X[:, 1] / 100) * X[:, 2] + 0.1 * rng.normal(size=n)


def test_sums_of_parts_are_the_sums_of_the_whole_and_decide_the_model():
    X, y = examples(900)
    Y = y[:, None]
    models = []
    for parts in (1, 5):
        model = PooledAuto(**SMALL)
        model.design(X[:300], Y[:300], 1)
        pieces = [model.sums(X[rows], Y[rows]) for rows in np.array_split(np.arange(900), parts)]
        first = {name: tuple(sum(p[name][i] for p in pieces) for i in (0, 1)) for name in pieces[0]}
        model.choose(X[:100], Y[:100], first)
        assert model.waiting == ["big"]
        more = model.sums(X, Y, model.waiting)
        models.append(model.conclude(X[:100], Y[:100], {**first, **more}, 900))
    assert models[0].lams_ == models[1].lams_
    assert_allclose(models[0].predict(X), models[1].predict(X), rtol=0, atol=1e-6)
    assert models[0].n_seen == 900


@pytest.mark.parametrize("name", ["std", "rough", "big"])
def test_each_ridge_is_the_ridge_of_all_rows_over_its_landmarks(name):
    X, y = examples(600)
    model = PooledAuto(**SMALL).fit(X, y)
    member, view = model.members_[name], model.views_[model.seen_in_[name]]
    kernel = nystream.Laplacian(1.0) if name == "rough" else nystream.Gaussian(member.width_)
    Z = np.hstack([kernel(view(X), member.points_), np.ones((600, 1))])
    penalty = np.zeros((Z.shape[1], Z.shape[1]))
    penalty[:-1, :-1] = kernel(member.points_, member.points_)
    penalty += np.diag(np.r_[np.full(len(member.points_), 1e-6), 1.0])
    penalty[-1, -1] = 1.0
    T = (y - model.shift_) / model.scale_
    w = np.linalg.solve(Z.T @ Z + model.lams_[name] * penalty, Z.T @ T)
    assert_allclose(member.predict(view(X))[:, 0], Z @ w, atol=1e-5)


def test_it_is_about_as_good_as_the_online_learner():
    X, y = examples(2000)
    test = examples(1000, seed=1)
    pooled, online = PooledAuto(metric=500).fit(X, y), nystream.Auto()
    online.run(X, y)
    errors = [np.mean((model.predict(test[0]) - test[1]) ** 2) for model in (pooled, online)]
    assert errors[0] < 1.2 * errors[1]
    low, high = pooled.predict_interval(test[0], 0.9)
    np.testing.assert_allclose(pooled.predict_quantile(test[0], [0.05, 0.95]).T, [low, high], atol=1e-12)
    assert 0.85 < np.mean((low <= test[1]) & (test[1] <= high)) < 0.95
    assert sum(pooled.weights().values()) == pytest.approx(1.0)


@pytest.mark.parametrize("classes", [2, 3])
def test_classes_have_probabilities_and_missing_values_are_no_error(classes):
    X, y = examples(1500)
    labels = np.digitize(y, [0.0] if classes == 2 else [-0.5, 0.5]).astype(float)
    X[::9, 2] = np.nan
    model = PooledAuto("classification", **SMALL).fit(X[:1000], labels[:1000])
    P = model.probabilities(X[1000:])
    assert P.shape == (500, classes)
    assert_allclose(P.sum(axis=1), 1.0)
    assert np.mean(P.argmax(axis=1) != labels[1000:]) < 0.3
    with pytest.raises(nystream.Unable, match="intervals"):
        model.predict_interval(X)


def test_it_goes_on_online_and_resumes_bit_for_bit():
    X, y = examples(900)
    model = PooledAuto(**SMALL).fit(X[:600], y[:600])
    twin = nystream.from_bytes(model.to_bytes())
    before = np.mean((model.predict(X[600:]) - y[600:]) ** 2)
    first, second = model.run(X[600:], y[600:]), twin.run(X[600:], y[600:])
    assert (first == second).all()
    assert model.n_seen == 900
    assert np.mean((model.predict(X[600:]) - y[600:]) ** 2) < before
    assert model.to_bytes() == twin.to_bytes()


def test_what_cannot_be_is_refused():
    X, y = examples(50)
    with pytest.raises(ValueError, match="does not begin row by row"):
        PooledAuto().run(X, y)
    with pytest.raises(ValueError, match="at least 2 rows"):
        PooledAuto().fit(X[:1], y[:1])
    with pytest.raises(ValueError, match="task"):
        PooledAuto("both")


def test_symmetric_quantiles_are_ranks_of_the_sizes_of_residuals():
    sizes = np.sort(np.abs(np.random.default_rng(0).normal(size=(50, 1))), axis=0)
    low, few, middle, high = symmetric(sizes, np.array([0.001, 0.05, 0.5, 0.95]))[0]
    assert np.isneginf(low)
    assert (few, middle) == (-high, 0.0)
    assert high == sizes[45, 0]  # the ceil(51 * 0.9)-th smallest
