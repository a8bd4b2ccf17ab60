"""After a change of the stream labels are believed, however wild they are for what was there before."""

from __future__ import annotations

import numpy as np
import pytest
from changing_streams import AT, changing, in_cuts
from numpy.testing import assert_array_equal

import nystream
from nystream import Auto
from nystream.auto.labels import LabelFilter
from nystream.auto.recipe import Recipe

SIZES = {"landmarks": 15, "big": 30, "small": 10, "rough": 30, "change": 20, "window": 30, "metric": 50}
SMALL = Recipe((1, 2, 5, 20, 60, 200), ring=500, refresh=100, block=64, **SIZES)


def larger(n=1500, seed=0, times=10.0):
    """Another function from row AT on, with labels so many times as large."""
    X, y = changing(n, seed=seed)
    return X, np.where(np.arange(n) < AT, y, times * y)


def auto(**options):
    return Auto(**{"recipe": SMALL, **options})


# -- what is learnt ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_what_is_kept_since_a_change_is_as_it_came(seed):
    X, y = larger(AT + 150, seed)
    model = auto()
    model.run(X, y)
    alarm = model.alarms()[0]
    assert AT <= alarm.change < alarm.row < AT + 30
    since = len(y) - alarm.change
    assert_array_equal(model.pipeline_.buffer_.labels_.last(since)[:, 0], y[-since:])


def test_it_predicts_as_well_as_one_that_begins_at_the_change():
    """Over eight streams: of a single one rounding decides, which another BLAS does otherwise."""
    ratios = []
    for seed in range(8):
        X, y = larger(AT + 600, seed)
        model, fresh = auto(), auto()
        losses = [(model.run(X, y)[AT:] - y[AT:]) ** 2, (fresh.run(X[AT:], y[AT:]) - y[AT:]) ** 2]
        ratios.append(losses[0][100:].mean() / losses[1][100:].mean())
    assert np.mean(ratios) < 1.0
    assert max(ratios) < 1.4


@pytest.mark.parametrize("sizes", [(1,), (37, 1, 64, 5)])
def test_blocks_do_not_matter_to_the_last_bit(sizes):
    X, y = larger()
    whole, parts = auto(), auto()
    assert_array_equal(in_cuts(parts, X, y, sizes), whole.run(X, y))
    assert parts.alarms() == whole.alarms() != []


@pytest.mark.parametrize("after", [4, 12, 40])
def test_saved_after_the_change_it_goes_on_bit_for_bit(after):
    X, y = larger(1200)
    model = auto()
    model.run(X[: AT + after], y[: AT + after])
    twin = nystream.from_bytes(nystream.to_bytes(model))
    P = model.run(X[AT + after :], y[AT + after :])
    assert_array_equal([twin.step(X[i], y[i]) for i in range(AT + after, 1200)], P)


# -- what is known of tails ----------------------------------------------------------------------------------------
def tails_with(noise):
    """LabelFilter that have seen 300 rows with residuals of size 1, and then some wild ones."""
    tails = LabelFilter(1)
    tails.start()
    residuals = np.random.default_rng(0).normal(size=300)
    tails.record(np.zeros((300, 1)), residuals[:, None])
    for y in noise:
        label = np.array([y])
        tails.winsorize(label, np.zeros(1), np.array([True]), np.ones(1))
        tails.record(np.zeros((1, 1)), label[None])
    return tails


def test_tails_that_became_long_since_a_change_are_forgotten():
    tails = tails_with([80.0, -90.0, 70.0])
    assert tails.is_heavy.all()
    assert tails.trust_since_change(4, 1, 0)  # the change was three rows before the next, with which the alarm sounds
    tails.record(np.zeros((1, 1)), np.full((1, 1), 60.0))
    assert not tails.is_heavy.any()
    assert len(tails.past_) == 0


def test_tails_that_were_long_before_a_change_stay():
    tails = tails_with([80.0, *np.zeros(20), 90.0])
    assert not tails.trust_since_change(4, 1, 0)
    tails.record(np.zeros((1, 1)), np.full((1, 1), 60.0))
    assert tails.is_heavy.all()
    assert len(tails.past_) == 323


def test_rows_of_a_block_after_the_alarm_are_known():
    one, two = tails_with([]), tails_with([])
    R = np.arange(6.0)[:, None]
    assert one.trust_since_change(5, 6, 2)
    one.record(np.zeros((6, 1)), R)
    two.record(np.zeros((3, 1)), R[:3])
    assert two.trust_since_change(3, 1, 0)
    two.record(np.zeros((1, 1)), R[3:4])
    two.record(np.zeros((2, 1)), R[4:])
    assert_array_equal(one.past_.rows, two.past_.rows)
    assert one.past_.seen_ == two.past_.seen_ == 2
