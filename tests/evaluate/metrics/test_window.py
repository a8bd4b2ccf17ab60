import copy

import numpy as np
import pytest
from grids import grid
from numpy.testing import assert_equal

from nystream import persist
from nystream.evaluate.metrics import METRICS, MSE, Metric, Seconds, Windowed

NAMES = [name for name, kind in METRICS.items() if issubclass(kind, Metric)]


def rows(name, n=120, seed=3):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    p = y + rng.normal(size=n)
    levels = len(METRICS[name]().levels)
    if levels:
        p = np.sort(y[:, None] + rng.normal(size=(n, levels)), axis=1)
        p[:5, 0] = -np.inf  # not known yet
    return (y, 1 / (1 + np.exp(-p)), rng.random(n)) if name == "logloss" else (y, p, rng.random(n))


@pytest.mark.parametrize(("name", "size", "step"), grid(NAMES, [1, 7, 50, 500], [1, 3, 60]))
def test_a_window_equals_the_metric_computed_from_scratch_on_its_rows(name, size, step):
    y, p, w = rows(name)
    metric = Windowed(METRICS[name](), size)
    for i in range(0, len(y), step):
        metric.update(y[i : i + step], p[i : i + step], w[i : i + step])
        last = slice(max(0, min(i + step, len(y)) - size), i + step)
        assert_equal(metric.value, METRICS[name]().update(y[last], p[last], w[last]).value)


def test_nothing_drifts_after_large_values_have_left_the_window():
    metric = Windowed(MSE(), 10)
    for i in range(1000):
        metric.update([0.0], [1e8 if i % 20 < 5 else 1e-8])
    assert metric.value == MSE().update(np.zeros(10), np.full(10, 1e-8)).value


def test_memory_is_that_of_the_window():
    metric = Windowed(MSE(), 100)
    for _ in range(50):
        metric.update(np.zeros(1000), np.ones(1000))
    assert metric.ring_.nbytes == 100 * 2 * 8


def test_a_window_is_reset_copied_and_saved_like_any_other_state():
    y, p, _ = rows("mse")
    metric = Windowed(MSE(), 20).update(y, p)
    for twin in (copy.deepcopy(metric), persist.from_bytes(persist.to_bytes(metric))):
        assert twin.value == metric.value
        assert twin.update([0.0], [3.0]).value == Windowed(MSE(), 20).update(np.r_[y, 0.0], np.r_[p, 3.0]).value
    metric.reset()
    assert np.isnan(metric.value)
    assert metric.update([0.0], [2.0]).value == 4.0


def test_a_window_of_a_window_or_of_a_meter_is_refused():
    with pytest.raises(ValueError, match="not windowed"):
        Windowed(Windowed(MSE(), 3), 3)
    with pytest.raises(ValueError, match="a metric of labels and predictions"):
        Windowed(Seconds(), 3)
    with pytest.raises(ValueError, match="size must be a whole number of at least 1, got 0"):
        Windowed(MSE(), 0)
