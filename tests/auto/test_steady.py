"""Rows that are not the next one: the steady stack of `Auto`."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from changing_streams import changing
from numpy.testing import assert_allclose, assert_array_equal

import nystream
from nystream.auto import Auto
from nystream.auto import steady as module
from nystream.auto.recipe import Recipe
from nystream.solvers.awv import AWV

SMALL = Recipe(
    (1, 2, 5, 20, 60, 200),
    landmarks=20,
    big=40,
    small=20,
    rough=40,
    change=20,
    ring=200,
    refresh=100,
    window=60,
    metric=100,
    block=64,
)
TASKS = ("regression", "classification")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """A long memory of as few landmarks as these recipes have."""
    monkeypatch.setattr(module, "SMALLEST", 5)


def auto(task="regression", **options):
    return Auto(**{"task": task, "recipe": SMALL, **options})


def levels(n, seed=0):
    """Labels that follow their last ones closely, and inputs that tell the same level."""
    rng = np.random.default_rng(seed)
    level = np.repeat(rng.normal(size=n // 50 + 1), 50)[:n] * 3
    return np.column_stack([level + 0.3 * rng.normal(size=n), rng.normal(size=n)]), level


def promoted(task="regression"):
    """A model in which a candidate has replaced the incumbent, with the rows and labels it learnt."""
    X, y = changing(2700, at=900, task=task)
    model = auto(task)
    for i in range(0, len(y), 20):
        model.run(X[i : i + 20], y[i : i + 20])
        if model.pipeline_.steady_.leaving_ is not None:
            return model, X, y, i + 20
    raise AssertionError("no candidate was promoted")


# -- both questions ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("task", TASKS)
def test_the_next_row_is_answered_as_step_does_to_the_last_bit(task):
    X, y = changing(900, at=700, task=task)
    model = auto(task)
    model.run(X[:650], y[:650])
    for t in range(650, 900):
        expected = model.predict(X[t : t + 1], ahead=1)[0]
        assert_array_equal(model.step(X[t], y[t]), expected)


def test_later_rows_do_not_follow_the_last_labels():
    X, y = levels(1200)
    model = auto()
    model.run(X[:1000], y[:1000])
    twin = copy.deepcopy(model)
    model.run(X[999:1000], y[999:1000])
    twin.run(X[999:1000], y[999:1000] + 5)
    far = X[:50]
    moved = np.abs(model.predict(far, ahead=1) - twin.predict(far, ahead=1)).mean()
    assert moved > 20 * np.abs(model.predict(far) - twin.predict(far)).mean()
    later = y[1000:]
    errors = [np.mean((model.predict(X[1000:], ahead) - later) ** 2) for ahead in (None, 1)]
    assert errors[0] < 0.5 * errors[1]


@pytest.mark.parametrize("outputs", [1, 2])
def test_intervals_of_later_rows_cover(outputs):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2400, 3))
    Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2])[:, :outputs] + 0.4 * rng.normal(size=(2400, outputs))
    model = auto()
    model.run(X[:1400], Y[:1400])
    low, high = model.predict_interval(X[1400:], 0.9)
    inside = (low.reshape(1000, -1) <= Y[1400:]) & (Y[1400:] <= high.reshape(1000, -1))
    assert (np.abs(inside.mean(axis=0) - 0.9) < 0.06).all()
    middle = model.predict_quantile(X[1400:], [0.25, 0.5, 0.75])
    assert middle.shape == ((1000, 3) if outputs == 1 else (1000, 2, 3))
    assert (np.diff(middle, axis=-1) >= 0).all()
    with pytest.raises(ValueError, match="ahead must be None"):
        model.predict_interval(X, 0.9, ahead=7)


def test_intervals_of_later_rows_know_the_seasons_before_the_last_one():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(9000, 2))
    y = np.sin(X[:, 0]) + np.where(np.arange(9000) < 6000, 2.0, 0.2) * rng.normal(size=9000)
    model = auto(changes=False)
    model.run(X, y)
    later = rng.normal(size=(1000, 2))
    low, high = model.predict_interval(later, 0.9)
    labels = np.sin(later[:, 0]) + 2.0 * rng.normal(size=1000)
    assert np.mean((low <= labels) & (labels <= high)) > 0.6  # intervals of the last 3,000 rows alone cover a sixth


def test_intervals_after_a_drift_are_those_of_the_new_model():
    X, y = nystream.streams.friedman(6000, drift="abrupt", at=2500, seed=0)
    model = Auto()
    model.run(X[:4500], y[:4500])
    assert [alarm.outcome for alarm in model.alarms()] == ["promoted"]
    low, high = model.predict_interval(X[4500:], 0.9)
    assert 0.85 < np.mean((low <= y[4500:]) & (y[4500:] <= high)) < 0.97  # with residuals of the model before: .998
    assert np.mean(high - low) < 4.5


def test_intervals_stay_finite_after_an_early_drift():
    X, y = nystream.streams.friedman(1600, drift="abrupt", at=60, seed=0)
    model = Auto()
    for i in range(0, 1600, 40):
        model.run(X[i : i + 40], y[i : i + 40])
        low, high = model.predict_interval(X[:5], 0.9)
        assert i < 40 or np.isfinite([low, high]).all()


@pytest.mark.parametrize("n", [30, 1200, 5000])
def test_rows_for_intervals_are_spread_over_the_whole_stream(n, monkeypatch):
    monkeypatch.setattr(module, "HELD", 200)
    rng = np.random.default_rng(0)
    model = auto(changes=False)
    model.run(np.column_stack([np.arange(n), rng.normal(size=n)]), rng.normal(size=n))
    held = model.pipeline_.steady_.held_.rows[:, 0]
    assert min(n - 10, 100) <= len(held) <= 200
    assert held[0] < 100
    assert held[-1] > 0.9 * n - 100
    assert len(set(np.diff(held[held > 800]))) <= 1


def test_probabilities_of_later_rows_are_as_sure_as_they_are_right():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 2))
    y = ((X[:, 0] * X[:, 1] > 0) ^ (rng.random(3000) < 0.15)).astype(float)
    model = auto("classification")
    model.run(X[:2000], y[:2000])
    P = model.probabilities(X[2000:])
    assert_allclose(P.sum(axis=1), 1.0)
    assert_allclose(np.log(P), model.predict(X[2000:]), atol=1e-12)
    right = P.argmax(axis=1) == y[2000:]
    assert abs(P.max(axis=1).mean() - right.mean()) < 0.05
    assert right.mean() > 0.75
    with pytest.raises(ValueError, match="ahead must be None"):
        model.probabilities(X, ahead=2)


def test_explain_tells_refits_in_rows_of_the_stream():
    X, y = changing(1900, at=900)
    model = auto(recipe=SMALL.resized(rebuilds=(1, 2, 5, 20, 60, 200, 1500)))
    model.run(X, y)
    assert model.pipeline_.incumbent_.count_ == 1000  # it began at the change point, and counts its own rows
    assert "warming up: the next full refit begins at row 2,400, the last one at row 2,400" in model.explain()


# -- laws --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("cuts", [(1,), (37, 1, 64, 5)])
def test_blocks_do_not_matter_to_the_last_bit(task, cuts):
    X, y = changing(2700, at=900, task=task)
    whole, parts, i, k = auto(task), auto(task), 0, 0
    for stop in (730, 2310, 2410, 2700):
        while i < stop:
            n = min(cuts[k % len(cuts)], stop - i)
            parts.run(X[i : i + n], y[i : i + n])
            i, k = i + n, k + 1
        whole.run(X[whole.n_seen : stop], y[whole.n_seen : stop])
        assert_array_equal(parts.predict(X[:40]), whole.predict(X[:40]))
        if task == "regression":
            assert_array_equal(parts.predict_interval(X[:40]), whole.predict_interval(X[:40]))
    assert any(alarm.outcome == "promoted" for alarm in whole.alarms())


@pytest.mark.parametrize("task", TASKS)
def test_saved_while_one_is_leaving_it_goes_on_bit_for_bit(task):
    model, X, y, n = promoted(task)
    twins = [nystream.from_bytes(nystream.to_bytes(model)), copy.deepcopy(model)]
    assert_array_equal(twins[0].predict(X[:30]), model.predict(X[:30]))
    model.run(X[n:], y[n:])
    for twin in twins:
        for t in range(n, len(y)):
            twin.step(X[t], y[t])
        assert_array_equal(twin.predict(X[:30]), model.predict(X[:30]))


def test_columns_that_come_late_leave_predictions_of_later_rows_as_they_are():
    X, y = changing(900, at=700)
    model = auto()
    model.run(X, y)
    before = model.predict(X[:30])
    model.widen(4)
    wide = np.pad(X, ((0, 0), (0, 1)), constant_values=np.nan)
    assert_allclose(model.predict(wide[:30]), before, rtol=1e-9)
    model.run(wide, y)
    assert np.isfinite(model.predict(wide)).all()


def test_a_class_that_comes_late_is_predicted_for_later_rows():
    rng = np.random.default_rng(3)
    c = rng.integers(3, size=1500)
    c[:700] = np.minimum(c[:700], 1)
    X = np.array([[0.0, 0], [3, 0], [0, 3]])[c] + 0.5 * rng.normal(size=(1500, 2))
    model = auto("classification")
    model.run(X[:700], c[:700])
    assert model.probabilities(X[:3]).shape == (3, 2)
    model.run(X[700:1200], c[700:1200])
    P = model.probabilities(X[1200:])
    assert P.shape == (300, 3)
    assert np.mean(P.argmax(axis=1) != c[1200:]) < 0.05


# -- after an alarm ----------------------------------------------------------------------------------------------------
def test_the_memory_survives_an_alarm_and_is_given_up_where_it_misleads():
    model, X, y, n = promoted()
    leaving = model.pipeline_.steady_.leaving_.ensemble_
    assert leaving.count_ == n  # it goes on learning, beside the ensemble that has replaced it
    assert model.pipeline_.incumbent_ is not leaving
    model.run(X[n : 400 * (n // 400 + 1)], y[n : 400 * (n // 400 + 1)])
    assert model.pipeline_.steady_.leaving_ is None
    assert model.pipeline_.steady_.memory_ is not None
    more, labels = changing(3000, at=0, seed=5)
    model.run(more[:2500], labels[:2500])
    assert np.mean((model.predict(more[2500:]) - labels[2500:]) ** 2) < 0.3
    assert model.pipeline_.steady_.memory_ is None or model.pipeline_.steady_.memory_.judge_.share_ < 0.2


def test_without_alarms_there_is_one_ensemble_alone():
    X, y = changing(1000, at=5000)
    model = auto()
    model.run(X, y)
    assert model.pipeline_.steady_.ensembles == []
    assert model.pipeline_.steady_.judge_.share_ == 1.0
    assert model.pipeline_.steady_.judge_.snapshot_ is not None


def test_a_ridge_of_fewer_landmarks_is_the_one_that_had_them_from_the_start():
    rng = np.random.default_rng(0)
    Z, Y, kept = rng.normal(size=(200, 37)), rng.normal(size=(200, 2)), np.array([0, 3, 9, 20, 36])
    whole, few = AWV(0.1, vovk=False), AWV(0.1, vovk=False)
    whole.start(37, 2)
    few.start(5, 2)
    whole.run(Z, Y)
    few.run(np.ascontiguousarray(Z[:, kept]), Y)
    A, b = whole.part(kept)
    assert_allclose(A, few.matrix, atol=1e-9)
    assert_allclose(b, few.right_side, atol=1e-9)


# -- facades -----------------------------------------------------------------------------------------------------------
def test_a_model_and_what_wraps_auto_hand_ahead_on():
    X, y = levels(700)
    plain, model = Auto(recipe=SMALL), nystream.Model(Auto(recipe=SMALL))
    wrapped = nystream.Standardized(Auto(recipe=SMALL))
    plain.run(X, y)
    model.run(X, y)
    wrapped.run(X, y)
    for ahead in (None, 1):
        assert_array_equal(model.predict(X[:20], ahead=ahead), plain.predict(X[:20], ahead))
        assert_array_equal(model.predict_interval(X[:20], 0.8, ahead), plain.predict_interval(X[:20], 0.8, ahead))
        assert_array_equal(model.predict_quantile(X[:20], 0.3, ahead), plain.predict_quantile(X[:20], 0.3, ahead))
    assert not np.array_equal(plain.predict(X[:20]), plain.predict(X[:20], ahead=1))
    assert not np.array_equal(wrapped.predict(X[:20]), wrapped.predict(X[:20], ahead=1))
    expected = wrapped.predict(X[20:21], ahead=1)[0]
    assert_array_equal(wrapped.step(X[20], y[20]), expected)
    classes = nystream.Classifier(Auto(recipe=SMALL))
    classes.run(X, (y > 0).astype(float))
    assert not np.array_equal(classes.probabilities(X[:20]), classes.probabilities(X[:20], ahead=1))
    with pytest.raises(ValueError, match="ahead must be None"):
        model.predict(X, ahead=3)


def test_snapshots_are_taken_where_blocks_are_cut():
    assert all(b > a for a, b in zip(module.SNAPSHOTS, module.SNAPSHOTS[1:], strict=False))
    assert module.PERIOD % module.GROUP == 0
    assert [module._group_end(row) for row in (1, 2, 4, 21, 101, 141, 201, 801, 900, 901)] == [
        *(1, 2, 4, 24, 120, 170, 240, 900, 900, 960),
    ]
