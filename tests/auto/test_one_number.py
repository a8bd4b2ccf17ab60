"""A row with numbers as labels by itself: compiled, with the bits of what it replaces."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nystream import Auto
from nystream.auto import generation
from nystream.auto.recipe import Recipe

SIZES = {"landmarks": 15, "big": 30, "small": 10, "rough": 40, "change": 20, "windows": (30, 10), "metric": 50}
SMALL = Recipe((1, 2, 5, 20, 60, 150), ring=100, refresh=50, block=64, **SIZES)


def stream(outputs, holes, n=420):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    level = np.cumsum(0.3 * rng.normal(size=n))  # so that the last labels tell something
    y = (level + np.sin(2 * X[:, 0]))[:, None] * np.arange(1, outputs + 1) + 0.1 * rng.normal(size=(n, outputs))
    if holes:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y if outputs > 1 else y[:, 0]


@pytest.mark.parametrize("lags", [True, False])
@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("holes", [False, True])
def test_one_row_by_itself_has_the_bits_of_the_parts_that_it_replaces(monkeypatch, outputs, lags, holes):
    X, y = stream(outputs, holes)
    answered = []
    compiled = generation.learn_one

    def counted(*given):
        found = compiled(*given)
        answered.append(found is not None)
        return found

    monkeypatch.setattr(generation, "learn_one", counted)
    model = Auto(recipe=SMALL, lags=lags)
    P = [model.step(x, label) for x, label in zip(X, y, strict=True)]
    assert sum(answered) > 200  # all but the warm-up, where competitors race
    assert not all(answered)
    monkeypatch.setattr(generation, "learn_one", lambda *given: None)
    plain = Auto(recipe=SMALL, lags=lags)
    assert_array_equal(P, [plain.step(x, label) for x, label in zip(X, y, strict=True)])
    assert_array_equal(model.predict(X), plain.predict(X))
    for name, value in plain.stack_._state().items():
        if isinstance(value, np.ndarray):
            assert_array_equal(model.stack_._state()[name], value)


@pytest.mark.parametrize("name", ["expert_shares_", "member_shares_", "recent_", "lags_"])
def test_what_a_forged_file_lacks_is_refused(name):
    X, y = stream(1, holes=False, n=200)
    model = Auto(recipe=SMALL)
    model.run(X, y)
    setattr(model.stack_, name, None)
    with pytest.raises(TypeError, match="an array is needed, got NoneType"):
        model.step(X[0], y[0])
