"""Rebuilds and refreshes in slices: taken up at rows that sizes decide, in any blocks, saved in the middle."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from changing_streams import AT, changing, in_cuts
from numpy.testing import assert_allclose, assert_array_equal

import nystream
from nystream import Auto
from nystream.auto import refit
from nystream.auto.recipe import Recipe
from nystream.sklearn import OnlineKernelRegressor

SIZES = {"landmarks": 15, "big": 30, "small": 10, "rough": 30, "change": 20, "window": 30, "metric": 50}
SMALL = Recipe((1, 2, 5, 20, 60, 200), ring=500, refresh=100, block=64, **SIZES)


@pytest.fixture(autouse=True)
def slow(monkeypatch):
    """Slices so small that a rebuild of these sizes is under way for several rows."""
    monkeypatch.setattr(refit, "SLICE", 3e6)


def auto(task="regression", **options):
    return Auto(**{"task": task, "recipe": SMALL, **options})


def under_way(model, X, y, weights=None):
    """Rows after which something was under way, and since when, one step at a time."""
    found = {}
    for i in range(len(y)):
        model.step(X[i], y[i], 1.0 if weights is None else weights[i])
        if model.pipeline_.incumbent_.begun_:
            found[model.pipeline_.incumbent_.count_] = model.pipeline_.incumbent_.begun_
    return found


def same(one, other, X):
    assert one.pipeline_.incumbent_.begun_ == other.pipeline_.incumbent_.begun_
    assert_array_equal(one.predict(X[:60]), other.predict(X[:60]))
    assert one.weights() == other.weights()


# -- when ---------------------------------------------------------------------------------------------------------
def test_a_rebuild_is_taken_up_rows_later_and_never_too_late():
    X, y = changing(at=10_000)
    found = under_way(auto(), X[:650], y[:650])
    begun = sorted(set(found.values()))
    assert {60, 200, 300, 400, 500, 600} <= set(begun)
    for row in begun:
        rows = [count - row for count, since in found.items() if since == row]
        assert rows == list(range(len(rows)))
        assert len(rows) <= SMALL.late
    assert max(list(found.values()).count(row) for row in begun) > 5


def test_a_small_one_is_taken_up_at_once(monkeypatch):
    monkeypatch.undo()
    X, y = changing(at=10_000)
    assert under_way(auto(), X[:350], y[:350]) == {}


def test_it_depends_on_sizes_when_it_is_taken_up_not_on_values():
    X, y = changing(at=10_000)
    one, other = auto(), auto()
    assert under_way(one, X[:450], y[:450]) == under_way(other, X[:450] * 7, np.abs(y[:450]) + X[:450, 2])


def test_what_is_taken_up_has_learnt_all_rows_as_if_it_had_been_fitted_at_once(monkeypatch):
    X, y = changing(at=10_000)
    options = {"changes": False, "recipe": SMALL.resized(experts=("glob", "big", "rough"))}
    sliced, whole = auto(**options), auto(**options)
    begun = under_way(sliced, X[:260], y[:260])
    level = max(count for count, since in begun.items() if since == 200) + 1
    monkeypatch.setattr(refit, "SLICE", np.inf)
    whole.run(X[:level], y[:level])
    again = auto(**options)
    monkeypatch.setattr(refit, "SLICE", 3e6)
    again.run(X[:level], y[:level])
    assert again.pipeline_.incumbent_.begun_ == whole.pipeline_.incumbent_.begun_ == 0
    T = whole.expert_set_.predict(X[:50], 1)[:, 0]  # a ridge that was fitted on 200 rows and then learnt the others
    S = again.expert_set_.predict(X[:50], 1)[:, 0]
    assert_allclose(T, S, atol=1e-9)


def test_predictions_go_on_while_a_rebuild_is_under_way():
    X, y = changing(at=10_000)
    model = auto()
    model.run(X[:200], y[:200])
    assert model.pipeline_.incumbent_.begun_ == 200
    before = model.expert_set_.predict(X[300:340], 1)
    model.run(X[200:203], y[200:203])
    assert model.pipeline_.incumbent_.begun_ == 200
    frozen = model.expert_set_.predict(X[300:340], 1)
    names = model.expert_set_.names
    for name in ("ag", "glob", "big", "rough"):
        assert_allclose(frozen[:, names.index(name)], before[:, names.index(name)], rtol=1e-9, atol=1e-12)
    assert not np.allclose(frozen[:, names.index("win1000")], before[:, names.index("win1000")])
    assert ((model.predict(X[300:340]) - y[300:340]) ** 2).mean() < 0.5 * y.var()


def test_large_experts_give_up_their_factors_when_a_rebuild_begins():
    X, y = changing(at=10_000)
    model = auto(recipe=SMALL.resized(big=150, rough=150))
    model.run(X[:199], y[:199])
    before = model.expert_set_.nbytes
    model.run(X[199:200], y[199:200])
    assert model.pipeline_.incumbent_.begun_ == 200
    assert model.expert_set_.nbytes < 0.5 * before


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_where_no_row_follows_it_can_be_finished_and_nothing_but_that_is_different(task):
    X, y = changing(at=10_000, task=task)
    model, waits = auto(task), auto(task)
    model.run(X[:200], y[:200])
    waits.run(X[:200], y[:200])
    model.settle()
    assert (model.pipeline_.incumbent_.begun_, waits.pipeline_.incumbent_.begun_) == (0, 200)
    assert not np.allclose(model.predict(X[300:340]), waits.predict(X[300:340]))
    copy = nystream.from_bytes(model.to_bytes())
    for one in (model, copy):
        one.settle()  # nothing is under way
        one.run(X[200:320], y[200:320])
    same(copy, model, X)
    waits.run(X[200:320], y[200:320])  # it has been taken up meanwhile, with the rows that were missed
    for name in ("ag", "glob"):
        at = model.expert_set_.names.index(name)
        ensembles = (model.pipeline_.incumbent_, waits.pipeline_.incumbent_)
        found, expected = (one.expert_set_.predict(X[300:340], one.inner)[:, at] for one in ensembles)
        assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


def test_a_facade_that_is_given_all_rows_at_once_waits_for_nothing():
    X, y = changing(300, at=10_000)
    fitted = OnlineKernelRegressor(auto()).fit(X[:200], y[:200])
    assert fitted.learner_.pipeline_.incumbent_.begun_ == 0
    assert OnlineKernelRegressor(auto()).partial_fit(X[:200], y[:200]).learner_.pipeline_.incumbent_.begun_ == 200


# -- blocks, files, threads --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("sizes", [(1,), (37, 1, 64, 5), (500,)])
def test_blocks_do_not_matter_to_the_last_bit(task, sizes):
    X, y = changing(task=task)
    whole, parts = auto(task), auto(task)
    assert_array_equal(in_cuts(parts, X, y, sizes), whole.run(X, y))
    assert parts.alarms() == whole.alarms() != []
    same(parts, whole, X)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_weights_and_two_targets_do_not_matter_for_blocks(task):
    X, y = changing(500, at=5000, task=task)
    w = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], 500)
    w[210:260] = 1.0
    Y = y if task == "classification" else np.column_stack([y, X[:, 0]])
    whole, parts = auto(task), auto(task)
    P, Q = whole.run(X, Y, w), in_cuts(parts, X, Y, (1, 7, 30), w)
    seen = np.isfinite(P) & np.isfinite(Q)  # a class is known from the block on in which it comes
    assert_array_equal(P[seen], Q[seen])
    same(parts, whole, X)


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("stop", [60, 204, 216, 302, AT + 40, AT + 145])
def test_saved_while_something_is_under_way_it_goes_on_bit_for_bit(task, stop):
    X, y = changing(1100, task=task)
    w = np.random.default_rng(0).choice([0.5, 1.0, 2.0], 1100)
    model = auto(task)
    model.run(X[:stop], y[:stop], w[:stop])
    assert stop not in (60, 204) or model.pipeline_.incumbent_.begun_
    twins = [nystream.from_bytes(nystream.to_bytes(model)), copy.deepcopy(model)]
    P = model.run(X[stop:], y[stop:], w[stop:])
    for twin in twins:
        assert_array_equal(np.array([twin.step(X[i], y[i], w[i]) for i in range(stop, 1100)]), P)
        same(twin, model, X)


def test_saved_after_every_row_of_a_rebuild(tmp_path):
    X, y = changing(240, at=5000)
    model, whole = auto(), auto()
    model.run(X[:199], y[:199])
    P = whole.run(X, y)[199:]
    Q = []
    for i in range(199, 240):
        Q.append(model.step(X[i], y[i]))
        model.save(tmp_path / "m.nys")
        model = nystream.load(tmp_path / "m.nys")
    assert_array_equal(Q, P)


@pytest.mark.parametrize("row", [204, 216, 305])
def test_a_class_that_comes_while_something_is_under_way(row):
    X, y = changing(500, at=5000, task="classification")
    y[:row] = np.minimum(y[:row], 1)
    y[row] = 2.0
    whole, parts = auto("classification"), auto("classification")
    whole.run(X, y)
    in_cuts(parts, X, y, (1,))
    same(parts, whole, X)
    assert whole.outputs_ == 3


def test_columns_that_come_while_something_is_under_way():
    X, y = changing(500, at=5000)
    whole, parts = auto(), auto()
    wide = np.pad(X, ((0, 0), (0, 2)), constant_values=1.0)
    for model, sizes in ((whole, (500,)), (parts, (1,))):
        in_cuts(model, X[:205], y[:205], sizes)
        assert model.pipeline_.incumbent_.begun_ == 200
        model.widen(5)
        assert model.pipeline_.incumbent_.begun_ == 0
        in_cuts(model, wide[205:], y[205:], sizes)
    same(parts, whole, wide)


def test_one_that_is_not_ready_in_time_is_finished_when_the_next_is_due(monkeypatch):
    monkeypatch.setattr(refit, "SLICE", 1.0)
    X, y = changing(400, at=5000)
    whole, parts = auto(), auto()
    found = under_way(parts, X, y)
    assert max(count - since for count, since in found.items()) < SMALL.late
    whole.run(X, y)
    same(parts, whole, X)


def test_it_is_as_accurate_as_when_all_is_done_at_once(monkeypatch):
    """Something is under way for one row in 14, as little as it is with the usual sizes; the mean of six seeds."""
    losses = np.zeros(2)
    for seed in range(6):
        X, y = changing(1500, at=5000, seed=seed)
        for way, size in enumerate((1e7, np.inf)):
            monkeypatch.setattr(refit, "SLICE", size)
            losses[way] += ((auto().run(X, y) - y)[100:] ** 2).mean()
    assert losses[0] < 1.05 * losses[1]
    assert losses[0] != losses[1]  # rebuilds were spread
