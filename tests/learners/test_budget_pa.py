"""Budget passive-aggressive learning: its formulas, the constrained problem behind them, and its inverse."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from nystream.kernels import Gaussian, Kernel, Laplacian
from nystream.learners import BudgetPA, PassiveAggressive
from nystream.losses import MulticlassHinge
from oracles import gaussian
from oracles.budget import budget_pa, classes, stream

VARIANTS = ["S", "NN", "P"]
# the inverse Gram matrix of "P" has a ridge of 1e-10
CLOSE = {"S": {"rtol": 1e-10, "atol": 1e-11}, "NN": {"rtol": 1e-10, "atol": 1e-11}, "P": {"rtol": 1e-7, "atol": 1e-7}}


class Slow(Kernel):
    """The Gaussian kernel as a user would write it."""

    def __call__(self, X, Y):
        return gaussian(X, Y, 0.5)


@pytest.mark.parametrize("budget", [1, 2, 20])
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_learner_is_its_formula(variant, budget):
    X, y = stream()
    P, f = budget_pa(gaussian(X, X, 0.5), y, budget, 0.7, variant)
    for kernel in (Gaussian(0.5), Slow()):
        model = BudgetPA(kernel, budget=budget, C=0.7, variant=variant)
        assert_allclose(model.run(X, y), P[:, 0], **CLOSE[variant])
        assert_array_equal(model.expansion_.points, X[f.index])
        assert_allclose(model.expansion_.coef, f.coef, **CLOSE[variant])
        mean = gaussian(X, X[f.index], 0.5) @ f.total[:, 0] / 300
        assert_allclose(model.averaged(X), mean, **CLOSE[variant])


@pytest.mark.parametrize("variant", VARIANTS)
def test_with_classes_the_norm_of_the_coefficients_takes_the_place_of_their_size(variant):
    X, y = classes()
    P, _ = budget_pa(gaussian(X, X, 0.5), y, 20, 0.7, variant, outputs=4)
    model = BudgetPA(Gaussian(0.5), budget=20, C=0.7, variant=variant, loss=MulticlassHinge(4))
    assert_allclose(model.run(X, y), P, **CLOSE[variant])


def refitted(K, index, coef, t, y, r, V, C):
    """min |f - f_t|^2 / 2 + C xi over the coefficients of V and t, without r, y f(x_t) >= 1 - xi; by a solver."""
    kept = [i for i in range(len(index)) if i != r and i not in V]
    span = [index[i] for i in V] + [t]
    points = [index[i] for i in kept] + span
    start = np.concatenate([[coef[i] for i in V], [0.0, 5.0]])

    def distance(v):
        now = np.concatenate([[coef[i] for i in kept], v[:-1]])
        all_points, change = points + index, np.concatenate([now, -coef])
        return change @ K[np.ix_(all_points, all_points)] @ change / 2 + C * v[-1]

    def room(v):
        now = np.concatenate([[coef[i] for i in kept], v[:-1]])
        return np.array([y * (K[t, points] @ now) - 1 + v[-1], v[-1]])

    constraint = {"type": "ineq", "fun": room}
    return minimize(
        distance, start, constraints=constraint, method="SLSQP", options={"ftol": 1e-14, "maxiter": 300}
    ).fun


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_point_that_goes_is_the_one_of_the_constrained_problem(variant):
    X, y = stream(40, d=2)
    K, budget, C = gaussian(X, X, 0.7), 4, 0.5
    model, checked = BudgetPA(Gaussian(0.7), budget=budget, C=C, variant=variant), 0
    for t in range(40):
        before, coef = model.expansion_.points.copy() if t else X[:0], model.expansion_.coef[:, 0] if t else []
        p = model.step(X[t], y[t])
        if len(before) < budget or y[t] * p >= 1:
            continue
        index = [int(np.flatnonzero((x == X).all(axis=1))[0]) for x in before]
        values = []
        for r in range(budget):
            others = [i for i in range(budget) if i != r]
            near = min(others, key=lambda i, r=r: -K[index[i], index[r]])
            V = {"S": [], "NN": [near], "P": others}[variant]
            values.append(refitted(K, index, coef, t, y[t], r, V, C))
        gone = int(np.flatnonzero((before != model.expansion_.points).any(axis=1))[0])
        assert values[gone] <= min(values) + 1e-6
        checked += 1
    assert checked > 15


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_budget_that_is_never_reached_is_pa_one(variant):
    X, y = stream()
    pa = PassiveAggressive(Gaussian(0.5), C=0.7).run(X, y)
    assert_array_equal(BudgetPA(Gaussian(0.5), budget=300, C=0.7, variant=variant).run(X, y), pa)


@pytest.mark.parametrize("variant", VARIANTS)
def test_repeated_points_do_no_harm(variant):
    X, y = stream(1200, d=2)
    X = np.round(2 * X) / 2  # 25 places
    P = BudgetPA(Gaussian(0.5), budget=30, variant=variant).run(X, y)
    free = PassiveAggressive(Gaussian(0.5)).run(X, y)
    assert np.abs(P).max() < 3 * np.abs(free).max()


@pytest.mark.parametrize(("kernel", "d"), [(Gaussian(0.5), 2), (Gaussian(0.5), 6), (Laplacian(1.0), 3)])
def test_the_inverse_is_right_after_a_thousand_exchanges(kernel, d):
    X, y = stream(6000, d=d, seed=2)
    y = np.where(np.random.default_rng(0).random(6000) < 0.2, -y, y)
    model, worst, exchanges = BudgetPA(kernel, budget=50, variant="P"), 0.0, 0
    for i in range(0, 6000, 25):
        exchanges += int(np.sum(model.run(X[i : i + 25], y[i : i + 25]) * y[i : i + 25] < 1))
        if model.inverse_.n:
            points = model.expansion_.points
            K = kernel(points, points) + 1e-10 * np.eye(50)
            worst = max(worst, float(np.abs(model.inverse_.matrix @ K - np.eye(50)).max()))
    assert exchanges > 1000
    assert worst < 1e-6


def test_weights_multiply_C():
    X, y = stream()
    weighted = BudgetPA(Gaussian(0.5), budget=20, C=0.25).run(X, y, weights=np.full(300, 2.0))
    assert_array_equal(weighted, BudgetPA(Gaussian(0.5), budget=20, C=0.5).run(X, y))


def test_bad_arguments_are_refused_by_the_constructor():
    with pytest.raises(ValueError, match="variant must be one of 'S', 'NN', 'P'"):
        BudgetPA(Gaussian(), variant="Q")
    with pytest.raises(ValueError, match="loss must be one of"):
        BudgetPA(Gaussian(), loss="epsilon_insensitive")
