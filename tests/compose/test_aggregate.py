"""Aggregate against its formulas, its regret bounds on hostile streams, and what its learners share."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from nystream import (
    FOGD,
    ONS,
    PKAWV,
    PKRR,
    Fourier,
    Gaussian,
    KernelAWV,
    KernelRidge,
    Standardized,
    Taylor,
    persist,
)
from nystream.compose.aggregate import Aggregate
from nystream.learners import Learner
from oracles.second_order import aggregate

G = Gaussian(0.7)


def stream(n=300, d=3, seed=0, bound=1.0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    return X, bound * np.tanh(np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n))


def panel(lams=(0.01, 0.1, 1.0, 10.0)):
    return [KernelAWV(G, lam=lam) for lam in lams]


@pytest.mark.parametrize("rule", ["aa", "ewa"])
@pytest.mark.parametrize("prior", [None, [1.0, 2.0, 3.0, 4.0]])
def test_predictions_equal_the_formulas_on_the_experts_predictions(rule, prior):
    X, y = stream()
    Q = np.array([learner.run(X, y) for learner in panel()])
    expected = aggregate(Q, y, 0.9, rule, None if prior is None else np.array(prior) / 10)
    for size in (1, 7, 256, 300):
        model = Aggregate(panel(), bound=0.9, rule=rule, prior=prior)
        with pytest.warns(UserWarning, match="outside"):
            got = [model.run(X[i : i + size], y[i : i + size]) for i in range(0, 300, size)]
        assert_allclose(np.concatenate(got), expected, atol=1e-10)


def test_golden_values():
    X, y, _ = oracles.golden_stream()
    for rule, expected in [("ewa", 12.4728808184), ("aa", 11.8316028821)]:
        model = Aggregate([KernelAWV(Gaussian(0.3), lam=lam) for lam in (0.01, 0.1, 1, 10)], bound=1.0, rule=rule)
        p = model.run(X, y)
        assert_allclose(((p - y) ** 2).sum(), expected, atol=5e-11)


def test_weights_are_those_of_the_losses():
    X, y = stream()
    model = Aggregate(panel(), bound=1.0, prior=[4, 3, 2, 1])
    assert_allclose(model.shares(), [0.4, 0.3, 0.2, 0.1])
    model.run(X, y)
    losses = np.array([((np.clip(learner.run(X, y), -1, 1) - y) ** 2).sum() for learner in panel()])
    w = np.array([4, 3, 2, 1]) * np.exp(-(losses - losses.min()) / 2)
    assert_allclose(model.shares(), w / w.sum(), rtol=1e-9)


def hostile_streams():
    """(predictions of experts (N, n), labels), worst for whoever averages or follows: |y| <= 1."""
    rng = np.random.default_rng(0)
    n = 120
    constants = np.repeat(np.linspace(-1, 1, 5)[:, None], n, axis=1)
    yield constants, np.resize([-1.0, 1.0], n)
    yield constants, np.where(np.arange(n) < n // 2, 1.0, -1.0)
    yield constants, np.where(np.arange(n) < 5, -1.0, 1.0)
    for _ in range(10):
        Q = rng.uniform(-1, 1, (4, n))
        yield Q, rng.choice([-1.0, 1.0], n)
        yield Q, np.clip(Q[2] + 0.2 * rng.normal(size=n), -1, 1)
        yield np.sign(Q), np.where(np.sign(Q).sum(axis=0) > 0, -1.0, 1.0)  # always against the majority


class Fixed(Learner):
    """An expert that reads its prediction off a column of x."""

    def __init__(self, column: int) -> None:
        self.column = column

    def _start(self, d, outputs):
        self.rounds_ = np.zeros(1)

    def _predict(self, X):
        return X[:, self.column, None].copy()

    def _run(self, X, Y, weights):
        return self._predict(X)

    size = 1
    nbytes = 8


@pytest.mark.parametrize(("rule", "slack"), [("aa", 2.0), ("ewa", 8.0)])
def test_regret_stays_below_its_bound_on_hostile_streams(rule, slack):
    ratios = []
    for Q, y in hostile_streams():
        for bound in (1.0, 1.5):
            model = Aggregate([Fixed(i) for i in range(len(Q))], bound=bound, rule=rule)
            p = model.run(np.ascontiguousarray(Q.T), y)
            regret = ((p - y) ** 2).sum() - ((Q - y) ** 2).sum(axis=1).min()
            assert_allclose(model.regret(), regret, atol=1e-9)
            assert_allclose(model.regret_bound(), slack * bound**2 * math.log(len(Q)))
            ratios.append(regret / model.regret_bound())
    assert max(ratios) <= 1
    assert max(ratios) > {"aa": 0.6, "ewa": 0.15}[rule]  # the streams are hostile indeed


def test_an_expert_with_little_prior_weight_costs_its_logarithm():
    X = np.tile([1.0, -1.0], (50, 1))
    model = Aggregate([Fixed(0), Fixed(1)], bound=1.0, prior=[0.999, 0.001])
    model.run(X, np.full(50, -1.0))
    assert_allclose(model.regret_bound(), 2 * math.log(1000))
    assert 0 < model.regret() <= model.regret_bound()
    assert model.shares()[1] > 0.999


def test_a_label_beyond_the_bound_warns_once_and_voids_the_guarantee(tmp_path):
    X, y = stream(20)
    model = Aggregate(panel(), bound=2.0)
    model.run(X, y)
    assert model.regret_bound() < math.inf
    with pytest.warns(UserWarning, match="bound=2.0: learning goes on"):
        model.step(X[0], 2.5)
    model.step(X[1], -3.0)  # no second warning, also not after loading
    assert model.regret_bound() == math.inf
    model.save(tmp_path / "model.nys")
    resumed = persist.load(tmp_path / "model.nys")
    resumed.step(X[1], -3.0)
    assert resumed.regret_bound() == math.inf


def test_several_outputs_are_aggregated_each_with_its_own_weights():
    X, y = stream()
    Y = np.column_stack([y, np.sign(y)])
    grid = [PKRR(Taylor(G, degree=3), lam=lam) for lam in (0.01, 1.0, 100.0)]
    together = Aggregate(grid, bound=1.0)
    apart = [Aggregate(grid, bound=1.0) for _ in range(2)]
    expected = np.column_stack([model.run(X, column) for model, column in zip(apart, Y.T, strict=True)])
    assert_allclose(together.run(X, Y), expected, atol=1e-12)
    assert_allclose(together.shares(), np.column_stack([model.shares() for model in apart]), atol=1e-12)
    assert_allclose(together.regret(), sum(model.regret() for model in apart), atol=1e-9)
    assert together.predict(X).shape == (300, 2)
    with pytest.raises(ValueError, match=r"learners\[1\], a ONS, has one output"):
        Aggregate([grid[0], ONS()], bound=1.0).run(X, Y)


def test_learners_of_every_kind_can_be_mixed_and_nested():
    X, y = stream()
    features = Fourier(G, 30, seed=0)
    inner = Aggregate([PKAWV(features, lam=0.1), KernelRidge(G, lam=0.3)], bound=1.0, rule="ewa")
    mixed = [inner, FOGD(G, dim=20, loss="squared", seed=1), Standardized(PKAWV(features)), *panel(), ONS()]
    model = Aggregate(mixed, bound=1.0)
    expected = aggregate(np.array([learner.clone().run(X, y) for learner in mixed]), y, 1.0, "aa")
    assert_allclose(model.run(X, y), expected, atol=1e-9)
    assert all(learner.n_seen == 0 for learner in mixed)
    assert [expert.n_seen for expert in model.experts] == [300] * len(mixed)
    assert model.size == sum(expert.size for expert in model.experts)
    assert model.nbytes > sum(expert.nbytes for expert in model.experts)


def test_a_copy_and_a_saved_model_go_on_bit_for_bit():
    X, y = stream()
    features = Fourier(G, 30, seed=None)  # drawn anew by each learner
    model = Aggregate([PKAWV(features, lam=0.1), PKAWV(features), *panel()], bound=1.0)
    model.run(X[:133], y[:133])
    twins = [copy.deepcopy(model), persist.from_bytes(model.to_bytes())]
    expected = model.run(X[133:], y[133:])
    for twin in twins:
        assert_array_equal(twin.run(X[133:], y[133:]), expected)
        assert twin.to_bytes() == model.to_bytes()


def test_a_learner_without_room_is_named_before_any_has_learnt():
    X, y = stream(30)
    inner = Aggregate([KernelAWV(G, max_points=25)], bound=1.0)
    for learners in ([KernelAWV(G), KernelAWV(G, max_points=25)], [KernelAWV(G), inner]):
        model = Aggregate(learners, bound=1.0)
        model.run(X[:20], y[:20])
        before = model.to_bytes()
        with pytest.raises(ValueError, match=r"learners\[1\], a .*, has room for 5 more points, not for 10"):
            model.run(X[20:], y[20:])
        assert model.to_bytes() == before


def test_new_columns_reach_every_learner():
    X, y = stream()
    padded = np.hstack([X, np.zeros((300, 1))])
    model, wide = Aggregate(panel(), bound=1.0), Aggregate(panel(), bound=1.0)
    model.run(X[:100], y[:100])
    wide.run(padded[:100], y[:100])
    model.widen(4)
    assert_allclose(model.run(padded[100:], y[100:]), wide.run(padded[100:], y[100:]), atol=1e-12)


def test_bad_arguments_are_refused():
    for learners, message in [
        ([], "at least one learner"),
        (KernelAWV(G), "a list"),
        ([G], r"learners\[0\] must be a learner"),
        ([KernelAWV(G), FOGD(G)], r"learners\[1\].*'sign'.*regression"),
    ]:
        with pytest.raises(ValueError, match=message):
            Aggregate(learners, bound=1.0)
    with pytest.raises(ValueError, match="bound must be"):
        Aggregate(panel(), bound=0.0)
    with pytest.raises(ValueError, match="rule must be one of 'aa', 'ewa'"):
        Aggregate(panel(), bound=1.0, rule="best")
    for prior in ([1.0], [1.0, 1.0, 0.0, 1.0], [1.0, 1.0, float("nan"), 1.0]):
        with pytest.raises(ValueError, match="prior must be 4 positive numbers"):
            Aggregate(panel(), bound=1.0, prior=prior)
    with pytest.raises(ValueError, match="does not take weights"):
        Aggregate(panel(), bound=1.0).run(np.ones((1, 1)), [1.0], weights=[2.0])
    with pytest.raises(TypeError, match="cannot merge"):
        Aggregate(panel(), bound=1.0).merge(Aggregate(panel(), bound=1.0))
