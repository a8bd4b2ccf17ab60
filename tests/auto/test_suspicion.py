"""Suspicions: when one begins, begins anew and ends, at which odds, and what shares make of the first rows after it."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from changing_streams import AT, changing
from nystream import Auto
from nystream.auto.drift.alarm import Heat, RankAlarm
from nystream.auto.drift.inputs import centred, location
from nystream.auto.drift.mixture import Handover, Heard
from nystream.auto.drift.suspicion import HINT, ODDS, Suspicion, hottest_of, odds
from nystream.auto.drift.watch import hottest_in
from nystream.auto.recipe import Recipe

SIZES = {"landmarks": 15, "big": 30, "small": 10, "rough": 30, "change": 20, "windows": (30, 10), "metric": 50}
SMALL = Recipe((1, 2, 5, 20, 60, 200), ring=500, refresh=100, block=64, **SIZES)


def covered(levels, left, cuts, in_vain):
    """Rows that a mixture predicted, and the rows up to which those that were begun had learnt."""
    n, begun = len(levels), []
    alarm = RankAlarm(False, n)
    alarm.start()
    heats = [Heat(np.array(levels), np.array(left)), Heat(np.zeros(n), np.zeros(n, dtype=np.int64))]
    suspicion, shown = Suspicion(), (np.zeros((n, 1)), None)

    def begin(since, end):
        begun.append(end)
        return SimpleNamespace(in_vain=in_vain, number=len(begun))

    def mixed(mixture, part):
        return np.full((part.stop - part.start, 1), float(mixture.number)), None

    for i, j in zip([0, *cuts], [*cuts, n], strict=True):
        part = slice(i, j)
        shown = suspicion.cover(part, 0, hottest_of(heats, part), [alarm, alarm], begin, mixed, shown)
    return shown[0][:, 0].tolist(), begun


@pytest.mark.parametrize("cuts", [[], [3], [1, 2, 3, 4, 5, 6, 7], [2, 4, 5]])
def test_a_suspicion_that_was_in_vain_begins_anew_with_the_next_bet_in_any_cuts(cuts):
    hot = HINT + 1
    levels, left = [0.0, hot, 1.0, hot, 1.0, hot, 0.0, 0.0], [0, 1, 1, 1, 1, 5, 5, 7]
    assert covered(levels, left, cuts, in_vain=True) == ([0, 0, 1, 1, 1, 1, 2, 0], [2, 6])
    assert covered(levels, left, cuts, in_vain=False) == ([0, 0, 1, 1, 1, 1, 1, 0], [2])


def test_of_two_alarms_the_nearer_one_tells_also_for_one_row_by_itself():
    heats = [Heat(np.array([1.0, 4.0, 2.0]), np.array([3, 4, 5])), Heat(np.array([2.0, 0.0, 2.0]), np.array([6, 7, 8]))]
    expected = ([2.0, 4.0, 2.0], [6, 4, 5], [True, False, False])
    assert hottest_of(heats, slice(0, 3)) == expected
    for i in range(3):
        near = tuple(value[i] for heat in heats for value in heat)
        assert hottest_in(near) == hottest_of(heats, slice(i, i + 1)) == tuple(one[i : i + 1] for one in expected)


def test_odds_grow_with_how_far_a_loss_is_beyond_all_before():
    before = np.linspace(0.1, 2.0, 100)
    assert odds(np.append(before, [1.0, 1.9]), 2) == ODDS
    assert_allclose(odds(np.append(before, [40.0, 1.0]), 2), 20 * ODDS)
    assert odds(np.append(before[:10], 40.0), 1) == ODDS  # too few to tell what is rare
    assert odds(np.append(np.zeros(100), 40.0), 1) == ODDS


def test_shares_begin_by_the_odds_and_tell_whether_the_novice_has_lost_since():
    rng = np.random.default_rng(0)
    mixture = Handover(False, 20, young=False)
    mixture.start(rng.normal(size=(50, 1)), 1, location(rng.normal(size=(50, 2))))
    mixture.doubt(0.25)
    assert_allclose(mixture.shares_, [[0.8, 0.1, 0.1]])
    assert not mixture.in_vain
    X, Y = rng.normal(size=(5, 2)), rng.normal(size=(5, 1))
    mixture.run(Heard(X, Y, Y, None), Y, None)  # the old one is right
    assert mixture.in_vain


def test_squares_are_in_units_of_what_was_usual_so_that_one_row_suffices():
    rng = np.random.default_rng(1)
    X, labels, old = rng.normal(size=(1, 2)), rng.normal(size=(50, 1)), np.array([[-2.0]])
    shares = []
    for usual in (np.array([0.01]), None):
        mixture = Handover(False, 20, young=False)
        mixture.start(labels, 1, location(rng.normal(size=(50, 2))), usual)
        mixture.run(Heard(X, old, old, None), np.array([[2.0]]), None)
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
