"""The table of layers on the architecture page is the one that pyproject.toml and the docstrings give."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools" / "layers.py"


@pytest.fixture
def layers():
    spec = importlib.util.spec_from_file_location("layers", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_current():
    done = subprocess.run([sys.executable, str(SCRIPT), "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_every_room_of_the_package_has_a_layer_and_a_row(layers):
    folders = {path.parent.name for path in (ROOT / "src" / "nystream").glob("*/__init__.py")}
    rooms = [room for layer in layers.read_layers() for room in layer]
    assert folders <= set(rooms)
    assert len(rooms) == len(set(rooms))
    assert layers.make_table(layers.read_layers()).count("\n") == len(rooms) + 2


def test_a_change_of_the_contract_changes_the_page(layers):
    page = layers.PAGE.read_text()
    changed = layers.replace_table(page, layers.make_table([["data"], ["model", "plot"]]))
    assert changed != page
    assert "| 2 | `model/` |" in changed
    assert changed.split(layers.END)[1] == page.split(layers.END)[1]


def test_a_page_without_marks_is_refused(layers):
    with pytest.raises(SystemExit, match="must have the marks"):
        layers.replace_table("# Architecture\n", "| layer |\n")
