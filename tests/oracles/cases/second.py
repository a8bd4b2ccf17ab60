"""Cases of the second-order family."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from itertools import product

import numpy as np

import oracles
from nystream import Fourier, Gaussian, Polynomial
from nystream.compose import Aggregate
from nystream.learners import (
    AIOLI,
    GAF,
    KONS,
    KRLS,
    NAROW,
    ONS,
    PKAWV,
    PKRR,
    KernelAWV,
    KernelRidge,
    NystromPKAWV,
    NystromPKRR,
    ProsNKons,
    SecondOrderPerceptron,
    SketchedKONS,
    SketchedONS,
    StreamingGP,
)
from oracles import newton as newton
from oracles import nystrom as projections
from oracles import second_order as second_order
from oracles.aioli import improper
from oracles.cases.base import CLASSES, FIVE, ROUNDS, Case, Trial, named, stream, weights_for
from oracles.features import fourier
from oracles.gaf import aggregated, over_points
from oracles.gp import streaming_gp
from oracles.ons import newton_step, step_size

CLIPS = (0.4, 2.0)
SIGMA = 0.7
G = Gaussian(SIGMA)
POINTS = np.random.default_rng(3).uniform(-1, 1, (25, 3))
"""A dictionary that is given beforehand."""


def gram(X: np.ndarray) -> np.ndarray:
    return oracles.gaussian(X, X, SIGMA)


# The points of a stream depend on its seed alone, so what is computed from them serves all losses and clips.
@cache
def explicit(seed: int) -> np.ndarray:
    """Rows whose inner products are the Gram matrix of the stream's points."""
    return newton.feature_rows(gram(stream("real", seed)[0]))


@cache
def sampled(seed: int, mu: float) -> list[int]:
    """The atoms that KORS keeps of them."""
    K = gram(stream("real", seed)[0])
    return projections.independent(K, projections.kors_atoms(K, coins(seed), mu)[0])


@cache
def regressions(seed: int, lam: float, kind: str, bound: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
    """Ridge and AWV predictions (n,) on the kernel, on its projection to POINTS ("fixed") or on Fourier features."""
    X, y = stream("real", seed, bound=bound)
    if kind == "fourier":
        Z = fourier(X, SIGMA, 40, 3)
        K = Z @ Z.T
    elif kind == "fixed":
        k = oracles.gaussian(POINTS, X, SIGMA)
        K = k.T @ np.linalg.solve(gram(POINTS), k)
    else:
        K = gram(X)
    ridge, awv, _ = oracles.least_squares(K, y, lam)
    return ridge[:, 0], awv[:, 0]


def coins(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).random(ROUNDS)


# -- Newton steps ----------------------------------------------------------------------------------------------------
def kons(loss: str, clip: float, seed: int) -> Trial:
    X, y = stream(named(loss), seed, bound=clip)
    slow = newton.newton(explicit(seed), y, named(loss), clip, 0.5)
    return Trial(lambda: KONS(G, loss=loss, clip=clip, lam=0.5), X, y, slow.p)


def kons_silent(seed: int) -> Trial:
    """Margins beyond the clip without a gradient: the projection alone moves the function."""
    X, y = stream("sign", seed)
    X[ROUNDS // 2 :] *= 3
    slow = newton.newton(newton.quadratic_features(X), y, named("squared_hinge"), 1.2)
    return Trial(lambda: KONS(Polynomial(2), loss="squared_hinge", clip=1.2), X, y, slow.p)


def sketched_kons(loss: str, clip: float, seed: int) -> Trial:
    X, y = stream(named(loss), seed, bound=clip)
    slow = newton.newton(explicit(seed), y, named(loss), clip, 0.2, u=coins(seed), gamma=0.1, beta=2.0)
    return Trial(lambda: SketchedKONS(G, loss=loss, clip=clip, lam=0.2, gamma=0.1, beta=2.0, seed=seed), X, y, slow.p)


def pros_n_kons(warm: bool, loss: str, clip: float, seed: int) -> Trial:
    X, y = stream(named(loss), seed, bound=clip)
    Phi, atoms = projections.features(gram(X)), sampled(seed, 0.5)
    F = projections.projected_rows(Phi, atoms, projections.basis(Phi, atoms))
    eta = step_size(named(loss), clip)
    expected = projections.newton(F, y, () if warm else atoms, eta=eta, clip=clip, lam=0.3, loss=named(loss))
    return Trial(lambda: ProsNKons(G, loss=loss, clip=clip, lam=0.3, mu=0.5, warm=warm, seed=seed), X, y, expected)


def ons(sketch: int | None, loss: str, clip: float, seed: int) -> Trial:
    X, y = stream(named(loss), seed, bound=clip)
    Z, eta, features = fourier(X, SIGMA, 40, 3), step_size(named(loss), clip), Fourier(G, 40, seed=3)
    if sketch is None:
        expected = newton_step(named(loss), Z, y[:, None], clip, 0.7, eta)[0]
        return Trial(lambda: ONS(features, loss=loss, clip=clip, lam=0.7), X, y, expected)
    expected = second_order.frequent_directions(Z, y, named(loss), sketch, clip, 0.7, eta)[0]
    return Trial(lambda: SketchedONS(features, sketch=sketch, loss=loss, clip=clip, lam=0.7), X, y, expected)


def aioli(clip: float, seed: int) -> Trial:
    X, y = stream(named("logistic"), seed, bound=clip)
    expected = improper(fourier(X, SIGMA, 40, 3), y, 0.05, 1 / (1 + clip))
    return Trial(lambda: AIOLI(Fourier(G, 40, seed=3), clip=clip, lam=0.05), X, y, expected)


def gaf(clip: float, seed: int) -> Trial:
    """A hundred rounds, each of which is a minimisation in 40 dimensions."""
    X, y = stream("class", seed, n=100)

    def make() -> GAF:
        learner = GAF(Fourier(G, 10, seed=3), clip=clip, lam=0.2, samples=30)
        learner.reserve(X.shape[1], CLASSES)
        return learner

    fresh = make().solver_
    mean = over_points(fresh.points_)
    return Trial(make, X, y, aggregated(fourier(X, SIGMA, 10, 3), y, CLASSES, 0.2, fresh.c, mean))


def gaussian_process(landmarks: int, seed: int) -> Trial:
    X, y = stream("real", seed)
    grid = {"widths": (0.6, 1.5), "lam": (0.03, 0.5)}
    expected = streaming_gp(X, y, lambda A, B: oracles.gaussian(A, B, SIGMA), *grid.values(), 0.02, landmarks)[0]
    return Trial(lambda: StreamingGP(G, **grid, tol=0.02, landmarks=landmarks), X, y, expected)


def newton_cases() -> Iterator[Case]:
    for landmarks in (25, 300):
        setting = f"repeats, at most {landmarks} landmarks"
        yield Case("second", "StreamingGP", "4 models", "log", setting, 1e-8, partial(gaussian_process, landmarks))
    for clip in CLIPS:
        yield Case("second", "AIOLI", "Fourier 40", "logistic", f"repeats, clip {clip}", 1e-9, partial(aioli, clip))
        yield Case("second", "GAF", "Fourier 10", "softmax", f"repeats, clip {clip}", 1e-7, partial(gaf, clip))
    for loss, clip in product(FIVE, CLIPS):
        setting = f"repeats, {clipping(loss, clip)}"
        yield Case("second", "KONS", "", loss, setting, 1e-10, partial(kons, loss, clip))
        yield Case("second", "SketchedKONS", "gamma 0.1", loss, setting, 1e-9, partial(sketched_kons, loss, clip))
        for warm in (False, True):
            trial = partial(pros_n_kons, warm, loss, clip)
            yield Case("second", "ProsNKons", "warm" if warm else "restarting", loss, setting, 1e-9, trial)
        yield Case("second", "ONS", "Fourier 40", loss, setting, 1e-10, partial(ons, None, loss, clip))
        for sketch in (3, 12):
            trial = partial(ons, sketch, loss, clip)
            yield Case("second", "SketchedONS", f"sketch {sketch}", loss, setting, 1e-10, trial)
    silent = "repeats, clip 1.2 without gradient, polynomial"
    yield Case("second", "KONS", "", "squared_hinge", silent, 1e-8, kons_silent)


def clipping(loss: str, clip: float) -> str:
    """What happens at that clip: below the margin every round has a gradient and most are projected."""
    silent = loss in ("hinge", "squared_hinge") and clip > 1
    return f"clip {clip}" + (", zero-gradient rounds" if silent else "")


# -- least squares ---------------------------------------------------------------------------------------------------
def least_squares(cls: type, kind: str, seed: int) -> Trial:
    """On kernels and on fixed features; x_t counts with its weight in AWV."""
    X, y = stream("real", seed)
    weights = weights_for(seed) if kind == "weights" else None
    clip = 0.3 if kind == "clip" else None
    lam = 1e-3 if kind == "lam" else 0.3
    maps = cls in (PKAWV, PKRR)
    if weights is None:
        ridge, awv = regressions(seed, lam, "fourier" if maps else "kernel")
    else:
        Z = fourier(X, SIGMA, 40, 3)
        ridge, awv, _ = oracles.least_squares(Z @ Z.T if maps else gram(X), y, lam, weights)
    expected = awv if cls in (PKAWV, KernelAWV) else ridge
    first = Fourier(G, 40, seed=3) if maps else G
    expected = expected if clip is None else np.clip(expected, -clip, clip)
    return Trial(lambda: cls(first, lam=lam, clip=clip), X, y, expected, weights)


def nystrom(cls: type, memory: str, dictionary: str, kind: str, seed: int) -> Trial:
    X, y = stream("real", seed)
    K, clip, lam = gram(X), 0.3 if kind == "clip" else None, 0.1
    weights = weights_for(seed) if kind == "weights" else None
    if dictionary == "fixed":
        ridge, awv = regressions(seed, lam, "fixed")
    else:
        rows = range(ROUNDS) if weights is None else np.flatnonzero(weights)  # a row of weight 0 is no atom
        atoms = sampled(seed, 0.3) if dictionary == "kors" else projections.independent(K, rows, 0.05)
        ridge, awv = getattr(projections, memory)(K, y, atoms, lam, weights)[:2]
    expected = awv if cls is NystromPKAWV else ridge
    expected = expected if clip is None else np.clip(expected, -clip, clip)
    given = POINTS if dictionary == "fixed" else dictionary
    return Trial(
        lambda: cls(G, lam=lam, mu=0.3, memory=memory, dictionary=given, nu=0.05, clip=clip, seed=seed),
        X,
        y,
        expected,
        weights,
    )


def krls(nu: float, seed: int) -> Trial:
    X, y = stream("real", seed)
    return Trial(
        lambda: KRLS(G, nu=nu), X, y, projections.krls(X, y, lambda A, B: oracles.gaussian(A, B, SIGMA), nu)[0]
    )


def least_squares_cases() -> Iterator[Case]:
    kinds = {"": "lam 0.3", "lam": "lam 0.001", "clip": "lam 0.3, clip 0.3", "weights": "lam 0.3, weights and zeros"}
    for cls, (kind, text) in product((KernelAWV, KernelRidge, PKAWV, PKRR), kinds.items()):
        variant = "Fourier 40" if cls in (PKAWV, PKRR) else ""
        setting = f"repeats, {text}"
        tolerance = 1e-10 / (1e-3 if kind == "lam" else 1.0)
        yield Case("second", cls.__name__, variant, "squared", setting, tolerance, partial(least_squares, cls, kind))
    for cls, memory, dictionary in product((NystromPKAWV, NystromPKRR), ("exact", "frozen"), ("kors", "ald", "fixed")):
        for kind in ("", "clip", "weights") if dictionary == "ald" else ("", "clip"):
            setting = "repeats" + {"": "", "clip": ", clip 0.3", "weights": ", weights and zeros"}[kind]
            trial = partial(nystrom, cls, memory, dictionary, kind)
            yield Case("second", cls.__name__, f"{memory}, {dictionary}", "squared", setting, 1e-9, trial)
    for nu in (0.3, 0.1, 0.03):
        yield Case("second", "KRLS", "", "squared", f"repeats, nu {nu}", 1e-8, partial(krls, nu))


# -- experts and margins ---------------------------------------------------------------------------------------------
def aggregate(rule: str, bound: float, seed: int) -> Trial:
    """The experts are solved from Gram matrices, too."""
    X, y = stream("real", seed, bound=bound)
    lams = (0.01, 0.1, 1.0, 10.0)
    Q = np.array([regressions(seed, lam, "kernel", bound)[1] for lam in lams])
    expected = second_order.aggregate(Q, y, bound, rule)
    return Trial(lambda: Aggregate([KernelAWV(G, lam=lam) for lam in lams], bound=bound, rule=rule), X, y, expected)


def margins(cls: type, lam: float, kernel: str, seed: int) -> Trial:
    X, y = stream("sign", seed)
    Z = newton.quadratic_features(X) if kernel == "polynomial" else explicit(seed)
    if cls is NAROW:
        expected = second_order.narow(Z, y, lam, 2.0)[0]
        return Trial(lambda: NAROW(Polynomial(2) if kernel == "polynomial" else G, lam=lam, b=2.0), X, y, expected)
    expected = second_order.second_order_perceptron(Z, y, lam, counting=False)
    return Trial(lambda: cls(Polynomial(2) if kernel == "polynomial" else G, lam=lam), X, y, expected)


def expert_cases() -> Iterator[Case]:
    for rule, bound in product(("aa", "ewa"), (1.0, 0.3)):
        trial = partial(aggregate, rule, bound)
        yield Case("second", "Aggregate", rule, "squared", f"repeats, experts clipped to {bound}", 1e-10, trial)
    for cls, lam, kernel in product((SecondOrderPerceptron, NAROW), (1.0, 0.1), ("polynomial", "gaussian")):
        tolerance = 1e-9 if cls is NAROW and lam < 1 else 1e-10
        setting = f"repeats, lam {lam}, {kernel}"
        trial = partial(margins, cls, lam, kernel)
        yield Case("second", cls.__name__, "", "hinge" if cls is NAROW else "mistakes", setting, tolerance, trial)


CASES = [*newton_cases(), *least_squares_cases(), *expert_cases()]
