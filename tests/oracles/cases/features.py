"""Cases of gradient descent on random features and on landmarks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from nystream import Gaussian
from nystream.features import Fastfood, Fourier
from nystream.learners import FOGD, NOGD, NOLANA, RRF, DoublySGD
from oracles.cases.base import FIVE, LABELLED, ROUNDS, Case, Trial, named, outputs_of, stream, weights_for
from oracles.features import descent, doubly_sgd, fourier, rrf
from oracles.landmarks import nolana

SIGMA = 0.5
G = Gaussian(SIGMA)
SINGLE = 1e-5
"""Features in single precision are off by 1e-7, and so is a weight after a step; 300 rounds, which forget as they
learn, add up to a tenth of this."""
UNMIXED = (*FIVE, "multiclass_hinge", "softmax", "structured_hinge")
"""Losses without a label similarity."""


def random_features(settings: dict[str, Any], loss: str, weighted: bool, seed: int) -> Trial:
    """The plain Fourier features are drawn here; other maps are taken as they are."""
    X, y = stream(named(loss), seed)
    weights = weights_for(seed) if weighted else None
    kind = settings.get("features", "fourier")
    if kind == "fourier":
        Z = fourier(X, SIGMA, 60, seed)
    else:
        made = Fastfood(G, 60, seed=seed) if kind == "fastfood" else Fourier(G, 60, orthogonal=True, seed=seed)
        Z = made.fit_transform(X)
    step = {"method": "sgd", "eta": 0.3, "schedule": "constant", "lam": 0.0} | settings
    rule = step["method"], step["eta"], step["schedule"], step["lam"]
    w = np.ones(ROUNDS) if weights is None else weights
    expected = descent(named(loss), Z, y[:, None], w, *rule, classes=outputs_of(loss))[0]
    return Trial(lambda: FOGD(G, dim=60, loss=named(loss), seed=seed, **settings), X, y, expected, weights)


def scales(loss: str, seed: int) -> Trial:
    X, y = stream(named(loss), seed)
    settings = {"eta": 0.2, "eta_scale": 0.05, "lam": 0.001}
    model = RRF(Gaussian(0.8), dim=60, loss=named(loss), seed=seed, **settings)
    expected = rrf(model, X, y, named(loss), *settings.values(), outputs=outputs_of(loss))[0]
    return Trial(model.clone, X, y, expected)


def new_features_each_round(loss: str, weighted: bool, seed: int) -> Trial:
    X, y = stream(named(loss), seed)
    weights = weights_for(seed) if weighted else None
    settings = {"lam": 0.05, "step": 1.0 if named(loss).name.startswith("squared") else 3.0, "t0": 2}
    model = DoublySGD(Gaussian(0.6), loss=named(loss), block=5, seed=seed, **settings)
    expected = doubly_sgd(model, X, y, named(loss), *settings.values(), outputs=outputs_of(loss), weights=weights)
    return Trial(model.clone, X, y, expected, weights)


def landmarks(cls: type, settings: dict[str, Any], loss: str, seed: int) -> Trial:
    """NOGD is NOLANA whose landmarks never move. The stream drifts, so that those of NOLANA do."""
    X, y = stream(named(loss), seed)
    step = {"eta": 0.1, "lam": 0.01, "schedule": "sqrt"}
    if cls is NOGD:
        where, rank = {"landmarks": 40}, settings.get("rank", 32)
        eps, rest = np.inf, {}
    else:
        X = X + np.linspace(0, 1, ROUNDS)[:, None]
        X[40:60] = X[:20]  # rows that are landmarks
        where, rank = {"landmarks": 30}, settings.get("rank", 24)
        eps = settings.get("eps", 0.15)
        rest = {name: settings[name] for name in ("order", "theta", "count", "solver") if name in settings}
        settings = {"eps": eps} | settings
    expected = nolana(
        X, y[:, None], SIGMA, where["landmarks"], rank, eps, outputs_of(loss), named(loss), **step, **rest
    )
    return Trial(lambda: cls(G, loss=named(loss), **where, **step, **settings), X, y, expected[0])


def random_feature_cases() -> Iterator[Case]:
    for loss in (*UNMIXED, "similar labels"):
        yield Case("first", "FOGD", "sgd", loss, "repeats", 1e-10, partial(random_features, {}, loss, False))
    for method, loss in product(("adagrad", "adam", "implicit"), ("squared", "hinge", "logistic", "softmax")):
        trial = partial(random_features, {"method": method, "lam": 0.01, "schedule": "sqrt"}, loss, False)
        yield Case("first", "FOGD", method, loss, "repeats, lam 0.01, sqrt(t)", 1e-9, trial)
    for kind in ("orthogonal", "fastfood"):
        trial = partial(random_features, {"features": kind}, "hinge", False)
        yield Case("first", "FOGD", kind, "hinge", "repeats", 1e-10, trial)
    for loss in ("squared", "logistic", "softmax"):  # no kink, on whose two sides rounding may put a row
        trial = partial(random_features, {"dtype": "float32"}, loss, False)
        yield Case("first", "FOGD", "float32", loss, "repeats", SINGLE, trial)
        trial = partial(random_features, {"dtype": "float32", "features": "fastfood"}, loss, False)
        yield Case("first", "FOGD", "float32, fastfood", loss, "repeats", SINGLE, trial)
    trial = partial(random_features, {}, "squared", True)
    yield Case("first", "FOGD", "sgd", "squared", "repeats, weights and zeros", 1e-10, trial)
    for loss in UNMIXED:
        yield Case("first", "RRF", "", loss, "repeats, lam 0.001", 1e-10, partial(scales, loss))
        yield Case("first", "DoublySGD", "", loss, "repeats", 1e-10, partial(new_features_each_round, loss, False))
    trial = partial(new_features_each_round, "squared", True)
    yield Case("first", "DoublySGD", "", "squared", "repeats, weights and zeros", 1e-10, trial)


def landmark_cases() -> Iterator[Case]:
    for loss in (*FIVE, "novelty", *LABELLED):
        yield Case("first", "NOGD", "", loss, "repeats", 1e-10, partial(landmarks, NOGD, {}, loss))
        for order in ("gd_ls", "ls_gd"):
            trial = partial(landmarks, NOLANA, {"order": order, "solver": "eigh"}, loss)
            yield Case("first", "NOLANA", order, loss, "drift, repeats", 1e-10, trial)
    for solver, (order, loss) in product(
        ("reflect", "eigh", "warm", "rank2"), (("gd_ls", "hinge"), ("ls_gd", "squared"), ("gd_ls", "softmax"))
    ):
        trial = partial(landmarks, NOLANA, {"order": order, "solver": solver}, loss)
        within = 1e-9 if solver == "reflect" else 1e-10
        yield Case("first", "NOLANA", f"{order}, OANA {solver}", loss, "drift, repeats", within, trial)
    for order, (eps, count, rank, theta) in product(
        ("gd_ls", "ls_gd"), ((0.0, "moves", 24, None), (0.3, "all", 30, 0.0), (0.3, "moves", 12, 1e-2))
    ):
        settings = {"order": order, "eps": eps, "count": count, "rank": rank, "theta": theta, "solver": "eigh"}
        text = f"drift, repeats, eps {eps}, count {count}, rank {rank}, theta {theta}"
        yield Case(
            "first",
            "NOLANA",
            f"{order}, OANA eigh",
            "hinge",
            text,
            1e-10,
            partial(landmarks, NOLANA, settings, "hinge"),
        )


CASES = [*random_feature_cases(), *landmark_cases()]
