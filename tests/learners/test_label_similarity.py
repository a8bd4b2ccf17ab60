"""Label similarities: every learner of classes under the joint kernel k(x, x') M[y, y'], against its feature space."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nystream.kernels import Gaussian, Linear
from nystream.learners import (
    BSGD,
    FOGD,
    ILK,
    NOGD,
    NOLANA,
    NORMA,
    RRF,
    SILK,
    SVMD,
    BudgetPA,
    DoublySGD,
    DualSGD,
    PassiveAggressive,
    Perceptron,
    Projectron,
    RandomBudgetPerceptron,
)
from nystream.losses import StructuredHinge
from oracles import gaussian
from oracles import labels as slow
from oracles.budget import classes

D = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0))) ** 0.5
M = np.exp(-(np.subtract.outer(np.arange(4.0), np.arange(4.0)) ** 2) / 2)
TWINS = np.array([[1.0, 1.0, 0.2, 0.1], [1.0, 1.0, 0.2, 0.1], [0.2, 0.2, 1.5, 0.5], [0.1, 0.1, 0.5, 1.0]])
"""Labels 0 and 1 are one to the kernel."""
SIGMA = 0.6
X, Y = classes(160)


def space(similarity, linear=False):
    K = X @ X.T if linear else gaussian(X, X, SIGMA)
    return slow.Space(K, similarity, D)


def agrees(model, expected, atol=1e-9):
    """`run` and the loop of `step`, both."""
    rows = model.clone()
    assert_allclose(model.run(X, Y), expected, rtol=0, atol=atol)
    assert_allclose([rows.step(x, y) for x, y in zip(X, Y, strict=True)], expected, rtol=0, atol=atol)
    assert np.abs(expected).max() > 0.3


@pytest.mark.parametrize("similarity", [M, TWINS], ids=["graded", "twins"])
@pytest.mark.parametrize("kernel", [Gaussian(SIGMA), Linear()], ids=repr)
def test_the_perceptron_follows_the_joint_kernel(similarity, kernel):
    model = Perceptron(kernel, loss=StructuredHinge(D, similarity))
    expected, mean = slow.corrections(space(similarity, isinstance(kernel, Linear)), Y, slow.perceptron)
    agrees(model, expected)
    assert_allclose(model.averaged(X), mean, rtol=0, atol=1e-9)


@pytest.mark.parametrize("similarity", [M, TWINS], ids=["graded", "twins"])
@pytest.mark.parametrize("variant", [None, "I", "II"])
@pytest.mark.parametrize("kernel", [Gaussian(SIGMA), Linear()], ids=repr)
def test_passive_aggressive_steps_are_the_smallest_under_the_joint_kernel(similarity, variant, kernel):
    model = PassiveAggressive(
        kernel, variant=variant, C=0.4, loss=StructuredHinge(D, similarity), multiclass="runner_up"
    )
    rule = slow.passive_aggressive(variant, 0.4)
    expected, mean = slow.corrections(space(similarity, isinstance(kernel, Linear)), Y, rule)
    agrees(model, expected, 1e-7 if variant is None else 1e-9)  # without a cap rounding grows
    assert_allclose(model.averaged(X), mean, rtol=0, atol=1e-7)


def test_the_random_budget_perceptron_follows_the_joint_kernel():
    model = RandomBudgetPerceptron(Gaussian(SIGMA), budget=12, loss=StructuredHinge(D, M), seed=3)
    agrees(model, slow.random_budget(space(M), Y, 12, 3))
    assert model.size == 12


@pytest.mark.parametrize("variant", ["S", "NN", "P"])
def test_budget_pa_lets_the_point_go_that_the_joint_kernel_misses_least(variant):
    model = BudgetPA(Gaussian(SIGMA), budget=10, C=0.6, variant=variant, loss=StructuredHinge(D, M))
    agrees(model, slow.budget_pa(space(M), Y, 10, 0.6, variant), 1e-6)  # "P" has a ridge of 1e-10
    assert model.size == 10


@pytest.mark.parametrize("similarity", [M, TWINS], ids=["graded", "twins"])
@pytest.mark.parametrize(("plus", "budget"), [(False, None), (True, None), (True, 6)])
def test_projectron_measures_distances_in_the_joint_kernel(similarity, plus, budget):
    model = Projectron(Gaussian(SIGMA), tol=0.4, plus=plus, budget=budget, loss=StructuredHinge(D, similarity))
    expected, size = slow.projectron(space(similarity), Y, 0.4, plus, budget)
    agrees(model, expected, 1e-7)
    assert model.size == size


@pytest.mark.parametrize("budget", [None, 15])
def test_svmd_takes_its_inner_products_in_the_joint_kernel(budget):
    loss = StructuredHinge(D, M)
    model = SVMD(Gaussian(SIGMA), loss=loss, eta=0.2, mu=0.3, lam=0.01, budget=budget)
    expected, meta = slow.svmd(space(M), Y, loss, eta=0.2, mu=0.3, lam=0.01, budget=budget)
    agrees(model, expected)
    assert_allclose(model.meta_, meta[-1], rtol=1e-9)
    assert meta[-1][0] != 0.2
    assert_allclose(model.predict(X)[0], model.step(X[0], Y[0]), rtol=1e-12)


def test_rrf_moves_weights_and_scales_under_the_joint_kernel():
    model = RRF(Gaussian(SIGMA), dim=60, loss=StructuredHinge(D, M), eta=0.2, eta_scale=0.05, seed=4)
    expected, a = slow.rrf(model, X, Y, M, 0.2, 0.05)
    agrees(model, expected)
    assert_allclose(model.a_, a, rtol=0, atol=1e-10)


def test_doubly_sgd_draws_features_of_the_joint_kernel():
    model = DoublySGD(Gaussian(SIGMA), loss=StructuredHinge(D, M), lam=0.05, step=3.0, t0=2, block=5, seed=7)
    agrees(model, slow.doubly_sgd(model, X, Y, M, 0.05, 3.0, 2))


LEARNERS = {
    "perceptron": lambda k, loss: Perceptron(k, loss=loss),
    "pa-II": lambda k, loss: PassiveAggressive(k, variant="II", loss=loss, multiclass="runner_up"),
    "random": lambda k, loss: RandomBudgetPerceptron(k, budget=12, loss=loss, seed=0),
    "budget-pa": lambda k, loss: BudgetPA(k, budget=12, variant="NN", loss=loss),
    "projectron": lambda k, loss: Projectron(k, tol=0.5, plus=True, loss=loss),
    "svmd": lambda k, loss: SVMD(k, loss=loss, budget=20),
    "norma": lambda k, loss: NORMA(k, loss=loss),
    "ilk": lambda k, loss: ILK(k, loss=loss, multiclass="runner_up"),
    "silk": lambda k, loss: SILK(k, loss=loss, budget=20, multiclass="runner_up"),
    "bsgd": lambda k, loss: BSGD(k, loss=loss, budget=20, lam=0.01, maintenance="remove"),
    "dual-sgd": lambda k, loss: DualSGD(k, loss=loss, budget=20, dim=40, lam=0.01, seed=0),
    "fogd": lambda k, loss: FOGD(k, dim=40, loss=loss, seed=0),
    "nogd": lambda k, loss: NOGD(k, landmarks=20, rank=20, loss=loss),
    "nolana": lambda k, loss: NOLANA(k, landmarks=20, rank=20, eps=0.3, loss=loss),
    "rrf": lambda k, loss: RRF(k, dim=40, loss=loss, seed=0),
    "doubly-sgd": lambda k, loss: DoublySGD(k, loss=loss, step=3.0, block=4, seed=0),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_labels_twice_as_loud_are_a_kernel_twice_as_large(name):
    """k(x, x') (2 I)[y, y'] is one joint kernel, however its factor is shared out."""
    make, few = LEARNERS[name], slice(0, 120)
    label = make(Gaussian(SIGMA), StructuredHinge(D, 2 * np.eye(4)))
    kernel = make(2 * Gaussian(SIGMA), StructuredHinge(D))
    assert_allclose(label.run(X[few], Y[few]), kernel.run(X[few], Y[few]), rtol=1e-7, atol=1e-8)
    assert_allclose(label.predict(X), kernel.predict(X), rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name", LEARNERS)
def test_labels_that_the_kernel_cannot_tell_apart_have_one_score(name):
    model = LEARNERS[name](Gaussian(SIGMA), StructuredHinge(D, TWINS))
    P = model.run(X, Y)
    assert_allclose(P[:, 0], P[:, 1], rtol=0, atol=1e-9)
    assert np.abs(P[:, 0] - P[:, 2]).max() > 0.1
    assert_array_equal(model.predict(X[:0]).shape, (0, 4))
