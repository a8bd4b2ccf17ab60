"""The models that golden files are made of can be written, read, and go on as if they had never been saved.

A release writes them to `golden/formatN`, and from then on they are read from there (`golden/write.py`).
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent / "golden"))
import learner_cases
import part_cases
import wrapper_cases
from write import expected_text, write

LEAST = {learner_cases: 130, wrapper_cases: 60, part_cases: 120}
"""Module of cases -> models that it has at least."""


@pytest.mark.parametrize("module", LEAST, ids=lambda module: module.__name__)
def test_every_model_goes_on_from_its_file_bit_for_bit(module, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        files = {case.name: write(case, tmp_path) for case in module.cases()}
    assert len(files) >= LEAST[module]
    assert len(list(tmp_path.glob("*.nys"))) == len(files)
    assert sum(bool(entry["calls"]) for entry in files.values()) >= 0.9 * len(files)  # a few are nothing but parameters
    assert expected_text(files).count("calls") == len(files)
