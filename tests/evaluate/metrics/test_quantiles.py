"""Metrics of quantiles and intervals against closed forms and slow sums, and their way through the evaluation loop."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest
from numpy.testing import assert_allclose

import nystream
from nystream import Auto, prequential
from nystream.auto.recipe import Recipe
from nystream.evaluate.metrics import CRPS, METRICS, Coverage, Pinball, Width, Windowed, Winkler

SMALL = Recipe((1, 2, 5, 20, 60), landmarks=15, big=30, small=10, ring=40, refresh=25, window=30, metric=50)
NORMAL = NormalDist()


def closed(y, mean, deviation):
    """CRPS of a normal distribution."""
    z = (y - mean) / deviation
    return deviation * (z * (2 * NORMAL.cdf(z) - 1) + 2 * NORMAL.pdf(z) - 1 / math.sqrt(math.pi))


def normal(levels, mean, deviation):
    return mean[:, None] + deviation[:, None] * np.array([NORMAL.inv_cdf(q) for q in levels])


def test_crps_of_normal_forecasts_is_that_of_the_closed_form():
    rng = np.random.default_rng(0)
    mean, deviation = rng.normal(size=500), rng.uniform(0.5, 2.0, 500)
    y = mean + deviation * rng.normal(size=500)
    metric = CRPS()
    found = metric.over(y, normal(metric.levels, mean, deviation))
    assert_allclose(found, np.mean([closed(*row) for row in zip(y, mean, deviation, strict=True)]), rtol=0.01)
    worse = metric.over(y, normal(metric.levels, mean, 2 * deviation))
    assert worse > 1.05 * found
    assert_allclose(metric.over(y, np.repeat(mean[:, None], 20, axis=1)), np.abs(y - mean).mean())


def test_the_levels_of_crps_are_middles_of_equal_parts():
    assert_allclose(CRPS().levels, np.arange(0.025, 1, 0.05))


def test_pinball_and_intervals_are_what_is_written():
    y = np.array([1.0, 2.0, 5.0])
    assert_allclose(Pinball(0.8).over(y, np.array([[2.0], [1.0], [1.0]])), (0.2 * 1 + 0.8 * 1 + 0.8 * 4) / 3)
    ends = np.array([[0.0, 2.0], [0.0, 1.0], [5.0, 9.0]])
    assert Coverage(0.8).over(y, ends) == pytest.approx(2 / 3)
    assert Width(0.8).over(y, ends) == pytest.approx(7 / 3)
    assert Winkler(0.8).over(y, ends) == pytest.approx((2 + 1 + 10 * 1 + 4) / 3)
    assert Winkler(0.8).over(y, ends, [1.0, 0.0, 1.0]) == pytest.approx(3.0)


def test_several_targets_count_alike_and_rows_without_quantiles_do_not_count():
    Y = np.array([[1.0, 10.0], [1.0, 10.0], [2.0, 20.0]])
    ends = np.array([[[0.0, 2.0], [0.0, 5.0]], [[-np.inf, 2.0], [0.0, 50.0]], [[np.nan] * 2, [0.0, 5.0]]])
    assert Coverage().over(Y, ends) == 0.5
    assert Width().over(Y, ends) == 3.5
    assert math.isnan(Width().over(Y[1:], ends[1:]))


def test_columns_name_what_is_not_the_default():
    assert [Coverage(0.5).column, Pinball(0.1).column, Width().column] == ["coverage(0.5)", "pinball(0.1)", "width"]
    assert Windowed(Coverage(), 10).levels == Coverage().levels
    for wrong in (0, 1, 1.5):
        with pytest.raises(ValueError, match="coverage must be"):
            Coverage(wrong)
    with pytest.raises(ValueError, match="crps takes 20 quantiles for each label"):
        CRPS().update([1.0], [[1.0, 2.0]])


def data(targets=1):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 2))
    Y = X @ rng.normal(size=(2, targets)) + 0.3 * rng.normal(size=(150, targets))
    return X, Y if targets > 1 else Y[:, 0]


NAMES = [name for name, kind in METRICS.items() if name in ("crps", "pinball", "coverage", "width", "winkler")]


@pytest.mark.parametrize("targets", [1, 2])
@pytest.mark.parametrize("delay", [0, 3])
def test_the_loop_asks_for_quantiles_before_each_label(targets, delay):
    X, Y = data(targets)
    found = prequential((X, Y), Auto(recipe=SMALL), [*NAMES, "mse", "crps@50"], every=50, block=7, delay=delay)
    again = prequential((X, Y), Auto(recipe=SMALL), [*NAMES, "mse", "crps@50"], every=50, block=64, delay=delay)
    metrics, model, waiting = [METRICS[name]() for name in NAMES], Auto(recipe=SMALL, delay=delay), []
    for x, y in zip(X, Y, strict=True):
        if model.n_seen:
            for metric in metrics:
                metric.update(y[None] if targets > 1 else [y], model.predict_quantile(x[None], list(metric.levels), 1))
        waiting.append((x, y))
        if len(waiting) > delay:
            model.step(*waiting.pop(0))
    for name, metric in zip(NAMES, metrics, strict=True):
        assert_allclose(found.final[name], metric.value, rtol=1e-12)
        assert_allclose(found[name], again[name], rtol=0, atol=0)
    assert "coverage" not in found.directions
    assert np.isfinite(found.final["crps@50"])


def test_learners_without_quantiles_are_refused_and_models_with_tables_are_not():
    X, y = data()
    with pytest.raises(ValueError, match="crps needs quantiles, and this learner has none; Auto has"):
        prequential((X, y), nystream.PKRR(nystream.Fourier(nystream.Gaussian(1.0), 20, seed=0)), "crps")
    with pytest.raises(ValueError, match="needs quantiles"):
        prequential((X, (y > 0).astype(float)), Auto(task="classification"), "coverage")
    schema = nystream.Schema({"a": "number", "b": "number"}, target="y", task="regression")
    model = nystream.Model(Auto(recipe=SMALL), schema)
    table = {"a": X[:, 0], "b": X[:, 1]}
    pandas = pytest.importorskip("pandas")
    found = prequential((pandas.DataFrame(table), y), model, ["crps", "mse"], block=40)
    alone = prequential((X, y), Auto(recipe=SMALL), ["crps", "mse"], block=40)
    assert_allclose(found.final["crps"], alone.final["crps"], rtol=1e-9)
