"""Tags: every class that a file can have is registered once, whatever module it is in."""

from __future__ import annotations

import importlib
import pkgutil
import re
from importlib.util import find_spec

import pytest

import nystream
from nystream.persist.tags import TAGS, class_of, tag_of
from nystream.runtime.params import Params

BASES = {
    "compose": ["Calibration", "ClassLearner", "Ensemble", "Wrapper"],
    "dictionary": ["FactoredPoints", "Growing"],
    "evaluate": ["Mean", "Meter", "Metric", "OfIntervals", "OfQuantiles", "Shares", "_Confusion", "_Share"],
    "auto": ["Expert", "_Landmarks"],
    "bandits": ["Bandit"],
    "features": ["FeatureMap", "NestedFeatures"],
    "kernels": ["CompiledKernel", "Kernel", "Pair"],
    "learners": [
        *(
            "AtomLearner",
            "Averaging",
            "BulkLearning",
            "CorrectionLearner",
            "ExpansionLearner",
            "FeatureLearner",
            "GradientLearner",
        ),
        *("LandmarkLearner", "Learner", "LeastSquares", "LossLearner", "MarginLearner"),
        *("SparseLearner", "TabularLearner", "UnboundedCorrections"),
    ],
    "losses": ["Loss", "MarginLoss", "ScalarLoss", "VectorLoss"],
    "scaling": ["FrozenScale"],
    "solvers": ["NewtonSolver", "Solver", "Stacker"],
}
NEVER = {
    ("forecast", "Member"): "a base of others",
    **{(layer, name): "a base of others" for layer, names in BASES.items() for name in names},
    ("compose", "_Remembered"): "stands for a kernel while a block lasts, and is written as that kernel",
    ("reproduce", "Adrift"): "of one experiment, which saves no model",
    ("reproduce", "_Unheeded"): "of one experiment, which saves no model",
}
"""Classes by folder and name that are in no file, and why."""
EXTRAS = {
    "cli": "typer",
    "client": "httpx",
    "plot": "matplotlib",
    "river": "river",
    "serve": "starlette",
    "sklearn": "sklearn",
    "sktime": "sktime",
    "spark": "pyspark",
}
"""Folder -> the package without which it cannot be imported."""


def classes() -> list[type[Params]]:
    """Every class of the package that has parameters."""
    for module in pkgutil.walk_packages(nystream.__path__, "nystream."):
        needed = EXTRAS.get(module.name.split(".")[1])
        if not module.name.endswith("__main__") and (needed is None or find_spec(needed) is not None):
            importlib.import_module(module.name)
    found: list[type[Params]] = []
    waiting = [Params]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            if kind.__module__.startswith("nystream.") and kind not in found:
                found.append(kind)
                waiting.append(kind)
    return found


def test_every_class_with_parameters_has_a_tag_or_a_reason_to_have_none():
    found = classes()
    assert len(found) > len(TAGS)
    named = {(kind.__module__.split(".")[1], kind.__qualname__): kind for kind in found}
    assert len(named) == len(found), "two classes of one folder have one name: tell them apart here"
    without = {place for place, kind in named.items() if tag_of(kind) is None}
    assert without == set(NEVER), "a class in files needs a row in nystream/persist/tags.py, another one a reason here"


@pytest.mark.parametrize("tag", TAGS)
def test_a_tag_is_that_of_the_class_it_names(tag):
    kind = class_of(tag)
    assert issubclass(kind, Params)
    assert tag_of(kind) == tag
    assert f"{kind.__module__}:{kind.__qualname__}" == TAGS[tag]  # where it is defined, not where it is imported
    assert re.fullmatch(r"[a-z]+/[a-z0-9]+(-[a-z0-9]+)*", tag)


def test_no_two_tags_name_one_class():
    assert len(set(TAGS.values())) == len(TAGS)


def test_a_class_from_elsewhere_has_no_tag():
    class Gaussian(nystream.Gaussian):
        pass

    assert tag_of(Gaussian) is None
    assert tag_of(nystream.Gaussian) == "kernel/gaussian"
