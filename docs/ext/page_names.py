"""Which pages of docs/algorithms are those of learners. Nothing of Sphinx is imported: the tests read this too."""

from __future__ import annotations

from pathlib import Path


def learner_pages(folder: Path) -> set[str]:
    """Return the names of the pages of learners. Pages on other parts are marked `orphan: true`; no list has them."""
    pages = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.md") if path.stem != "index"}
    return {name for name, text in pages.items() if not text.startswith("---\norphan: true\n---")}
