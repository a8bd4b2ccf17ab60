"""The mean hypothesis of every learner that keeps one, against the hypotheses of the rounds themselves."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream import Aggregate, Unable, from_bytes
from nystream.features import Landmarks, Taylor
from nystream.kernels import Gaussian, Linear
from nystream.learners import (
    BSGD,
    FOGD,
    ILK,
    KONS,
    NOGD,
    NOLANA,
    NORMA,
    PKAWV,
    PKRR,
    RRF,
    SVMD,
    DoublySGD,
    DualSGD,
    KernelAWV,
    KernelRidge,
    NystromPKAWV,
    NystromPKRR,
    PassiveAggressive,
    Perceptron,
    Projectron,
    SketchedKONS,
)
from nystream.losses import Softmax, StructuredHinge
from oracles.landmarks import ridge

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
    "pkrr": PKRR(Taylor(G, degree=4), lam=0.1, average=True),
    "pkrr-landmarks": PKRR(Landmarks(G, np.random.default_rng(1).uniform(-1, 2, (9, 3))), lam=0.1, average=True),
    "nystrom-pkrr": NystromPKRR(G, lam=0.1, dictionary="ald", nu=0.3, average=True),
    "nystrom-pkrr-exact": NystromPKRR(G, lam=0.1, dictionary="ald", nu=0.3, memory="exact", average=True),
    "kernel-ridge": KernelRidge(G, lam=0.1),
    "kernel-ridge-clipped": KernelRidge(G, lam=0.1, clip=0.4),
    "kernel-awv": KernelAWV(G, lam=0.1),
    "kons": KONS(G, clip=4.0),
    "kons-often-clipped": KONS(G, loss="hinge", clip=0.4, lam=0.1),
    "kons-idle-rounds": KONS(G, loss="squared_hinge", clip=2.0, lam=0.01),
    "sketched-kons": SketchedKONS(G, loss="logistic", clip=0.5, gamma=0.2, seed=0),
}
NEW_ATOMS = ("nystrom-pkrr", "nystrom-pkrr-exact")
"""Their `predict` may make the row an atom first; the hypothesis of a round is a function of the atoms there are."""


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
        seen.append(hypothesis(model, x, X) if name in NEW_ATOMS else model.predict(X))
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
        with pytest.raises(Unable, match="create it with average=True"):
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


def hypothesis(model, x, X):
    """What the function of the round of x says of X: that of the dictionary after x was looked at."""
    twin = copy.deepcopy(model)
    if not twin.d_:
        return np.zeros(len(X))
    twin.step(x, 0.0)
    Z = twin.atoms_.nested_.coordinates(X)
    z = twin.atoms_.nested_.coordinates(x[None])[0]
    A, b = twin.solver_.matrix[: len(z), : len(z)], twin.solver_.right_side[: len(z), 0]  # with x, with label 0
    return Z @ np.linalg.solve(A - np.outer(z, z), b)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("clip", [None, 0.3])
def test_the_forecaster_that_counts_x_averages_the_functions_of_the_paper(weights, clip):
    """f_t = A_t^-1 b_{t-1}, by definition; blocks, single rows and parts put together agree."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (150, 2))
    Y = np.column_stack([np.sin(3 * X[:, 0]), X[:, 1]])
    w = rng.uniform(0.2, 3, 150) if weights else np.ones(150)
    make = PKAWV(Taylor(G, degree=3), lam=0.1, clip=clip, average=True).clone
    whole = make()
    whole.run(X, Y, w)
    Z = whole.features_.transform(X)
    A, b, total = 0.1 * np.eye(Z.shape[1]), np.zeros((Z.shape[1], 2)), np.zeros((Z.shape[1], 2))
    for z, y, c in zip(Z, Y, w, strict=True):
        A += c * np.outer(z, z)
        total += np.linalg.solve(A, b)
        b += c * np.outer(z, y)
    expected = Z @ total / 150
    expected = expected if clip is None else np.clip(expected, -clip, clip)
    assert_allclose(whole.averaged(X), expected, atol=1e-10)
    steps = make()
    for x, y, c in zip(X, Y, w, strict=True):
        steps.step(x, y, float(c))
    assert_allclose(steps.averaged(X), expected, atol=1e-10)
    twin = from_bytes(whole.to_bytes())
    assert_array_equal(twin.averaged(X), whole.averaged(X))


def test_means_of_merged_learners_are_pooled_and_unlearning_ends_them():
    X, y = stream(PKRR(Taylor(G, degree=3)))
    for make in (
        lambda: PKAWV(Taylor(G, degree=3), average=True),
        lambda: NystromPKAWV(G, dictionary=X[:7], average=True),
    ):
        left, right = make(), make()
        left.run(X[:30], y[:30])
        right.run(X[30:], y[30:])
        mean = (30 * left.averaged(X) + 60 * right.averaged(X)) / 90
        assert_allclose(left.merge(right).averaged(X), mean, atol=1e-9)
    gone = PKAWV(Taylor(G, degree=3), average=True)
    gone.run(X, y)
    gone.unlearn(X[:1], y[:1])
    with pytest.raises(ValueError, match="not known after `unlearn`"):
        gone.averaged(X)
    with pytest.raises(Unable, match="average=True"):
        PKAWV(Taylor(G, degree=3)).averaged(X)
    with pytest.raises(ValueError, match="equal parameters"):
        PKAWV(Taylor(G, degree=3), average=True).merge(PKAWV(Taylor(G, degree=3)))


def test_the_mean_of_online_ridge_has_little_excess_risk():
    """Online to batch: for independent rows the excess risk of the mean is at most regret / n, here on average."""
    rng = np.random.default_rng(0)
    excess, regrets = [], []
    for _ in range(20):
        X = rng.uniform(-1, 1, (200, 1))
        y = np.sin(3 * X[:, 0]) + 0.5 * rng.normal(size=200)
        model = PKRR(Taylor(G, degree=6), lam=0.5, average=True)
        model.run(X, y)
        fresh = np.linspace(-1, 1, 400)[:, None]
        excess.append(np.mean((model.averaged(fresh) - np.sin(3 * fresh[:, 0])) ** 2))
        regrets.append(model.regret() / 200)
    assert 0 < np.mean(excess) < np.mean(regrets)


def test_a_mean_is_kept_in_an_ensemble_too():
    X, y = stream(PKRR(Taylor(G, degree=3)))
    pattern = [PKRR(Taylor(G, degree=3), lam=lam, average=True) for lam in (0.1, 1.0)]
    whole = Aggregate(pattern, bound=4.0)
    for x, label in zip(X, y, strict=True):
        whole.step(x, label)
    alone = pattern[0].clone()
    alone.run(X, y)
    assert_allclose(whole.experts[0].averaged(X), alone.averaged(X), atol=1e-10)
