"""The API reference: a page for every public module, every name of its `__all__`. A name without words is an error."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

from sphinx.errors import ExtensionError

import nystream

MODULES = {
    "nystream.auto": "The automatic learner, and one fast model that needs no parameter.",
    "nystream.learners": "One class per published algorithm. `Learner` and `Abilities` are what all of them share.",
    "nystream.compose": "Learners made of learners.",
    "nystream.model": "A learner with the names and kinds of its columns.",
    "nystream.schema": "The description of a table.",
    "nystream.kernels": "Kernels; they add and multiply.",
    "nystream.features": "Feature maps, which are transformers of scikit-learn too.",
    "nystream.losses": "Losses, by name (`loss=\"huber\"`) or as objects.",
    "nystream.scaling": "Scalings of inputs.",
    "nystream.encoding": "Tables as numbers and tokens.",
    "nystream.streams": "Streams of examples: files, generators, adversaries.",
    "nystream.datasets": "Public datasets by name.",
    "nystream.evaluate": "Prequential evaluation, comparisons, the best in hindsight.",
    "nystream.evaluate.bounds": "Bounds term by term.",
    "nystream.metrics": "Metrics and meters, by name (`\"mse@500\"`) or as objects.",
    "nystream.plot": "Charts and the self-contained report.",
    "nystream.sklearn": "The facade for scikit-learn.",
    "nystream.river": "The facade for river.",
    "nystream.persist": "Files: save, load, bytes.",
    "nystream.client": "The client of `nystream serve`.",
    "nystream.serve": "The server, from Python.",
    "nystream.spark": "Distributed engines.",
    "nystream.video": "One learner for every pixel.",
    "nystream.catalogue": "Learners by name.",
    "nystream.choosing": "What decides between them.",
    "nystream.solvers": "Linear solvers in feature space, for learners of your own.",
    "nystream.dictionary": "Which points are kept, for learners of your own.",
    "nystream.reproduce": "The papers' experiments.",
    "nystream.types": "Names of types.",
}
"""Module -> what it is."""


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
        if inspect.isclass(thing) and thing.__module__.startswith("nystream"):
            lost += [f"{full}.{key}" for key, member in vars(thing).items() if undocumented(thing, key, member)]
    return lost


def undocumented(owner: type, key: str, member: Any) -> bool:
    """Whether this is a public method or property of which neither the class nor one above it says what it does."""
    if key.startswith("_") or key in getattr(owner, "__dataclass_fields__", ()) or not (inspect.isroutine(member) or isinstance(member, property)):
        return False
    return not inspect.getdoc(getattr(owner, key))


def written(module: str, names: list[str]) -> str:
    lines = [module, "=" * len(module), "", MODULES[module], "", f".. module:: {module}", ""]
    for full in sorted(names, key=lambda name: name.rpartition(".")[2].lower()):
        home, _, name = full.rpartition(".")
        thing = getattr(importlib.import_module(home), name)
        kind = "class" if inspect.isclass(thing) else "function" if inspect.isroutine(thing) else "data"
        lines += [name, "-" * len(name), ""]
        if kind == "class" and thing.__name__ != name:
            lines += [f"`{name}` is `{thing.__name__}`.", ""]
            continue
        if kind == "data" and home == "nystream.types":
            lines += [f".. py:data:: {full}", "", f"   ``{thing}``", ""]
            continue
        lines += [f".. auto{kind}:: {full}"]
        if kind == "class":
            lines += ["   :members:", "   :show-inheritance:"]
        if kind == "data":
            lines += ["   :no-value:"]
        lines += [""]
    return "\n".join(lines)


def generate(app: Any) -> None:
    lost = missing()
    if lost:
        raise ExtensionError(f"public names without words in the reference: {', '.join(lost)}")
    folder = Path(app.srcdir) / "api"
    homes = places()
    for module in present():
        text = written(module, [full for full, home in homes.items() if home == module])
        page = folder / f"{module}.rst"
        if not page.exists() or page.read_text() != text:
            page.write_text(text)


LITERAL = re.compile(r"(``.*?``|`[^`]*`)")


def escaped(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are written to be read as they are: `|f|` and `w_t` are no markup."""
    block: int | None = None
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if block is not None and line.strip() and indent <= block:
            block = None
        if block is None and not line.lstrip().startswith((">>>", "...")):
            parts = LITERAL.split(line)
            lines[i] = "".join(part if j % 2 else plain(part) for j, part in enumerate(parts))
            if line.rstrip().endswith("::"):
                block = indent


def plain(text: str) -> str:
    return re.sub(r"(?<=\w)_(?!\w)", r"\\_", text.replace("|", r"\|").replace("*", r"\*"))


def setup(app: Any) -> dict[str, bool]:
    app.connect("builder-inited", generate, priority=300)
    app.connect("autodoc-process-docstring", escaped, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
