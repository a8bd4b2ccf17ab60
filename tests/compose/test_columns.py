"""One learner of K columns in the place of K learners: the same bits, one map."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nystream import persist
from nystream.compose import Standardized
from nystream.compose.classes import OneVersusRest
from nystream.compose.columns import Columns
from nystream.kernels import Gaussian
from nystream.learners import FOGD, NOGD, NOLANA, SILK

G = Gaussian(0.6)
SHARED = {
    "nogd": NOGD(G, landmarks=30, loss="logistic"),
    "nogd-adagrad": NOGD(G, landmarks=30, method="adagrad"),
    "nolana": NOLANA(G, landmarks=30, eps=0.15),
    "nolana-adagrad": NOLANA(G, landmarks=30, eps=0.15, method="adagrad"),
    "nolana-ls-gd": NOLANA(G, landmarks=30, rank=30, eps=0.15, order="ls_gd", schedule="sqrt", lam=0.01),
    "nolana-warm": NOLANA(G, landmarks=30, rank=8, eps=0.15, loss="squared_hinge", eta=0.1),
    "nolana-squared": NOLANA(G, landmarks=30, eps=0.15, loss="squared", eta=0.1, average=True),
    "fogd": FOGD(G, dim=40, seed=1),
    "fogd-adam": FOGD(G, dim=40, method="adam", lam=0.01, seed=1),
    "fogd-implicit": FOGD(G, dim=40, method="implicit", loss="logistic", average=True, seed=1),
    "standardized-nolana": Standardized(NOLANA(G, landmarks=30, eps=0.15)),
}
ALONE = {
    "nogd-support": NOGD(G, landmarks=30, select="support"),
    "fogd-by-chance": FOGD(G, dim=40, seed=None),
    "silk": SILK(G, budget=20),
}


def stream(n=200, labels=4):
    X = np.random.default_rng(0).uniform(-1, 1, (n, 3)) + np.linspace(0, 1, n)[:, None]
    y = np.digitize(np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2], np.linspace(0, 1.2, labels - 1))
    return X, y.astype(np.intp), np.where(y[:, None] == np.arange(labels), 1.0, -1.0)


def started(learner, width):
    columns = Columns(learner, width)
    columns.start()
    return columns


def run(columns, X, Y, weights=None):
    return np.hstack([job() for job in columns.jobs(X, Y, weights)])


@pytest.mark.parametrize("name", SHARED)
def test_one_learner_of_four_columns_gives_the_bits_of_four_learners(name):
    X, _, Y = stream()
    columns, rows, members = (
        started(SHARED[name], 4),
        started(SHARED[name], 4),
        [SHARED[name].clone() for _ in range(4)],
    )
    weights = np.random.default_rng(1).uniform(0, 2, len(X))
    assert_array_equal(columns.predict(X), np.zeros((200, 4)))
    for part in (slice(0, 20), slice(20, 150), slice(150, 200)):
        expected = np.column_stack([m.run(X[part], Y[part, k], weights[part]) for k, m in enumerate(members)])
        assert_array_equal(run(columns, X[part], Y[part], weights[part]), expected)
        assert_array_equal(
            [rows.step(x, y, w) for x, y, w in zip(X[part], Y[part], weights[part], strict=True)], expected
        )
        assert_array_equal(columns.predict(X), np.column_stack([m.predict(X) for m in members]))
    assert len(columns.learners_) == 1
    assert columns.learners_[0].n_seen == rows.learners_[0].n_seen == 200
    assert columns.learners_[0].size == members[0].size
    if name.startswith("nolana"):
        assert columns.learners_[0].moves == members[0].moves > 50


@pytest.mark.parametrize("name", ALONE)
def test_what_labels_or_chance_make_different_is_not_shared(name):
    X, _, Y = stream()
    columns = started(ALONE[name], 4)
    run(columns, X, Y)
    assert len(columns.learners_) == 4


@pytest.mark.parametrize("name", ["nolana-squared", "fogd-implicit"])
def test_the_mean_hypothesis_of_each_column_is_that_of_its_own_learner(name):
    X, _, Y = stream()
    columns, members = started(SHARED[name], 4), [SHARED[name].clone() for _ in range(4)]
    run(columns, X, Y)
    for k, member in enumerate(members):
        member.run(X, Y[:, k])
        assert_array_equal(columns.learners_[0].solver_.total_[k], member.solver_.total_[0])


def test_declared_classes_share_one_map_and_late_ones_keep_what_they_had():
    X, y, _ = stream()
    pattern = SHARED["nolana"]
    declared = OneVersusRest(pattern)
    declared.declare(2)
    declared.declare(4)  # no row yet: they begin together
    F = declared.run(X, y)
    assert [group.width for group in declared.groups_] == [4]
    for k in range(4):
        sign = -1.0 if k == 0 else 1.0
        assert_array_equal(F[:, k], sign * pattern.clone().run(X, np.where(y == k, sign, -sign)))
    late = OneVersusRest(pattern)
    first = np.minimum(y, 1)
    first[100:] = y[100:]
    late.declare(2)
    late.run(X[:100], first[:100])
    before = copy.deepcopy(late)
    late.declare(4)
    assert [group.width for group in late.groups_] == [1, 1, 2]
    F = late.run(X[100:], first[100:])
    binary = before.learners[0]
    assert_array_equal(F[:, 1], copy.deepcopy(binary).run(X[100:], np.where(first[100:] == 1, 1.0, -1.0)))
    assert_array_equal(F[:, 0], -copy.deepcopy(binary).run(X[100:], np.where(first[100:] == 0, -1.0, 1.0)))
    for k in (2, 3):
        assert_array_equal(F[:, k], pattern.clone().run(X[100:], np.where(first[100:] == k, 1.0, -1.0)))
    assert_array_equal(persist.from_bytes(persist.to_bytes(late)).scores(X), late.scores(X))


def test_ten_classes_hold_one_map():
    X, y, _ = stream(300, labels=10)
    for pattern in (SHARED["nolana"], SHARED["nogd"]):
        one, all_ten = pattern.clone(), OneVersusRest(pattern)
        one.run(X, np.where(y > 4, 1.0, -1.0))
        all_ten.declare(10)
        all_ten.run(X, y)
        assert sum(m.nbytes for m in all_ten.learners) < one.nbytes + 10 * 8 * 24
