"""docs/reproduction.md is what the committed results say, and no result is a quick one."""

import importlib.util
from pathlib import Path

import pytest

from nystream.reproduce import EXPERIMENTS, Record

DOCS = Path(__file__).parents[2] / "docs"


def written() -> str:
    spec = importlib.util.spec_from_file_location("make_reproduction", DOCS / "make_reproduction.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.written()


def test_the_page_is_written_from_the_results():
    assert (DOCS / "reproduction.md").read_text() == written(), "run python docs/make_reproduction.py"


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_has_a_full_result_with_its_commit_and_its_plot(name):
    record = Record.load(DOCS / "reproduction" / f"{name}.json")
    assert record.name == name
    assert not record.quick
    assert record.commit
    assert record.protocol == EXPERIMENTS[name].protocol
    assert (DOCS / "reproduction" / f"{name}.png").stat().st_size < 200_000
