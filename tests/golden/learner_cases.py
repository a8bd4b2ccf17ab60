"""Every learner of the registry, and the variants of each that keep something else in their files."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from case import TABLES, Call, Case, trained

from nystream import (
    BSGD,
    FOGD,
    ILK,
    KONS,
    KRLS,
    NAROW,
    NOGD,
    NOLANA,
    NORMA,
    ONS,
    PKAWV,
    PKRR,
    RRF,
    SILK,
    SVMD,
    Baseline,
    BudgetPA,
    DoublySGD,
    DualSGD,
    Forgetting,
    Fourier,
    Gaussian,
    KernelAWV,
    KernelRidge,
    KernelSmoother,
    Linear,
    NystromPKAWV,
    NystromPKRR,
    PassiveAggressive,
    Perceptron,
    Polynomial,
    Projectron,
    ProsNKons,
    RandomBudgetPerceptron,
    SketchedKONS,
    SketchedONS,
    Taylor,
)
from nystream.losses import EpsilonInsensitive, Hinge, Huber, Novelty, Pinball, Softmax, StructuredHinge
from nystream.registry import LEARNERS

G = Gaussian(0.7)
WIDE = Gaussian(1.5)
"""A few of the points stand for all others."""
FAR = np.array([[0.0, 0.5, 1.0], [0.5, 0.0, 0.5], [1.0, 0.5, 0.0]])
SIMILAR = StructuredHinge(FAR, similarity=np.exp(-FAR).round(3))
"""Classes in a row: neighbours are alike."""
MERGED = {"tolerance": 1e-5, "reason": "merging searches a maximum to 1e-6, and where it ends depends on rounding"}

SMALLER = {
    "nystrom-pkawv": {"kernel__sigma": 1.5, "lam": 1.0, "beta": 1.0},
    "nystrom-pkrr": {"kernel__sigma": 1.5, "lam": 1.0, "beta": 1.0},
    "pros-n-kons": {"kernel__sigma": 1.5},
    "krls": {"kernel__sigma": 1.5},
    "doubly-sgd": {"block": 2},
    "pkawv": {"features__degree": 2},
    "pkrr": {"features__degree": 2},
    "ons": {"features__dim": 8},
    "gaf": {"features__dim": 4},
    "sketched-ons": {"features__dim": 8, "sketch": 3},
    "fogd": {"dim": 8},
    "norma": {"budget": 8},
    "silk": {"budget": 8},
    "svmd": {"budget": 8},
    "nogd": {"landmarks": 8},
    "nolana": {"landmarks": 6},
    "rrf": {"dim": 8},
    "random-budget-perceptron": {"budget": 5},
    "forgetron": {"budget": 5},
    "budget-pa": {"budget": 6},
    "bsgd": {"budget": 6},
    "dual-sgd": {"budget": 6, "dim": 6, "evict": 2},
    "forgetting": {"features__dim": 8},
    "kernel-smoother": {"window": 18},
    "baseline": {"dim": 6, "warmup": 20},
}
"""Parameters of the registry's examples that make their files small."""
FRESH = ("pkawv", "nystrom-pkawv", "pros-n-kons", "fogd", "norma", "nogd", "rrf", "kernel-smoother", "baseline")
"""Also saved before the first row."""
ELSEWHERE = ("aggregate", "mixture", "auto")


def catalogue() -> Iterator[Case]:
    about = {"bsgd": MERGED}
    for name, entry in LEARNERS.items():
        if name not in ELSEWHERE:
            yield trained(name, entry.example.clone().set_params(**SMALLER.get(name, {})), **about.get(name, {}))
        if name in FRESH:
            yield trained(f"{name}-fresh", entry.example.clone(), cut=0, stop=4)


def least_squares() -> Iterator[Case]:
    said = [Call("regret", ())]
    for kind in (PKAWV, PKRR):
        name = kind.__name__.lower()
        model = kind(Taylor(G, degree=2), lam=0.1, clip=2.0)
        yield trained(f"{name}-weights", model, weights=True, also=["std", "leverage"], more=said)
        yield trained(f"{name}-two-targets", kind(Fourier(G, 8, seed=1), lam=0.1), target="Y2", more=said)
    for kind in (KernelAWV, KernelRidge):
        name = "kernel-awv" if kind is KernelAWV else "kernel-ridge"
        yield trained(f"{name}-weights", kind(G, lam=0.1, clip=2.0), weights=True, also=["std"], more=said)
        yield trained(f"{name}-two-targets", kind(G, lam=0.1, max_points=80), target="Y2", more=said)
    for memory in ("frozen", "exact"):
        yield trained(
            f"nystrom-pkawv-{memory}-kors", NystromPKAWV(WIDE, memory=memory, seed=3), also=["std"], more=said
        )
        yield trained(f"nystrom-pkawv-{memory}-ald", NystromPKAWV(WIDE, memory=memory, dictionary="ald"), more=said)
        given = NystromPKAWV(G, lam=0.2, memory=memory, dictionary=TABLES["X"][40:44].copy())
        yield trained(f"nystrom-pkawv-{memory}-given", given, weights=True, more=said)
        two = NystromPKRR(G, lam=0.2, memory=memory, max_atoms=4, clip=2.0, seed=np.random.default_rng(5))
        yield trained(f"nystrom-pkrr-{memory}-two-targets", two, target="Y2", weights=True)
    yield trained("nystrom-pkawv-all", NystromPKAWV(G, lam=0.2, beta=math.inf, seed=0), cut=6, stop=10)
    yield trained("krls-full", KRLS(G, nu=0.05, max_atoms=5))
    yield trained("krls-two-targets", KRLS(WIDE, nu=0.3), target="Y2")
    yield trained("forgetting-refresh", Forgetting(Fourier(G, 8, seed=0), decay=0.9, refresh=7, clip=2.0))
    yield trained("forgetting-two-targets", Forgetting(decay=0.95), target="Y2", weights=True)
    yield trained("kernel-smoother-wrapped", KernelSmoother(window=10, neighbours=3), target="Y2", weights=True)
    yield trained("baseline-warm", Baseline(dim=8, warmup=12), weights=True)
    yield trained("baseline-two-targets", Baseline(dim=8, warmup=20), table="wide", target="Y2")
    prepared = Baseline(dim=8, seed=np.random.default_rng(2))
    prepared.prepare(TABLES["wide"][:30])
    yield trained("baseline-prepared", prepared, table="wide")


def newton() -> Iterator[Case]:
    for loss in ("squared", "logistic", "squared_hinge"):
        yield trained(f"ons-{loss.replace('_', '-')}", ONS(Fourier(G, 8, seed=0), loss=loss, clip=2.0, lam=0.5))
    for loss in ("squared", "logistic"):
        yield trained(f"sketched-ons-{loss}", SketchedONS(Fourier(G, 8, seed=0), sketch=3, loss=loss, clip=2.0))
        yield trained(f"kons-{loss}", KONS(G, loss=loss, clip=2.0, lam=0.5), cut=10, stop=16)
        yield trained(f"sketched-kons-{loss}", SketchedKONS(G, loss=loss, clip=2.0, gamma=0.5, seed=4))
        yield trained(f"pros-n-kons-{loss}-warm", ProsNKons(WIDE, loss=loss, mu=1.0, clip=2.0, warm=True, seed=1))
    yield trained("ons-columns", ONS(clip=2.0, eta=0.2))
    yield trained("kons-room", KONS(G, clip=2.0, eta=0.3, max_points=60), cut=10, stop=16)
    yield trained("pros-n-kons-full", ProsNKons(G, mu=0.3, clip=2.0, max_atoms=4, seed=np.random.default_rng(8)))
    yield trained("narow-strong", NAROW(G, lam=0.5, b=1.0))


def features() -> Iterator[Case]:
    for method in ("sgd", "adagrad", "adam", "implicit"):
        for loss in ("squared", "softmax"):
            model = FOGD(G, dim=8, loss=loss, method=method, schedule="sqrt", average=True, seed=2)
            yield trained(f"fogd-{method}-{loss}", model, also=["averaged"])
    for kind in ("orthogonal", "fastfood"):
        yield trained(f"fogd-{kind}", FOGD(G, dim=16, features=kind, lam=0.01, seed=np.random.default_rng(11)))
    yield trained("fogd-weights", FOGD(G, dim=8, loss="squared", seed=0), weights=True)
    yield trained("fogd-similar-labels", FOGD(G, dim=8, loss=SIMILAR, seed=0))
    yield trained("fogd-late-class", FOGD(G, dim=8, loss="multiclass_hinge", seed=0), target="late", cut=8, stop=16)
    yield trained("fogd-three-classes", FOGD(G, dim=8, loss=Softmax(3), seed=0))
    yield trained("rrf-average", RRF(G, dim=8, loss="logistic", lam=0.01, average=True, seed=0), also=["averaged"])
    yield trained("rrf-similar-labels", RRF(G, dim=8, loss=SIMILAR, seed=0))
    for loss in ("squared", "softmax"):
        model = DoublySGD(G, loss=loss, lam=0.05, step=1.0, t0=2, block=3, seed=0)
        yield trained(f"doubly-sgd-{loss}", model, also=["averaged"], cut=10, stop=16)
    yield trained("doubly-sgd-full", DoublySGD(G, step=3.0, block=2, max_features=16, seed=6))
    yield trained("doubly-sgd-weights", DoublySGD(G, loss="squared", step=1.0, block=3, seed=6), weights=True)


def landmarks() -> Iterator[Case]:
    for select in ("first", "support"):
        for stage, cut in (("collecting", 5), ("fixed", 16)):
            model = NOGD(G, landmarks=8, select=select, lam=0.01, average=True)
            yield trained(f"nogd-{select}-{stage}", model, cut=cut, stop=cut + 6, also=["averaged"])
    for loss in ("squared", "softmax"):
        for method in ("sgd", "adagrad"):
            model = NOGD(G, landmarks=6, rank=6, loss=loss, method=method, schedule="sqrt")
            yield trained(f"nogd-{method}-{loss}", model)
    for solver in ("eigh", "warm", "rank2"):
        for order in ("gd_ls", "ls_gd"):
            model = NOLANA(G, landmarks=6, rank=4, eps=0.1, loss="squared", solver=solver, order=order)
            yield trained(f"nolana-{solver}-{order}", model)
    count = NOLANA(G, landmarks=6, eps=0.2, loss="multiclass_hinge", count="all", theta=1e-3, average=True)
    yield trained("nolana-count-all", count, also=["averaged"])
    yield trained("nolana-collecting", NOLANA(G, landmarks=8, method="adagrad", average=True), cut=5, stop=12)
    yield trained("nolana-fixed", NOLANA(G, landmarks=6, eps=math.inf))


def expansions() -> Iterator[Case]:
    for loss in ("huber", "softmax", "pinball", "novelty"):
        yield trained(f"norma-{loss}", NORMA(G, loss=loss, eta=0.3), also=["averaged"], cut=12)
        yield trained(f"ilk-{loss}", ILK(G, loss=loss, lam=0.05), also=["averaged"], cut=12)
        yield trained(f"svmd-{loss}", SVMD(G, loss=loss, budget=6), also=["averaged"])
    yield trained("norma-offset", NORMA(G, loss=Huber(0.5), offset=True, budget=8), weights=True)
    yield trained("norma-nu", NORMA(G, loss=Novelty(0.8), nu=0.3, eta=0.2, budget=8, schedule="sqrt"))
    yield trained("norma-nu-tube", NORMA(G, loss=EpsilonInsensitive(0.2), nu=0.3, eta=0.2, budget=8))
    yield trained("norma-similar-labels", NORMA(G, loss=SIMILAR, budget=8, keep="support"))
    yield trained("norma-late-class", NORMA(G, loss="multiclass_hinge", budget=8), target="late", cut=8, stop=16)
    for drop in ("smallest", "oldest", "contribution", "project", "merge"):
        about = MERGED if drop == "merge" else {}
        for loss in ("squared", "multiclass_hinge") if drop in ("project", "merge") else ("hinge",):
            model = SILK(G, loss=loss, lam=0.05, budget=6, drop=drop)
            yield trained(f"silk-{drop}-{loss.replace('_', '-')}", model, **about)
    yield trained("silk-weights", SILK(G, loss=Pinball(0.3), budget=6), weights=True)
    yield trained("silk-similar-labels", SILK(G, loss=SIMILAR, budget=6, multiclass="runner_up"))
    yield trained("svmd-similar-labels", SVMD(G, loss=SIMILAR))


def corrections() -> Iterator[Case]:
    yield trained("perceptron-classes", Perceptron(G, loss="multiclass_hinge"), also=["averaged"])
    yield trained("perceptron-linear", Perceptron(Linear()), also=["averaged"])
    yield trained("perceptron-similar-labels", Perceptron(Polynomial(2), loss=SIMILAR))
    yield trained("perceptron-late-class", Perceptron(G, loss="multiclass_hinge"), target="late", cut=8, stop=16)
    for variant in (None, "I", "II"):
        model = PassiveAggressive(G, variant=variant, C=0.5, loss="epsilon_insensitive")
        yield trained(f"passive-aggressive-{variant}", model, cut=12)
    runner_up = PassiveAggressive(G, loss="multiclass_hinge", multiclass="runner_up")
    yield trained("passive-aggressive-runner-up", runner_up, also=["averaged"])
    generator = np.random.default_rng(9)
    generator.random(3)
    middle = RandomBudgetPerceptron(G, budget=4, loss="multiclass_hinge", seed=generator)
    yield trained("random-budget-perceptron-classes", middle)
    yield trained("projectron-budget", Projectron(G, tol=0.2, budget=6))
    yield trained("projectron-classes", Projectron(G, tol=0.2, loss="multiclass_hinge"))
    for variant in ("S", "P", "NN"):
        yield trained(f"budget-pa-{variant}", BudgetPA(G, budget=5, C=0.5, variant=variant, loss=Hinge(0.9)))
    yield trained("budget-pa-similar-labels", BudgetPA(G, budget=5, loss=SIMILAR))
    for maintenance in ("remove", "project", "merge"):
        for loss in ("squared", "softmax"):
            about = MERGED if maintenance == "merge" else {}
            model = BSGD(G, budget=6, lam=0.05, loss=loss, maintenance=maintenance)
            yield trained(f"bsgd-{maintenance}-{loss}", model, **about)
    for loss in ("squared", "multiclass_hinge"):
        model = DualSGD(G, budget=6, dim=8, lam=0.05, evict=3, loss=loss, seed=7)
        yield trained(f"dual-sgd-{loss.replace('_', '-')}", model, also=["averaged"])


def cases() -> Iterator[Case]:
    for part in (catalogue, least_squares, newton, features, landmarks, expansions, corrections):
        yield from part()
