"""The mean hypothesis of every learner that keeps one, against the hypotheses of the rounds themselves."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import Unable, from_bytes
from nystream.kernels import Gaussian, Linear
from nystream.learners import (
    BSGD,
    FOGD,
    ILK,
    NOGD,
    NOLANA,
    NORMA,
    RRF,
    SVMD,
    DoublySGD,
    DualSGD,
    PassiveAggressive,
    Perceptron,
    Projectron,
)
from nystream.losses import Softmax, StructuredHinge
from oracles_landmarks import ridge

G = Gaussian(0.6)
ALIKE = StructuredHinge(1 - np.eye(3), np.eye(3) + 0.4)
KEPT = {
    "nogd": NOGD(G, landmarks=20, rank=20, tol=0.0, average=True),
    "nogd-softmax": NOGD(G, landmarks=20, rank=20, tol=0.0, loss=Softmax(3), schedule="sqrt", lam=0.05, average=True),
    "nogd-support": NOGD(G, landmarks=20, rank=20, tol=0.0, select="support", average=True),
    "nogd-adagrad": NOGD(G, landmarks=20, rank=20, tol=0.0, method="adagrad", average=True),
    "nogd-alike": NOGD(G, landmarks=20, rank=20, tol=0.0, loss=ALIKE, average=True),
    "nolana-still": NOLANA(G, landmarks=20, rank=20, tol=0.0, eps=math.inf, average=True),
    "fogd-adam": FOGD(G, dim=30, method="adam", average=True, seed=0),
    "rrf-still": RRF(G, dim=30, eta_scale=0.0, lam=0.02, average=True, seed=0),
    "doubly-sgd": DoublySGD(G, step=5.0, block=4, lam=0.05, seed=0),
    "doubly-sgd-frozen": DoublySGD(G, step=5.0, block=4, max_features=120, seed=0),
    "doubly-sgd-vanishing": DoublySGD(G, loss="squared", lam=1.0, step=900.0, t0=900, block=2, seed=0),
    "doubly-sgd-alike": DoublySGD(G, loss=ALIKE, step=3.0, block=4, seed=0),
    "perceptron": Perceptron(G),
    "perceptron-linear-alike": Perceptron(Linear(), loss=ALIKE),
    "passive-aggressive": PassiveAggressive(G, loss=ALIKE, multiclass="runner_up"),
    "projectron": Projectron(G, tol=0.5, plus=True, loss=ALIKE),
    "norma": NORMA(G, offset=True),
    "ilk": ILK(G, tau=0.3),
    "svmd": SVMD(G, loss=ALIKE),
    "bsgd": BSGD(G, budget=1000, lam=0.01),
    "dual-sgd": DualSGD(G, budget=1000, dim=20, lam=0.01, seed=0),
}


def stream(learner, n=90):
    X = np.random.default_rng(0).uniform(-1, 1, (n, 3)) + np.linspace(0, 1, n)[:, None]
    f = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]
    if learner.labels == "class":
        return X, np.digitize(f, [0.2, 1.0]).astype(float)
    return X, np.where(f >= 0.5, 1.0, -1.0) if learner.labels == "sign" else f


@pytest.mark.parametrize("name", KEPT)
def test_it_is_the_mean_of_the_hypotheses_that_predicted(name):
    model = KEPT[name].clone()
    X, y = stream(model)
    seen = []
    assert_array_equal(model.averaged(X), 0 * model.predict(X))
    for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
        seen.append(model.predict(X))
        model.step(x, label)
        if t in (10, 20, 50, 90):
            assert_allclose(model.averaged(X), np.mean(seen, axis=0), rtol=1e-7, atol=1e-9)
    whole = KEPT[name].clone()
    whole.run(X, y)
    assert_allclose(whole.averaged(X), model.averaged(X), rtol=1e-7, atol=1e-9)
    assert_array_equal(from_bytes(whole.to_bytes()).averaged(X), whole.averaged(X))
    assert np.abs(whole.averaged(X)).max() > 0.05


def test_the_features_of_nogd_take_the_sum_over_projected():
    """With fewer features than landmarks the first rounds count as what the features can say of them."""
    model = NOGD(G, landmarks=20, average=True)
    X, y = stream(model, 120)
    first = []
    for x, label in zip(X[:20], y[:20], strict=True):
        first.append(copy.deepcopy(model))
        model.step(x, label)
    points, features = model.points.copy(), model.features_
    Z, U = features.transform(X), features.transform(points)
    values = np.mean([m.predict(points) for m in first], axis=0)
    assert_allclose(model.averaged(X), Z @ np.linalg.lstsq(U, values, rcond=None)[0], rtol=0, atol=1e-9)
    seen = [20 * model.averaged(X)]
    for x, label in zip(X[20:], y[20:], strict=True):
        seen.append(model.predict(X))
        model.step(x, label)
    assert_allclose(model.averaged(X), np.sum(seen, axis=0) / 120, rtol=0, atol=1e-10)


@pytest.mark.parametrize("loss", ["hinge", Softmax(3)], ids=["hinge", "softmax"])
@pytest.mark.parametrize("order", ["gd_ls", "ls_gd"])
def test_each_hypothesis_of_nolana_is_carried_over_by_every_move(loss, order):
    """All of them are kept here, and re-expressed by a least-squares fit of their own at the new landmarks."""
    model = NOLANA(G, landmarks=15, rank=15, eps=0.1, loss=loss, order=order, theta=1e-6, average=True)
    X, y = stream(model, 150)
    start = 40
    model.run(X[:start], y[:start])
    held = [start * model.solver_.averaged()]
    for x, label in zip(X[start:], y[start:], strict=True):
        held.append(model.solver_.weights.copy())
        old, moves = copy.deepcopy(model.features_), model.moves
        model.step(x, label)
        if model.moves > moves:
            A, B = model.features_.transform(model.points), old.transform(model.points)
            held = [ridge(A, B @ w, 1e-6) for w in held]
    assert model.moves > 60
    assert_allclose(model.solver_.averaged(), sum(held) / 150, rtol=0, atol=1e-7)
    Z = model.features_.transform(X)
    expected = Z @ model.solver_.averaged()
    assert_allclose(model.averaged(X), expected[:, 0] if loss == "hinge" else expected, rtol=0, atol=1e-12)


def test_rrf_reads_the_mean_weights_on_the_scales_of_now():
    model = RRF(G, dim=30, eta_scale=0.05, average=True, seed=0)
    X, y = stream(model)
    weights = []
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        if t:
            weights.append(model.W_.copy())
        model.step(x, label)
    twin = copy.deepcopy(model)
    twin.W_[:] = np.sum(weights, axis=0) / 90
    assert_allclose(model.averaged(X), twin.predict(X), rtol=0, atol=1e-12)
    assert np.abs(model.scales * 0.6 - 1).max() > 0.01


@pytest.mark.parametrize("model", [NOGD(G, landmarks=5), NOLANA(G, landmarks=5), RRF(G), FOGD(G)], ids=repr)
def test_a_mean_that_was_not_kept_is_refused_in_every_phase(model):
    X, y = stream(model, 9)
    for stop in (0, 3, 9):
        learner = model.clone()
        learner.run(X[:stop], y[:stop])
        with pytest.raises(Unable, match="construct it with average=True"):
            learner.averaged(X)


@pytest.mark.parametrize("late", [10, 60])
@pytest.mark.parametrize("make", [NOGD, NOLANA, RRF], ids=lambda c: c.__name__)
def test_a_class_that_appears_late_has_a_mean_that_counts_its_absence(make, late):
    options = {"seed": 0, "dim": 30, "eta_scale": 0.0} if make is RRF else {"landmarks": 30, "rank": 30, "tol": 0.0}
    options |= {"eps": math.inf} if make is NOLANA else {}
    model = make(G, loss="softmax", average=True, **options)
    X, y = stream(model)
    y[:late] = np.minimum(y[:late], 1)
    y[late] = 2
    seen = np.zeros((90, 3))
    for x, label in zip(X, y, strict=True):
        P = model.predict(X) if model.n_seen else np.zeros((90, 2))
        seen[:, : P.shape[1]] += P
        model.step(x, label)
    assert_allclose(model.averaged(X), seen / 90, rtol=0, atol=1e-8)
