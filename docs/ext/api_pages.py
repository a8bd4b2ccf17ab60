"""The API reference: a page for each public module, with every name of its `__all__`. Each name needs a docstring."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from typing import Any

from public_names import MODULES, missing, places, present, words
from sphinx.errors import ExtensionError


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
        if kind == "data":
            said = words(name, thing) or f"``{thing}``"
            lines += [
                f".. py:data:: {name}",
                f"   :module: {home}",
                "",
                *(f"   {line}" for line in said.splitlines()),
                "",
            ]
            continue
        lines += [f".. auto{kind}:: {full}"]
        if kind == "class":
            lines += ["   :members:", "   :show-inheritance:"]
        lines += [""]
    return "\n".join(lines)


def generate(app: Any) -> None:
    lost = missing()
    if lost:
        raise ExtensionError(f"public names without a docstring or a page: {', '.join(lost)}")
    folder = Path(app.srcdir) / "api"
    homes = places()
    for module in present():
        text = written(module, [full for full, home in homes.items() if home == module])
        page = folder / f"{module}.rst"
        if not page.exists() or page.read_text() != text:
            page.write_text(text)


LITERAL = re.compile(r"(``.*?``|`[^`]*`)")


def escaped(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Escape characters of docstrings that are not meant as markup, as in `|f|` and `w_t`."""
    if what == "class":
        lines[:] = with_notes("\n".join(lines)).split("\n")
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


def with_notes(text: str) -> str:
    """Put the deviations from the paper, which follow the parameters, under a heading of their own."""
    return re.sub(r"(?m)^(?=Deviations from the papers?:)", "Notes\n-----\n", text, count=1)


def plain(text: str) -> str:
    return re.sub(r"(?<=\w)_(?!\w)", r"\\_", text.replace("|", r"\|").replace("*", r"\*"))


def skipped(app: Any, what: str, name: str, thing: Any, skip: bool, options: Any) -> bool | None:
    """Return True for methods that scikit-learn adds to every estimator, and for attributes that hold state."""
    state = name.endswith("_") and not isinstance(thing, property)
    return True if state or re.fullmatch(r"set_\w+_request", name) else None


def setup(app: Any) -> dict[str, bool]:
    app.connect("builder-inited", generate, priority=300)
    app.connect("autodoc-skip-member", skipped)
    app.connect("autodoc-process-docstring", escaped, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
