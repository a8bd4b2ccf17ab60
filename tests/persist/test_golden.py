"""Golden files: what a release has written is read by every later version, and what the next one writes can be read.

A release writes the files once, `python tests/golden/write.py tests/golden/formatN`. From then on the first test here
reads that folder.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import pytest

import nystream

sys.path.insert(0, str(Path(__file__).parents[1] / "golden"))
import learner_cases
import part_cases
import series_cases
import wrapper_cases
from read import Folder
from write import expected_text, write

from nystream.persist.tags import TAGS

GOLDEN = Path(__file__).parents[1] / "golden"
LEAST = {learner_cases: 130, wrapper_cases: 60, part_cases: 120, series_cases: 10}
"""Module of cases -> models that it has at least."""
LATE_PARTS = {f"auto/{part}" for part in ("warm-start", "archived", "hedge", "recalled", "pooled", "steady-memory")}
"""Parts of `Auto` that begin after thousands of rows, or exist for a few rows: their files would be large."""


def test_every_release_from_1_0_has_its_golden_files():
    """Fails for the commit that sets version 1.0.0 until the files have been written."""
    released = int(nystream.__version__.split(".")[0]) >= 1
    assert bool(list(GOLDEN.glob("format*"))) == released


@pytest.mark.parametrize("folder", sorted(GOLDEN.glob("format*")), ids=lambda folder: folder.name)
def test_files_of_earlier_releases_are_read_and_go_on_as_they_did(folder):
    golden = Folder(folder)
    assert len(golden.files) >= sum(LEAST.values())
    assert golden.faults() == []


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """Module of cases -> the folder with its files, as the next release would write them, and their entries."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for module in LEAST:
            folder = tmp_path_factory.mktemp(module.__name__)
            found[module] = folder, {case.name: write(case, folder) for case in module.cases()}
    return found


def test_every_class_that_a_file_may_hold_is_in_a_golden_file_of_the_next_release(fresh):
    """Otherwise nothing would notice that later code cannot read it."""
    headers = []
    for path in (path for folder, _ in fresh.values() for path in folder.glob("*.nys")):
        data = path.read_bytes()
        headers.append(data[8 : 8 + int.from_bytes(data[:8], "little")].decode())
    text = "".join(headers).replace("\\", "")
    missing = [tag for tag in TAGS if tag not in LATE_PARTS and f'"{tag}"' not in text]
    assert missing == [], "write a case for each in tests/golden"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder as a release writes it, with every tenth of the wrappers."""
    folder = tmp_path_factory.mktemp("format")
    files = {case.name: write(case, folder) for case in list(wrapper_cases.cases())[::10]}
    (folder / "expected.json").write_text(expected_text(files))
    return folder


def test_golden_files_can_be_read_where_they_were_written(written):
    golden = Folder(written)
    assert len(golden.files) >= 6
    assert golden.faults() == []


def test_the_reader_of_golden_files_finds_what_is_wrong(written, tmp_path):
    """Another prediction, a file that is not there, one that nobody named."""
    folder = tmp_path / "format"
    folder.mkdir()
    for path in written.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    found = json.loads((folder / "expected.json").read_text())
    first, second, *_ = sorted(found["files"])
    call = next(call for call in found["files"][first]["calls"] if call["name"] == "n_seen")
    call["gives"] += 1
    (folder / "expected.json").write_text(json.dumps(found))
    (folder / f"{second}.nys").rename(folder / "stranger.nys")
    faults = Folder(folder).faults()
    assert len(faults) == 3
    assert any(first in fault and "n_seen" in fault for fault in faults)
    assert any(second in fault and "FileNotFoundError" in fault for fault in faults)
    assert any("stranger" in fault for fault in faults)


@pytest.mark.parametrize("module", LEAST, ids=lambda module: module.__name__)
def test_every_model_goes_on_from_its_file_bit_for_bit(module, fresh):
    folder, files = fresh[module]
    assert len(files) >= LEAST[module]
    assert len(list(folder.glob("*.nys"))) == len(files)
    assert sum(bool(entry["calls"]) for entry in files.values()) >= 0.9 * len(files)  # a few are nothing but parameters
    assert expected_text(files).count("calls") == len(files)
