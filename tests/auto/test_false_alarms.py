"""Stationary rows raise no drift alarms, harmless input shifts are warnings, and real ones are alarms."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np
import pytest

import nystream
from nystream import Auto, Model
from nystream.auto.recipe import Recipe

SMALL = Recipe(landmarks=60, big=60, rough=60, change=0)
N = 3000


def stationary(seed, kind, noise_only):
    """Rows with a column that grows or repeats, and labels of a function that never changes, or noise."""
    rng, t = np.random.default_rng(seed), np.arange(float(N))
    Z, noise = rng.normal(size=(N, 3)), rng.normal(size=N)
    more = {
        "date": 1.6e9 + 3600 * t,
        "counter": t,
        "odometer": 12_000 + np.cumsum(rng.exponential(3.0, N)),
        "hour": t % 24,
        "day of the year": t % 365.25,
    }[kind]
    cycle = np.sin(2 * np.pi * more / {"hour": 24, "day of the year": 365.25}.get(kind, np.inf))
    y = noise if noise_only else np.sin(1.5 * Z[:, 0]) + Z[:, 1] * Z[:, 2] + cycle + 0.3 * noise
    return np.column_stack([Z, more]), y


@pytest.mark.parametrize("noise_only", [False, True])
def test_columns_that_grow_or_repeat_raise_no_alarms(noise_only):
    found = []
    for kind in ("date", "counter", "odometer", "hour", "day of the year"):
        for seed in range(2):
            model = Auto(recipe=SMALL)
            model.run(*stationary(seed, kind, noise_only))
            found += [(kind, seed, str(alarm)) for alarm in model.alarms()]
    assert len(found) <= 1, found  # before: some 35


def test_a_table_with_a_time_raises_no_alarms():
    found = []
    for seed in range(3):
        X, y = stationary(seed, "hour", noise_only=False)
        when = [(datetime(2021, 3, 1) + timedelta(hours=h)).isoformat(sep=" ") for h in range(N)]
        model = Model(Auto(recipe=SMALL))
        model.run({"when": when, "a": X[:, 0], "b": X[:, 1], "c": X[:, 2]}, y)
        found += [str(alarm) for alarm in model.alarms()]
    assert len(found) <= 1, found


def shifted(seed, harmful):
    """Inputs of which column 1 shifts at row 2,000; harmful: labels depend on it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, 3))
    X[2000:, 1] += 5.0
    y = np.sin(2 * X[:, 0]) + (np.sin(3 * X[:, 1]) if harmful else 0.0) + 0.1 * rng.normal(size=N)
    return X, y


def test_an_input_shift_that_the_loss_does_not_confirm_is_a_warning_and_starts_no_candidate():
    alarms = 0
    for seed in range(6):
        model = Auto(recipe=SMALL)
        X, y = shifted(seed, harmful=False)
        model.run(X, y)
        records = model.alarms(warnings=True)
        alarms += len(model.alarms())
        first = records[0]
        assert 2000 < first.row < 2030
        assert abs(first.change - 2000) <= 3
        assert first.columns[0] == "1"
        if first.level == "warning":
            assert (first.cause, first.outcome) == ("shifted inputs", "unconfirmed")
            assert first not in model.alarms()
            assert "has not confirmed" in str(first)
            assert "inputs shifted 1 time" in model.explain()
            if not model.alarms():
                assert model.pipeline_.drift_.succession_.used_ == 0
    assert alarms <= 1  # the chance of one is 1 in 20 for each


def test_an_input_shift_that_the_loss_confirms_is_an_alarm():
    for seed in range(4):
        model, without = Auto(recipe=SMALL), Auto(recipe=SMALL, changes=False)
        X, y = shifted(seed, harmful=True)
        P, Q = model.run(X, y), without.run(X, y)
        alarm = model.alarms()[0]
        assert 2000 < alarm.row < 2040
        assert abs(alarm.change - 2000) <= 5
        assert alarm.columns == ("1",)
        assert "column 1" in str(alarm)
        assert not [one for one in model.alarms(warnings=True) if one.level == "warning" and one.row < alarm.row + 100]
        assert np.sum((P - y)[2000:] ** 2) < np.sum((Q - y)[2000:] ** 2)


@pytest.mark.parametrize("harmful", [False, True])
def test_steps_raise_the_same_alarms_and_warnings_as_a_run(harmful):
    X, y = shifted(1, harmful)
    whole, single, cuts = (Auto(recipe=SMALL) for _ in range(3))
    whole.run(X[:2300], y[:2300])
    for part in (slice(0, 1995), slice(1995, 2003), slice(2003, 2057), slice(2057, 2300)):
        cuts.run(X[part], y[part])
    single.run(X[:1960], y[:1960])
    for row, label in zip(X[1960:2300], y[1960:2300], strict=True):
        single.step(row, label)
    records = [str(alarm) for alarm in whole.alarms(warnings=True)]
    assert records
    assert [str(alarm) for alarm in cuts.alarms(warnings=True)] == records
    assert [str(alarm) for alarm in single.alarms(warnings=True)] == records


def test_warnings_are_saved_and_a_loaded_model_still_confirms(tmp_path):
    X, y = shifted(1, harmful=True)
    model = Auto(recipe=SMALL)
    model.run(X[:2001], y[:2001])
    nystream.save(model, tmp_path / "model.nys")
    again = nystream.load(tmp_path / "model.nys")
    for one in (model, again):
        one.run(X[2001:2400], y[2001:2400])
    assert again.alarms(warnings=True) == model.alarms(warnings=True)
    assert again.alarms()
