"""Several series with a shared learner: laws, files, tables, and what short series gain."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import nystream
from nystream import Forecaster
from nystream.forecast import KeyedForecaster

DAY, H = 24, 12
START = np.datetime64("2024-01-01T00:00")


def sites(keys, rows, seed=0):
    """Series of different levels that share their shape."""
    rng = np.random.default_rng(seed)
    t = np.arange(rows)
    shape = 5 * np.sin(2 * np.pi * t / DAY) + 3 * np.cos(4 * np.pi * t / DAY)
    return np.exp(rng.normal(size=(keys, 1))) * (20 + shape + 0.5 * rng.normal(size=(keys, rows)))


def times(rows):
    return START + np.arange(rows) * np.timedelta64(1, "h")


def learn(f, Y, a=0, b=None):
    when = times(Y.shape[1])
    for i in range(a, Y.shape[1] if b is None else b):
        for k in range(len(Y)):
            f.step(k, Y[k, i], when=when[i])
    return f


def test_files_and_copies_go_on_bit_for_bit_and_asking_changes_nothing():
    Y = sites(3, 100)
    f = learn(KeyedForecaster(H), Y, b=70)
    before = f.to_bytes()
    twin, loaded = copy.deepcopy(f), nystream.from_bytes(before)
    f.forecast(0)
    f.forecast_interval(2)
    assert f.to_bytes() == before
    learn(f, Y, a=70)
    for other in (twin, loaded):
        learn(other, Y, a=70)
        assert other.to_bytes() == f.to_bytes()
    assert f.n_seen == 300
    assert f.keys == [0, 1, 2]
    assert f.clone().keys == []


def test_a_table_of_rows_is_learnt_as_row_by_row():
    pd = pytest.importorskip("pandas")
    Y = sites(2, 60)
    when = times(60)
    frame = pd.DataFrame(
        [{"site": f"s{k}", "at": when[i], "load": Y[k, i], "open": i % 3} for i in range(60) for k in range(2)]
    )
    f, g = KeyedForecaster(H), KeyedForecaster(H)
    P = f.run(frame, "load", "site", "at", ["open"])
    rows = [(f"s{k}", Y[k, i], {"open": i % 3}, when[i]) for i in range(60) for k in range(2)]
    assert_array_equal(P, [g.step(*row) for row in rows])
    X = [{"open": 1.0}] * H
    assert_array_equal(f.forecast("s1", X=X), g.forecast("s1", X=X))
    with pytest.raises(ValueError, match="no column 'lode'"):
        f.run(frame, "lode", "site")


def test_a_series_that_begins_late_gains_from_the_others():
    gains = []
    for seed in range(3):
        Y, late = sites(5, 13 * DAY, seed), 10 * DAY
        f, alone, when = learn(KeyedForecaster(H), Y[:4], b=late), Forecaster(H), times(Y.shape[1])
        errors = np.zeros(2)
        for i in range(late, late + DAY):
            for k in range(4):
                f.step(k, Y[k, i], when=when[i])
            f.step("new", Y[4, i], when=when[i])
            alone.step(Y[4, i], when=when[i])
            truth = Y[4, i + 1 : i + 1 + H]
            errors += [np.abs(f.forecast("new") - truth).mean(), np.abs(alone.forecast() - truth).mean()]
        gains.append(errors[0] / errors[1])
    assert np.mean(gains) < 0.75


def test_refusals():
    f = KeyedForecaster(H)
    with pytest.raises(ValueError, match="need timestamps"):
        f.step("a", 1.0)
    assert f.keys == []
    with pytest.raises(KeyError, match="no row of the series 'a'"):
        f.forecast("a")
    with pytest.raises(ValueError, match="text or a whole number"):
        f.step(1.5, 1.0, when=START)
    assert math.isnan(f.step("a", 1.0, when=START))
