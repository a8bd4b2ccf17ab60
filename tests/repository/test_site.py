"""The site's sources are complete: pages, figures and words for everything. `make docs` checks the rest."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from nystream.registry import LEARNERS

DOCS = Path(__file__).parents[2] / "docs"
OWN = sorted([*DOCS.glob("start/*.md"), *DOCS.glob("guides/*.md"), DOCS / "index.md", DOCS / "faq.md"])


@pytest.fixture
def extensions(monkeypatch):
    """The site's own extensions can be imported."""
    monkeypatch.syspath_prepend(str(DOCS / "ext"))
    yield
    for name in ("public_names", "chart", "page_names"):
        sys.modules.pop(name, None)


def test_every_learner_has_a_page_with_its_recursion(extensions):
    import page_names

    pages = {path.stem: path.read_text(encoding="utf-8") for path in DOCS.glob("algorithms/*.md")}
    assert page_names.learner_pages(DOCS / "algorithms") == set(LEARNERS)
    for name in LEARNERS:
        assert "## The recursion" in pages[name], name
        assert "## Good at, bad at" in pages[name], name
        assert pages[name].count("$$") >= 2, name


def test_every_learner_was_measured():
    measured = json.loads((DOCS / "learners.json").read_text())["learners"]
    assert list(measured) == list(LEARNERS), "run python docs/make_learners.py NAME"


def test_no_public_name_is_without_words(extensions):
    for package in ("river", "sklearn", "matplotlib", "starlette", "httpx", "pyspark"):
        pytest.importorskip(package, reason="the reference has the facades of all extras")
    import public_names

    assert public_names.missing() == []
    assert len(public_names.places()) > 200


def test_the_chart_names_learners_that_there_are(extensions):
    import chart

    assert {name for _, _, answers in chart.QUESTIONS for name, _ in answers} <= set(LEARNERS)
    assert chart.chart().count("<a href=") > 20


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_python_on_the_sites_pages_is_python_that_runs(path):
    """Blocks are {run} and {shell}; what cannot be run here is no Python."""
    kinds = set(re.findall(r"^```(\S+)", path.read_text(encoding="utf-8"), re.MULTILINE))
    assert kinds <= {"{run}", "{shell}", "{toctree}", "{raw}", "sh"}, kinds
