"""The bounds on the loss of ILK and SILK, ours and the published ones, on streams that work against the learner."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from nystream import ILK, SILK, Gaussian, Polynomial
from nystream.losses import as_loss

G = Gaussian(0.7)
LOSSES = ("hinge", "logistic", "absolute", "epsilon_insensitive", "pinball", "huber")


def opposed(learner, seed, n=250):
    """Rows and labels against the prediction: from few points (even seeds) or many, or a function that changes."""
    rng = np.random.default_rng(seed)
    real = learner.labels == "real"
    X = rng.uniform(-1, 1, (n, 2))
    if seed % 4 in (0, 1):
        X = X[rng.integers(0, 1 + 3 * (seed % 4), n)]
    y, p = np.empty(n), np.empty(n)
    for t in range(n):
        said = learner.predict(X[t : t + 1])[0]
        y[t] = -1.0 if said > 0 else 1.0
        if seed % 4 == 3:
            y[t] = np.sign(np.sin(4 * X[t, 0]) * X[t, 1]) * (1 if t % 100 < 50 else -1)
        if real:
            y[t] *= rng.uniform(0, 2)
        p[t] = learner.step(X[t], y[t])
    return X, y, p


def comparators(X, y, lam):
    """Values and squared norms: kernel ridge at several ridges, scaled, and 0."""
    K = G(X, X)
    for ridge in (0.1, 3.0, 100.0):
        a = np.linalg.solve(K + ridge * np.eye(len(y)), y)
        for scale in (0.3, 1.0, 2.0):
            yield scale * (K @ a), scale**2 * max(float(a @ K @ a), 0.0)
    yield np.zeros(len(y)), 0.0


def ratios(learner, seed, bound):
    X, y, p = opposed(learner, seed)
    value = as_loss(learner.loss).value
    total = float(np.sum(value(y, p)))
    for f, norm2 in comparators(X, y, learner._ridge):
        yield total / bound(learner, float(np.sum(value(y, f))), norm2)


SETTINGS = [
    {"eta": 1.0, "lam": 0.01},
    {"eta": 0.3, "lam": 0.3, "C": 5.0},
    {"eta": 3.0, "lam": 0.0},
    {"eta": 1.0, "lam": 0.1, "schedule": "sqrt"},
    {"eta": 10.0, "lam": 1.0, "schedule": "sqrt", "C": 0.2},
    {"eta": 0.5, "lam": 0.0, "schedule": "sqrt"},
]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("settings", SETTINGS)
def test_no_loss_exceeds_its_bound(loss, settings):
    makers = [lambda: ILK(G, loss=loss, **settings)]
    makers += [
        lambda drop=drop, budget=budget: SILK(G, loss=loss, budget=budget, drop=drop, **settings)
        for drop, budget in (("smallest", 3), ("oldest", 20), ("contribution", 8))
    ]
    worst = max(
        ratio
        for i, make in enumerate(makers)
        for seed in (i, i + 4)
        for ratio in ratios(make(), seed, lambda learner, *g: learner.loss_bound(*g))
    )
    assert 0.05 < worst <= 1 + 1e-9


def test_theorem_2_holds_and_is_never_smaller_than_ours():
    for seed in range(4):
        for settings in ({"eta": 1.0, "lam": 0.1}, {"eta": 0.2, "lam": 1.0, "C": 3.0}, {"eta": 5.0, "lam": 0.5}):
            learner = ILK(G, schedule="sqrt", **settings)
            assert max(ratios(learner, seed, lambda learner, *g: learner.published_bound(*g))) <= 1
            for norm2 in (0.0, 1.0, 50.0):
                assert learner.loss_bound(3.0, norm2) <= learner.published_bound(3.0, norm2)


def test_theorem_3_is_exceeded_with_a_small_budget_and_ours_is_not():
    """Two points that do not see each other, in turn, and a budget of one: every step undoes the one before."""
    X, y, n = np.array([[0.0], [9.0]]), np.array([1.0, -1.0]), 20_000
    learner = SILK(G, budget=1, schedule="sqrt", eta=0.85, lam=0.3)
    rows = np.resize([0, 1], n)
    p = learner.run(X[rows], y[rows])
    total = float(np.maximum(0, 1 - y[rows] * p).sum())
    assert total > learner.published_bound(0.0, 2.0)  # f = y at both points has no loss, and |f|^2 = 2
    assert total <= learner.loss_bound(0.0, 2.0)
    whole = ILK(G, schedule="sqrt", eta=0.85, lam=0.3)
    p = whole.run(X[rows[:2000]], y[rows[:2000]])
    assert float(np.maximum(0, 1 - y[rows[:2000]] * p).sum()) <= whole.published_bound(0.0, 2.0)


def test_the_bounds_refuse_what_they_are_not_about():
    learner = ILK(G, loss="squared")
    learner.run(np.zeros((3, 1)), np.ones(3))
    with pytest.raises(ValueError, match="losses whose derivative is bounded"):
        learner.loss_bound(0.0, 1.0)
    with pytest.raises(ValueError, match="give top, a bound on it"):
        ILK(Polynomial(2)).loss_bound(0.0, 1.0)
    assert ILK(Polynomial(2)).loss_bound(0.5, 1.0, top=4.0) == 0.5
    with pytest.raises(ValueError, match="no bound with drop='project'"):
        SILK(G, drop="project").loss_bound(0.0, 1.0)
    with pytest.raises(ValueError, match="schedule='sqrt' and lam > 0"):
        ILK(G).published_bound(0.0, 1.0)
    with pytest.raises(ValueError, match="norm2"):
        ILK(G).loss_bound(0.0, math.nan)


def test_what_is_dropped_is_no_larger_than_the_bound_says():
    """Followed by hand: the norm of every term that a round lost."""
    rng = np.random.default_rng(0)
    for drop in ("smallest", "oldest"):
        for schedule in ("constant", "sqrt"):
            learner = SILK(G, budget=4, drop=drop, schedule=schedule, lam=0.3, eta=2.0)
            eta = 2.0 / np.sqrt(np.arange(1, 61)) if schedule == "sqrt" else np.full(60, 2.0)
            kappa = 1 / (1 + 0.3 * eta)
            limit, stored = learner._dropped(eta, kappa), []
            for t in range(60):
                x, y = rng.uniform(-1, 1, (1, 2)), float(rng.choice([-1.0, 1.0]))
                f = sum(a * G(z, x)[0, 0] for a, z in stored)
                stored = [(kappa[t] * a, z) for a, z in stored]
                alpha = y * min(max(1 - y * kappa[t] * f, 0.0), kappa[t] * eta[t])
                if alpha:
                    stored.append((alpha, x))
                assert_allclose(learner.step(x[0], y), f, atol=1e-12)
                if len(stored) > 4:
                    at = 0 if drop == "oldest" else int(np.argmin([abs(a) for a, _ in stored]))
                    assert abs(stored[at][0]) <= limit[t] * (1 + 1e-12)
                    del stored[at]
            assert learner.size == 4
