"""Cases of perceptrons, passive-aggressive learners and learners with a budget."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from nystream import Gaussian, Linear
from nystream.learners import (
    BSGD,
    BudgetPA,
    DualSGD,
    Forgetron,
    PassiveAggressive,
    Perceptron,
    Projectron,
    RandomBudgetPerceptron,
)
from nystream.losses import EpsilonInsensitive
from oracles import gaussian
from oracles.budget import (
    bsgd,
    budget_pa,
    corrections,
    dual_sgd,
    exact_pa,
    forgetron,
    hinge_pa,
    perceptron,
    perceptron_classes,
    projectron,
    random_budget,
    runner_up_pa,
    tube_pa,
)
from oracles.cases.base import CLASSES, FAR, LABELLED, Case, Trial, named, outputs_of, stream, weights_for
from oracles.expansion import SIGMA as WIDE
from oracles.expansion import pegasos, slope
from oracles.features import fourier

SIGMA = 0.5
G = Gaussian(SIGMA)
SIGNS_AND_CLASSES = ("hinge", "multiclass_hinge")
PROJECTRONS: list[dict[str, Any]] = [
    {"tol": 0.1},
    {"tol": 0.3},
    {"tol": 0.05, "budget": 20},
    {"tol": 0.3, "plus": True},
    {"tol": 0.05, "budget": 20, "plus": True},
]


def kernel(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    return gaussian(X, Y, SIGMA)


# -- corrections -----------------------------------------------------------------------------------------------------
def mistakes(loss: str, linear: bool, seed: int) -> Trial:
    X, y = stream(named(loss), seed)
    rule = perceptron_classes if loss in LABELLED else perceptron
    expected = corrections(X @ X.T if linear else kernel(X, X), y, rule, outputs_of(loss))
    return Trial(lambda: Perceptron(Linear() if linear else G, loss=named(loss)), X, y, expected)


def random_removal(loss: str, seed: int) -> Trial:
    X, y = stream(named(loss), seed)
    expected = random_budget(kernel(X, X), y, 20, seed, outputs_of(loss))[0]
    return Trial(lambda: RandomBudgetPerceptron(G, budget=20, loss=named(loss), seed=seed), X, y, expected)


def forgetting(budget: int, seed: int) -> Trial:
    X, y = stream("sign", seed)
    return Trial(lambda: Forgetron(G, budget=budget), X, y, forgetron(kernel(X, X), y, budget)[0])


def projecting(settings: dict[str, Any], loss: str, seed: int) -> Trial:
    X, y = stream(named(loss), seed)
    expected = projectron(kernel(X, X), y, outputs=outputs_of(loss), **settings)[0]
    return Trial(lambda: Projectron(G, loss=named(loss), **settings), X, y, expected)


def passive_aggressive(variant: str | None, kind: str, linear: bool, seed: int) -> Trial:
    C, eps, extra = 0.3, 0.05, {}
    if kind == "epsilon_insensitive":
        loss, rule = EpsilonInsensitive(eps), tube_pa(variant, C, eps)
    elif kind == "hinge":
        loss, rule = named("hinge"), hinge_pa(variant, C)
    elif kind == "structured_hinge":
        loss, rule = named(kind), exact_pa(variant, C, FAR)
    else:
        loss, extra = named("multiclass_hinge"), {"multiclass": kind}
        rule = (exact_pa if kind == "exact" else runner_up_pa)(variant, C)
    X, y = stream(loss, seed)
    expected = corrections(X @ X.T if linear else kernel(X, X), y, rule, CLASSES if loss.multiclass else 1)
    first = Linear() if linear else G
    return Trial(lambda: PassiveAggressive(first, variant=variant, C=C, loss=loss, **extra), X, y, expected)


def budget_passive_aggressive(variant: str, loss: str, seed: int) -> Trial:
    X, y = stream(named(loss), seed, repeats=False)
    expected = budget_pa(kernel(X, X), y, 20, 0.7, variant, outputs_of(loss))[0]
    return Trial(lambda: BudgetPA(G, budget=20, C=0.7, variant=variant, loss=named(loss)), X, y, expected)


def correction_cases() -> Iterator[Case]:
    for loss, linear in product(SIGNS_AND_CLASSES, (False, True)):
        text = "repeats, linear" if linear else "repeats"
        yield Case("first", "Perceptron", "", loss, text, 1e-10, partial(mistakes, loss, linear))
    for variant, kind, linear in product(
        (None, "I", "II"), ("hinge", "epsilon_insensitive", "exact", "runner_up", "structured_hinge"), (False, True)
    ):
        loss = f"multiclass_hinge {kind}" if kind in ("exact", "runner_up") else kind
        text = "repeats, linear" if linear else "repeats"
        trial = partial(passive_aggressive, variant, kind, linear)
        yield Case("first", "PassiveAggressive", "PA" + (f"-{variant}" if variant else ""), loss, text, 1e-10, trial)
    for variant, loss in product(("S", "NN", "P"), SIGNS_AND_CLASSES):
        tolerance = 1e-7 if variant == "P" else 1e-10  # the inverse Gram matrix of "P" has a ridge of 1e-10
        trial = partial(budget_passive_aggressive, variant, loss)
        yield Case("first", "BudgetPA", variant, loss, "budget 20, distinct points", tolerance, trial)
    for settings, loss in product(PROJECTRONS, SIGNS_AND_CLASSES):
        text = ", ".join(f"{name} {value}" for name, value in settings.items() if name != "plus")
        trial = partial(projecting, settings, loss)
        yield Case("first", "Projectron", "++" if "plus" in settings else "", loss, f"repeats, {text}", 1e-9, trial)
    for budget in (1, 5, 20):
        yield Case(
            "first", "Forgetron", "", "mistakes", f"repeats, budget {budget}", 1e-10, partial(forgetting, budget)
        )
    for loss in SIGNS_AND_CLASSES:
        trial = partial(random_removal, loss)
        yield Case("first", "RandomBudgetPerceptron", "", loss, "repeats, budget 20", 1e-10, trial)


# -- Pegasos ---------------------------------------------------------------------------------------------------------
def pegasos_scalar(maintenance: str, loss: str, weighted: bool, seed: int) -> Trial:
    """Weights where points are merged: else all coefficients of the hinge are equal, and two places equally good."""
    X, y = stream(named(loss), seed, repeats=maintenance == "remove")
    t0 = 400.0 if loss == "squared" else 0.0
    weights = weights_for(seed) if weighted else None
    turn = iter(np.ones(len(X)) if weights is None else weights)

    def grad(y: float, p: float) -> float:
        return next(turn) * named(loss).grad(y, p)

    expected = bsgd(X, y, kernel, grad, 1e-2, 20, maintenance, t0)[0]
    return Trial(
        lambda: BSGD(G, loss=loss, budget=20, lam=1e-2, maintenance=maintenance, t0=t0), X, y, expected, weights
    )


def pegasos_classes(maintenance: str, loss: str, seed: int) -> Trial:
    X, y = stream("class", seed, repeats=maintenance == "remove")
    settings = {"lam": 1e-2, "budget": 20, "maintenance": maintenance}
    weights = weights_for(seed)
    expected = pegasos(X, y.astype(int), named(loss), outputs=CLASSES, weights=weights, **settings)[0]
    return Trial(lambda: BSGD(Gaussian(WIDE), loss=named(loss), **settings), X, y, expected, weights)


def dual(loss: str, evict: int, seed: int) -> Trial:
    X, y = stream(named(loss), seed)
    Z, outputs = fourier(X, SIGMA, 60, seed), outputs_of(loss)

    def grad(y: float, p: Any) -> Any:
        return slope(named(loss), int(y), p) if outputs > 1 else named(loss).grad(y, p)

    t0 = 400.0 if loss == "squared" else 0.0
    expected = dual_sgd(kernel(X, X), Z, y, grad, 1e-2, 20, evict, t0, outputs)[0]
    settings = {"budget": 20, "dim": 60, "lam": 1e-2, "evict": evict, "t0": t0, "seed": seed}
    return Trial(lambda: DualSGD(G, loss=named(loss), **settings), X, y, expected)


def pegasos_cases() -> Iterator[Case]:
    for maintenance in ("remove", "project", "merge"):
        merges = maintenance == "merge"
        tolerance = 1e-3 if merges else 1e-8  # the definition of merging searches a grid
        text = "budget 20, " + ("repeats" if maintenance == "remove" else "distinct points")
        for loss in ("hinge", "logistic", "squared"):
            setting = text + (", weights" if merges else "")
            trial = partial(pegasos_scalar, maintenance, loss, merges)
            yield Case("first", "BSGD", maintenance, loss, setting, tolerance, trial)
        for loss in ("multiclass_hinge", "softmax", "structured_hinge", "similar labels"):
            trial = partial(pegasos_classes, maintenance, loss)
            yield Case("first", "BSGD", maintenance, loss, text + ", weights", tolerance, trial)
    for loss, evict in product(("hinge", "logistic", "squared", "softmax"), (1, 5, 20)):
        setting = f"repeats, budget 20, 60 features, evict {evict}"
        yield Case("first", "DualSGD", "", loss, setting, 1e-9, partial(dual, loss, evict))


CASES = [*correction_cases(), *pegasos_cases()]
