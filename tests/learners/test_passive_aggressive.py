"""The passive-aggressive family against its formulas, its minimisation problems and its relatives."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from nystream.kernels import Gaussian, Linear
from nystream.learners import ILK, PassiveAggressive
from nystream.losses import EpsilonInsensitive, MulticlassHinge, StructuredHinge
from oracles import gaussian
from oracles.budget import classes, corrections, exact_pa, hinge_pa, runner_up_pa, stream, tube_pa

CLOSE = {"rtol": 1e-10, "atol": 1e-11}
PA = [None, "I", "II"]


@pytest.mark.parametrize("kernel", [Gaussian(0.5), Linear()])
@pytest.mark.parametrize("variant", PA)
def test_classification_is_its_formula(variant, kernel):
    X, y = stream()
    got = PassiveAggressive(kernel, variant=variant, C=0.7).run(X, y)
    assert_allclose(got, corrections(kernel(X, X), y, hinge_pa(variant, 0.7))[:, 0], **CLOSE)


@pytest.mark.parametrize("variant", PA)
def test_regression_is_its_formula(variant):
    X, _ = stream()
    y = np.sin(3 * X[:, 0])
    got = PassiveAggressive(Gaussian(0.5), variant=variant, C=0.3, loss=EpsilonInsensitive(0.05)).run(X, y)
    assert_allclose(got, corrections(gaussian(X, X, 0.5), y, tube_pa(variant, 0.3, 0.05))[:, 0], **CLOSE)


@pytest.mark.parametrize("multiclass", ["exact", "runner_up"])
@pytest.mark.parametrize("variant", PA)
def test_classes_are_their_formula(variant, multiclass):
    X, y = classes()
    rule = (exact_pa if multiclass == "exact" else runner_up_pa)(variant, 0.3)
    for kernel in (Gaussian(0.5), Linear()):
        model = PassiveAggressive(kernel, variant=variant, C=0.3, loss=MulticlassHinge(4), multiclass=multiclass)
        assert_allclose(model.run(X, y), corrections(kernel(X, X), y, rule, 4), **CLOSE)


def best_step(p, label, s, margins, weight, power):
    """argmin s/2 |a|^2 + weight xi^power over steps a and slacks xi >= 0 that cover all margins, by a solver."""
    K = len(p)
    rivals = np.delete(np.arange(K), label)

    def room(v):
        z = p + s * v[:K]
        return np.append(v[K] + z[label] - margins[label, rivals] - z[rivals], v[K])

    def objective(v):
        return s / 2 * v[:K] @ v[:K] + weight * v[K] ** power

    constraint = {"type": "ineq", "fun": room}
    options = {"ftol": 1e-13, "maxiter": 500}
    return minimize(objective, np.append(np.zeros(K), 10.0), constraints=constraint, method="SLSQP", options=options).x[
        :K
    ]


@pytest.mark.parametrize("variant", PA)
def test_the_exact_step_for_classes_is_the_minimiser(variant):
    rng = np.random.default_rng(0)
    distance = np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0)))
    weight = 0.4 if variant else 20.0  # PA is PA-I with a weight beyond every multiplier
    for loss, margins in ((MulticlassHinge(6), 1 - np.eye(6)), (StructuredHinge(distance), distance)):
        for _ in range(12):
            p, label, s = rng.normal(size=6), int(rng.integers(6)), float(rng.uniform(0.3, 2))
            model = PassiveAggressive(Linear(), variant=variant, C=0.4, loss=loss)
            model.reserve(1, 6)
            x = np.sqrt([s])
            model.W_[:, 0] = p / x[0]  # the scores at x are p
            model.step(x, label)
            alpha = (model.W_[:, 0] - p / x[0]) / x[0]
            assert_allclose(alpha, best_step(p, label, s, margins, weight, 2 if variant == "II" else 1), atol=1e-5)


def test_pa_one_is_ilk_without_decay_and_pa_two_that_with_the_squared_hinge():
    X, y = stream()
    for variant, loss in (("I", "hinge"), ("II", "squared_hinge")):
        for C in (0.1, 1.0, 5.0):
            pa = PassiveAggressive(Gaussian(0.5), variant=variant, C=C).run(X, y)
            assert_allclose(pa, ILK(Gaussian(0.5), loss=loss, C=C, tau=0.0).run(X, y), rtol=1e-12, atol=1e-13)


def test_pa_makes_the_present_example_right():
    X, y = stream()
    model = PassiveAggressive(Gaussian(0.5), variant=None)
    for x, label in zip(X, y, strict=True):
        model.step(x, label)
        assert label * model.predict(x[None])[0] >= 1 - 1e-12


def test_the_mean_of_linear_hypotheses_is_that_of_the_expansion():
    X, y = stream()
    weights, stored = PassiveAggressive(Linear()), PassiveAggressive(1.0 * Linear())
    for model in (weights, stored):
        model.run(X[:150], y[:150])
        model.run(X[150:], y[150:])
    assert_allclose(weights.averaged(X), stored.averaged(X), **CLOSE)


def test_a_weight_multiplies_C_and_a_weight_of_zero_learns_nothing():
    X, y = stream()
    for kernel in (Gaussian(0.5), Linear()):
        for variant in ("I", "II"):
            weighted = PassiveAggressive(kernel, variant=variant, C=0.2).run(X, y, weights=np.full(300, 3.0))
            assert_allclose(
                weighted, PassiveAggressive(kernel, variant=variant, C=0.6000000000000001).run(X, y), **CLOSE
            )
        for variant in PA:
            for loss in ("hinge", MulticlassHinge(2)):
                model = PassiveAggressive(kernel, variant=variant, loss=loss)
                model.run(X, (y + 1) / 2 if loss != "hinge" else y, weights=np.zeros(300))
                assert not np.any(model.predict(X))


def test_several_targets_are_several_learners():
    X, _ = stream()
    Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] * X[:, 2]])
    for kernel in (Gaussian(0.5), Linear()):
        together = PassiveAggressive(kernel, loss="epsilon_insensitive").run(X, Y)
        for k in range(2):
            alone = PassiveAggressive(kernel, loss="epsilon_insensitive").run(X, Y[:, k])
            assert_allclose(together[:, k], alone, **CLOSE)


def test_new_columns_count_as_zero_so_far():
    X, y = stream()
    for kernel in (Gaussian(0.5), Linear()):
        wide, padded = PassiveAggressive(kernel), PassiveAggressive(kernel)
        padded.run(np.hstack([X[:100], np.zeros((100, 1))]), y[:100])
        wide.run(X[:100], y[:100])
        wide.widen(4)
        later = np.hstack([X[100:], X[100:, :1] ** 2])
        assert_allclose(wide.run(later, y[100:]), padded.run(later, y[100:]), **CLOSE)


def test_the_default_is_pa_one_with_the_hinge():
    X, y = stream()
    assert_array_equal(
        PassiveAggressive(Gaussian(0.5)).run(X, y), PassiveAggressive(Gaussian(0.5), variant="I", C=1.0).run(X, y)
    )
    assert repr(PassiveAggressive(Gaussian(0.5))) == "PassiveAggressive(Gaussian(sigma=0.5))"


def test_bad_arguments_are_refused_by_the_constructor():
    with pytest.raises(ValueError, match=r"variant must be None \(PA\), 'I' \(PA-I\) or 'II'"):
        PassiveAggressive(Gaussian(), variant="III")
    with pytest.raises(ValueError, match="C must be"):
        PassiveAggressive(Gaussian(), C=0.0)
    with pytest.raises(ValueError, match="loss must be one of"):
        PassiveAggressive(Gaussian(), loss="softmax")
    with pytest.raises(ValueError, match="needs the identity as label similarity; use rule 'runner_up'"):
        PassiveAggressive(Gaussian(), loss=StructuredHinge(1 - np.eye(3), similarity=0.5 + 0.5 * np.eye(3)))
    with pytest.raises(ValueError, match="multiclass must be one of"):
        PassiveAggressive(Gaussian(), multiclass="all")
