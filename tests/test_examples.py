"""The examples run as they stand, without a warning, in a few seconds each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))
NEEDS = {"04": "sklearn", "05": "river"}


def test_there_are_examples_and_they_are_short():
    assert len(EXAMPLES) >= 6
    for path in EXAMPLES:
        assert len(path.read_text().splitlines()) <= 60, path.name


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs(path, tmp_path):
    needed = NEEDS.get(path.name[:2])
    if needed:
        pytest.importorskip(needed, reason=f"{needed} is not installed")
    command = [sys.executable, "-W", "error::UserWarning", str(path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) >= 4  # it has something to show
