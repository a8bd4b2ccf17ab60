"""The last class once more: counts, blocks, late classes, and labels that hardly ever change."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import from_bytes, to_bytes
from nystream.auto.learner import Auto
from nystream.auto.recipe import Recipe
from nystream.auto.stack import Repeats
from oracles.auto import repeated

SMALL = Recipe((1, 2, 5, 20, 60), landmarks=15, big=30, small=10, ring=40, refresh=25, window=30, metric=50)


@pytest.mark.parametrize("classes", [1, 2, 5])
def test_it_counts_as_defined_in_blocks_and_rows_and_after_saving(classes):
    rng = np.random.default_rng(0)
    y = np.repeat(rng.integers(0, classes, 30), rng.integers(1, 5, 30))
    whole, parts = Repeats(), Repeats()
    whole.start(classes)
    parts.start(classes)
    P = whole.run(y.astype(float))
    assert_allclose(P, [repeated(y[:t].tolist(), classes) for t in range(len(y))], rtol=1e-12)
    if classes > 1:
        assert_allclose(P.sum(axis=1), 1.0)
    for i in range(0, len(y), 7):
        assert_array_equal(parts.predict(), P[i])
        assert_array_equal(parts.run(y[i : i + 7].astype(float)), P[i : i + 7])
        parts = from_bytes(to_bytes(parts))
    assert_array_equal(parts.predict(), whole.predict())


def test_a_late_class_was_never_seen():
    model = Repeats()
    model.start(2)
    model.run(np.array([0.0, 0.0, 1.0]))
    model.grow(4)
    assert_allclose(model.predict(), repeated([0, 0, 1], 4))


def switching(n, every, seed=0):
    rng = np.random.default_rng(seed)
    y = np.cumsum(rng.random(n) < 1 / every) % 2
    return rng.normal(size=(n, 3)), y.astype(float)


@pytest.mark.parametrize("every", [50, 200])
def test_labels_that_rarely_change_cost_hardly_more_than_one_mistake_each(every):
    X, y = switching(2000, every)
    model = Auto(task="classification", recipe=SMALL)
    mistakes = np.sum(model.run(X, y).argmax(axis=1) != y)
    assert mistakes <= 1.15 * np.sum(y[1:] != y[:-1]) + 4
    assert "the last class" in model.explain() or "stacker" in model.explain()


def test_numbers_that_rarely_change_are_forecast_as_well_as_by_no_change():
    X, y = switching(2000, 200)
    y = 5 + 3 * y
    p = Auto(recipe=SMALL).run(X, y)
    assert np.sum((p[20:] - y[20:]) ** 2) < 1.2 * np.sum((y[20:] - y[19:-1]) ** 2)
