"""One row through three alarms in one call, against each of them asked by itself."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream._core.auto.drift import losses_of, placed, watch
from nystream.auto.drift.block import LOG_LEAST
from nystream.auto.drift.detectors import RULES, Evidence, RankDetector
from nystream.auto.drift.inputs import FAR, distances

NEVER = 1 << 62


def started(bar=1e5):
    alarm = RankDetector(True, 40, bar)
    alarm.start()
    return alarm


def state_of(alarms):
    return [copy.deepcopy(alarm._state()) for alarm in alarms]


def rows(n, jump):
    """Predictions, cores, labels, losses of steady experts and inputs; `jump`: what is another one in the last rows."""
    rng = np.random.default_rng(0)
    P, core, Y, X = rng.normal(size=(n, 1)), rng.normal(size=(n, 1)), rng.normal(size=(n, 1)), rng.normal(size=(n, 2))
    steady, late = rng.random(n), slice(n - 40, n)
    if jump == "labels":
        Y[late] += 20.0
    if jump == "steady":
        steady[late] += 20.0
    if jump == "inputs":
        X[late] += 20.0
    return P, core, Y, steady, X


@pytest.mark.parametrize("jump", ["nothing", "labels", "steady", "inputs"])
def test_it_is_each_alarm_by_itself_and_nothing_where_one_sounds(jump):
    n, where = 300, np.array([[0.1, -0.1], [1.0, 2.0]])
    P, core, Y, steady, X = rows(n, jump)
    alarms, alone = [started() for _ in range(3)], [started() for _ in range(3)]
    losses, said, refused = np.zeros((50, 3)), np.zeros((30, 2)), 0
    for t in range(n):
        before = state_of(alarms)
        parts = tuple(alarm.parts for alarm in alarms)
        given = (P[t : t + 1], core[t : t + 1], Y[t : t + 1], None, np.ones(1), LOG_LEAST, float(steady[t]))
        kept = losses.copy(), said.copy()
        found = watch(t, *given, X[t : t + 1], where, FAR, parts, RULES, NEVER, losses, said)
        loss = float((P[t, 0] - Y[t, 0]) ** 2)
        numbers = (loss, steady[t], distances(X[t : t + 1], where)[0])
        sounded, found_so_far = [], []
        for alarm, x in zip(alone, numbers, strict=True):
            evidence = Evidence(np.empty(1), np.empty(1, dtype=np.int64))
            sounded.append(alarm.see(np.array([x]), t, evidence=evidence)[1] is not None)
            found_so_far.append(evidence)
        if any(sounded):
            assert found is None
            for now, then in zip(state_of(alarms), before, strict=True):
                for name in then:
                    assert_array_equal(now[name], then[name])
            assert_array_equal(losses, kept[0])
            assert_array_equal(said, kept[1])
            refused += 1
            break
        assert found == (*(v[0] for v in found_so_far[0]), *(v[0] for v in found_so_far[1]))
        for one, other in zip(alarms, alone, strict=True):
            for name, value in one._state().items():
                assert_array_equal(value, other._state()[name])
        assert_array_equal(losses[t % 50], [loss, 0.0, loss])
        assert_array_equal(said[t % 30], [P[t, 0], core[t, 0]])
    assert refused == (jump != "nothing")


def test_by_a_label_that_is_heard_the_first_alarm_measures_and_the_second_sees_nothing():
    P, core, Y, steady, X = rows(200, "steady")
    heard, where = np.clip(Y, P - 0.5, P + 0.5), np.array([[0.1, -0.1], [1.0, 2.0]])
    alarms, alone = [started() for _ in range(3)], started()
    losses, said, parts = np.zeros((50, 3)), np.zeros((30, 2)), tuple(alarm.parts for alarm in alarms)
    fresh = state_of(alarms)[1]
    for t in range(200):
        given = (P[t : t + 1], core[t : t + 1], Y[t : t + 1], heard[t : t + 1], np.ones(1), LOG_LEAST, float(steady[t]))
        found = watch(t, *given, X[t : t + 1], where, FAR, parts, RULES, NEVER, losses, said)
        evidence = Evidence(np.empty(1), np.empty(1, dtype=np.int64))
        alone.see((P[t] - heard[t]) ** 2, t, evidence=evidence)
        assert found == (evidence.level[0], evidence.left[0], 0.0, 0)
        loss = float((P[t, 0] - Y[t, 0]) ** 2)
        assert_array_equal(losses[t % 50], [loss, 0.0, loss])
    for name, value in alone._state().items():
        assert_array_equal(alarms[0]._state()[name], value)
    for name, value in fresh.items():
        assert_array_equal(alarms[1]._state()[name], value)


def test_rising_losses_sound_and_falling_ones_count_from_a_row_on():
    def seen(falls_from, x):
        alarms = [started() for _ in range(3)]
        for t in range(100):
            alarms[0].see(np.array([1.0 + t % 7]), t)
        parts = tuple(alarm.parts for alarm in alarms)
        P, Y, one = np.array([[math.sqrt(x)]]), np.zeros((1, 1)), np.ones(1)
        where, stores = np.array([[0.0], [1.0]]), (np.zeros((5, 3)), np.zeros((5, 1)))
        for t in range(100, 160):
            given = (P, None, Y, None, one, LOG_LEAST, 0.0, np.zeros((1, 1)), where, FAR)
            if watch(t, *given, parts, RULES, falls_from, *stores) is None:
                return t
        return None

    assert seen(NEVER, 100.0) < 110
    assert seen(NEVER, 1e-9) is None  # losses that fall
    assert seen(100, 1e-9) is not None
    assert seen(NEVER, 4.0) is None


def test_losses_of_classes_are_log_losses_of_the_label():
    P = np.log(np.array([[0.2, 0.8], [1e-300, 1.0]]))
    assert_allclose(losses_of(P, np.array([[1.0], [0.0]]), None, math.log(1e-6)), [-math.log(0.8), -math.log(1e-6)])
    with pytest.raises(ValueError, match="labels must be 0 to 1, got 2"):
        losses_of(P, np.array([[1.0], [2.0]]), None, LOG_LEAST)


def test_rows_are_placed_within_bounds_and_missing_values_are_in_the_middle():
    X = np.array([[1.0, np.nan, 5.0, np.inf], [3.0, 2.0, 5.0, -np.inf]])
    where = np.array([[1.0, 1.0, np.nan, 0.0], [0.1, 2.0, 1.0, 1.0]])
    assert_allclose(placed(X, where, 5.0), [[0.0, 0.0, 0.0, 5.0], [5.0, 0.5, 0.0, -5.0]])
