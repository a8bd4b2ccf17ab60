"""Make examples/tutorial.ipynb from docs/start/tutorial.md: python docs/make_notebook.py

Blocks of code become cells of code, and the text between them cells of text. The page is the source: edit it, not the
notebook.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "start" / "tutorial.md"
NOTEBOOK = ROOT / "examples" / "tutorial.ipynb"
BLOCK = re.compile(r"^```\{run\}\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
OPTION = re.compile(r"\A(?::\w+:.*\n)+")
DOWNLOAD = re.compile(r"^.*\{download\}.*\n", re.MULTILINE)
INSTALL = "# In an empty environment first: pip install 'nystream[plot]'\n"


def make_notebook(page: str) -> str:
    """Return the notebook as text."""
    parts = BLOCK.split(DOWNLOAD.sub("", page))
    cells: list[dict[str, Any]] = []
    for i, part in enumerate(parts):
        text = OPTION.sub("", part) if i % 2 else part
        if text.strip():
            cells.append(make_cell("code" if i % 2 else "markdown", len(cells), text.strip("\n")))
    first = next(cell for cell in cells if cell["cell_type"] == "code")
    first["source"].insert(0, INSTALL)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


def make_cell(kind: str, number: int, text: str) -> dict[str, Any]:
    cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    return cell | {"source": text.splitlines(keepends=True)}


if __name__ == "__main__":
    NOTEBOOK.write_text(make_notebook(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    print(NOTEBOOK)
