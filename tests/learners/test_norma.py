"""NORMA against the dense recursion; truncation, the nu-trick, offsets."""

import numpy as np
import pytest
from grids import grid
from numpy.testing import assert_allclose, assert_array_equal

from nystream.kernels import Gaussian, Linear
from nystream.learners import NORMA
from nystream.losses import LOSSES, Hinge, Huber, MulticlassHinge, Softmax, Squared, StructuredHinge
from oracles.expansion import SIGMA, norma

T, CLASSES = 300, 4
FAR = np.abs(np.subtract.outer(np.arange(float(CLASSES)), np.arange(float(CLASSES))))
CASES = {name: kind() for name, kind in LOSSES.items() if not kind.multiclass} | {
    "multiclass_hinge": MulticlassHinge(CLASSES),
    "softmax": Softmax(CLASSES),
    "structured": StructuredHinge(FAR),
    "similarity": StructuredHinge(FAR, np.exp(-FAR)),
}
SETTINGS = {
    "plain": {},
    "offset": {"offset": True, "eta": 0.3},
    "sqrt": {"schedule": "sqrt", "eta": 0.5, "lam": 0.1},
    "age": {"budget": 25},
    "support": {"budget": 25, "keep": "support", "offset": True},
}


def stream(loss, n=T, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    X[n // 2 : n // 2 + 10] = X[:10]
    f = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, -1] + 0.1 * rng.normal(size=n)
    if loss.labels == "class":
        return X, np.digitize(f, [-0.4, 0.2, 0.6])
    return X, np.where(f > 0, 1.0, -1.0) if loss.labels == "sign" else f


@pytest.mark.parametrize(("case", "setting"), grid(CASES, SETTINGS))
def test_norma_equals_the_dense_recursion(case, setting):
    loss, settings = CASES[case], SETTINGS[setting]
    X, Y = stream(loss)
    model = NORMA(Gaussian(SIGMA), loss=loss, **settings)
    P = model.run(X, Y).reshape(T, -1)
    Q, f, b, _ = norma(X, Y, loss, outputs=P.shape[1], **settings)
    worst = abs(P - Q).max()
    print(f"NORMA {setting} {case}: {worst:.1e}")
    assert worst < 1e-10
    assert model.size == len(f.terms)
    if settings.get("offset"):
        assert_allclose(model.offset_[0], b, rtol=1e-10, atol=1e-12)


def test_the_averaged_hypothesis_is_the_mean_of_those_that_predicted():
    X, Y = stream(Hinge())
    model = NORMA(Gaussian(SIGMA), eta=0.3, lam=0.05, offset=True)
    Z = X[:20]
    total = np.zeros(20)
    for x, y in zip(X, Y, strict=True):
        total += model.predict(Z)
        model.step(x, y)
    assert_allclose(model.averaged(Z), total / T, rtol=1e-10, atol=1e-12)
    assert_array_equal(NORMA(Gaussian(SIGMA)).averaged(Z), np.zeros(20))


def test_several_targets_and_weights_equal_the_definition():
    loss = Huber()
    X, y = stream(loss)
    Y, weights = np.column_stack([y, -y]), np.random.default_rng(1).uniform(0, 2, T)
    weights[::5] = 0.0
    some = weights > 0  # a row of weight 0 is no round
    Q, *_ = norma(X[some], Y[some], loss, outputs=2, weights=weights[some], offset=True)
    P = NORMA(Gaussian(SIGMA), loss=loss, offset=True).run(X, Y, weights)
    assert_allclose(P[some], Q, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("budget", [5, 20, 60])
def test_truncation_by_age_costs_at_most_its_bound(budget):
    X, Y = stream(Hinge())
    eta, lam = 0.3, 0.2
    whole, cut = NORMA(Gaussian(SIGMA), eta=eta, lam=lam), NORMA(Gaussian(SIGMA), eta=eta, lam=lam, budget=budget)
    bound = (1 - eta * lam) ** budget / lam
    for x in zip(X, Y, strict=True):
        whole.step(*x)
        # the bound is on truncating one f: give the cut learner the terms that the whole one has
        recent = whole.expansion_.birth > whole.n_seen - budget
        points, coef = whole.expansion_.points[~recent], whole.expansion_.coef[~recent, 0]
        assert np.sqrt(coef @ Gaussian(SIGMA)(points, points) @ coef) <= bound + 1e-12
        cut.step(*x)
        assert cut.size <= budget
        assert cut.n_seen - cut.expansion_.birth.min(initial=cut.n_seen) < budget


def test_a_term_lives_budget_rounds_whether_or_not_they_store_anything():
    model = NORMA(Gaussian(1.0), budget=3, eta=0.5, loss="epsilon_insensitive")
    model.step(np.zeros(1), 1.0)
    sizes = []
    for _ in range(4):
        sizes.append(model.size)
        model.step(np.full(1, 1e3), 0.0)  # far away the prediction is 0, and right: nothing is stored
    assert sizes == [1, 1, 1, 0]


@pytest.mark.parametrize("loss", ["hinge", "novelty", "epsilon_insensitive"])
def test_the_adapted_level_equals_the_definition(loss):
    X, Y = stream(LOSSES[loss]())
    model = NORMA(Gaussian(SIGMA), loss=loss, nu=0.3, eta=0.2, budget=60)
    assert model.level == 0.0
    P = model.run(X, Y)
    Q, _, _, level = norma(X, Y, LOSSES[loss](), nu=0.3, eta=0.2, budget=60)
    assert_allclose(P, Q[:, 0], rtol=1e-10, atol=1e-12)
    assert model.level == pytest.approx(level, rel=1e-10)


@pytest.mark.parametrize("loss", ["hinge", "novelty", "epsilon_insensitive"])
@pytest.mark.parametrize("nu", [0.1, 0.3])
def test_a_fraction_nu_of_the_rounds_violates_the_adapted_level(loss, nu):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 2))
    Y = np.where(X[:, 0] + 0.3 * rng.normal(size=6000) > 0, 1.0, -1.0)
    Y = Y if loss == "hinge" else X[:, 1] + 0.3 * rng.normal(size=6000)
    model = NORMA(Gaussian(1.0), loss=loss, nu=nu, eta=0.05, lam=0.01, budget=500)
    violated = 0
    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        level, p = model.level, model.step(x, y)
        if t >= 3000:
            violated += {"hinge": y * p <= level, "novelty": p < level}.get(loss, abs(y - p) > level)
    assert violated / 3000 == pytest.approx(nu, abs=0.02)


def test_an_offset_alone_learns_a_constant():
    model = NORMA(Linear(), loss="squared", offset=True, eta=0.1, lam=0.5)
    model.run(np.zeros((200, 2)), np.full(200, 3.0))  # k(x, x) = 0: nothing is stored
    assert model.size == 0
    assert model.predict(np.ones((1, 2)))[0] == pytest.approx(3.0)


def test_offsets_of_classes_that_appear_late_start_from_zero():
    X, Y = stream(MulticlassHinge())
    order = np.argsort(Y, kind="stable")[::3]
    late, early = (NORMA(Gaussian(SIGMA), loss=loss, offset=True) for loss in ("softmax", Softmax(CLASSES)))
    late.run(X[order], Y[order])
    early.run(X[order], Y[order])
    assert late.offset_.shape == early.offset_.shape == (2, CLASSES)
    assert late.offset_[0].sum() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eta": 2.0, "lam": 0.5}, "eta \\* lam must be less than 1, got eta=2.0, lam=0.5"),
        ({"eta": 0.0}, "eta must be a number greater than 0"),
        ({"budget": 0}, "budget must be a whole number of at least 1"),
        ({"keep": "newest"}, "keep must be one of 'age', 'support'"),
        ({"nu": 1.0}, "nu must be a number greater than 0 and less than 1"),
        ({"nu": 0.5, "loss": "logistic"}, "nu adapts the margin or tube of"),
        ({"loss": "hing"}, "did you mean 'hinge'"),
        ({"kernel": 1.0}, "kernel must be a kernel such as"),
    ],
)
def test_bad_parameters_are_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        NORMA(**({"kernel": Gaussian(1.0)} | arguments))


def test_nu_refuses_several_targets_before_anything_is_learnt():
    model = NORMA(Gaussian(1.0), loss="epsilon_insensitive", nu=0.1)
    with pytest.raises(ValueError, match="NORMA has one output; y has 2 columns"):
        model.run(np.zeros((3, 2)), np.zeros((3, 2)))
    assert model.n_seen == 0
    assert NORMA(Gaussian(1.0), loss=Squared()).level is None
