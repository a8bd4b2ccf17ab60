"""Cases of gradient and implicit descent on kernel expansions, and of one such learner per pixel."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from nystream import Gaussian, Pixels, Polynomial
from nystream.learners import ILK, NORMA, SILK, SVMD
from nystream.losses import LOSSES, Novelty
from oracles.cases.base import FIVE, LABELLED, ROUNDS, Case, Trial, named, outputs_of, stream, weights_for
from oracles.expansion import SIGMA, SlowExpansion, norma, silk, svmd
from oracles.losses import Searched

G = Gaussian(SIGMA)
SCALAR = tuple(name for name, kind in LOSSES.items() if not kind.multiclass)
FEW = ("hinge", "squared", "logistic", "multiclass_hinge", "softmax", "similar labels")
NORMA_SETTINGS: dict[str, dict[str, Any]] = {
    "offset, eta 0.3": {"offset": True, "eta": 0.3},
    "eta 0.5/sqrt(t), lam 0.1": {"schedule": "sqrt", "eta": 0.5, "lam": 0.1},
    "age 25": {"budget": 25},
    "support 25, offset": {"budget": 25, "keep": "support", "offset": True},
}
ILK_SETTINGS: dict[str, dict[str, Any]] = {
    "lam 0.3, C 3": {"lam": 0.3, "C": 3.0},
    "lam 0.1, sqrt(t)": {"lam": 0.1, "C": 1.0, "schedule": "sqrt"},
}
WEAK: dict[str, Any] = {"lam": 0.01, "C": 0.5, "eta": 2.0}
DROPS = ("smallest", "oldest", "contribution", "project", "merge")
TOLERANCES = {"project": 1e-7, "merge": 1e-3}
"""The solve of a projection is ill-conditioned; the definition of merging searches a grid."""


def rule_of(loss: str) -> dict[str, str]:
    """A label similarity has no exact implicit step."""
    return {"multiclass": "runner_up" if loss == "similar labels" else "exact"} if loss in LABELLED else {}


def gradient_descent(loss: str, settings: dict[str, Any], weighted: bool, seed: int) -> Trial:
    X, Y = stream(named(loss), seed)
    weights = weights_for(seed) if weighted else None
    expected = norma(
        X, Y.astype(int) if loss in LABELLED else Y, named(loss), outputs=outputs_of(loss), weights=weights, **settings
    )[0]
    return Trial(lambda: NORMA(G, loss=named(loss), **settings), X, Y, expected, weights)


def implicit_descent(loss: str, settings: dict[str, Any], weighted: bool, seed: int) -> Trial:
    """SILK where there is a budget, else ILK."""
    X, Y = stream(named(loss), seed)
    weights = weights_for(seed) if weighted else None
    labels = Y.astype(int) if loss in LABELLED else Y
    extra = settings | rule_of(loss)
    expected = silk(X, labels, named(loss), outputs=outputs_of(loss), weights=weights, **extra)[0]
    kind = SILK if "budget" in settings else ILK
    return Trial(lambda: kind(G, loss=named(loss), **extra), X, Y, expected, weights)


def searched_steps(loss: str, seed: int) -> Trial:
    """ILK whose implicit steps the definition searches for, instead of taking the formula of the loss."""
    X, Y = stream(named(loss), seed)
    labels = Y.astype(int) if loss in LABELLED else Y
    expected = silk(X, labels, Searched(named(loss)), outputs=outputs_of(loss), **WEAK)[0]
    return Trial(lambda: ILK(G, loss=named(loss), **WEAK), X, Y, expected)


def contribution(seed: int) -> Trial:
    """Where the kernel's diagonal varies, size and contribution of a term differ."""
    X, Y = stream("sign", seed)
    kernel = Polynomial(2)
    f = SlowExpansion(kernel=kernel)
    expected = silk(X, Y, named("hinge"), lam=0.01, budget=20, drop="contribution", f=f)[0]
    return Trial(lambda: SILK(kernel, budget=20, drop="contribution", lam=0.01), X, Y, expected)


def adaptive_steps(loss: str, budget: int | None, seed: int) -> Trial:
    X, Y = stream(named(loss), seed)
    labels = Y.astype(int) if loss in LABELLED else Y
    expected = svmd(X, labels, named(loss), outputs=outputs_of(loss), budget=budget, lam=0.01, mu=0.2)[0]
    return Trial(lambda: SVMD(G, loss=named(loss), budget=budget, lam=0.01, mu=0.2), X, Y, expected)


def pixels(rule: str, settings: dict[str, Any], seed: int) -> Trial:
    """Six pixels of two alternating colours with byte noise."""
    rng = np.random.default_rng((seed, 3))
    scenes, shape = rng.integers(30, 226, size=(2, 2, 3, 3)), (ROUNDS, 2, 3)
    frames = np.where((rng.random(shape) < 0.3)[..., None], scenes[1], scenes[0]) + rng.integers(-4, 5, (*shape, 3))
    frames = frames.astype(np.uint8)
    X, sigma = frames.reshape(ROUNDS, 6, 3) / 255.0, 0.15
    params = {"tau": 0.02, "C": 0.05, "budget": 20, "rho": 1.0, **settings}
    tau, C, budget, loss = params["tau"], params["C"], params["budget"], Novelty(params["rho"])
    expected = []
    for i in range(6):
        f, none = SlowExpansion(sigma=sigma), np.zeros(ROUNDS)
        if rule == "silk":
            expected.append(silk(X[:, i], none, loss, lam=tau / (1 - tau), C=C, budget=budget, f=f)[0])
        else:
            expected.append(norma(X[:, i], none, loss, eta=C, lam=tau / C, budget=budget, f=f)[0])
    return Trial(lambda: Pixels(Gaussian(sigma), rule=rule, **settings), frames, None, np.hstack(expected))


def cases() -> Iterator[Case]:
    for loss in (*SCALAR, *LABELLED):
        yield Case("first", "NORMA", "", loss, "repeats", 1e-10, partial(gradient_descent, loss, {}, False))
    for (text, settings), loss in product(NORMA_SETTINGS.items(), FEW):
        trial = partial(gradient_descent, loss, settings, False)
        yield Case("first", "NORMA", text, loss, "repeats", 1e-10, trial)
    for loss in ("hinge", "novelty", "epsilon_insensitive"):
        settings = {"nu": 0.3, "eta": 0.2, "budget": 60}
        trial = partial(gradient_descent, loss, settings, False)
        yield Case("first", "NORMA", "nu 0.3, age 60", loss, "repeats", 1e-10, trial)
    trial = partial(gradient_descent, "huber", {"offset": True}, True)
    yield Case("first", "NORMA", "offset", "huber", "repeats, weights and zeros", 1e-10, trial)

    for loss in (*SCALAR, *LABELLED):
        yield Case("first", "ILK", "lam 0.01", loss, "repeats", 1e-10, partial(implicit_descent, loss, WEAK, False))
    for (text, settings), loss in product(ILK_SETTINGS.items(), FEW):
        trial = partial(implicit_descent, loss, settings, False)
        yield Case("first", "ILK", text, loss, "repeats", 1e-10, trial)

    for loss in (*FIVE, "multiclass_hinge", "structured_hinge"):
        yield Case("first", "ILK", "steps by search", loss, "repeats", 1e-5, partial(searched_steps, loss))

    for drop, loss in product(DROPS, FEW):
        settings = WEAK | {"budget": 25, "drop": drop}
        trial = partial(implicit_descent, loss, settings, False)
        yield Case("first", "SILK", f"{drop} 25", loss, "repeats", TOLERANCES.get(drop, 1e-10), trial)
    trial = partial(implicit_descent, "squared", {"lam": 0.1, "budget": 25}, True)
    yield Case("first", "SILK", "smallest 25", "squared", "repeats, weights and zeros", 1e-10, trial)
    yield Case("first", "SILK", "contribution 20", "hinge", "repeats, polynomial", 1e-9, contribution)

    for budget, loss in product((None, 30), (*FIVE, "novelty", "multiclass_hinge", "softmax", "structured_hinge")):
        text = "" if budget is None else f"budget {budget}"
        yield Case("first", "SVMD", text, loss, "repeats", 1e-9, partial(adaptive_steps, loss, budget))

    for rule, settings in product(("silk", "norma"), ({}, {"tau": 0.05, "C": 0.3, "budget": 5}, {"rho": 0.4})):
        text = ", ".join(f"{name} {value}" for name, value in settings.items())
        yield Case("first", "Pixels", rule, "novelty", f"bytes {text}".strip(), 1e-12, partial(pixels, rule, settings))


CASES = list(cases())
