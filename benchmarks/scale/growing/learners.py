"""The bounded learners by size, and the exponents that `nystream.registry` says their costs have."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import nystream as ny
from nystream.registry import LEARNERS

__all__ = ["AXES", "BOUNDED", "Bounded", "said"]

AXES = ("rows", "columns", "size", "classes")
"""What grows; `size` is the number of features, stored points, landmarks or rows of a window."""
LETTERS = {"rows": "t", "columns": "d", "size": "rmW"}
"""What notes call them; they are about one output, of which K cost at most K times as much."""
NARROW = ny.Gaussian(0.35)
"""Under which rows of unit scale are far from each other, so that dictionaries fill."""


class Bounded(NamedTuple):
    """A learner of a size, how many rows for each unit of it must pass until it has that size, and the largest size
    that is tried: what decomposes a matrix of that size once cannot be stopped in the middle of it."""

    of: Callable[[int], ny.learners.Learner]
    filled: float = 0.0
    largest: int = 10**9


def _features(size: int) -> ny.Fourier:
    return ny.Fourier(NARROW, size, seed=0)


BOUNDED: dict[str, Bounded] = {
    "pkawv": Bounded(lambda m: ny.PKAWV(_features(m))),
    "pkrr": Bounded(lambda m: ny.PKRR(_features(m))),
    "nystrom-pkawv": Bounded(lambda m: ny.NystromPKAWV(NARROW, dictionary="ald", nu=1e-3, max_atoms=m), 1.5),
    "nystrom-pkrr": Bounded(lambda m: ny.NystromPKRR(NARROW, dictionary="ald", nu=1e-3, max_atoms=m), 1.5),
    "ons": Bounded(lambda m: ny.ONS(_features(m))),
    "sketched-ons": Bounded(lambda m: ny.SketchedONS(_features(m), sketch=10)),
    "pros-n-kons": Bounded(lambda m: ny.ProsNKons(NARROW, mu=1e-4, beta=100.0, warm=True, max_atoms=m, seed=0), 1.5),
    "krls": Bounded(lambda m: ny.KRLS(NARROW, nu=1e-3, max_atoms=m), 1.5),
    "fogd": Bounded(lambda m: ny.FOGD(NARROW, dim=m, seed=0)),
    "norma": Bounded(lambda m: ny.NORMA(NARROW, lam=1e-4, budget=m), 1.5),
    "silk": Bounded(lambda m: ny.SILK(NARROW, tau=1e-6, budget=m), 1.5),
    "svmd": Bounded(lambda m: ny.SVMD(NARROW, budget=m), 1.5),
    "nogd": Bounded(lambda m: ny.NOGD(NARROW, landmarks=m), 1.5),
    "nolana": Bounded(lambda m: ny.NOLANA(NARROW, landmarks=m, eps=0.1), 1.5, 1000),
    "rrf": Bounded(lambda m: ny.RRF(NARROW, dim=m, seed=0)),
    "random-budget-perceptron": Bounded(lambda m: ny.RandomBudgetPerceptron(NARROW, budget=m, seed=0), 3.0),
    "forgetron": Bounded(lambda m: ny.Forgetron(NARROW, budget=m), 3.0),
    "projectron": Bounded(lambda m: ny.Projectron(NARROW, tol=1e-3, budget=m), 3.0),
    "budget-pa": Bounded(lambda m: ny.BudgetPA(NARROW, budget=m, variant="S"), 1.5),
    "bsgd": Bounded(lambda m: ny.BSGD(NARROW, budget=m), 3.0),
    "dual-sgd": Bounded(lambda m: ny.DualSGD(NARROW, budget=m, dim=100, seed=0), 3.0),
    "forgetting": Bounded(lambda m: ny.Forgetting(_features(m))),
    "kernel-smoother": Bounded(lambda m: ny.KernelSmoother(window=m), 1.0),
    "baseline": Bounded(lambda m: ny.Baseline(dim=m, warmup=100), 100.0 / 50),
}
"""By name of the registry; those of sparse rows, and those made of others, have no size of their own."""


def said(name: str, axis: str) -> int:
    """The power of what grows in the cost that the notes say: that of the term where it is highest."""
    if axis == "classes":
        return 1
    letters = LETTERS[axis]
    powers = [0]
    for term in LEARNERS[name].cost.split(" + "):
        found = re.findall(rf"(?<!\w)[{letters}](?:\^(\d))?(?!\w)", term)
        powers.append(sum(int(power or 1) for power in found))
    return max(powers)
