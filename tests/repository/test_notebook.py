"""The tutorial notebook is made from its page, and runs."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOK = ROOT / "examples" / "tutorial.ipynb"


def test_the_notebook_is_that_of_the_page(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    script = importlib.import_module("make_notebook")
    sys.modules.pop("make_notebook")
    page = (ROOT / "docs" / "start" / "tutorial.md").read_text(encoding="utf-8")
    assert NOTEBOOK.read_text(encoding="utf-8") == script.make_notebook(page), "run python docs/make_notebook.py"


@pytest.mark.exhaustive  # `make docs` runs the same code on its page
def test_the_notebook_runs(monkeypatch, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    book = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    cells = [cell for cell in book["cells"] if cell["cell_type"] == "code"]
    assert len(cells) > 10
    names = {"__name__": "notebook"}
    for number, cell in enumerate(cells, start=1):
        source = "".join(cell["source"])
        try:
            exec(compile(source, f"cell {number} of {NOTEBOOK.name}", "exec"), names)
        except Exception as error:
            pytest.fail(f"cell {number} of the notebook: {type(error).__name__}: {error}\n{source}")
    names["plt"].close("all")
    assert "Drift alarm" in capsys.readouterr().out
    assert (tmp_path / "sales.nys").exists()
