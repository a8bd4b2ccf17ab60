"""Archive that return: what predicted in them is woken, in any blocks, saved in the middle; and where none does."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from changing_streams import in_cuts
from numpy.testing import assert_allclose, assert_array_equal

import nystream
from nystream import Auto
from nystream.auto import pipeline
from nystream.auto.drift.archive import EVERY, Archive, Regime, frozen
from nystream.auto.recipe import Recipe

SIZES = {"landmarks": 15, "big": 30, "small": 10, "rough": 30, "change": 20, "window": 30, "metric": 50}
SMALL = Recipe((1, 2, 5, 20, 60, 200), ring=500, refresh=100, block=64, **SIZES)
ENDS = (1210, 2230, 2900)
"""Of the first regime, the second, and the third, which is the first again."""


def auto(task="regression", **options):
    return Auto(**{"task": task, "recipe": SMALL, **options})


def returning(task="regression", again=0):
    rng = np.random.default_rng(10 if task == "regression" else 5)
    n = ENDS[-1]
    X = rng.normal(size=(n, 3))
    a, b, c = X.T
    f = np.stack([np.sin(2 * a) + b, 2 * np.cos(2 * c) - a, 2 * np.sin(2 * b + c) - c])
    y = f[np.repeat([0, 1, again], np.diff([0, *ENDS])), np.arange(n)] + 0.1 * rng.normal(size=n)
    return X, y if task == "regression" else np.digitize(y, [-0.7, 0.7]).astype(float)


def losses(P, y, task):
    return (P - y) ** 2 if task == "regression" else -P[np.arange(len(y)), y.astype(int)]


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_a_regime_that_returns_is_known_at_once_and_the_fresh_model_stays(task):
    X, y = returning(task)
    model, fresh = auto(task), auto(task, changes=False)
    P, F = model.run(X, y), fresh.run(X[ENDS[1] :], y[ENDS[1] :])
    first, second = model.alarms()[:2]
    assert (first.outcome, first.regime) == ("promoted", -1)
    assert (second.outcome, second.regime) == ("promoted", 0)
    assert "An archived model that began at row 0 was recalled." in str(second)
    after = slice(ENDS[1], ENDS[1] + 200)
    assert losses(P, y, task)[after].sum() < 0.6 * losses(F, y[ENDS[1] :], task)[:200].sum()
    assert model.pipeline_.incumbent_.count_ == len(y) - second.change  # what was woken is no ensemble
    assert len(model.pipeline_.drift_.succession_.archive_.retired_) == 1  # the second regime was too short to be kept


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_where_nothing_returns_nothing_is_different_to_the_last_bit(task, monkeypatch):
    X, y = returning(task, again=2)
    model = auto(task)
    P = model.run(X, y)
    assert len(model.alarms()) >= 2
    assert {alarm.regime for alarm in model.alarms()} == {-1}
    monkeypatch.setattr(pipeline, "ARCHIVE", 0.0)
    without = auto(task)
    assert_array_equal(without.run(X, y), P)
    assert (
        without.pipeline_.drift_.succession_.archive_.nbytes == 0 < model.pipeline_.drift_.succession_.archive_.nbytes
    )
    assert without.alarms() == model.alarms()


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("sizes", [(1,), (37, 1, 64, 5), (500,)])
def test_blocks_do_not_matter_to_the_last_bit(task, sizes):
    X, y = returning(task)
    w = np.random.default_rng(0).integers(0, 3, len(y)).astype(float) if sizes == (500,) else None
    whole, parts = auto(task), auto(task)
    if w is None:
        assert_array_equal(in_cuts(parts, X, y, sizes), whole.run(X, y))
    else:
        Q = [parts.run(X[i : i + 83], y[i : i + 83], w[i : i + 83]) for i in range(0, len(y), 83)]
        assert_array_equal(np.concatenate(Q), whole.run(X, y, w))
    assert parts.alarms() == whole.alarms()
    assert [one.row_ for one in parts.pipeline_.drift_.succession_.archive_.retired_] == [
        one.row_ for one in whole.pipeline_.drift_.succession_.archive_.retired_
    ]
    assert_array_equal(parts.predict(X[:30]), whole.predict(X[:30]))


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("cut", [2215, ENDS[1] + 60, ENDS[1] + 590])
def test_saved_in_the_middle_it_goes_on_bit_for_bit(task, cut):
    X, y = returning(task)
    model = auto(task)
    model.run(X[:cut], y[:cut])
    kept = model.pipeline_.drift_.succession_.archive_
    assert len(kept.retired_) == 1
    assert (kept.recalled_ is None) == (cut != ENDS[1] + 60)
    assert (model.pipeline_.candidate is None) == (cut != ENDS[1] + 60)
    assert model.nbytes > kept.nbytes > 0
    assert sum(model.weights().values()) == pytest.approx(1.0)
    resumed = nystream.from_bytes(model.to_bytes())
    assert_array_equal(resumed.predict(X[:40]), model.predict(X[:40]))
    assert_array_equal(resumed.run(X[cut:], y[cut:]), model.run(X[cut:], y[cut:]))
    assert resumed.alarms() == model.alarms()
    assert resumed.to_bytes() == model.to_bytes()


def test_a_prediction_is_what_the_next_row_is_told_while_one_is_woken():
    X, y = returning()
    model = auto()
    for cut in (ENDS[1] + 20, ENDS[1] + 60):
        model.run(X[model.n_seen_ : cut], y[model.n_seen_ : cut])
        assert model.pipeline_.drift_.succession_.recalled is not None
        assert_allclose(model.predict(X[cut : cut + 1], ahead=1)[0], model.step(X[cut], y[cut]), rtol=1e-9)


def test_new_classes_and_new_columns_while_one_is_woken():
    X, y = returning("classification")
    cut = ENDS[1] + 60
    model = auto("classification")
    model.run(X[:cut], y[:cut])
    assert model.pipeline_.drift_.succession_.recalled is not None
    wide = np.pad(X, ((0, 0), (0, 2)))
    before = model.predict(X[:20], ahead=1)
    model.widen(5)
    assert_allclose(model.predict(wide[:20], ahead=1), before, atol=1e-9)
    y[cut + 20 :: 9] = 3.0
    model.run(wide[cut:], y[cut:])
    assert model.pipeline_.drift_.succession_.recalled is None
    assert_allclose(np.exp(model.predict(wide[:50])).sum(axis=1), 1.0)


# -- parts -------------------------------------------------------------------------------------------------------------
def test_a_frozen_copy_predicts_the_same_and_takes_little():
    X, y = returning()
    model = auto(recipe=SMALL.resized(big=200, rough=200))
    model.run(X[:900], y[:900])
    small = copy.deepcopy(frozen(model.pipeline_.incumbent_))
    expected = model.pipeline_.incumbent_.predict(X[:50], None).P
    assert_allclose(small.predict(X[:50], None).P, expected, rtol=1e-9, atol=1e-9)
    assert small.nbytes < 0.5 * model.pipeline_.incumbent_.nbytes
    before = model.predict(X[:50])
    model.run(X[900:1000], y[900:1000])
    twin = auto(recipe=SMALL.resized(big=200, rough=200))
    twin.run(X[:1000], y[:1000])
    assert_array_equal(twin.predict(X[:50]), model.predict(X[:50]))
    assert not np.array_equal(before, model.predict(X[:50]))


def test_a_regime_is_back_where_losses_rank_as_they_did():
    rng = np.random.default_rng(0)
    regime = Regime()
    regime.usual_ = np.sort(rng.normal(size=500) ** 2)
    old = 30 * rng.normal(size=20) ** 2 + 10
    usual, large = rng.normal(size=20) ** 2, 20 * rng.normal(size=20) ** 2
    assert regime.is_back(usual, old)
    assert not regime.is_back(large, old)
    assert not regime.is_back(usual, usual)
    assert not regime.is_back(usual[:2], old[:2])
    regime.usual_ = regime.usual_[:40]
    assert not regime.is_back(usual, old)


def test_what_is_kept_stays_within_its_room_and_is_of_before_the_change():
    X, y = returning()
    model = auto()
    model.run(X[:900], y[:900])
    kept = Archive(10**9)
    kept.start()
    kept.copy(model.pipeline_.incumbent_, EVERY, 0)
    assert not kept.copies_  # too young
    for row in (800, 1200, 1600):
        kept.copy(model.pipeline_.incumbent_, row, 0)
    assert [one.row_ for one in kept.copies_] == [1200, 1600]
    kept.begin_candidate(1599, np.ones(700))
    assert kept.leaving_.row_ == 1200
    assert len(kept.leaving_.usual_) == 500
    kept.end_candidate(left=True)
    kept.copy(model.pipeline_.incumbent_, 2400, 1599)
    assert [one.row_ for one in kept.retired_] == [1200]
    kept.room = int(1.5 * kept.copies_[0].nbytes)
    kept.copy(model.pipeline_.incumbent_, 2800, 1599)
    assert not kept.retired_
    assert [one.row_ for one in kept.copies_] == [2800]
    assert kept.nbytes <= kept.room
