"""Where memory does not suffice for both, a rebuild of the incumbent waits until the young one is gone."""

from __future__ import annotations

import numpy as np
import pytest
from changing_streams import changing, in_cuts
from numpy.testing import assert_array_equal

import nystream
from nystream import Auto
from nystream.auto.drift import memory, succession
from nystream.auto.recipe import Recipe

SIZES = {"landmarks": 15, "big": 30, "small": 10, "rough": 30, "change": 20, "window": 30, "metric": 50}
SMALL = Recipe((1, 2, 5, 20, 60, 200), ring=150, refresh=100, block=64, **SIZES)
AT, END = 120, 600


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Of memory; and the candidate goes at an age of 150 rows."""
    monkeypatch.setattr(memory, "_during_refit", lambda *_: np.inf)
    monkeypatch.setattr(succession, "verdict", lambda *given: "discarded" if given[3] >= 150 else None)


def auto():
    return Auto(task="regression", recipe=SMALL)


def test_the_rebuild_comes_when_the_old_one_is_alone():
    X, y = changing(END, AT)
    model, states = auto(), []
    for x, label in zip(X, y, strict=True):
        model.step(x, label)
        states.append(
            (
                model.pipeline_.candidate is not None,
                model.pipeline_.incumbent_.owed_,
                model.pipeline_.incumbent_.begun_,
                model.pipeline_.incumbent_.warm,
            )
        )
    two, owed, begun, warm = (np.array(column) for column in zip(*states, strict=True))
    assert model.alarms()[0].row < 200
    assert two[199]
    assert owed[199]
    assert not begun[199]  # it waits
    assert not warm[two].any()
    alone = 200 + int(np.flatnonzero(~two[200:])[0])
    assert 300 < alone < 400
    done = alone + int(np.flatnonzero(~owed[alone:])[0])
    assert (done + 1) % 100 == 0
    assert not two[done]
    assert warm[done]


def test_the_young_one_is_not_made_smaller_for_that():
    X, y = changing(200, AT)
    model = auto()
    model.run(X, y)
    assert (
        model.pipeline_.candidate.expert_set_.recipe.landmarks
        == model.pipeline_.incumbent_.expert_set_.recipe.landmarks
    )


def test_what_is_told_says_when_it_may_come():
    X, y = changing(250, AT)
    model = auto()
    model.run(X, y)
    assert model.pipeline_.incumbent_.owed_
    assert "the next full refit begins at row 300, the last one at row 300" in model.explain()


@pytest.mark.parametrize("sizes", [(1,), (37, 1, 64, 5)])
def test_blocks_do_not_matter_to_the_last_bit(sizes):
    X, y = changing(END, AT)
    whole, parts = auto(), auto()
    assert_array_equal(in_cuts(parts, X, y, sizes), whole.run(X, y))


@pytest.mark.parametrize("cut", [205, 330, 400, 403, 420])
def test_saved_while_it_waits_or_is_under_way_it_goes_on_bit_for_bit(cut):
    X, y = changing(END, AT)
    stayed = auto()
    stayed.run(X[:cut], y[:cut])
    resumed = nystream.from_bytes(stayed.to_bytes())
    assert_array_equal(resumed.run(X[cut:], y[cut:]), stayed.run(X[cut:], y[cut:]))
    assert resumed.to_bytes() == stayed.to_bytes()
