"""A candidate that began too early begins again: where a change was by likelihoods, in any cuts, saved."""

from __future__ import annotations

import numpy as np
import pytest
from changing_streams import AT, changing, in_cuts
from numpy.testing import assert_allclose, assert_array_equal

import nystream
from nystream import Auto
from nystream.auto.drift.change_point import first_of_new
from nystream.auto.drift.detectors import RankDetector
from nystream.auto.drift.few_row_ridge import RIDGES, FewRowRidge
from nystream.auto.recipe import Recipe

SIZES = {"landmarks": 15, "big": 30, "small": 10, "rough": 30, "change": 20, "window": 30, "metric": 50}
SMALL = Recipe((1, 2, 5, 20, 60, 200), ring=500, refresh=100, block=64, **SIZES)
WHERE = np.array([[0.0, 1.0, 2.0], [1.0, 2.0, 0.5]])


@pytest.mark.parametrize(
    ("gains", "rows"),
    [
        ([2.0, 1.0, -1.0, -1.0, -1.0, -1.0], 2),
        ([-1.0, 4.0, -1.0, -1.0, -1.0, -1.0], 2),  # a row that neither knew better is within
        ([-1.0] * 6, 0),
        ([1.0] * 6, 0),  # the old one is better all along
        ([0.5, 0.5, -1.0, -1.0, -1.0, -1.0], 0),  # not clear
        ([2.0, 1.0, 0.0, 0.0, -0.5, -0.5], 0),  # nor is that it was over
        ([-1.0, -1.0, -1.0, -1.0, 9.0, -9.0], 0),  # in the later half nothing is looked for
    ],
)
def test_a_change_is_where_likelihoods_turn_if_they_do_so_clearly(gains, rows):
    assert first_of_new(np.array(gains), 6) == rows
    assert first_of_new(np.array(gains), 0) == 0


def test_rows_left_out_are_predicted_as_if_they_had_never_been_learnt():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    few_row_ridge = FewRowRidge(False, 30)
    few_row_ridge.start(2, WHERE)
    few_row_ridge.run(X, T, None)
    missing, variances = few_row_ridge.left_out(12)
    Z = np.clip((X[:12] - WHERE[0]) / WHERE[1], -5, 5)
    D = ((Z[:, None] - Z) ** 2).sum(axis=2)
    K = (np.exp(-2 * D / (3.4 * 3)) + np.exp(-0.5 * D / (3.4 * 3))) / 2
    for i in range(12):
        others = np.arange(12) != i
        weights = np.linalg.solve(K[np.ix_(others, others)] + RIDGES[0] * np.eye(11), K[others, i])
        assert_allclose(missing[i], T[i] - weights @ T[:12][others], atol=1e-9)
        assert_allclose(variances[i], 1 + RIDGES[0] - weights @ K[others, i], rtol=1e-9)


@pytest.fixture
def early(monkeypatch):
    """Every change is put six rows too early."""
    put = RankDetector.change_point
    monkeypatch.setattr(RankDetector, "change_point", lambda self, *given, **more: put(self, *given, **more) - 6)


def auto(task="regression"):
    return Auto(task=task, recipe=SMALL)


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_one_that_began_too_early_begins_again_where_the_change_was(task, early):
    X, y = changing(task=task)
    model = auto(task)
    model.run(X[:AT], y[:AT])
    row = AT
    while not model.alarms():
        model.step(X[row], y[row])
        row += 1
    assert model.alarms()[-1].change <= AT - 4
    model.run(X[row : AT + 250], y[row : AT + 250])
    alarm = model.alarms()[-1]
    assert abs(alarm.change - AT) <= 1
    assert model.pipeline_.candidate.count_ == AT + 250 - alarm.change


@pytest.mark.parametrize("sizes", [(1,), (37, 1, 64, 5)])
def test_it_begins_again_in_any_cuts(sizes, early):
    X, y = changing(1200)
    whole, parts = auto(), auto()
    assert_array_equal(in_cuts(parts, X, y, sizes), whole.run(X, y))
    assert parts.alarms() == whole.alarms()
    assert abs(whole.alarms()[0].change - AT) <= 1


def test_saved_around_a_second_look_it_goes_on_bit_for_bit(early):
    X, y = changing(900)
    for cut in (AT + 8, AT + 9, AT + 12, AT + 35):
        stayed = auto()
        stayed.run(X[:cut], y[:cut])
        resumed = nystream.from_bytes(stayed.to_bytes())
        assert_array_equal(resumed.run(X[cut:], y[cut:]), stayed.run(X[cut:], y[cut:]))
        assert resumed.to_bytes() == stayed.to_bytes()
        assert resumed.alarms() == stayed.alarms()
