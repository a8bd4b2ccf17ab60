"""A fresh engine beside the forecaster's own after an alarm."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_array_equal

from nystream import Forecaster, from_bytes
from nystream.forecast import Naive, SeasonalNaive, default_members
from nystream.forecast.trial import Trial

CHEAP = [Naive(), SeasonalNaive()]


class Errors:
    """An engine of which only the last errors are looked at."""

    def __init__(self, *errors):
        self.errors_ = np.array(errors)


def score(fresh, old, cycle):
    """The score after errors of both, by its definition."""
    s = 0.0
    for a, b in zip(fresh, old, strict=True):
        s = max(0.0, (1 - 1 / cycle) * s + min(max(np.log(b / a), -1.0), 1.0))
    return s


def test_score_is_the_discounted_sum_of_logarithms():
    rng = np.random.default_rng(0)
    a, b = rng.lognormal(size=(2, 60))
    trial = Trial()
    trial.start(Errors(), [6, 12])
    for fresh, old in zip(a, b, strict=True):
        trial.fresh_ = Errors(fresh)
        trial.learn(Errors(old, 1000.0))  # a step that the fresh engine does not have yet
    assert abs(trial.score_ - score(a, b, 6)) < 1e-9
    assert trial.is_over  # after eight cycles


def shifted(n=400, at=300, size=30.0):
    rng = np.random.default_rng(0)
    t = np.arange(n)
    return 50 + 5 * np.sin(2 * np.pi * t / 12) + size * (t >= at) + 0.3 * rng.normal(size=n)


def test_the_fresh_engine_forecasts_as_a_forecaster_that_began_at_the_shift():
    y = shifted()
    members = default_members(None, 1)
    old, fresh = Forecaster(4, season=12, members=members), Forecaster(4, season=12, members=members)
    P, Q = old.run(y[:310]), fresh.run(y[300:310])
    assert old.trial_ is not None
    assert old.trial_.is_leading
    assert_array_equal(P[-5:], Q[-5:])


def test_a_trial_is_saved_and_goes_on():
    y = shifted()
    f = Forecaster(4, season=12, members=CHEAP)
    f.run(y[:305])
    assert f.trial_ is not None
    again = from_bytes(f.to_bytes())
    assert_array_equal(again.run(y[305:]), f.run(y[305:]))


def test_an_outlier_ends_its_trial_and_changes_nothing():
    y = shifted(size=0.0)
    y[300] += 100
    f = Forecaster(4, season=12)
    for t, label in enumerate(y):
        engine = f.engine_
        f.step(label)
        assert t < 300 or f.engine_ is engine
    assert len(f.alarms()) == 1
    assert f.trial_ is None
