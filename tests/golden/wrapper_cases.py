"""Learners around learners, the model of the command line, pixels, and the automatic learner."""

from __future__ import annotations

import contextlib
import io
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from case import PROBE, TABLES, Call, Case, Rows, trained
from learner_cases import SIMILAR, WIDE, G

import nystream
from nystream import (
    FOGD,
    KONS,
    NOGD,
    NORMA,
    PKAWV,
    PKRR,
    Aggregate,
    Auto,
    Baseline,
    Classifier,
    Conformal,
    Encoded,
    Forgetting,
    Fourier,
    Gaussian,
    KernelRidge,
    Laplacian,
    Mixture,
    Model,
    NystromPKAWV,
    Perceptron,
    Pixels,
    Schema,
    Standardized,
    Taylor,
    Thresholded,
)
from nystream.auto.recipe import Recipe
from nystream.cli.app import call as command
from nystream.model.building import build

SMALL = Recipe((1, 2, 5, 10, 20), landmarks=4, big=5, small=3, ring=12, refresh=6, window=6, metric=12)
FEW = SMALL.resized(experts=("ag", "win1000"))
RACE = SMALL.resized(experts=("glob", "big"))
LEAST = SMALL.resized(experts=("lin.95", "win1000"), full=2)
"""Fewer experts, smaller files."""
SINGLE = {"tolerance": 1e-6, "reason": "single precision"}
STAGES = {"warming": {"cut": 14, "stop": 22}, "warm": {"cut": 27, "stop": 33}}
"""In the middle of the warm-up, which then ends; after it and a refresh, with another one to come."""


COMPARED = {
    "native-hinge": ("late",),
    "codes-pkrr": ("late",),
    "codes-standardized": ("late",),
    "one-versus-rest-hinge": ("two", "late"),
    "one-versus-rest-landmarks": ("late",),
    "one-versus-rest-standardized": ("late",),
}
"""Ways to learn classes that are seen with two of them, and with one that comes after the file was written."""


def fogd(loss: str = "hinge", **settings: Any) -> FOGD:
    return FOGD(G, dim=6, loss=loss, seed=0, **settings)


def grid(kind: type = PKAWV, **settings: Any) -> list[Any]:
    return [kind(Fourier(G, 4, seed=0), lam=lam, **settings) for lam in (0.01, 1.0)]


def classifiers() -> Iterator[Case]:
    inner = {
        "native-softmax": fogd("softmax"),
        "native-hinge": fogd("multiclass_hinge"),
        "native-similar-labels": NORMA(G, loss=SIMILAR, budget=8),
        "codes-pkrr": PKRR(Taylor(G, degree=2), lam=0.1),
        "codes-kernel-ridge": KernelRidge(G, lam=0.1),
        "codes-nystrom": NystromPKAWV(WIDE, memory="exact", seed=0),
        "codes-baseline": Baseline(dim=6, warmup=20),
        "codes-standardized": Standardized(PKAWV(Fourier(G, 6, seed=0), lam=0.1)),
        "one-versus-rest-hinge": fogd("hinge"),
        "one-versus-rest-logistic": fogd("logistic"),
        "one-versus-rest-squared": fogd("squared"),
        "one-versus-rest-perceptron": Perceptron(G),
        "one-versus-rest-landmarks": NOGD(G, landmarks=6),
        "one-versus-rest-newton": KONS(G, loss="logistic", clip=2.0),
        "one-versus-rest-standardized": Standardized(NORMA(G, budget=6)),
    }
    for name, learner in inner.items():
        for target in ("label", *COMPARED.get(name, ())):
            model, also = Classifier(learner.clone()), ["probabilities"]
            yield trained(f"classifier-{name}-{target}", model, target=target, cut=8, stop=14, also=also)
    middle = Classifier(fogd("hinge"))  # the late class has come
    yield trained("classifier-one-versus-rest-grown", middle, target="late", also=["probabilities"])
    middle = Classifier(PKRR(Fourier(G, 6, seed=0), lam=0.1))
    yield trained("classifier-codes-grown", middle, target="late", weights=True, also=["probabilities"])
    shifted = Classifier(Thresholded(fogd("logistic"), criterion="f1", window=10, refresh=5))
    yield trained("classifier-thresholded", shifted, target="two", also=["probabilities"])
    mixed = Classifier(Aggregate(grid(PKRR), bound=3.0))
    yield trained("classifier-aggregate", mixed, target="two", also=["probabilities"])
    yield trained("classifier-fresh", Classifier(Standardized(fogd("softmax"))), cut=0, stop=6)


def others() -> Iterator[Case]:
    yield trained("standardized", Standardized(PKRR(Fourier(G, 6, seed=0), lam=0.1)), table="wide", weights=True)
    yield trained("standardized-two-targets", Standardized(KernelRidge(G)), table="wide", target="Y2", cut=10)
    yield trained("standardized-sign", Standardized(NORMA(G, budget=6)), table="wide")
    yield trained("standardized-classes", Standardized(Classifier(fogd("hinge"))), table="wide")
    yield trained("standardized-fresh", Standardized(NystromPKAWV(G, seed=np.random.default_rng(1))), cut=0, stop=5)
    criteria = {"accuracy": None, "balanced_accuracy": None, "f1": None, "precision": 0.7, "recall": 0.7}
    for criterion, target in criteria.items():
        model = Thresholded(fogd("logistic"), criterion=criterion, target=target, window=10, refresh=5)
        yield trained(
            f"thresholded-{criterion.replace('_', '-')}", model, more=[Call("threshold")], weights=criterion == "f1"
        )
    tuned = Thresholded(Standardized(PKRR(Fourier(G, 6, seed=0), lam=0.1)), window=0)
    tuned.run(TABLES["X"][:10], TABLES["sign"][:10])
    tuned.tune(TABLES["X"][10:30], TABLES["sign"][10:30])
    yield trained("thresholded-tuned", tuned, cut=0, stop=5, more=[Call("threshold")])
    inside = Standardized(Thresholded(fogd("hinge"), window=10, refresh=5))
    yield trained("standardized-thresholded", inside, table="wide")
    for method in ("aci", "dtaci"):
        model = Conformal(PKRR(Fourier(G, 6, seed=0), lam=0.1), coverage=0.8, method=method)
        yield trained(f"conformal-{method}", model, more=[Call("predict_interval", (Rows("X", *PROBE), 0.8))])


def ensembles() -> Iterator[Case]:
    for target in ("y", "Y2"):
        yield trained(f"aggregate-{target}", Aggregate(grid(), bound=3.0), target=target)
        prior = Aggregate(grid(PKRR, clip=2.0), bound=3.0, rule="ewa", prior=[0.25, 0.75])
        yield trained(f"aggregate-ewa-{target}", prior, target=target)
        fading = [Forgetting(Fourier(G, 6, seed=0), decay=decay) for decay in (0.9, 1.0)]
        yield trained(f"mixture-{target}", Mixture(fading, bound=3.0, share=0.01), target=target)
    yield trained("mixture-fresh", Mixture(grid(), bound=3.0, eta=0.1), cut=0, stop=5)
    kernels = [KernelRidge(G, lam=0.1), KONS(G, clip=2.0), NystromPKAWV(WIDE, seed=0)]
    yield trained("aggregate-kernels", Aggregate(kernels, bound=3.0), cut=8, stop=14)
    nested = Standardized(Mixture([Aggregate(grid(), bound=3.0), Standardized(fogd("squared"))], bound=3.0))
    yield trained("nested", nested, table="wide")


def pixels() -> Iterator[Case]:
    for name, model in {
        "silk": Pixels(Gaussian(0.15), budget=3, threads=1),
        "norma": Pixels(Laplacian(0.3), budget=3, rule="norma", C=0.3, threads=1),
        "single": Pixels(Gaussian(0.15), budget=3, dtype="float32", threads=1),
    }.items():
        model.run(TABLES["frames"][:6])
        probe = Call("predict", (Rows("frames", 8, 10),))
        calls = [Call("n_seen"), Call("size"), probe, Call("run", (Rows("frames", 6, 8),)), Call("n_seen"), probe]
        yield Case(f"pixels-{name}", model, calls, **(SINGLE if name == "single" else {}))
    calls = [Call("n_seen"), Call("run", (Rows("frames", 0, 3),))]
    yield Case("pixels-fresh", Pixels(Gaussian(0.15), budget=3, threads=1), calls)


def served(model: Any, name: str, table: str, target: str, cut: int, stop: int, **about: Any) -> Case:
    """What `nystream run` saves: its learner has learnt the rows up to `cut`."""
    calls = [Call(part) for part in ("task", "schema_.names", "classes", "learner_.n_seen", "learner_.size")]
    calls += [Call("predict", (Rows(table, *PROBE),)), Call("learner_.predict", (Rows(table, *PROBE),))]
    calls += [Call("learner_.run", (Rows(table, cut, stop), Rows(target, cut, stop))), *calls[-2:]]
    return Case(name, model, calls, **about)


def models() -> Iterator[Case]:
    for task, target, names in (("regression", "y", []), ("classification", "label", ["ash", "birch", "cedar"])):
        for learner, settings in {
            "baseline": {"dim": 6, "warmup": 25},
            "fogd": {"dim": 8},
            "auto": {"recipe": LEAST},
        }.items():
            schema = Schema(["a", "b", "c"], task=task, classes=names or None)
            model = Model(build(learner, task, settings), schema)
            labels = np.array(names)[TABLES[target][:16]] if names else TABLES[target][:16]
            model.run(TABLES["X"][:16], labels)
            about = {"learner": "Auto"} if learner == "auto" else {}
            yield served(model, f"model-{learner}-{task}", "X", target, 16, 22, **about)
    labels = np.array(["ash", "birch", "cedar"])[TABLES["label"]]
    kinds = Schema({"size": "number", "colour": "category", "note": "text"})
    plain = Encoded(Standardized(PKRR(Fourier(G, 6, seed=0), lam=0.1)), kinds.columns)
    yield tabled("model-first-rows", Auto(recipe=LEAST, task="regression"))
    yield tabled("model-table", Auto(recipe=LEAST, task="regression"), kinds)
    yield tabled("model-encoded", plain, kinds)
    yield written("model-command-classes", "label", labels)
    yield written("model-command-numbers", "y", TABLES["y"])


def _records(start: int, stop: int) -> list[dict[str, Any]]:
    """Rows of a table with a number, a category and a text."""
    words = ("red", "green", "blue", "old", "new")
    return [
        {"size": x[0], "colour": words[k % 3], "note": f"{words[k % 5]} {words[(k // 2) % 5]} item {k % 7}"}
        for k, x in enumerate(TABLES["X"].tolist())
    ][start:stop]


def tabled(name: str, learner: Any, schema: Schema | None = None) -> Case:
    """A model of rows as dicts, of given kinds or while its first rows tell them."""
    model = Model(learner, schema)
    model.run(_records(0, 20), TABLES["y"][:20])
    probe = Call("predict", (_records(*PROBE),))
    calls = [probe, Call("step", (_records(20, 21)[0], Rows("y", 20))), Call("learner_.n_seen"), probe]
    return Case(name, model, calls, learner="Auto" if isinstance(learner, Auto) else "Model")


def written(name: str, target: str, labels: np.ndarray) -> Case:
    """By the command line itself, from a file of 16 rows."""
    with tempfile.TemporaryDirectory() as folder:
        source, saved = Path(folder, "rows.csv"), Path(folder, "model.nys")
        rows = [",".join(map(str, [*x, y])) for x, y in zip(TABLES["X"].tolist(), labels.tolist(), strict=True)]
        source.write_text("\n".join(["a,b,c,what", *rows[:16]]) + "\n")
        options = ["--target", "what", "--learner", "fogd", "--set", "dim=8", "--final", str(saved), "--quiet"]
        with contextlib.redirect_stderr(io.StringIO()) as said:
            code = command(["run", str(source), *options])
        if code:
            raise RuntimeError(said.getvalue())
        model = nystream.load(saved)
    if target == "label":  # classes are numbered as they appear
        order = {name: k for k, name in enumerate(model.classes)}
        TABLES["seen"] = np.array([order[label] for label in labels.tolist()])
        target = "seen"
    return served(model, name, "X", target, 16, 22)


def auto() -> Iterator[Case]:
    def one(name: str, model: Any, **settings: Any) -> Case:
        return trained(name, model, learner="Auto", **settings)

    interval = Call("predict_interval", (Rows("X", *PROBE), 0.5))
    for stage, rows in STAGES.items():
        yield one(f"auto-{stage}-numbers", Auto(recipe=SMALL), more=[interval], **rows)
        classes = Auto(recipe=FEW, task="classification", seed=np.random.default_rng(4))
        yield one(f"auto-{stage}-classes", classes, target="label", also=["probabilities"], **rows)
        yield one(f"auto-{stage}-two-targets", Auto(recipe=FEW), target="Y2", more=[interval], **rows)
        yield one(f"auto-{stage}-holes", Auto(recipe=FEW, lags=False), table="holes", **rows)
        two = Auto(recipe=RACE, task="classification")
        yield one(f"auto-{stage}-two-classes", two, target="two", also=["probabilities"], **rows)
        yield one(f"auto-{stage}-weights", Auto(recipe=LEAST, memory="1MB"), weights=True, table="wide", **rows)
    late = {"target": "late", "cut": 8, "stop": 14, "also": ["probabilities"]}
    yield one("auto-late-class", Auto(recipe=FEW, task="classification"), **late)
    yield one("auto-classifier", Classifier(Auto(recipe=LEAST)), target="label", also=["probabilities"])
    yield one("auto-standardized", Standardized(Auto(recipe=LEAST)), table="wide")
    yield one("auto-fresh", Auto(), cut=0, stop=4)
    yield one("auto-beside-a-candidate", beside_a_candidate(), cut=0, stop=6, more=[interval])


def beside_a_candidate() -> Auto:
    """Return a model that learns a candidate beside the incumbent: its labels changed their sign at row 601."""
    X = np.random.default_rng(5).uniform(-1, 1, (640, 3)).round(3)
    y = (np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2]).round(3)
    y[600:] *= -1
    model = Auto(recipe=FEW)
    model.run(X, y)
    if [alarm.outcome for alarm in model.alarms()] != ["running"]:
        raise RuntimeError(f"one running candidate expected, found {model.alarms()}")
    return model


def cases() -> Iterator[Case]:
    for part in (classifiers, others, ensembles, pixels, models, auto):
        yield from part()
