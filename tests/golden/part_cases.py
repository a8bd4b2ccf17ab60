"""Kernels, losses, maps, scalings, solvers, dictionaries and metrics: what models are made of, saved by itself."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from case import TABLES, Call, Case, Rows, trained
from learner_cases import FAR, SIMILAR, WIDE, G

from nystream import (
    KRLS,
    ONS,
    PKRR,
    GlobalScale,
    KernelRidge,
    LogScale,
    Perceptron,
    StandardScale,
    dictionary,
    features,
)
from nystream import losses as loss_of
from nystream import solvers as solver_of
from nystream.auto.recipe import Recipe
from nystream.dictionary.plain import PlainExpansion
from nystream.evaluate import metrics as metric_of
from nystream.kernels import Gaussian, Laplacian, Linear, Matern, Normalized, Polynomial
from nystream.scaling import RunningScale

X = TABLES["X"]
A, B = Rows("X", 50, 53), Rows("X", 53, 57)
TESTS = Path(__file__).resolve().parents[1]
sys.path.extend([str(TESTS), str(TESTS / "helpers")])
Cosine: Any = importlib.import_module("golden.own_kernel").Cosine

KERNELS = {
    "gaussian": Gaussian(0.8),
    "laplacian": Laplacian(1.2),
    "linear": Linear(),
    "matern-half": Matern(0.5, 0.9),
    "matern": Matern(2.5, 1.1),
    "polynomial": Polynomial(3, 0.5, 1.5),
    "sum": Gaussian(0.5) + Linear(),
    "product": Laplacian(0.5) * Polynomial(2),
    "scaled": 2.5 * Matern(1.5, 0.7),
    "normalized": Normalized(Polynomial(2)),
    "deep": Normalized((Gaussian(0.5) + 0.3 * Linear()) * Laplacian(2.0) + Polynomial(2)),
}


def kernels() -> Iterator[Case]:
    for name, kernel in KERNELS.items():
        yield Case(f"kernel-{name}", kernel, [Call("__call__", (A, B)), Call("diag", (A,))])
        yield trained(f"perceptron-{name}-kernel", Perceptron(kernel.clone()))
    yield trained("krls-deep-kernel", KRLS(KERNELS["deep"].clone(), nu=0.3, max_atoms=4))
    trust = ["golden.own_kernel.Cosine"]
    yield Case("kernel-own", Cosine(2.0), [Call("__call__", (A, B))], trust=trust)
    yield trained("kernel-ridge-own", KernelRidge(Cosine(2.0) + Gaussian(0.5), lam=0.1), cut=8, stop=12, trust=trust)


def losses() -> Iterator[Case]:
    scalar = [loss_of.Squared(), loss_of.Absolute(), loss_of.EpsilonInsensitive(0.2), loss_of.Huber(0.7)]
    scalar += [loss_of.Pinball(0.3), loss_of.Hinge(0.8), loss_of.SquaredHinge(1.1), loss_of.Logistic()]
    for loss in [*scalar, loss_of.Novelty(0.9)]:
        labels = "y" if loss.labels == "real" else "sign"
        rows = Rows(labels, 0, 6), Rows("y", 6, 12)
        yield Case(f"loss-{loss.name.replace('_', '-')}", loss, [Call("value", rows), Call("grad", rows)])
    for loss in (loss_of.MulticlassHinge(), loss_of.Softmax(3), loss_of.StructuredHinge(FAR)):
        rows = Rows("label", 0, 6), Rows("odds", 6, 12)
        yield Case(f"loss-{loss.name.replace('_', '-')}", loss, [Call("value", rows), Call("grad", rows)])
    rows = Rows("label", 0, 6), Rows("odds", 6, 12)
    yield Case("loss-similar-labels", SIMILAR.clone(), [Call("value", rows), Call("grad", rows)])


def fitted_maps() -> dict[str, Any]:
    metric = features.LearnedMetric(rows=20, seed=1).fit(X[:20], TABLES["y"][:20])
    fourier = features.Fourier(G, 8, seed=0)
    return {
        "identity": features.Identity().fit(X[:3]),
        "taylor": features.Taylor(2.0 * G, degree=2, centre=[0.1, 0.2, 0.0]).fit(X[:20]),
        "taylor-auto": features.Taylor(Gaussian(3.0), lam=1.0, horizon=20).fit(X[:20]),
        "growing-taylor": features.GrowingTaylor(Gaussian(3.0), lam=0.1).fit(X[:20]),
        "fourier": features.Fourier(G, 8, seed=np.random.default_rng(3)).fit(X[:3]),
        "fourier-sum": features.Fourier(Laplacian(0.8) + G, 8, seed=0).fit(X[:3]),
        "fourier-orthogonal": features.Fourier(2.0 * G, 8, orthogonal=True, seed=0).fit(X[:3]),
        "fastfood": features.Fastfood(G, 8, seed=0).fit(X[:3]),
        "nystrom": features.Nystrom(G, X[40:46].copy()).fit(X[:3]),
        "nystrom-collecting": features.Nystrom(G, 8).fit(X[:5]),
        "adaptive-nystrom": features.AdaptiveNystrom(G, 6, eps=0.2).fit(X[:20]),
        "adaptive-nystrom-collecting": features.AdaptiveNystrom(G, 8).fit(X[:5]),
        "adaptive-nystrom-given": features.AdaptiveNystrom(G, X[40:46].copy(), 6, solver="warm").fit(X[:20]),
        "kors": features.KORS(WIDE, mu=0.2, seed=np.random.default_rng(2)).fit(X[:20]),
        "kors-full": features.KORS(Polynomial(2), mu=0.1, max_atoms=3, seed=0).fit(X[:20]),
        "landmarks": features.Landmarks(G, X[40:46].copy()).fit(X[:3]),
        "learned-metric": metric,
        "learned-metric-columns": features.LearnedMetric(rounds=1, full=2).fit(X[:20], TABLES["Y2"][:20]),
        "chain": features.Chain(metric, fourier).fit(X[:3]),
        "with-constant": features.WithConstant().fit(X[:3]),
        "with-constant-chain": features.WithConstant(features.Chain(metric, features.Landmarks(G, X[40:45]))).fit(
            X[:3]
        ),
    }


LEARNT_ON = (
    "identity",
    "taylor",
    "fourier",
    "fastfood",
    "nystrom",
    "kors-full",
    "landmarks",
    "learned-metric",
    "chain",
)
"""Maps that a learner is given fitted."""


def maps() -> Iterator[Case]:
    for name, fitted in fitted_maps().items():
        calls = [Call("dim"), Call("transform", (Rows("X", 50, 53),))]
        if not name.startswith("learned-metric"):
            calls += [Call("partial_fit", (Rows("X", 20, 26),)), Call("dim"), calls[1]]
        yield Case(f"map-{name}", fitted, calls)
    for name, fitted in fitted_maps().items():
        if name in LEARNT_ON:
            yield trained(f"pkrr-{name}", PKRR(fitted, lam=0.1))
    for name, moving in {
        "kors": features.KORS(WIDE, mu=0.2, seed=3),
        "nystrom": features.Nystrom(G, 8),
    }.items():  # these take their points from the stream
        for cut in (4, 16):
            yield trained(f"ons-{name}-{cut}", ONS(moving.clone(), clip=2.0), cut=cut, stop=cut + 6)
    yield trained("pkrr-chain-fresh", PKRR(features.Chain(features.Fourier(G, 6, seed=0), features.WithConstant())))


def scalings() -> Iterator[Case]:
    for name, scale in {
        "standard": StandardScale(),
        "standard-open": StandardScale(clip=None),
        "global": GlobalScale(),
        "log": LogScale(clip=2.0),
    }.items():
        calls = [Call("__call__", (Rows("wide", 50, 53),))]
        yield Case(f"scale-{name}", scale.fit(TABLES["wide"][:30], TABLES["weight"][:30]), calls)
    running = RunningScale()
    running.start(3)
    running(TABLES["holes"][:30])
    calls = [Call("scaled", (Rows("holes", 50, 53),)), Call("__call__", (Rows("holes", 30, 36),))]
    yield Case("scale-running", running, calls)


def solvers() -> Iterator[Case]:
    made = {
        "awv": (solver_of.AWV(0.1), "column"),
        "awv-two-targets": (solver_of.AWV(0.1, vovk=False, clip=2.0), "Y2"),
        "forgetting": (solver_of.Forgetting(0.1, decay=0.9), "column"),
        "ogd": (solver_of.OGD("squared", schedule="sqrt"), "column"),
        "ogd-adagrad": (solver_of.OGD("hinge", method="adagrad", average=True), "signs"),
        "ogd-adam": (solver_of.OGD("multiclass_hinge", method="adam"), "labels"),
        "ogd-implicit": (solver_of.OGD("logistic", method="implicit", lam=0.1), "signs"),
        "ons": (solver_of.ONS("squared", clip=2.0), "column"),
        "sketched-ons": (solver_of.SketchedONS("squared", clip=2.0, sketch=2), "column"),
    }
    for name, (solver, target) in made.items():
        solver.start(3, 3 if target == "labels" else TABLES[target].shape[1])
        solver.run(X[:20], TABLES[target][:20].astype(float))
        probe = Call("predict", (Rows("X", 50, 53),))
        TABLES.setdefault(f"{target} as numbers", TABLES[target].astype(float))
        run = Call("run", (Rows("X", 20, 26), Rows(f"{target} as numbers", 20, 26)))
        yield Case(f"solver-{name}", solver, [probe, run, probe])
    nested = solver_of.NestedAWV(0.1)
    nested.start(3, 1)
    nested.run(X[:20], TABLES["column"][:20])
    yield Case("solver-nested-awv", nested, [Call("predict", (Rows("X", 50, 53),))])
    meter = solver_of.Meter(1)
    meter.add(TABLES["column"][:5], TABLES["column"][5:10], TABLES["column"][10:15], TABLES["weight"][:5])
    yield Case("solver-meter", meter, [Call("regret", ()), Call("online_dimension")])
    for name, stacker, target, outputs in (
        ("ridge-stacker", solver_of.RidgeStacker(block=4), "Y2", 2),
        ("softmax-stacker", solver_of.SoftmaxStacker([(1.0, 1.0), (0.99, 0.5)], block=4), "label", 2),
    ):
        table = "stacked" if target == "Y2" else "scores"
        TABLES.setdefault("scores", TABLES["experts"][:, :, None] * np.ones(1))
        TABLES.setdefault("chosen", TABLES["two"].astype(float))
        labels = target if target == "Y2" else "chosen"
        stacker.start(4, outputs)
        stacker.run(TABLES[table][:22], TABLES[labels][:22])
        probe = Call("predict", (Rows(table, 50, 53),))
        calls = [probe, Call("run", (Rows(table, 22, 28), Rows(labels, 22, 28))), probe]
        yield Case(f"solver-{name}", stacker, calls)


def dictionaries() -> Iterator[Case]:
    """By themselves these are compared as they are stored; what they do is seen in the learners."""
    rng = np.random.default_rng(0)
    kors = dictionary.KORS(WIDE, 0.2)
    kors.start(3)
    kors.run(X[:20], rng.random(20))
    sampled, distant = dictionary.SampledAtoms(dictionary.KORS(WIDE, 0.2)), dictionary.DistantAtoms(G, 0.2)
    given = dictionary.GivenAtoms(G, X[40:45].copy())
    for atoms in (sampled, distant, given):
        atoms.start(3, rng)
        atoms.admit(X[:20], np.ones(20))
    nested, rows, factor = dictionary.Nested(G), dictionary.Rows(3), dictionary.GramFactor(G, 0.5)
    nested.start(3)
    nested.extend(X[:6])
    rows.extend(X[:7])
    factor.start(3)
    factor.extend(X[:6], np.ones(6))
    moving = dictionary.MovingLandmarks(0.1)
    moving.start(X[:5])
    for x in X[5:15]:
        moving.observe(x)
    squeak = dictionary.SQUEAK(WIDE, 0.2, seed=1).partial_fit(X[:20])
    pairs, f = dictionary.Eigenpairs(3), dictionary.Expansion(G)
    pairs.start(G(X[:5], X[:5]))
    f.start(3, 2)
    for i in range(4):
        f.append(X[i], TABLES["Y2"][i], i)
    plain = PlainExpansion(G)
    plain.start(3, 2)
    plain.open(X[:4])
    for i in range(4):
        plain.begin(i)
        plain.append(X[i], TABLES["Y2"][i], i)
    for part in (kors, sampled, distant, given, nested, rows, factor, moving, squeak, pairs, f, plain):
        shown = [Call("n"), Call("points")] if hasattr(part, "points") else []
        yield Case(f"dictionary-{type(part).__name__.lower()}", part, shown)


def metrics() -> Iterator[Case]:
    for count in (1, 2, 20):
        steps = np.linspace(-0.5, 0.5, count) if count > 1 else np.zeros(1)
        TABLES.setdefault(f"{count} quantiles", (TABLES["experts"][:, :1, None] + steps).round(3))
    for name, kind in metric_of.METRICS.items():
        model: Any = kind() if kind is not metric_of.AUC else metric_of.AUC(limit=25)
        if isinstance(model, metric_of.Meter):
            yield Case(f"meter-{name.replace('_', '-')}", model, [Call("column")])
            continue
        if model.takes == "quantile":
            yield measured(f"metric-{name.replace('_', '-')}", model, "column", f"{len(model.levels)} quantiles")
            continue
        target, given = ("y" if name in ("mse", "rmse", "mae", "r2") else "sign"), "y"
        if model.takes == "probability":
            target, given = "label", "odds"
        yield measured(f"metric-{name.replace('_', '-')}", model, target, given)
    yield measured("metric-accuracy-classes", metric_of.Accuracy(), "label", "odds")
    yield measured("metric-auc-binned", metric_of.AUC(limit=15), "sign", "y")
    yield measured("metric-windowed", metric_of.Windowed(metric_of.MAE(), 7), "y", "y")


def measured(name: str, model: Any, target: str, given: str) -> Case:
    def block(i: int, j: int) -> tuple[Rows, Rows]:
        return Rows(target, i, j), Rows(given, 60 - j, 60 - i)

    model.update(*(rows.value for rows in block(0, 20)))
    return Case(name, model, [Call("value"), Call("update", block(20, 30)), Call("value")])


def cases() -> Iterator[Case]:
    for part in (kernels, losses, maps, scalings, solvers, dictionaries, metrics):
        yield from part()
    recipe = Recipe((1, 2, 7), landmarks=5, experts=("ag", "glob"))
    yield Case("recipe", recipe, [Call("rebuilds"), Call("landmarks"), Call("experts")], learner="Auto")
