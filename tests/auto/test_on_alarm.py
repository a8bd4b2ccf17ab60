"""Callbacks at drift alarms: when they are called, with what, and what happens if they raise."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import nystream
from nystream import Auto, Classifier, Model
from nystream.auto.recipe import Recipe
from nystream.learners.abilities import Unable

SMALL = Recipe(landmarks=40, big=40, rough=0, change=0)
AT, N = 700, 1000


def changing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 2))
    y = np.where(np.arange(N) < AT, 1, -1) * np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=N)
    return X, y


def auto(**more):
    return Auto(recipe=SMALL, **more)


@pytest.mark.parametrize("make", [auto, lambda: Model(auto())])
def test_step_calls_back_at_the_row_of_the_alarm(make):
    X, y = changing()
    model, called = make(), []
    model.on_alarm(lambda alarm: called.append((model.n_seen, alarm)))
    for row, label in zip(X, y, strict=True):
        model.step(row, label)
    assert len(called) == len(model.alarms()) >= 1
    for (seen, record), alarm in zip(called, model.alarms(), strict=True):
        assert seen == record.row == alarm.row
        assert (record.change, record.cause) == (alarm.change, alarm.cause)
    assert called[0][1].outcome == "running"


@pytest.mark.parametrize("make", [auto, lambda: Model(auto())])
def test_run_calls_back_once_for_each_alarm(make):
    X, y = changing()
    model, called = make(), []
    assert model.on_alarm(called.append) == called.append  # so that it can be a decorator
    model.run(X[:AT], y[:AT])
    assert called == []
    model.run(X[AT:800], y[AT:800])
    assert len(called) == 1
    assert AT < called[0].row < AT + 50
    model.run(X[800:], y[800:])
    assert len(called) == len(model.alarms())


def test_callbacks_hear_of_alarms_to_come_and_of_warnings_if_they_want():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2200, 3))
    X[1600:, 1] += 5.0
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=2200)
    model, alarms, both, late = auto(), [], [], []
    model.on_alarm(alarms.append)
    model.on_alarm(both.append, warnings=True)
    model.run(X, y)
    assert [alarm.level for alarm in model.alarms(warnings=True)] == ["warning"]
    assert (len(alarms), len(both)) == (0, 1)
    model.on_alarm(late.append, warnings=True)
    model.step(X[0], y[0])
    assert late == []


@pytest.mark.parametrize("make", [auto, lambda: Model(auto())])
def test_an_exception_of_a_callback_comes_after_the_rows_are_learnt(make):
    X, y = changing()
    model, quiet, called = make(), make(), []

    @model.on_alarm
    def fail(alarm):
        raise RuntimeError(f"at {alarm.row}")

    model.on_alarm(called.append)
    quiet.run(X, y)
    with pytest.raises(RuntimeError, match=f"at {quiet.alarms()[0].row}"):
        model.run(X, y)
    assert len(called) == len(quiet.alarms())  # all callbacks are called first
    assert model.n_seen == quiet.n_seen
    assert model.alarms() == quiet.alarms()
    np.testing.assert_array_equal(model.predict(X[:20]), quiet.predict(X[:20]))
    np.testing.assert_array_equal(model.run(X[-20:], y[-20:]), quiet.run(X[-20:], y[-20:]))  # it is not called again


def test_a_callback_may_use_the_model_and_save_it(tmp_path):
    X, y = changing()
    model = Model(auto())
    model.on_alarm(lambda alarm: model.save(tmp_path / f"{alarm.row}.nys"))
    model.on_alarm(lambda alarm: model.predict(X[:3]))
    model.run(X, y)
    saved = nystream.load(tmp_path / f"{model.alarms()[0].row}.nys")
    assert saved.n_seen == N


@pytest.mark.parametrize("make", [auto, lambda: Model(auto())])
def test_callbacks_are_no_part_of_files_copies_and_clones(make, tmp_path):
    X, y = changing()
    model, called = make(), []
    model.on_alarm(called.append)
    model.run(X[:500], y[:500])
    nystream.save(model, tmp_path / "model.nys")
    others = [nystream.load(tmp_path / "model.nys"), copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    for other in others:
        other.run(X[500:], y[500:])
        assert other.alarms()
    fresh = model.clone()
    fresh.run(X, y)
    assert fresh.alarms()
    assert called == []


def test_a_model_of_classes_calls_back_too():
    X, y = changing()
    model, called = Model(Classifier(auto())), []
    model.on_alarm(called.append)
    model.run(X, np.where(y > 0, "up", "down"))
    assert len(called) == len(model.alarms()) >= 1
    assert called[0].loss == "log loss"


def test_what_has_no_alarms_refuses_a_callback_and_so_does_what_is_no_function():
    with pytest.raises(Unable, match="alarms"):
        auto(changes=False).on_alarm(print)
    with pytest.raises(Unable, match="alarms"):
        Model(auto(changes=False)).on_alarm(print)
    with pytest.raises(TypeError, match="function"):
        auto().on_alarm("print")


def test_records_of_a_model_name_the_columns_of_its_table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 2))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=1500)
    X[1000:, 1] += 6.0
    y[1000:] *= -1
    model, called = Model(auto()), []
    model.on_alarm(called.append)
    model.run({"temp": X[:, 0], "load": X[:, 1]}, y)
    assert called[0].columns == ("load",)
    assert "Inputs that shifted: `load`." in str(model.alarms()[0])
    assert "`load`" in model.explain()
    assert "column 1" not in model.explain()
