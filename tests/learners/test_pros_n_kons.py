"""PROS-N-KONS against the dense Newton step on explicitly projected features, golden values and its bound."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import oracles
from nystream import Gaussian, Linear, ProsNKons
from oracles import nystrom as slow

G = Gaussian(0.7)


def stream(n=300, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    X[n // 3 :: 5] = X[rng.integers(n // 3, size=len(X[n // 3 :: 5]))]  # repeats
    return X, np.clip(np.sin(3 * X[:, 0]) + X[:, 1] * X[:, -1] + 0.3 * rng.normal(size=n), -1, 1)


def by_steps(learner, X, y):
    return np.array([learner.step(x, v) for x, v in zip(X, y.tolist(), strict=True)])


@pytest.mark.parametrize("rounds", ["run", "step"])
def test_golden_values(rounds):
    X, y, _ = oracles.golden_stream()
    for warm, loss in ((False, 16.7662015004), (True, 7.2773044595)):
        learner = ProsNKons(Gaussian(0.3), mu=0.5, warm=warm)
        slow.with_coins(learner, 2, oracles.golden_uniforms())
        p = learner.run(X, y) if rounds == "run" else by_steps(learner, X, y)
        assert_allclose(((p - y) ** 2).sum(), loss, atol=6e-11)
        assert learner.size == 38
    assert_allclose(p[-1], -0.5426854356, atol=6e-11)


@pytest.mark.filterwarnings("ignore:a label is outside")
def test_predictions_equal_the_newton_step_on_explicit_projections(capsys):
    X, y = stream()
    K, worst = oracles.gaussian(X, X, 0.7), 0.0
    Phi = slow.features(K)
    atoms = slow.independent(K, slow.kors_atoms(K, np.random.default_rng(5).random(300), 0.5)[0])
    F = slow.projected_rows(Phi, atoms, slow.basis(Phi, atoms))
    for warm, clip in ((False, 1.0), (True, 1.0), (True, 0.4)):  # at 0.4 most predictions are clipped
        expected = slow.newton(F, y, () if warm else atoms, eta=0.1, clip=clip, lam=0.3)
        for size in (1, 7, 300):
            learner = ProsNKons(G, clip=clip, lam=0.3, mu=0.5, eta=0.1, warm=warm, seed=5)
            got = np.concatenate([learner.run(X[i : i + size], y[i : i + size]) for i in range(0, 300, size)])
            assert_array_equal(learner.atoms, X[atoms])
            worst = max(worst, np.abs(got - expected).max())
    with capsys.disabled():
        print(f"  largest difference to the dense Newton step: {worst:.1e}")
    assert worst < 1e-9


@pytest.mark.parametrize("warm", [False, True])
def test_predict_is_what_step_will_say(warm):
    X, y = stream(150)
    learner, restarts = ProsNKons(G, mu=0.5, warm=warm, seed=0), 0
    for x, v in zip(X, y.tolist(), strict=True):
        expected, size = learner.predict(np.vstack([x, -x]))[0], learner.size
        p = learner.step(x, v)
        assert_allclose(p, expected, rtol=1e-9, atol=1e-12)
        if learner.size > size and not warm:
            restarts += 1
            assert p == 0
    assert warm or restarts == learner.size > 20


def test_regret_stays_below_the_sharp_bound(capsys):
    """Warm, on the projected features, against ridge solutions scaled to |f| <= clip."""
    worst = 0.0
    for seed in range(4):
        X, y = stream(120, seed=seed)
        n = np.arange(120)
        same = np.zeros_like(X)
        alternating = np.resize([1.0, -1.0], 120)
        for points, labels in ((X, y), (X, np.sign(y)), (same, alternating), (X, np.where(n // 25 % 2, y, -y))):
            K = oracles.gaussian(points, points, 0.7)
            learner = ProsNKons(G, mu=0.5, warm=True, seed=seed)
            loss = ((learner.run(points, labels) - labels) ** 2).sum()
            kept = slow.kors_atoms(K, np.random.default_rng(seed).random(120), 0.5)[0]
            Phi, atoms = slow.features(K), slow.independent(K, kept)
            F = slow.projected_rows(Phi, atoms, slow.basis(Phi, atoms))
            for ridge in (0.03, 0.3, 3.0):
                w = np.linalg.solve(F.T @ F + ridge * np.eye(len(atoms)), F.T @ labels)
                w *= min(1.0, 1 / max(np.abs(F @ w).max(), 1e-12))
                regret = loss - ((F @ w - labels) ** 2).sum()
                bound = learner.regret_bound(float(w @ w))
                worst = max(worst, regret / bound)
                assert regret <= bound
    with capsys.disabled():
        print(f"  largest regret / sharp bound, warm: {worst:.3f}")


def test_restarts_count_in_the_bound():
    X, y = stream()
    cold = ProsNKons(G, mu=0.5, seed=0)
    assert cold.regret_bound(2.0) == 1.0
    cold.run(X, y)
    warm = ProsNKons(G, mu=0.5, warm=True, seed=0)
    warm.run(X, y)
    assert_allclose(warm.regret_bound(1.0) - warm.regret_bound(0.0), 0.5)
    first = np.flatnonzero((cold.atoms[0] == X).all(axis=1))[0]
    stretches = cold.size + (first > 0)  # before the first atom there is one as well, if it has a round
    assert_allclose(cold.regret_bound(1.0) - cold.regret_bound(0.0), 0.5 * stretches)
    assert cold.log_det() > 0
    assert_allclose(cold.missed(), warm.missed())


def test_scaling_kernel_and_ridges_together_changes_nothing():
    X, y = stream()
    plain = ProsNKons(G, lam=0.5, mu=1.0, warm=True, seed=0).run(X, y)
    assert_allclose(ProsNKons(7.0 * G, lam=3.5, mu=7.0, warm=True, seed=0).run(X, y), plain, atol=1e-9)


def test_more_columns_of_zeros_change_nothing():
    X, y = stream()
    wide = np.hstack([X, np.zeros((300, 2))])
    learner, other = ProsNKons(G, seed=0), ProsNKons(G, seed=0)
    learner.run(X[:150], y[:150])
    learner.widen(5)
    other.run(wide[:150], y[:150])
    assert_allclose(learner.run(wide[150:], y[150:]), other.run(wide[150:], y[150:]), atol=1e-10)


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize(
    ("X", "kernel", "settings"),
    [
        (np.tile([[0.3, -0.2]], (100_000, 1)), G, {"lam": 1e-8, "mu": 1.0}),
        (np.eye(2)[np.arange(20_000) % 2] + 1e-9 * np.arange(40_000).reshape(-1, 2) / 4e4, G, {"lam": 1e-8, "mu": 0.1}),
        (1e6 * np.random.default_rng(0).normal(size=(2_000, 2)), G, {"mu": 10.0}),
        (np.where(np.arange(3_000)[:, None] % 3, 0.0, 1.0) * np.ones((3_000, 2)), Linear(), {"lam": 1e-8, "mu": 1.0}),
        (1e6 * np.random.default_rng(0).normal(size=(2_000, 2)), Linear(), {"lam": 1e-8}),
    ],
    ids=["one point", "near duplicates", "far", "no feature", "far with a tiny ridge"],
)
def test_hard_streams_leave_a_positive_metric_and_finite_predictions(X, kernel, settings, warm):
    y = np.resize([0.0, 1.0, -1.0], len(X))
    learner = ProsNKons(kernel, max_atoms=100, warm=warm, seed=0, **settings)
    p = learner.run(X, y)
    assert np.isfinite(p).all()
    assert np.abs(p).max() <= 1
    assert learner.solver_.metric_.pivots.min() >= learner.lam * (1 - 1e-12)


def test_bad_parameters_are_refused_at_once():
    for settings, message in (
        ({"mu": 0.0}, "mu must be"),
        ({"eps": 2.0}, "eps must be"),
        ({"lam": -1.0}, "lam must be"),
        ({"clip": 0.0}, "clip must be"),
        ({"eta": "sigma"}, "eta"),
        ({"loss": "nonsense"}, "nonsense"),
        ({"max_atoms": 0}, "max_atoms must be"),
        ({"seed": 1.5}, "seed must be"),
    ):
        with pytest.raises(ValueError, match=message):
            ProsNKons(G, **settings)
    with pytest.raises(TypeError, match="cannot merge"):
        ProsNKons(G).merge(ProsNKons(G))
