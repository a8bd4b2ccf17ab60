"""The law of bounds: no regret exceeds the bound that its learner gives, whatever the stream does.

A trial is one comparator on one stream: the regret that was met, measured from the predictions alone, and the bound
that the learner gives for it. Comparators are the best functions in hindsight for several ridges, scaled into the clip
where the bound asks for that, 0, and random ones. benchmarks/accuracy/regret_bounds.py runs many more trials.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from laws.cases import Variant
from laws.registry import law
from nystream import AIOLI, GAF, KONS, ONS, PKAWV, Aggregate, KernelRidge, Learner, Mixture
from nystream.learners.families.least_squares import LeastSquares
from nystream.learners.nystrom_pkawv import NystromPKAWV
from nystream.learners.pros_n_kons import ProsNKons

ROUNDS = 48
TINY = 1e-7
"""A ridge at which features of norm 1 are learnt almost without regularisation."""
ROUNDING = 1e-8
"""Of the sum of all losses: what rounding may add to a regret, which is a difference of such sums."""
RIDGES = (0.01, 1.0, 100.0)
BOUNDED = ("random", "alternating", "duplicated", "switching", "opposed")
"""Streams whose labels stay within the bound that the learner was given."""
UNBOUNDED = ("spiking", "huge")
"""Streams with labels beyond it: 50 times as large in one round, or a million times as large in all."""
SUPPORTED = (LeastSquares, AIOLI, GAF, ONS, KONS, ProsNKons, Aggregate, Mixture)
"""Learners that have a bound of their own."""


@dataclass(frozen=True)
class Played:
    """A stream that is over."""

    learner: Learner
    X: np.ndarray
    Y: np.ndarray
    w: np.ndarray
    P: np.ndarray
    sizes: np.ndarray
    """The learner's size after each round."""


@dataclass(frozen=True)
class Trial:
    """A comparator: the regret against it, and the bound."""

    against: str
    regret: float
    bound: float
    slack: float
    """What rounding may add to the regret."""

    @property
    def violated(self) -> bool:
        return not self.regret <= self.bound + self.slack  # a bound that is not a number is one that is violated


def promises(variant: Variant) -> bool:
    """Whether it has a bound of its own, or wraps a learner that knows its regret."""
    return variant.pattern.can("regret_bound") and (
        isinstance(variant.pattern, SUPPORTED) or variant.pattern.can("regret")
    )


@law(promises)
def no_regret_exceeds_its_bound(variant: Variant) -> None:
    made = 0
    for seed, kind in enumerate((*BOUNDED, *UNBOUNDED)):
        for ridge in (None, TINY):
            for trial in trials(variant, kind, seed, ridge):
                made += 1
                assert not trial.violated, (kind, ridge, trial)
    assert made > 0


@law(lambda variant: isinstance(variant.pattern, SUPPORTED) and variant.pattern.labels == "real")
def labels_too_large_for_sums_of_squares_give_no_false_numbers(variant: Variant) -> None:
    """With labels of 1e200 a bound is not finite, and a regret is refused: neither is nan."""
    rows = variant.stream(n=20)
    learner = variant.make()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with np.errstate(all="ignore"):
            learner.run(rows.X, 1e200 * np.sign(rows.Y), rows.w)
            assert learner.regret_bound(1.0) == math.inf
            if learner.can("regret"):
                try:
                    assert not math.isnan(learner.regret())
                except ValueError as error:
                    assert "double precision" in str(error)  # noqa: PT017 (a number would be as good)


def trials(variant: Variant, kind: str, seed: int = 0, ridge: float | None = None) -> Iterator[Trial]:
    """Every comparator on one stream of that kind, for the variant with this ridge in place of its own."""
    learner = variant.make()
    if ridge is not None:
        if "lam" not in learner.get_params(deep=False):
            return
        learner.set_params(lam=ridge)
    yield from compared(play(variant, learner, kind, seed))


def play(variant: Variant, learner: Learner, kind: str, seed: int) -> Played:
    rng = np.random.default_rng(seed)
    rows = variant.stream(n=ROUNDS, seed=seed)
    X, Y = rows.X.copy(), np.array(rows.Y, dtype=float).reshape(ROUNDS, -1)
    limit, real = limit_of(learner), learner.labels == "real"
    if kind == "random":
        Y = label(rng.uniform(-1, 1, Y.shape), learner)
    elif kind == "alternating":
        X[:], Y = X[0], label(np.resize([-1.0, 1.0], ROUNDS)[:, None] * np.ones_like(Y), learner)
    elif kind == "duplicated":
        X = X[rng.integers(0, 5, ROUNDS)]
        Y = label(rng.choice([-1.0, 1.0], Y.shape), learner)
    elif kind == "switching":
        Y = label(np.sign(Y) * np.where(np.arange(ROUNDS) // 12 % 2, -1.0, 1.0)[:, None], learner)
    elif real:
        Y = label(Y, learner)
    if real and kind in BOUNDED:
        Y = limit * np.clip(Y, -1, 1)
    if real and kind == "spiking":
        Y = limit * np.clip(Y, -1, 1)
        Y[ROUNDS // 2] *= 50 / np.abs(Y[ROUNDS // 2])
    if real and kind == "huge":
        Y = 1e6 * limit * np.clip(Y, -1, 1)
    if isinstance(learner, GAF):  # its bound is for classes that are declared
        learner.reserve(X.shape[1], int(Y.max()) + 1)
    P, sizes, w = np.zeros(Y.shape), np.zeros(ROUNDS), np.ones(ROUNDS) if rows.w is None else rows.w
    outputs: list[np.ndarray] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that labels are beyond the bound is the point
        for t in range(ROUNDS):
            if kind == "opposed":
                said = np.atleast_1d(learner.predict(X[t : t + 1])[0])[: Y.shape[1]]
                if real:
                    Y[t] = -limit * np.where(said > 0, 1.0, -1.0)
                elif learner.labels == "sign":
                    Y[t] = -1.0 if said[0] > 0 else 1.0
            y = Y[t] if Y.shape[1] > 1 else float(Y[t, 0])
            outputs.append(np.atleast_1d(learner.step(X[t], y, float(w[t]))))
            sizes[t] = learner.size
    if learner.labels != "class":
        P[:] = np.array(outputs).reshape(P.shape)
    elif isinstance(learner, GAF):
        P = np.array(outputs)
    return Played(learner, X, Y, w, P, sizes)


def label(Y: np.ndarray, learner: Learner) -> np.ndarray:
    """Numbers in [-1, 1] as labels of the learner's kind."""
    if learner.labels == "sign":
        return np.where(Y >= 0, 1.0, -1.0)
    return np.where(Y >= 0, 1.0, 0.0) if learner.labels == "class" else Y


def limit_of(learner: Learner) -> float:
    """The bound on labels that the learner was given; 1 where it needs none."""
    for name in ("clip", "bound"):
        given = getattr(learner, name, None)
        if given is not None:
            return float(given)
    return 1.0


# -- comparators -------------------------------------------------------------------------------------------------------
def compared(played: Played) -> Iterator[Trial]:
    """The trials of a stream, by the kind of the learner."""
    learner = played.learner
    if learner.can("regret"):
        yield from live(played)
    if isinstance(learner, PKAWV | NystromPKAWV | KernelRidge):
        yield from least_squares(played)
    elif isinstance(learner, AIOLI | ONS | KONS | ProsNKons):
        yield from newton(played)
    elif isinstance(learner, GAF):
        yield from softmax(played)
    elif isinstance(learner, Mixture):
        losses = learner.losses()
        for j, mine in enumerate(((played.P - played.Y) ** 2).sum(axis=0)):
            best = float(np.min(losses if losses.ndim == 1 else losses[:, j]))
            yield Trial("its learners", mine - best, learner.regret_bound(), ROUNDING * mine)


def live(played: Played) -> Iterator[Trial]:
    total = float((played.w @ (played.P - played.Y) ** 2).sum())
    bound = played.learner.regret_bound()
    yield Trial("its own", played.learner.regret(), bound, ROUNDING * max(total, 1.0))


def least_squares(played: Played) -> Iterator[Trial]:
    learner: Any = played.learner
    total = float((played.w @ (played.P - played.Y) ** 2).sum())
    root = np.sqrt(played.w)[:, None]
    slack = ROUNDING * (total + float((played.w @ played.Y**2).sum()))
    K = learner.kernel(played.X, played.X) if hasattr(learner, "kernel") else None
    if not isinstance(learner, KernelRidge):
        Z, penalty = features_of(played), None
        if isinstance(learner, PKAWV):
            penalty = learner.features_.penalty
            if learner.features_.missed is not None and hasattr(learner.features_, "kernel"):
                K = learner.features_.kernel(played.X, played.X)
        G = root * (Z @ Z.T if penalty is None else Z @ np.linalg.solve(penalty, Z.T)) * root.T
        best = charged_best(G, root * played.Y, learner.lam)
        yield Trial("features", total - best, learner.regret_bound(against="features"), slack)
    if K is not None:
        best = charged_best(root * K * root.T, root * played.Y, learner.lam)
        yield Trial("kernel", total - best, learner.regret_bound(against="kernel"), slack)


def charged_best(G: np.ndarray, Y: np.ndarray, lam: float) -> float:
    """min_f sum (y - f)^2 + lam |f|^2 = lam y'(G + lam I)^-1 y for the Gram matrix G, over all outputs."""
    values, Q = np.linalg.eigh((G + G.T) / 2)
    share = lam / (np.maximum(values, 0.0) + lam)
    return float((share @ (Q.T @ Y) ** 2).sum())


def newton(played: Played) -> Iterator[Trial]:
    learner: Any = played.learner
    y, p = played.Y[:, 0], played.P[:, 0]
    value: Callable[..., np.ndarray] = learner._loss.value
    total = float(np.sum(value(y, p)))
    rng = np.random.default_rng(0)
    targets = [y / max(float(np.abs(y).max()), 1.0), rng.normal(size=len(y))]
    kernel = getattr(learner, "kernel", None) or getattr(getattr(learner, "features_", None), "kernel", None)
    inside = None if isinstance(learner, KONS) else features_of(played)

    def trial(against: str, f: np.ndarray, norm2: float, *others: np.ndarray) -> Trial:
        largest = max(float(np.abs(v).max(initial=0.0)) for v in (f, *others))
        scale = min(1.0, learner.clip / largest) if largest else 1.0
        theirs = float(np.sum(value(y, scale * f)))
        bound = learner.regret_bound(scale**2 * norm2, against=against)
        return Trial(against, total - theirs, bound, ROUNDING * (total + theirs))

    for ridge in RIDGES:
        for target in targets:
            if inside is not None:
                w = np.linalg.solve(inside.T @ inside + ridge * np.eye(inside.shape[1]), inside.T @ target)
                yield trial("features", inside @ w, float(w @ w))
            if kernel is None or (
                inside is not None
                and getattr(learner, "features_", None) is not None
                and learner.features_.missed is None
            ):
                continue
            K = kernel(played.X, played.X)
            a = np.linalg.solve(K + ridge * np.eye(len(y)), target)
            others = [] if inside is None else [inside @ (everywhere(played).T @ a)]
            yield trial("kernel", K @ a, max(float(a @ K @ a), 0.0), *others)
    yield trial("features", 0 * y, 0.0)


def softmax(played: Played) -> Iterator[Trial]:
    """Ridge regressions on codes of the classes, of several sizes within the clip; and 0."""
    learner: Any = played.learner
    labels, value = played.Y[:, 0], learner._loss.value
    total, Z = float(np.sum(value(labels, played.P))), features_of(played)
    assert math.isfinite(total)  # an infinite loss would hide a violation
    codes = np.where(labels[:, None] == np.arange(learner.outputs_), 1.0, -1.0)
    rng = np.random.default_rng(0)
    for ridge in RIDGES:
        for target in (codes, rng.normal(size=codes.shape)):
            W = np.linalg.solve(Z.T @ Z + ridge * np.eye(Z.shape[1]), Z.T @ target)
            for share in (0.0, 0.3, 1.0):
                V = W * share * learner.clip / max(float(np.abs(Z @ W).max()), 1e-300)
                theirs = float(np.sum(value(labels, Z @ V)))
                bound = learner.regret_bound(float((V * V).sum()))
                yield Trial("features", total - theirs, bound, ROUNDING * (total + theirs))


def features_of(played: Played) -> np.ndarray:
    """(n, r) the features that the rows were learnt with; coordinates that came later are 0."""
    Z = everywhere(played)
    learner: Any = played.learner
    if isinstance(learner, NystromPKAWV) and learner.memory == "exact":
        return Z
    if isinstance(learner, NystromPKAWV | ProsNKons) or not played.learner.features_.settled or moved(played):
        Z = np.where(np.arange(Z.shape[1]) < played.sizes[:, None], Z, 0.0)
    return Z


def moved(played: Played) -> bool:
    return len(set(played.sizes.tolist())) > 1


def everywhere(played: Played) -> np.ndarray:
    """(n, r) features of all rows in the map or dictionary as it is at the end."""
    learner: Any = played.learner
    if hasattr(learner, "atoms_"):
        return np.asarray(learner.atoms_.nested_.coordinates(played.X))
    return np.asarray(learner.features_.transform(played.X))
