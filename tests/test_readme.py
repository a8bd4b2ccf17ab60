"""The Python in the README runs, block after block, as a reader would type it."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

from nystream.cli.demo import demo_races

README = Path(__file__).parents[1] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch):
    pytest.importorskip("sklearn", reason="scikit-learn is not installed")
    pytest.importorskip("river", reason="river is not installed")
    monkeypatch.chdir(tmp_path)  # models are saved there
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    names = {"X_train": X, "y_train": np.where((X**2).sum(axis=1) < 1, "in", "out"), "__name__": "readme"}
    assert BLOCKS
    for number, block in enumerate(BLOCKS, start=1):
        try:
            exec(compile(block, f"README.md, Python block {number}", "exec"), names)
        except Exception as error:
            pytest.fail(f"Python block {number} of the README: {type(error).__name__}: {error}\n{block}")


def test_what_the_readme_points_to_is_there():
    links = re.findall(r"\]\(([^)#]+)\)", README.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if not (README.parent / link).exists()] == []


def test_the_picture_of_the_readme_is_made_by_the_command_that_it_names(monkeypatch, tmp_path):
    root = README.parent
    monkeypatch.syspath_prepend(root / "docs")
    script = importlib.import_module("make_race")
    text = README.read_text(encoding="utf-8")
    picture = text.index(f"]({script.PICTURE.relative_to(root).as_posix()})")
    assert picture < text.index("make demo")
    assert f"{' '.join(script.COMMAND)} out/demo" in (root / "Makefile").read_text(encoding="utf-8")
    assert script.CHART.removesuffix(".png") == demo_races()[0][0]
    run = lambda command, check: Path(command[-1], script.CHART).write_bytes(b"chart")  # noqa: E731
    monkeypatch.setattr(script.subprocess, "run", run)
    monkeypatch.setattr(script, "PICTURE", tmp_path / "race.png")
    script.main()
    assert (tmp_path / "race.png").read_bytes() == b"chart"
