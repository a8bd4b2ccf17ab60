"""List the guides in docs/ itself, if this version has them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

GUIDES = ("tables", "drift", "explaining", "serving", "spark", "engine", "competing")
"""Pages in docs/ itself, by name."""


def read(app: Any, docname: str, source: list[str]) -> None:
    mark = "<!-- others -->"
    if mark in source[0]:
        pages = [f"/{name}" for name in GUIDES if (Path(app.srcdir) / f"{name}.md").exists()]
        source[0] = source[0].replace(mark, "\n".join(["```{toctree}", ":maxdepth: 1", "", *pages, "```"]))


def outdated(app: Any, env: Any, added: set[str], changed: set[str], removed: set[str]) -> list[str]:
    """Return the list of guides, so that every build reads it: there may be a new page."""
    return ["guides/index"]


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", read)
    app.connect("env-get-outdated", outdated)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
