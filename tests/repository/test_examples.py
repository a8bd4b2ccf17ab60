"""The examples run as they stand, without a warning, in a few seconds each."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
NEEDS = {"04": "sklearn", "05": "river", "09": "sklearn", "13": "river", "16": "river", "19": "sklearn", "22": "river"}
QUICK = ("01", "02", "03", "04", "05", "06", "15")
"""Run by `make test`; all of them by `make test-all`, and by `make docs`."""


def test_there_are_examples_and_they_are_short():
    assert len(EXAMPLES) >= 16
    for path in EXAMPLES:
        lines = [line for line in path.read_text().splitlines() if line.strip() not in ("", "# %%")]
        assert len(lines) <= 60, path.name


def quick_or_not(path):
    return path if path.name[:2] in QUICK else pytest.param(path, marks=pytest.mark.exhaustive)


@pytest.mark.parametrize("path", [quick_or_not(path) for path in EXAMPLES], ids=lambda path: path.stem)
def test_the_example_runs(path, tmp_path):
    for needed in filter(None, (NEEDS.get(path.name[:2]), "matplotlib")):
        pytest.importorskip(needed, reason=f"{needed} is not installed")
    shown = "ignore:FigureCanvasAgg"  # nobody looks at the figure
    command = [sys.executable, "-W", "error::UserWarning", "-W", shown, str(path)]
    drawn = os.environ | {"MPLBACKEND": "Agg"}
    done = subprocess.run(command, cwd=tmp_path, env=drawn, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) >= 4  # it has something to show


def test_a_new_user_gets_from_a_file_to_a_server_with_good_predictions(tmp_path):
    """A CSV file with dates and thousands separators: learnt, later rows predicted with intervals, served."""
    pytest.importorskip("uvicorn", reason="the server is not installed")
    path = next(path for path in EXAMPLES if path.name.endswith("new_user.py"))
    done = subprocess.run(
        [sys.executable, str(path)], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    for name in ("later", "last"):
        rmse, mean, inside = re.search(
            rf"{name}: RMSE (\d+), always the mean (\d+); (\d+)% inside", done.stdout
        ).groups()
        assert float(rmse) < 0.25 * float(mean)
        assert int(inside) >= 75  # of intervals that should cover 90
    assert re.search(r"served: \{'predictions': \[\d+", done.stdout)
