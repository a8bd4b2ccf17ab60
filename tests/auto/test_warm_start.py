"""A candidate learns the rows since a change in slices: when it is level, in any blocks, saved on the way."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from changing_streams import in_cuts
from numpy.testing import assert_array_equal
from table_streams import columns

import nystream
from nystream import Auto
from nystream.auto import refit, stack
from nystream.auto.drift import warm_start
from nystream.auto.recipe import Recipe

SIZES = {"landmarks": 15, "big": 30, "small": 10, "rough": 30, "change": 20, "window": 30, "metric": 50}
PATIENT = Recipe((1, 2, 5, 20, 60, 800), ring=500, refresh=100, block=64, **SIZES)
"""A young one may be 80 rows late."""
AT, N = 900, 1500


@pytest.fixture(autouse=True)
def slow(monkeypatch):
    """Slices so small that a rebuild is under way for several rows, and few rows are learnt in one."""
    monkeypatch.setattr(refit, "SLICE", 3e6)
    monkeypatch.setattr(warm_start, "CAUGHT_UP", 4)


def auto(task="regression", recipe=PATIENT, **options):
    return Auto(**{"task": task, "recipe": recipe, **options})


def slowly(task="regression", n=N):
    """ResidualQuantiles grows at a row: an alarm is sure only after many more."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(n, 3))
    noise = 0.4 if task == "regression" else 0.7
    y = np.sin(2 * X[:, 0]) + X[:, 1] + rng.normal(size=n) * np.where(np.arange(n) < AT, 0.1, noise)
    return X, y if task == "regression" else np.digitize(y, [-0.7, 0.7]).astype(float)


def awaited(model, X, y):
    """Rows after which a young one was catching up, and how many it had still to learn, one step at a time."""
    found = {}
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        model.step(x, label)
        coming = model.pipeline_.drift_.succession_.warm_start
        if coming is not None:
            found[i + 1] = i + 1 - coming.learnt_
    return found


def test_it_is_level_some_rows_after_the_alarm_and_learns_few_rows_with_each():
    X, y = slowly()
    model = auto()
    found = awaited(model, X, y)
    alarm = model.alarms()[0]
    assert alarm.row - alarm.change > 25
    assert min(found) == alarm.row
    assert len(found) > 10
    assert sorted(found) == list(range(alarm.row, alarm.row + len(found)))
    assert max(before + 1 - after for before, after in pairwise(found.values())) == 4
    assert model.pipeline_.drift_.succession_.phase_.born == max(found) + 1


def test_where_it_would_be_too_late_it_learns_what_is_missing_at_once(monkeypatch):
    monkeypatch.setattr(warm_start, "CAUGHT_UP", 1)
    X, y = slowly()
    model = auto()
    found = awaited(model, X, y)
    assert len(found) == PATIENT.late
    assert found[max(found)] > 20
    assert model.pipeline_.candidate is not None or model.alarms()[0].outcome != "running"


def test_a_recipe_that_does_not_spread_its_rebuilds_is_level_at_once():
    X, y = slowly()
    assert awaited(auto(recipe=PATIENT.resized(spread=False)), X, y) == {}


def test_when_it_is_level_it_is_what_it_were_if_it_had_lived_since_the_change(monkeypatch):
    X, y = slowly()
    model = auto()
    found = awaited(model, X[:1200], y[:1200])
    alarm = model.alarms()[0]
    assert max(found) < 1100
    assert model.pipeline_.candidate is not None
    monkeypatch.setattr(stack, "EARLY", 0)  # its rows are not the first ones of the stream
    fresh = auto(recipe=model.pipeline_.candidate.recipe, changes=False)
    fresh.run(X[alarm.change : 1200], y[alarm.change : 1200])
    assert model.pipeline_.candidate.count_ == fresh.pipeline_.incumbent_.count_ == 1200 - alarm.change
    found, expected = (one.predict(X[:50], None).P for one in (model.pipeline_.candidate, fresh.pipeline_.incumbent_))
    assert_array_equal(found, expected)


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("sizes", [(1,), (37, 1, 64, 5), (500,)])
def test_blocks_do_not_matter_to_the_last_bit(task, sizes):
    X, y = slowly(task)
    whole, parts = auto(task), auto(task)
    assert_array_equal(in_cuts(parts, X, y, sizes), whole.run(X, y))
    assert parts.alarms() == whole.alarms() != []
    assert parts.pipeline_.drift_.succession_.used_ == whole.pipeline_.drift_.succession_.used_
    assert_array_equal(parts.predict(X[:40]), whole.predict(X[:40]))


def test_saved_at_any_row_on_the_way_it_goes_on_bit_for_bit():
    X, y = slowly()
    found = sorted(awaited(auto(), X, y))
    stayed = auto()
    stayed.run(X[: found[0]], y[: found[0]])
    for cut in found[::7]:
        stayed.run(X[stayed.pipeline_.count_ : cut], y[stayed.pipeline_.count_ : cut])
        assert stayed.pipeline_.drift_.succession_.warm_start is not None
        before = stayed.to_bytes()
        resumed = nystream.from_bytes(before)
        assert_array_equal(resumed.predict(X[:30]), stayed.predict(X[:30]))
        assert stayed.to_bytes() == before
        low, high = stayed.predict_interval(X[:30])
        assert (low < high).all()
        assert sum(stayed.weights().values()) == pytest.approx(1.0)
        assert_array_equal(resumed.run(X[cut : cut + 150], y[cut : cut + 150]), stayed_on(before, X, y, cut))


def stayed_on(saved, X, y, cut):
    """One step at a time from there, by another."""
    model = nystream.from_bytes(saved)
    return np.array([model.step(X[i], y[i]) for i in range(cut, cut + 150)])


def test_new_classes_new_columns_and_settle_make_it_level_first():
    X, y = slowly("classification")
    found = sorted(awaited(auto("classification"), X, y))
    cut = found[len(found) // 2]
    model = auto("classification")
    model.run(X[:cut], y[:cut])
    saved = model.to_bytes()
    assert model.pipeline_.drift_.succession_.warm_start is not None

    def level(model):
        drift = model.pipeline_.drift_
        return (
            drift.succession_.warm_start is None
            and model.pipeline_.candidate.count_ == cut - drift.succession_.phase_.since
        )

    model.settle()
    assert level(model)
    model = nystream.from_bytes(saved)
    model.widen(5)
    assert level(model)
    assert model.pipeline_.candidate.d_ == 5
    model = nystream.from_bytes(saved)
    model.step(X[cut], 3.0)
    assert model.pipeline_.drift_.succession_.warm_start is None
    assert model.pipeline_.candidate is None or model.pipeline_.candidate.outputs_ == 4
    more = y.copy()
    more[cut] = 3.0
    assert_array_equal(
        nystream.from_bytes(saved).run(X[cut : cut + 200], more[cut : cut + 200]),
        np.array([*map(nystream.from_bytes(saved).step, X[cut : cut + 200], more[cut : cut + 200])]),
    )


def test_tables_in_any_blocks():
    rows, f = columns(N)
    rng = np.random.default_rng(3)
    y = f + rng.normal(size=N) * f.std() * np.where(np.arange(N) < AT, 0.1, 0.4)
    whole, parts = auto(), auto()
    P = whole.run(rows, y)
    Q = np.concatenate([parts.run(rows[i : i + 17], y[i : i + 17]) for i in range(0, N, 17)])
    assert whole.alarms() == parts.alarms() != []
    assert_array_equal(P, Q)
