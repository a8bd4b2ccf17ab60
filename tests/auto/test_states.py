"""States of drift handling: the table of transitions, and what lives in each state."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from nystream import Auto
from nystream.auto.drift import succession
from nystream.auto.drift.states import TRANSITIONS, Event, State
from nystream.auto.drift.succession import Succession
from nystream.auto.recipe import Recipe

SIZES = {"landmarks": 15, "big": 30, "small": 10, "rough": 30, "change": 20, "window": 30, "metric": 50}
SMALL = Recipe((1, 2, 5, 20, 60, 200), ring=500, refresh=100, block=64, **SIZES)


def regimes(ends, which, noise=0.1):
    """Rows of three functions, one after the other."""
    rng = np.random.default_rng(4)
    n = ends[-1]
    X = rng.normal(size=(n, 3))
    a, b, c = X.T
    f = np.stack([np.sin(2 * a) + b, 2 * np.cos(2 * c) - a, 2 * np.sin(2 * b + c) - c])
    return X, f[np.repeat(which, np.diff([0, *ends])), np.arange(n)] + noise * rng.normal(size=n)


def test_every_state_can_be_reached_and_left():
    assert set(TRANSITIONS.values()) == set(State)
    assert {state for state, _ in TRANSITIONS} == set(State)
    assert {event for _, event in TRANSITIONS} == set(Event)


def test_a_regime_that_changes_and_returns_leads_through_the_table(monkeypatch):
    enter, seen = Succession._enter, []

    def recorded(self, phase, event):
        before = self.state
        enter(self, phase, event)
        seen.append((before, event, self.state))

    monkeypatch.setattr(Succession, "_enter", recorded)
    X, y = regimes((1210, 2230, 3400), (0, 1, 0))
    model = Auto(recipe=SMALL)
    for x, label in zip(X, y, strict=True):
        model.step(x, label)
        drift = model.pipeline_.drift_.succession_
        assert (drift.candidate is not None) == (drift.state is State.COMPARING)
        assert (drift.warm_start is not None) == (drift.state is State.WARM_START)
        assert len(drift.shares) == (2 if drift.state is State.COMPARING else 1)
    assert seen[0][0] is State.STEADY
    assert all(before[2] is after[0] for before, after in pairwise(seen))
    assert {Event.SUSPICION, Event.ALARM, Event.CAUGHT_UP} <= {event for _, event, _ in seen}
    assert Event.PROMOTED in {event for _, event, _ in seen}
    assert [alarm.outcome for alarm in model.alarms()[:2]] == ["promoted", "promoted"]


def test_what_the_table_does_not_have_is_refused():
    succession = Succession(False, 100, 10, 300, 0, 0)
    succession.start(1, None)
    with pytest.raises(KeyError):
        succession._enter(None, Event.PROMOTED)


def test_a_candidate_that_took_over_wrongly_is_found_out_and_the_incumbent_returns(monkeypatch):
    X, y = regimes((1210, 1500, 2300), (0, 1, 0))
    verdict = succession.verdict
    monkeypatch.setattr(succession, "verdict", lambda *given: "promoted" if given[3] == 100 else verdict(*given))
    model, plain = Auto(recipe=SMALL), Auto(recipe=SMALL, changes=False)
    P, Q = model.run(X, y), plain.run(X, y)
    first, second = model.alarms()[:2]
    assert (first.outcome, first.until) == ("promoted", first.change + 100)  # 290 rows are no reason to promote
    assert first.until < 1500 < second.row < 1530
    assert second.regime == 0  # the row at which the first incumbent began
    after = slice(second.row + 20, second.row + 300)
    assert np.mean((P - y)[after] ** 2) < np.mean((Q - y)[after] ** 2)
