"""Conformal: radii of the slow definition, coverage in short stretches after a change, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import ONS, PKRR, SILK, Auto, Conformal, Fourier, Gaussian, Model, Perceptron, Unable, from_bytes
from nystream.evaluate.metrics import Coverage
from oracles.conformal import aci, dtaci

FEATURES = Fourier(Gaussian(0.7), 40, seed=0)


def stream(n=500, seed=0, noise=0.2):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, 2))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] + noise * rng.normal(size=n)


def shown(model, X, y):
    """(n, 2) the ends before each label, and the predictions."""
    ends, p = np.empty((len(X), 2)), np.empty(len(X))
    for t, x in enumerate(X):
        ends[t] = np.ravel(model.predict_interval(x[None], model.coverage, ahead=1))
        p[t] = model.step(x, y[t])
    return ends, p


@pytest.mark.parametrize("coverage", [0.5, 0.9])
@pytest.mark.parametrize("method", ["aci", "dtaci"])
def test_radii_are_those_of_the_definition(method, coverage):
    X, y = stream()
    y[250:300] *= 4
    y[::40] = y[0]
    model = Conformal(PKRR(FEATURES, lam=0.1), coverage, method=method, window=60, rate=0.05)
    ends, p = shown(model, X, y)
    scores = np.abs(y - p).tolist()
    expected = aci(scores, coverage, 0.05, 60) if method == "aci" else dtaci(scores, coverage, 60)
    assert_allclose(ends[:, 1] - p, np.maximum(expected, 0), atol=1e-9)
    assert_allclose(p - ends[:, 0], np.maximum(expected, 0), atol=1e-9)
    assert np.isfinite(expected).sum() > 400


def test_predictions_are_those_of_the_learner():
    X, y = stream()
    inner, model = PKRR(FEATURES, lam=0.1), Conformal(PKRR(FEATURES, lam=0.1))
    assert_array_equal(model.run(X, y), inner.run(X, y))
    assert_array_equal(model.predict(X), inner.predict(X))
    assert model.regret() == inner.regret()


def test_many_rates_hold_the_coverage_of_short_stretches_where_one_rate_does_not():
    n = 4000
    X, y = stream(n, noise=0.0)
    y = y + (0.05 + np.abs(np.sin(np.arange(n) / 150))) * np.random.default_rng(1).normal(size=n)
    worst = {}
    for method in ("aci", "dtaci"):
        ends, _ = shown(Conformal(PKRR(FEATURES, lam=0.1), method=method), X, y)
        inside = (ends[:, 0] <= y) & (y <= ends[:, 1])
        worst[method] = np.convolve(inside, np.full(200, 1 / 200), "valid").min()
        assert abs(inside.mean() - 0.9) < 0.015
    assert worst["aci"] < 0.8 < worst["dtaci"]


def test_an_interval_is_infinite_before_there_are_scores():
    model = Conformal(PKRR(FEATURES))
    low, high = model.predict_interval(np.zeros((2, 2)))
    assert np.isneginf(low).all()
    assert np.isposinf(high).all()
    assert np.isnan(model.measured_coverage())
    assert model.coverage_bound() == 1.0


def test_several_targets_have_an_interval_each_and_a_coverage_each():
    X, y = stream(600)
    Y = np.column_stack([y, 100 * y])
    model = Conformal(PKRR(FEATURES, lam=0.1), 0.8)
    model.run(X, Y)
    low, high = model.predict_interval(X[:3], 0.8)
    assert low.shape == (3, 2)
    widths = (high - low)[0]
    assert_allclose(widths[1], 100 * widths[0], rtol=1e-6)
    assert_allclose(model.measured_coverage(), [0.8, 0.8], atol=0.05)


def test_metrics_of_intervals_and_quantiles_are_the_ends():
    X, y = stream()
    model = Conformal(PKRR(FEATURES, lam=0.1), 0.8)
    model.run(X, y)
    low, high = model.predict_interval(X[:5], coverage=0.8)
    assert_array_equal(model.predict_quantile(X[:5], [0.1, 0.9]), np.column_stack([low, high]))
    assert_array_equal(model.predict_quantile(X[:5], 0.9), high)
    assert_array_equal(model.predict_quantile(X[:5], 0.5), model.predict(X[:5]))
    assert Coverage(0.8).levels == pytest.approx((0.1, 0.9))
    with pytest.raises(ValueError, match="q must be a number greater than 0 and less than 1, or a list of such, got 1"):
        model.predict_quantile(X[:5], 1)
    with pytest.raises(ValueError, match="coverage must be"):
        model.predict_interval(X[:5], 1.0)


def test_other_coverages_are_nested_and_nearly_right():
    X, y = stream(3000)
    model = Conformal(PKRR(FEATURES, lam=0.1), 0.8)
    model.run(X[:2000], y[:2000])
    before = 0.0
    for coverage in (0.3, 0.5, 0.8, 0.9, 0.98):
        low, high = model.predict_interval(X[2000:], coverage)
        assert (high - low).min() >= before
        before = (high - low).max()
        assert abs(np.mean((low <= y[2000:]) & (y[2000:] <= high)) - coverage) < 0.06


def test_files_go_on_and_rows_with_names_and_gaps_have_intervals():
    X, y = stream(300)
    model = Conformal(PKRR(FEATURES, lam=0.1), window=50)
    model.run(X[:200], y[:200])
    resumed = from_bytes(model.to_bytes())
    for one in (model, resumed):
        one.run(X[200:], y[200:])
    assert_array_equal(model.predict_interval(X), resumed.predict_interval(X))
    named = Model(Conformal(Auto(), 0.8))
    rows = [{"a": float(a), "b": None if t % 9 == 0 else float(b)} for t, (a, b) in enumerate(X)]
    named.run(rows, y)
    low, high = named.predict_interval(rows[:4], 0.8, ahead=1)
    assert (low < high).all()


def test_what_cannot_be_done_is_refused_with_the_reason():
    for learner, message in [
        (Perceptron(Gaussian()), "does not predict numbers"),
        (SILK(Gaussian()), "does not predict numbers"),
        ("pkrr", "learner must be a learner"),
    ]:
        with pytest.raises(ValueError, match=message):
            Conformal(learner)
    for settings, message in [
        ({"coverage": 1.0}, "coverage must be"),
        ({"method": "split"}, "method must be one of 'dtaci', 'aci'; got 'split'"),
        ({"window": 0}, "window must be"),
        ({"rate": 0.0}, "rate must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            Conformal(ONS(), **settings)
    model = Conformal(PKRR(FEATURES))
    with pytest.raises(Unable, match="depend on the order of the labels"):
        model.merge(model.clone())
    assert {"predict_interval", "predict_quantile"} <= model.abilities
    assert "merge" not in model.abilities
