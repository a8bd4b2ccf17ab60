"""BSGD: the Pegasos step and its three ways to keep the budget."""

from __future__ import annotations

import numpy as np
import pytest
from grids import few
from numpy.testing import assert_allclose, assert_array_equal

from nystream.kernels import Gaussian, Kernel, Laplacian
from nystream.learners import BSGD
from nystream.losses import Hinge, Logistic, Loss, MulticlassHinge, Squared
from oracles import gaussian
from oracles.budget import bsgd, classes, stream

MAINTENANCE = ["remove", "project", "merge"]
LOSSES = {"hinge": Hinge(), "logistic": Logistic(), "squared": Squared()}


class Slow(Kernel):
    """The Gaussian kernel as a user would write it."""

    def __call__(self, X, Y):
        return gaussian(X, Y, 0.5)


class Quartic(Loss):
    """A loss that only Python knows."""

    name = "quartic"

    def value(self, y, p):
        return (p - y) ** 4

    def grad(self, y, p):
        return np.clip(4 * (p - y) ** 3, -1, 1)


def kernel(X, Y):
    return gaussian(X, Y, 0.5)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("maintenance", ["remove", "project"])
def test_the_learner_is_its_recursion(maintenance, name):
    X, y = stream()
    loss, t0 = LOSSES[name], 400.0 if name == "squared" else 0.0
    P, points, alpha = bsgd(X, y, kernel, loss.grad, 1e-2, 20, maintenance, t0)
    for k in (Gaussian(0.5), Slow()):
        model = BSGD(k, loss=loss, budget=20, lam=1e-2, maintenance=maintenance, t0=t0)
        assert_allclose(model.run(X, y), P, rtol=1e-8, atol=1e-9)
        order, slow = np.lexsort(model.expansion_.points.T), np.lexsort(points.T)
        assert_array_equal(model.expansion_.points[order], points[slow])
        assert_allclose(model.expansion_.coef[order, 0], alpha[slow], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", few(LOSSES))
def test_merging_is_its_recursion_up_to_the_grid_of_the_slow_version(name):
    # weights, because with the hinge all coefficients would be equal, and two places on the line then equally good
    X, y = stream()
    loss, t0, weights = (
        LOSSES[name],
        400.0 if name == "squared" else 0.0,
        np.random.default_rng(0).uniform(0.5, 1.5, 300),
    )
    turn = iter(weights)
    P, _, _ = bsgd(X, y, kernel, lambda y, p: next(turn) * loss.grad(y, p), 1e-2, 20, "merge", t0)
    got = BSGD(Gaussian(0.5), loss=loss, budget=20, lam=1e-2, t0=t0).run(X, y, weights)
    assert_allclose(got, P, atol=1e-3)


def test_what_a_merge_loses_is_the_distance_in_the_kernels_space_and_least():
    rng = np.random.default_rng(0)
    for _ in range(20):
        X = rng.normal(size=(5, 2))
        y = np.where(rng.random(5) < 0.7, 1.0, -1.0)
        before, after = (BSGD(Gaussian(1.0), budget=b, lam=1.0, t0=3.0, loss="logistic") for b in (5, 4))
        before.run(X, y)
        after.run(X, y)
        lost = norm(before.expansion_, after.expansion_)
        alpha = before.expansion_.coef[:, 0]
        i = int(np.argmin(np.abs(alpha)))
        partners = [j for j in range(5) if j != i and alpha[j] * alpha[i] > 0]
        if not partners:
            assert_allclose(lost, alpha[i] ** 2, rtol=1e-9)  # removal
            continue
        h, damage = np.linspace(0, 1, 100001), []
        for j in partners:
            k = gaussian(X[i : i + 1], X[j : j + 1], 1.0)[0, 0]
            value = alpha[i] * k ** ((1 - h) ** 2) + alpha[j] * k ** (h**2)
            damage.append(np.min(alpha[i] ** 2 + alpha[j] ** 2 + 2 * alpha[i] * alpha[j] * k - value**2))
        assert_allclose(lost, min(damage), rtol=1e-6, atol=1e-12)


def norm(f, g):
    """|f - g|^2 in the kernel's space."""
    points, coef = np.vstack([f.points, g.points]), np.concatenate([f.coef[:, 0], -g.coef[:, 0]])
    return float(coef @ gaussian(points, points, 1.0) @ coef)


@pytest.mark.parametrize("maintenance", MAINTENANCE)
def test_a_budget_that_is_never_reached_changes_nothing(maintenance):
    X, y = stream()
    free, _, _ = bsgd(X, y, kernel, Hinge().grad, 1e-2, 300)
    assert_allclose(
        BSGD(Gaussian(0.5), budget=300, lam=1e-2, maintenance=maintenance).run(X, y), free, rtol=1e-9, atol=1e-9
    )


def test_coefficients_that_are_equal_on_paper_are_equal_in_memory():
    # alpha_i = y_i / (lam t) for all i: a rule that takes the smallest, the oldest of equals, is first in, first out
    X, y = stream()
    model = BSGD(Gaussian(0.5), budget=20, lam=1e-3, maintenance="remove")
    P = model.run(X, y)
    last = np.flatnonzero(y * P < 1)[-20:]
    assert_array_equal(np.sort(model.expansion_.birth), last + 1)
    assert len(np.unique(np.abs(model.expansion_.coef))) == 1


def test_on_a_checkerboard_projection_and_merging_keep_what_removal_forgets():
    # accuracy percent over 3000 rounds on the 4 x 4 board, budget 50; five boards, recorded
    accuracy = {name: [] for name in MAINTENANCE}
    for seed in range(5):
        X = np.random.default_rng(seed).uniform(-2, 2, (3000, 2))
        y = np.where(np.floor(X).sum(axis=1) % 2 == 0, 1.0, -1.0)
        for name in MAINTENANCE:
            p = BSGD(Gaussian(0.5), budget=50, lam=1e-4, maintenance=name).run(X, y)
            accuracy[name].append(100 * np.mean(np.where(p >= 0, 1.0, -1.0) == y))
    assert_allclose([np.mean(accuracy[name]) for name in MAINTENANCE], [71.1, 87.3, 88.6], atol=1.0)
    assert max(accuracy["remove"]) < min(accuracy["project"])
    assert max(accuracy["remove"]) < min(accuracy["merge"])


@pytest.mark.parametrize("loss", ["squared", "squared_hinge"])
def test_losses_of_squared_growth_start_with_small_steps_unless_told_otherwise(loss):
    X, y = stream()
    calm = BSGD(Gaussian(0.5), loss=loss, lam=1e-3).run(X, y)
    assert np.abs(calm).max() < 3
    assert_array_equal(calm, BSGD(Gaussian(0.5), loss=loss, lam=1e-3, t0=4000).run(X, y))
    assert np.abs(BSGD(Gaussian(0.5), loss=loss, lam=1e-3, t0=0).run(X[:20], y[:20])).max() > 1e3


def test_weights_multiply_the_loss_and_a_loss_may_be_python():
    X, y = stream()
    twice = BSGD(Gaussian(0.5), loss=Quartic(), lam=2e-2, t0=10, budget=20, maintenance="remove")
    weighted = BSGD(Gaussian(0.5), loss=Quartic(), lam=2e-2, t0=10, budget=20, maintenance="remove")
    P, _, _ = bsgd(X, y, kernel, lambda y, p: 2 * Quartic().grad(y, p), 2e-2, 20, "remove", 10)
    assert_allclose(weighted.run(X, y, weights=np.full(300, 2.0)), P, rtol=1e-9, atol=1e-10)
    assert np.abs(twice.run(X, y) - P).max() > 0.1


def test_several_targets_share_their_points():
    X, y = stream()
    Y = np.column_stack([y, np.sin(3 * X[:, 0])])
    together = BSGD(Gaussian(0.5), loss="squared", lam=1e-2, budget=300)
    P = together.run(X, Y)
    for k in range(2):
        alone = BSGD(Gaussian(0.5), loss="squared", lam=1e-2, budget=300).run(X, Y[:, k])
        assert_allclose(P[:, k], alone, rtol=1e-9, atol=1e-10)


def test_a_class_may_appear_late():
    X, y = classes()
    order = np.argsort(y == 3, kind="stable")
    X, y = X[order], y[order]
    known, open_ = (BSGD(Gaussian(0.5), lam=1e-2, budget=20, loss=MulticlassHinge(c)) for c in (4, None))
    known.run(X, y)
    open_.run(X, y)
    assert np.isfinite(open_.predict(X)).all()
    assert open_.predict(X).shape == known.predict(X).shape == (300, 4)


def test_bad_arguments_are_refused_by_the_constructor():
    with pytest.raises(ValueError, match=r"maintenance='merge' needs a Gaussian kernel, .*use maintenance='project'"):
        BSGD(Laplacian(1.0))
    for name, value in [("lam", 0.0), ("budget", 0), ("maintenance", "age"), ("t0", -1.0)]:
        with pytest.raises(ValueError, match=f"{name} must be"):
            BSGD(Gaussian(), **{name: value})
