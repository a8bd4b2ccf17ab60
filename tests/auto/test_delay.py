"""Labels that come late: rows are learnt with the labels that were known when they came."""

from __future__ import annotations

import numpy as np
import pytest
from changing_streams import changing, in_cuts
from numpy.testing import assert_allclose, assert_array_equal

import nystream
from nystream import Auto, Model, Schema, prequential
from nystream.auto import refit
from nystream.auto.recipe import Recipe
from nystream.auto.stack import PACES, after, shifted

SIZES = {"landmarks": 15, "big": 30, "small": 10, "rough": 40, "change": 20, "window": 30, "metric": 50}
SMALL = Recipe((1, 2, 5, 20, 60, 150), grows=(300,), growth=1.0, ring=200, refresh=100, block=64, **SIZES)
NEVER = 100_000


def auto(task="regression", delay=5, **options):
    return Auto(**{"task": task, "recipe": SMALL, "delay": delay, **options})


def waves(n, seed=0):
    """Labels that follow each other by a rule that the inputs do not tell."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, 3 * np.sin(np.arange(n) / 4) + 0.5 * X[:, 0] + 0.05 * rng.normal(size=n)


def late(model, X, y, delay):
    """Predictions of rows that come, each learnt so many rows later."""
    P = []
    for t in range(len(y)):
        P.append(float(model.predict(X[t : t + 1], ahead=1)[0]) if t > delay else 0.0)
        if t >= delay:
            model.step(X[t - delay], y[t - delay])
    return np.array(P)


def mse(P, y, since):
    return float(np.mean((P - y)[since:] ** 2))


# -- what is known ---------------------------------------------------------------------------------------------------
def test_labels_are_shifted_by_the_delay_and_begin_with_what_was_there_before():
    Y, nan = np.arange(4.0)[:, None], np.nan
    assert_array_equal(shifted(Y, 2)[:, 0], [nan, nan, 0, 1])
    assert_array_equal(shifted(Y, 6)[:, 0], [nan] * 4)
    assert_array_equal(shifted(Y, 3, np.array([[7.0], [8.0]]))[:, 0], [nan, 7, 8, 0])
    assert_array_equal(shifted(Y, 1, np.array([[7.0], [8.0]]))[:, 0], [8, 0, 1, 2])


def test_lags_after_labels_that_are_known_by_now_leave_those_of_before():
    lags = np.array([[1.0], [1.0], [1.0], [0.0]])
    assert_allclose(after(lags, np.array([[2.0], [5.0]]), PACES)[[0, 3], 0], [5.0, 2.0])
    assert lags[0, 0] == 1.0


@pytest.mark.parametrize("delay", [1, 7])
def test_rows_are_learnt_with_the_labels_of_so_many_rows_before(delay):
    X, y = waves(400)
    model = auto(delay=delay)
    model.run(X, y)
    known, own = model.pipeline_.incumbent_.stack_.lags_[:, 0], y[: 400 - delay]
    assert_allclose(known[[0, 3]], own[[-1, -2]], atol=1e-12)
    T = model.pipeline_.incumbent_.targets_.standardised(own[:, None])
    assert_allclose(model.expert_set_.lags_[[0, 3], 0], T[[-1, -2], 0], atol=1e-12)
    assert_array_equal(model.pipeline_.incumbent_.late_.rows[:, 0], y[-delay:])
    assert model.pipeline_.stages_.persistence_ is None


@pytest.mark.parametrize("delay", [1, 30])
def test_so_they_are_in_every_row_also_where_what_was_fitted_anew_is_taken_up(monkeypatch, delay):
    monkeypatch.setattr(refit, "SLICE", 2e6)
    X, y = waves(400)
    model, waited = auto(delay=delay), 0
    for t in range(400):
        model.step(X[t], y[t])
        waited += model.pipeline_.incumbent_.begun_ > 0
        if t > delay + 2:
            known = model.pipeline_.incumbent_.targets_.standardised(y[t - delay - 1 : t - delay + 1][:, None])
            assert_allclose(model.expert_set_.lags_[[3, 0]], known, atol=1e-12)
    assert waited > 10


def test_a_row_that_comes_is_predicted_with_the_last_labels_of_all():
    X, y = waves(900)
    model = auto(delay=5)
    model.run(X[:800], y[:800])
    P = np.array([model.predict(X[800 + k : 801 + k], ahead=1)[0] for k in range(8)])
    errors = np.abs(P - y[800:808])
    assert errors.argmin() in (4, 5, 6)  # for which those are the labels of six rows before
    assert errors.min() < 0.5


def test_labels_that_come_late_are_of_use_and_do_no_harm():
    X, y = waves(900)
    told, untold, without = (
        mse(late(auto(**options), X, y, 5), y, 450)
        for options in ({"delay": 5}, {"delay": 0}, {"delay": 5, "lags": False})
    )
    assert told < 0.2 * without
    assert told < 0.1 * untold


# -- laws ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("cuts", [(1,), (37, 1, 64, 5)])
@pytest.mark.parametrize("at", [NEVER, 560])
def test_blocks_do_not_matter_to_the_last_bit(monkeypatch, task, cuts, at):
    monkeypatch.setattr(refit, "SLICE", 2e6)
    X, y = changing(900, at=at, task=task)
    whole, parts = auto(task), auto(task)
    assert_array_equal(in_cuts(parts, X, y, cuts), whole.run(X, y))
    assert_array_equal(parts.predict(X[:50]), whole.predict(X[:50]))


@pytest.mark.parametrize("cuts", [(1,), (37, 1, 64, 5)])
def test_blocks_do_not_matter_where_the_kernel_of_changes_learns(monkeypatch, cuts):
    monkeypatch.setattr(refit, "SLICE", 2e6)
    X, y = waves(500)
    y = np.cumsum(y)  # so that the last label known tells most of the next
    whole, parts = auto(), auto()
    assert_array_equal(in_cuts(parts, X, y, cuts), whole.run(X, y))
    assert "change" in whole.expert_set_.views_
    assert_array_equal(parts.predict(X[:50]), whole.predict(X[:50]))


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("stop", [3, 153, 303, 500])
def test_a_saved_model_goes_on_bit_for_bit(monkeypatch, task, stop):
    monkeypatch.setattr(refit, "SLICE", 2e6)
    X, y = changing(600, at=NEVER, task=task)
    model = auto(task)
    model.run(X[:stop], y[:stop])
    twin = nystream.from_bytes(nystream.to_bytes(model))
    assert_array_equal(twin.predict(X[:20]), model.predict(X[:20]))
    assert_array_equal(twin.run(X[stop:], y[stop:]), model.run(X[stop:], y[stop:]))


def test_a_class_that_comes_late_in_both_senses():
    X, y = changing(500, at=NEVER, task="classification")
    y[:305] = np.minimum(y[:305], 1)
    y[305] = 2.0
    models = auto("classification"), auto("classification")
    for model, cuts in zip(models, ((500,), (1,)), strict=True):
        in_cuts(model, X, y, cuts)
    assert_array_equal(*(model.predict(X[:50]) for model in models))
    assert_allclose(np.exp(models[0].predict(X[:50])).sum(axis=1), 1.0)


def test_without_lags_a_delay_changes_nothing():
    X, y = waves(400)
    assert_array_equal(auto(delay=5, lags=False).run(X, y), auto(delay=0, lags=False).run(X, y))


# -- who says so -----------------------------------------------------------------------------------------------------
def test_an_evaluation_with_a_delay_tells_the_learner():
    X, y = waves(300)
    learner, model = Auto(recipe=SMALL), Model(None, Schema(["a", "b"], "y", "regression"))
    prequential((X, y), learner, "mse", delay=4)
    assert learner.delay == 4
    rows = [{"a": a, "b": b} for a, b in X[:40]]
    prequential((rows, y[:40]), model, "mse", delay=3)
    assert model.learner_.delay == 3
    begun = Auto(recipe=SMALL)
    begun.run(X[:10], y[:10])
    prequential((X, y), begun, "mse", delay=4)
    assert begun.delay == 0
    own = auto(delay=2)
    prequential((X, y), own, "mse", delay=4)
    assert own.delay == 2


def test_a_delay_is_a_number_of_rows():
    with pytest.raises(ValueError, match="delay must be a whole number of at least 0, got -1"):
        Auto(delay=-1)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_where_no_delay_is_said_lags_are_the_last_labels_that_were_learnt(task):
    X, y = waves(120)
    y = y if task == "regression" else np.digitize(y, [-1.0, 1.0]).astype(float)
    model = auto(task, delay=0)
    for t in range(7, 120):
        model.step(X[t - 7], y[t - 7])
        if t in (20, 90, 119):
            last = y[t - 7] if task == "regression" else np.where(np.arange(3) == y[t - 7], 1.0, -1.0)
            assert_allclose(model.pipeline_.incumbent_.stack_.lags_[0], last)
