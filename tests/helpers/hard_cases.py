"""Streams that break second-order learners, and what must hold on all of them: finite numbers, positive pivots."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from nystream import (
    KONS,
    KRLS,
    NAROW,
    ONS,
    PKAWV,
    PKRR,
    Aggregate,
    Fourier,
    Gaussian,
    Kernel,
    KernelAWV,
    KernelRidge,
    Learner,
    Linear,
    NystromPKAWV,
    NystromPKRR,
    Polynomial,
    ProsNKons,
    SecondOrderPerceptron,
    SketchedKONS,
    SketchedONS,
)
from nystream.dictionary.nested import TOLERANCE
from nystream.features import FeatureMap, Identity
from nystream.runtime.params import Params

D = 3
ATOMS = 40
"""Most atoms of a dictionary: orthogonal points would fill any."""
SLACK = 1e-9
"""By how much, relatively, rounding may lower a pivot below the ridge that it starts from."""
KERNELS: dict[str, Kernel] = {
    "gaussian": Gaussian(0.7),
    "linear": Linear(),
    "polynomial": Polynomial(degree=2),
}
RIDGES = (1.0, 1e-8)


# -- points and labels -------------------------------------------------------------------------------------------------
Rows = Callable[[np.random.Generator, int], np.ndarray]


def plain(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(size=(n, D))


def one_point(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.tile(rng.normal(size=(1, D)), (n, 1))


def near_duplicates(rng: np.random.Generator, n: int) -> np.ndarray:
    return rng.normal(size=(4, D))[rng.integers(4, size=n)] + 1e-9 * rng.normal(size=(n, D))


def far(rng: np.random.Generator, n: int) -> np.ndarray:
    return 1e6 * rng.normal(size=(n, D))


def no_feature(rng: np.random.Generator, n: int) -> np.ndarray:
    """k(x, x) = 0 in two rows of three, for kernels of products without a constant."""
    return np.where(np.arange(n)[:, None] % 3, 0.0, rng.normal(size=(n, D)))


def mixture(rng: np.random.Generator, n: int) -> np.ndarray:
    """Row by row one of the others, or a plain one of any size from 1e-6 to 1e6."""
    parts = np.stack([rows(rng, n) for rows in (one_point, near_duplicates, far, no_feature, plain)])
    parts[-1] *= 10.0 ** rng.integers(-6, 7, size=(n, 1))
    return parts[rng.integers(len(parts), size=n), np.arange(n)]


POINTS: dict[str, Rows] = {
    "one point": one_point,
    "near duplicates": near_duplicates,
    "far": far,
    "no feature": no_feature,
    "mixture": mixture,
}


def labels(rng: np.random.Generator, n: int, wild: bool) -> np.ndarray:
    """In [-1, 1], zeros among them; wild ones reach a million."""
    y = rng.uniform(-1, 1, n) * (rng.random(n) < 0.9)
    return y * 10.0 ** rng.integers(0, 7, n) if wild else y


# -- learners ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Case:
    make: Callable[[Kernel, float], Learner]
    """(kernel, lam) -> a fresh learner."""
    bounded: bool = True
    """Whether its cost does not grow with the stream."""
    signs: bool = False


def _features(kernel: Kernel) -> FeatureMap:
    """Random features of the kernel where there are any, the rows themselves elsewhere."""
    return Fourier(kernel, ATOMS, seed=0) if isinstance(kernel, Gaussian) else Identity()


def _grid(kernel: Kernel, lam: float) -> Learner:
    return Aggregate([NystromPKAWV(kernel, lam=f * lam, max_atoms=ATOMS, seed=0) for f in (1.0, 10.0)], bound=1.0)


def _nystrom(kind: type[NystromPKAWV], **params: Any) -> Callable[[Kernel, float], Learner]:
    return lambda kernel, lam: kind(kernel, lam=lam, max_atoms=ATOMS, seed=0, **params)


def _on_features(kind: Callable[..., Learner], **params: Any) -> Callable[[Kernel, float], Learner]:
    return lambda kernel, lam: kind(_features(kernel), lam=lam, **params)


def _on_kernel(kind: Callable[..., Learner], **params: Any) -> Callable[[Kernel, float], Learner]:
    return lambda kernel, lam: kind(kernel, lam=lam, **params)


CASES: dict[str, Case] = {
    "ONS": Case(_on_features(ONS)),
    "ONS squared hinge": Case(_on_features(ONS, loss="squared_hinge", clip=1.3), signs=True),
    "SketchedONS": Case(_on_features(SketchedONS, sketch=5)),
    "ProsNKons": Case(_on_kernel(ProsNKons, max_atoms=ATOMS, seed=0)),
    "ProsNKons warm": Case(_on_kernel(ProsNKons, warm=True, max_atoms=ATOMS, seed=0)),
    "ProsNKons logistic": Case(
        _on_kernel(ProsNKons, loss="logistic", clip=2.0, warm=True, max_atoms=ATOMS, seed=0), signs=True
    ),
    "PKAWV": Case(_on_features(PKAWV)),
    "PKRR clipped": Case(_on_features(PKRR, clip=1.0)),
    "NystromPKAWV": Case(_nystrom(NystromPKAWV)),
    "NystromPKRR ald": Case(_nystrom(NystromPKRR, dictionary="ald", clip=1.0)),
    "NystromPKAWV exact": Case(_nystrom(NystromPKAWV, memory="exact"), bounded=False),
    "KRLS": Case(lambda kernel, lam: KRLS(kernel, max_atoms=ATOMS)),
    "Aggregate": Case(_grid),
    "KernelAWV": Case(_on_kernel(KernelAWV), bounded=False),
    "KernelRidge clipped": Case(_on_kernel(KernelRidge, clip=1.0), bounded=False),
    "KONS": Case(_on_kernel(KONS), bounded=False),
    "KONS squared hinge": Case(_on_kernel(KONS, loss="squared_hinge", clip=1.3), bounded=False, signs=True),
    "SketchedKONS": Case(_on_kernel(SketchedKONS, gamma=0.01, seed=0), bounded=False),
    "SecondOrderPerceptron": Case(_on_kernel(SecondOrderPerceptron), bounded=False, signs=True),
    "NAROW": Case(_on_kernel(NAROW), bounded=False, signs=True),
}


# -- what must hold ----------------------------------------------------------------------------------------------------
@dataclass
class Outcome:
    rounds: int = 0
    pivot: float = np.inf
    """The smallest, over the least that exact arithmetic allows."""
    largest: float = 0.0
    """|prediction|."""
    infinite: int = 0
    """Predictions, and numbers of the state, that are not finite."""
    refused: str = ""
    """The message, where the learner says that it cannot: then nothing was learnt."""
    clip: float = np.inf

    @property
    def broken(self) -> bool:
        return bool(self.infinite or not self.pivot >= 1 - SLACK or self.largest > self.clip * (1 + SLACK))

    def __str__(self) -> str:
        if self.refused:
            return f"{self.rounds:>9,} refused: {self.refused}"
        return f"{self.rounds:>9,} {self.pivot:>12.6g} {self.largest:>12.6g} {self.infinite:>10}"


def play(case: Case, kernel: Kernel, lam: float, X: np.ndarray, y: np.ndarray, looks: int = 5) -> Outcome:
    """A stream, with a look at the state after each of `looks` parts of it."""
    learner, seen = case.make(kernel, lam), Outcome()
    seen.clip = getattr(learner, "clip", None) or getattr(learner, "bound", np.inf)
    y = np.where(y >= 0, 1.0, -1.0) if case.signs else y
    for rows in np.array_split(np.arange(len(X)), looks):
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="a label is outside|.*[|]y[|].*")  # that is the test
                p = learner.run(X[rows], y[rows])
        except ValueError as error:
            seen.refused = str(error)
            return seen
        seen.rounds += len(rows)
        seen.infinite += int(np.count_nonzero(~np.isfinite(p))) + infinite(learner)
        seen.largest = max(seen.largest, float(np.abs(p).max()))
        for ratios in pivots(learner):
            if len(ratios):
                seen.pivot = min(seen.pivot, float(ratios.min()) if np.isfinite(ratios).all() else -np.inf)
    return seen


def infinite(value: Any) -> int:
    """Numbers that are not finite in a learner, its parts, and what they hold."""
    if isinstance(value, Params):
        return sum(infinite(part) for part in value._state().values())
    if isinstance(value, list):
        return sum(infinite(part) for part in value)
    return int(np.count_nonzero(~np.isfinite(value))) if isinstance(value, float | np.ndarray) else 0


def pivots(learner: Any) -> Iterator[np.ndarray]:
    """Of every factor that the learner keeps: its pivots over the least they can be."""
    for expert in getattr(learner, "experts_", ()):
        yield from pivots(expert)
    if isinstance(learner, KONS):
        yield learner.pivots / learner.lam
    if hasattr(learner, "factor_"):
        yield learner.factor_.pivots / learner.factor_.ridge
    if hasattr(learner, "kors_"):
        yield learner.kors_.factor_.pivots / learner.kors_.ridge
    if hasattr(learner, "atoms_"):
        nested = learner.atoms_.nested_
        yield nested.matrix.diagonal() ** 2 / (TOLERANCE * nested.kernel.diag(nested.points))
        yield from pivots(learner.atoms_)
    if hasattr(learner, "solver_"):
        solver = learner.solver_
        if hasattr(solver, "values_"):
            yield 1 + solver.values_ / solver.lam
        else:
            factored = getattr(solver, "metric_", solver)
            yield factored.pivots / factored.lam


def streams(case: Case) -> Iterator[tuple[str, str, float, Rows, bool]]:
    """(name, kernel, ridge, points, wild labels): all combinations that differ for this learner."""
    for (name, rows), kernel, lam, wild in itertools.product(POINTS.items(), KERNELS, RIDGES, (False, True)):
        if not (wild and case.signs):
            yield f"{name}, {kernel}, lam={lam:g}{', wild labels' if wild else ''}", kernel, lam, rows, wild
