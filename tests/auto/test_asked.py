"""Experts that are asked for one row at a time have the bits of their `run`."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nystream._core.auto.experts import Asked, answers
from nystream.auto.experts import ForgettingLinear, ForgettingRidge, LaplacianRidge, LargeRidge, Ridge, WindowSmoother
from nystream.auto.views import View
from nystream.scaling import LogScale, StandardScale

EXPERTS = {
    "ridge": Ridge(20),
    "big": LargeRidge(20),
    "rough": LaplacianRidge(20),
    "forgets": ForgettingRidge(12, decay=0.97),
    "linear": ForgettingLinear(0.9),
    "linear, all rows": ForgettingLinear(1.0),
    "window": WindowSmoother(30),
}


def fitted(expert, outputs):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(150, 3)), rng.normal(size=(150, outputs))
    view, expert = View(StandardScale()), copy.deepcopy(expert)
    view.fit(X)
    expert.fit(view, X, Y, None, np.random.default_rng(1))
    return expert


def rows(outputs, n=150):
    rng = np.random.default_rng(3)
    w = rng.uniform(0.5, 2.0, n)
    w[::7] = 0.0
    return rng.normal(size=(n, 3)), rng.normal(size=(n, outputs)), w


def ask(asked, U, Y, w=None):
    """What one expert answers (1, K) for a row as it sees it."""
    return answers(((asked, 0),), (), U, U, Y, w)[0]


def one_by_one(expert, U, Y, w):
    asked = expert.asked(expert)
    parts = [slice(i, i + 1) for i in range(len(U))]
    return np.vstack([ask(asked, U[i], Y[i], None if w is None else w[i]) for i in parts])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("name", EXPERTS)
def test_rows_one_by_one_have_the_bits_of_a_block_and_leave_the_same_expert(name, outputs, weighted):
    whole, single = fitted(EXPERTS[name], outputs), fitted(EXPERTS[name], outputs)
    U, Y, w = rows(outputs)
    w = w if weighted else None
    expected = whole.run(U, Y, w)
    half = one_by_one(single, U[:70], Y[:70], None if w is None else w[:70])
    middle = single.run(U[70:90], Y[70:90], None if w is None else w[70:90])  # a block between them
    rest = one_by_one(single, U[90:], Y[90:], None if w is None else w[90:])
    assert_array_equal(np.vstack([half, middle, rest]), expected)
    assert_array_equal(single.predict(U), whole.predict(U))


@pytest.mark.parametrize("name", ["ridge", "big", "rough"])
def test_a_frozen_expert_answers_and_learns_nothing(name):
    expert = fitted(EXPERTS[name], 2)
    U, Y, _ = rows(2)
    asked = expert.asked(expert)
    expert.freeze()
    before = expert.predict(U)
    for i in range(len(U)):
        assert_array_equal(ask(asked, U[i : i + 1], Y[i : i + 1]), before[i : i + 1])
    assert_array_equal(expert.predict(U), before)


def test_outputs_that_come_late_are_asked_for_too():
    expert, combination = fitted(EXPERTS["big"], 2), np.array([[0.5], [-1.0]])
    U, Y, _ = rows(2)
    asked = expert.asked(expert)
    ask(asked, U[:1], Y[:1])
    expert.add_outputs(combination)
    full = np.hstack([Y, Y @ combination])
    expected = expert.predict(U[1:2])
    assert_array_equal(ask(asked, U[1:2], full[1:2]), expected)


@pytest.mark.parametrize("name", list(EXPERTS))
@pytest.mark.parametrize(
    ("U", "Y", "w"),
    [
        (np.zeros((1, 4)), np.zeros((1, 2)), None),
        (np.zeros((2, 3)), np.zeros((1, 2)), None),
        (np.zeros((1, 3)), np.zeros((1, 3)), None),
        (np.zeros((1, 3)), np.zeros((2, 2)), None),
        (np.zeros((1, 3)), np.zeros((1, 2)), np.ones(2)),
    ],
)
def test_arrays_that_do_not_fit_are_refused(name, U, Y, w):
    expert = fitted(EXPERTS[name], 2)
    with pytest.raises(ValueError, match="is needed"):
        ask(expert.asked(expert), U, Y, w)


@pytest.mark.parametrize(
    ("name", "spoil"),
    [
        ("ridge", lambda e: setattr(e, "points_", e.points_[:-1].copy())),
        ("big", lambda e: setattr(e, "rows_", e.rows_[:, :-1].copy())),
        ("big", lambda e: setattr(e, "filled_", 32)),
        ("forgets", lambda e: setattr(e.solver_, "filled_", -1)),
        ("forgets", lambda e: setattr(e.solver_, "rows_", e.solver_.rows_[:, 1:].copy())),
        ("window", lambda e: setattr(e.smoother_, "kept_", -1)),
        ("window", lambda e: setattr(e.smoother_, "targets_", e.smoother_.targets_[1:].copy())),
    ],
)
def test_what_only_a_forged_file_has_is_refused(name, spoil):
    expert = fitted(EXPERTS[name], 2)
    spoil(expert)
    U, Y, _ = rows(2)
    with pytest.raises(ValueError, match=r"is needed|is not there|kept must"):
        ask(expert.asked(expert), U[:1], Y[:1])


def test_an_expert_without_a_shorter_way_is_asked_by_its_run():
    class Sum:
        def run(self, U, Y, w):
            return U[:, :2] + Y + (0.0 if w is None else w[0])

    U, Y, w = rows(2)
    assert_array_equal(ask(Asked(Sum()), U[1:2], Y[1:2], w[1:2]), (U[:, :2] + Y + w[1])[1:2])


def test_rows_are_seen_through_views_as_blocks_are():
    rng = np.random.default_rng(5)
    X, Y = rng.normal(size=(60, 3)) ** 3, rng.normal(size=(60, 1))
    views = [View(scale) for scale in (StandardScale(), LogScale())]
    for view in views:
        view.fit(X, Y)
    columns = [Columns(), Columns(), Columns()]
    asked = tuple((Asked(one), place) for place, one in enumerate(columns))
    for i in range(60):
        row = slice(i, i + 1)
        found = answers(asked, tuple(view.parts for view in views), X[row], X[row], np.zeros((1, 3)))
        assert_array_equal(found[0], [*(view(X)[i] for view in views), X[i]])


class Columns:
    def run(self, U, Y, w):
        return U


@pytest.mark.parametrize(("place", "beside"), [(-1, True), (1, True), (0, False)])
def test_a_view_that_is_not_there_is_refused(place, beside):
    X = np.zeros((1, 3))
    with pytest.raises(ValueError, match="is not there"):
        answers(((Asked(Columns()), place),), (), X, X if beside else None, X)
