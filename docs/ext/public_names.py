"""The public names: the modules of the reference, their names, and those without a description."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import nystream

MODULES = {
    "nystream.auto": "The automatic learner, and one fast model that needs no parameter.",
    "nystream.learners": "One class per published algorithm. `Learner` and `Abilities` are what all of them share.",
    "nystream.bandits": "Kernel bandits: choose an arm, learn its reward.",
    "nystream.compose": "Learners that combine other learners.",
    "nystream.model": "A learner with the names and kinds of its columns.",
    "nystream.forecast": "Forecasts of a series several steps ahead, with intervals.",
    "nystream.data.schema": "The description of a table.",
    "nystream.kernels": "Kernels. They can be added and multiplied.",
    "nystream.features": "Feature maps. They also work as transformers of scikit-learn.",
    "nystream.losses": 'Losses, by name (`loss="huber"`) or as objects.',
    "nystream.scaling": "Scalings of inputs.",
    "nystream.data.batch": "Rows after parsing.",
    "nystream.data.encoding": "Tables as numbers and tokens.",
    "nystream.streams": "Streams of examples: files, generators, adversaries.",
    "nystream.datasets": "Public datasets by name.",
    "nystream.evaluate": "Prequential evaluation, comparisons, and the best fixed function in hindsight.",
    "nystream.evaluate.bounds": "Regret bounds, term by term.",
    "nystream.evaluate.metrics": 'Metrics and meters, by name (`"mse@500"`) or as objects.',
    "nystream.plot": "Charts and the self-contained report.",
    "nystream.sklearn": "Estimators for scikit-learn.",
    "nystream.river": "Models for river.",
    "nystream.persist": "Model files: save and load; models as bytes.",
    "nystream.client": "The client of `nystream serve`.",
    "nystream.serve": "The server, from Python.",
    "nystream.spark": "Engines for Spark.",
    "nystream.video": "One learner for every pixel.",
    "nystream.registry": "The registry: one record for each learner, with its cost, guarantee and advice.",
    "nystream.solvers": "Linear solvers in feature space, for your own learners.",
    "nystream.dictionary": "Dictionaries, which choose the points that are stored, for your own learners.",
    "nystream.reproduce": "The papers' experiments.",
    "nystream.runtime.types": "Type aliases.",
}
"""The modules, each with a description."""


def present() -> dict[str, Any]:
    """The modules that this version has."""
    found = {}
    for name in MODULES:
        if importlib.util.find_spec(name) is not None:
            found[name] = importlib.import_module(name)
    return found


def places() -> dict[str, str]:
    """Full name -> module whose page has it; names of the top level are called `nystream.NAME`."""
    top = {name for name in nystream.__all__ if not inspect.ismodule(getattr(nystream, name))}
    found: dict[str, str] = {}
    for module, content in present().items():
        for name in content.__all__:
            thing = getattr(content, name)
            if inspect.ismodule(thing):
                continue
            full = f"nystream.{name}" if name in top and getattr(nystream, name) is thing else f"{module}.{name}"
            found.setdefault(full, module)
    return found


def missing() -> list[str]:
    """Public names without a page or without words."""
    have = places()
    names = [f"nystream.{name}" for name in nystream.__all__ if not inspect.ismodule(getattr(nystream, name))]
    lost = [name for name in names if name not in have]
    for full in have:
        module, _, name = full.rpartition(".")
        thing = getattr(importlib.import_module(module), name)
        if inspect.isclass(thing) or inspect.isroutine(thing):
            lost += [full] if not inspect.getdoc(thing) else []
        elif not module.endswith(".types"):  # names of types say what they are
            lost += [full] if not words(name, thing) else []
        if inspect.isclass(thing) and thing.__module__.startswith("nystream"):
            lost += [f"{full}.{key}" for key, member in vars(thing).items() if undocumented(thing, key, member)]
    return lost


def words(name: str, thing: Any) -> str:
    """The text below the assignment of a constant, in the module that makes it."""
    homes = [m for key, m in sorted(sys.modules.items()) if key.startswith("nystream") and vars(m).get(name) is thing]
    return next(filter(None, (below(home, name) for home in homes)), "")


def below(module: ModuleType, name: str) -> str:
    body = ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8")).body
    for made, text in pairwise(body):
        targets = (
            made.targets if isinstance(made, ast.Assign) else [made.target] if isinstance(made, ast.AnnAssign) else []
        )
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            said = text.value.value if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant) else None
            return inspect.cleandoc(said) if isinstance(said, str) else ""
    return ""


def undocumented(owner: type, key: str, member: Any) -> bool:
    """Whether this is a public method or property of which neither the class nor one above it says what it does."""
    if (
        key.startswith("_")
        or key in getattr(owner, "__dataclass_fields__", ())
        or not (inspect.isroutine(member) or isinstance(member, property))
    ):
        return False
    return not inspect.getdoc(getattr(owner, key))
