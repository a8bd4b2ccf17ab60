"""Cases of classes whose labels are alike: learners under a joint kernel k(x, x') M[y, y'], in its feature space."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from nystream import Gaussian
from nystream.learners import (
    RRF,
    SVMD,
    BudgetPA,
    DoublySGD,
    PassiveAggressive,
    Perceptron,
    Projectron,
    RandomBudgetPerceptron,
)
from oracles import gaussian
from oracles import labels as joint
from oracles.cases.base import FAR, LABELLED, Case, Trial, stream

SIGMA = 0.6
G = Gaussian(SIGMA)
LOSS = LABELLED["similar labels"]
M = np.exp(-FAR)
Oracle = Callable[[joint.Space, np.ndarray], np.ndarray]


def trial(make: Callable[..., Any], oracle: Oracle, repeats: bool, seed: int) -> Trial:
    X, y = stream("class", seed, repeats=repeats)
    return Trial(lambda: make(loss=LOSS), X, y, oracle(joint.Space(gaussian(X, X, SIGMA), M, FAR), y))


def random_budget(seed: int) -> Trial:
    make = partial(RandomBudgetPerceptron, G, budget=20, seed=seed)
    return trial(make, partial(_said, joint.random_budget, 20, seed), True, seed)


def scales(seed: int) -> Trial:
    X, y = stream("class", seed)
    model = RRF(Gaussian(0.8), dim=60, loss=LOSS, eta=0.2, eta_scale=0.05, seed=seed)
    return Trial(model.clone, X, y, joint.rrf(model, X, y, M, 0.2, 0.05)[0])


def new_features_each_round(seed: int) -> Trial:
    X, y = stream("class", seed)
    model = DoublySGD(G, loss=LOSS, lam=0.05, step=3.0, t0=2, block=5, seed=seed)
    return Trial(model.clone, X, y, joint.doubly_sgd(model, X, y, M, 0.05, 3.0, 2))


def row(
    learner: str, variant: str, setting: str, tolerance: float, make: Any, oracle: Oracle, repeats: bool = True
) -> Case:
    drawn = partial(trial, make, oracle, repeats)
    return Case("first", learner, variant, "similar labels", setting, tolerance, drawn)


def cases() -> Iterator[Case]:
    mistakes = partial(Perceptron, G)
    yield row("Perceptron", "", "repeats", 1e-10, mistakes, partial(_said, joint.corrections, joint.perceptron))
    for variant in (None, "I", "II"):
        make = partial(PassiveAggressive, G, variant=variant, C=0.3, multiclass="runner_up")
        rule = joint.passive_aggressive(variant, 0.3)
        name = "PA" + (f"-{variant}" if variant else "")
        tolerance = 1e-7 if variant is None else 1e-9  # without a cap rounding grows
        yield row("PassiveAggressive", name, "repeats", tolerance, make, partial(_said, joint.corrections, rule))
    for variant, budget in (("S", 10), ("NN", 10), ("P", 5)):
        make = partial(BudgetPA, G, budget=budget, C=0.7, variant=variant)
        oracle = partial(_said, joint.budget_pa, budget, 0.7, variant)
        yield row("BudgetPA", variant, f"budget {budget}, distinct points", 1e-6, make, oracle, repeats=False)
    for plus, budget in product((False, True), (6, 20)):
        make = partial(Projectron, G, tol=0.4, plus=plus, budget=budget)
        oracle = partial(_said, joint.projectron, 0.4, plus, budget)
        setting = f"repeats, tol 0.4, budget {budget}"
        yield row("Projectron", "++" if plus else "", setting, 1e-7, make, oracle)
    for budget in (None, 30):
        make = partial(SVMD, G, eta=0.2, mu=0.3, lam=0.01, budget=budget)
        oracle = partial(_said, joint.svmd, LOSS, 0.2, 0.01, 0.3, 0.95, 0.7, budget)
        yield row("SVMD", "" if budget is None else f"budget {budget}", "repeats", 1e-9, make, oracle)
    for learner, drawn in (
        ("RandomBudgetPerceptron", random_budget),
        ("RRF", scales),
        ("DoublySGD", new_features_each_round),
    ):
        setting = "repeats, budget 20" if learner == "RandomBudgetPerceptron" else "repeats"
        yield Case("first", learner, "", "similar labels", setting, 1e-9, drawn)


def _said(oracle: Callable[..., Any], *arguments: Any) -> np.ndarray:
    """The predictions of an oracle, which may return more; space and labels come last here, first there."""
    *settings, space, y = arguments
    found = oracle(space, y, *settings)
    return found[0] if isinstance(found, tuple) else found


CASES = list(cases())
