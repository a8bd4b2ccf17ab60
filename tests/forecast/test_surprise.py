"""How rare labels are, and alarms."""

from __future__ import annotations

import math

import numpy as np

from nystream import Auto, Forecaster, from_bytes
from nystream.auto.surprise import RULES
from nystream.forecast.surprises import Surprises


def learnt(errors):
    s = Surprises()
    s.start()
    for e in errors:
        s.learn(float(e), 0.0, s.scale())
    return s


def test_once_in_is_the_inverse_of_the_conformal_p_value():
    rng = np.random.default_rng(0)
    s = learnt(rng.normal(size=1000))
    kept = s.errors_[: s.count_]
    for y in (0.1, 1.0, 2.5):
        size = y / s.scale()
        assert s.of(y, 0.0, s.scale()).once_in == (len(kept) + 1) / (1 + (kept >= size).sum())


def test_equal_errors_are_as_rare_as_they_say():
    """Of exchangeable errors, a share 1/N is called rarer than once in N rows."""
    errors = np.random.default_rng(1).normal(size=6000)
    s = Surprises()
    s.start()
    found = []
    for e in errors:
        s.learn(float(e), 0.0, s.scale())
        found.append(s.last().once_in)
    for n in (10, 50):
        assert abs(np.mean(np.array(found[1000:]) >= n) * n - 1) < 0.35


def test_beyond_the_record_is_told_apart():
    s = learnt(np.random.default_rng(0).normal(size=500))
    far, farther = s.of(20.0, 0.0, s.scale()), s.of(200.0, 0.0, s.scale())
    assert far.once_in == farther.once_in == s.count_ + 1
    assert farther.beyond > 9 * far.beyond > 9
    assert "times the largest error" in str(far)


def test_a_missing_label_is_no_surprise():
    s = learnt([*np.random.default_rng(0).normal(size=100), math.nan])
    assert s.last().once_in == 1
    assert "not known" in str(s.last())


def test_alarms_for_runs_with_a_pause():
    rng = np.random.default_rng(0)
    errors = rng.normal(size=900)
    errors[500:504] = [6, -7, 6, 7]
    errors[510:514] = 8
    errors[700] = 60
    alarms = learnt(errors).alarms()
    assert [a.cause for a in alarms] in (["run", "record"], ["record", "record"])
    assert 500 <= alarms[0].row <= 504
    assert alarms[1].row == 701
    assert alarms[1].row - alarms[0].row >= RULES.pause


def test_forecaster_knows_what_is_rare():
    rng = np.random.default_rng(0)
    t = np.arange(600)
    y = 10 + 3 * np.sin(2 * np.pi * t / 24) + 0.2 * rng.normal(size=600)
    f = Forecaster(6, season=24)
    f.run(y)
    usual = f.surprise(float(f.forecast()[0]))
    rare = f.surprise(float(f.forecast()[0]) + 30)
    assert usual.once_in < 2
    assert rare.once_in > 300
    assert rare.beyond > 3
    before = len(f.alarms())
    f.step(float(f.forecast()[0]) + 30)
    assert f.surprise().once_in > 300
    assert len(f.alarms()) == before + 1
    assert from_bytes(f.to_bytes()).alarms() == f.alarms()


def test_auto_knows_how_rare_the_last_label_was():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(700, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=700)
    auto = Auto()
    assert auto.surprise().once_in == 1
    found = []
    for t in range(700):
        auto.step(X[t], y[t])
        found.append(auto.surprise().once_in)
    assert abs(np.mean(np.array(found[200:]) >= 10) * 10 - 1) < 0.6
    usual = auto.to_bytes()
    auto.surprise()
    assert auto.to_bytes() == usual
    auto.step(X[0], 30.0)
    assert auto.surprise().once_in > 300
    assert auto.surprise().beyond > 1
    last = auto.surprise_alarms()[-1]
    assert (last.row, last.change, last.cause) == (701, 700, "record")
