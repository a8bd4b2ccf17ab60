"""The hedge: when it begins and ends, at which odds, and what shares make of the first rows after it."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from changing_streams import AT, changing
from numpy.testing import assert_allclose, assert_array_equal

from nystream import Auto
from nystream.auto.drift.detectors import Evidence, RankDetector
from nystream.auto.drift.hedge import HEDGE, odds, stronger
from nystream.auto.drift.inputs import centred, location
from nystream.auto.drift.mixture import Inputs, Mixture
from nystream.auto.drift.succession import Succession
from nystream.auto.recipe import Recipe

SIZES = {"landmarks": 15, "big": 30, "small": 10, "rough": 30, "change": 20, "window": 30, "metric": 50}
SMALL = Recipe((1, 2, 5, 20, 60, 200), ring=500, refresh=100, block=64, **SIZES)


def covered(levels, left, cuts, monkeypatch):
    """Rows that a mixture predicted, and the rows up to which those that were begun had learnt."""
    n, begun = len(levels), []
    alarm = RankDetector(False, n)
    alarm.start()
    evidence = [Evidence(np.array(levels), np.array(left)), Evidence(np.zeros(n), np.zeros(n, dtype=np.int64))]
    course = SimpleNamespace(since=0, shown=(np.zeros((n, 1)), None))

    def begin(self, course, since, end):
        begun.append(end)
        return SimpleNamespace(number=len(begun))

    def mixed(self, course, part, mixture):
        return np.full((part.stop - part.start, 1), float(mixture.number)), None

    monkeypatch.setattr(Succession, "_mixture_for_hedge", begin)
    monkeypatch.setattr(Succession, "_mixed", mixed)
    succession = Succession(False, 100, 10, 300, 0, 0)
    succession.start(1, None)
    for i, j in zip([0, *cuts], [*cuts, n], strict=True):
        succession.hedge(course, slice(i, j), stronger(evidence, slice(i, j)), [alarm, alarm])
    return course.shown[0][:, 0].tolist(), begun


@pytest.mark.parametrize("cuts", [[], [3], [1, 2, 3, 4, 5, 6, 7], [2, 4, 5]])
def test_a_hedge_lasts_until_all_bets_are_lost_in_any_cuts(cuts, monkeypatch):
    hot = HEDGE.hint + 1
    levels, left = [0.0, hot, 1.0, hot, 0.0, hot, 1.0, 0.0], [0, 1, 1, 1, 1, 5, 5, 7]
    assert covered(levels, left, cuts, monkeypatch) == ([0, 0, 1, 1, 1, 0, 2, 2], [2, 6])


def test_of_two_detectors_the_one_nearer_to_an_alarm_counts():
    first = Evidence(np.array([1.0, 4.0, 2.0]), np.array([3, 4, 5]))
    second = Evidence(np.array([2.0, 0.0, 2.0]), np.array([6, 7, 8]))
    expected = ([2.0, 4.0, 2.0], [6, 4, 5], [True, False, False])
    assert stronger([first, second], slice(0, 3)) == expected
    for i in range(3):
        assert stronger([first, second], slice(i, i + 1)) == tuple(one[i : i + 1] for one in expected)


def test_odds_grow_with_how_far_a_loss_is_beyond_all_before():
    before = np.linspace(0.1, 2.0, 100)
    assert odds(np.append(before, [1.0, 1.9]), 2) == HEDGE.odds
    assert_allclose(odds(np.append(before, [40.0, 1.0]), 2), 20 * HEDGE.odds)
    assert odds(np.append(before[:10], 40.0), 1) == HEDGE.odds  # too few to tell what is rare
    assert odds(np.append(np.zeros(100), 40.0), 1) == HEDGE.odds


def test_shares_begin_by_the_odds():
    rng = np.random.default_rng(0)
    mixture = Mixture(False, 20, has_candidate=False)
    mixture.start(rng.normal(size=(50, 1)), 1, location(rng.normal(size=(50, 2))))
    mixture.doubt(0.25)
    assert_allclose(mixture.shares_, [[0.8, 0.1, 0.1]])


def test_squares_are_in_units_of_what_was_usual_so_that_one_row_suffices():
    rng = np.random.default_rng(1)
    X, labels, old = rng.normal(size=(1, 2)), rng.normal(size=(50, 1)), np.array([[-2.0]])
    shares = []
    for usual in (np.array([0.01]), None):
        mixture = Mixture(False, 20, has_candidate=False)
        mixture.start(labels, 1, location(rng.normal(size=(50, 2))), usual)
        mixture.run(Inputs(X, old, old, None), np.array([[2.0]]), None)
        shares.append(mixture.shares_[0, 0])
    assert shares[0] < 0.02
    assert shares[1] > 0.05


def test_where_inputs_moved_the_novice_is_not_farther_from_rows_than_before():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 2))
    where = location(X)
    new = np.array([[100.0, np.nan], [102.0, np.nan]])
    found = centred(where, new)
    assert_allclose(found[0], [101.0, where[0, 1]])
    assert_array_equal(found[1], where[1])


def test_inputs_and_function_that_move_along_cost_what_they_cost_where_they_move_a_little():
    X, y = changing(AT + 200, noise=0.02)
    lost = []
    for by in (4.0, 12.0):
        model, Z = Auto(task="regression", recipe=SMALL), X.copy()
        Z[AT:] += by
        P = model.run(Z, y)
        assert math.isclose(model.alarms()[0].change, AT, abs_tol=3)
        lost.append(((P - y)[AT + 10 :] ** 2).sum())
    assert lost[1] < 1.3 * lost[0]
