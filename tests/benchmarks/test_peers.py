"""The page of comparisons begins with the data on which other methods are better."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results"


@pytest.fixture
def losses(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks" / "accuracy")
    yield importlib.import_module("peers.losses").losses
    for name in [each for each in sys.modules if each.partition(".")[0] == "peers"]:
        del sys.modules[name]


def stream_of(**errors):
    figures = {"rows/s": 10.0, "saved": 100.0}
    found = {name: {**figures, "error": error, "Auto, same rows": errors["Auto"]} for name, error in errors.items()}
    return {"rows": 5, "found": found}


def test_every_kind_of_loss_is_named_and_nothing_else(losses, tmp_path):
    results = {
        "settings": {"Auto": "nystream: none", "FOGD": "nystream: 400", "tree": "river: defaults"},
        "streams": {"worse": stream_of(Auto=2.0, tree=1.0, FOGD=0.5), "better": stream_of(Auto=1.0, tree=2.0)},
    }
    later = {"table": {"errors": {"Auto": 0.4, "facade's fit": 0.1, "LightGBM": 0.2, "HistGradientBoosting": 0.3}}}
    refitted = {"Auto": {"all rows": 1.0, "last third": 1.0}, "CatBoost": {"all rows": 2.0, "last third": 0.8}}
    series = {"Forecaster": {"relative": [0.5, 0.5]}, "theta": {"relative": [0.6, 0.4]}}
    for name, content in (
        ("later_rows", later),
        ("boosters", {"streams": {"elec": refitted}}),
        ("forecast", {"accuracy": {"water": series}}),
    ):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    lines = [line for line in losses(results, tmp_path) if line.startswith("| ")][1:]
    assert lines == [
        "| next row | worse | tree | 1 | 2 | 2.000 |",
        "| later rows | table | LightGBM | 0.2 | 0.4 | 2.000 |",
        "| refitted boosters, the last third of the rows | elec | CatBoost | 0.8 | 1 | 1.250 |",
        "| forecasts, root mean squared error | water | theta | 0.4 | 0.5 | 1.250 |",
        "| method | rows per second, relative to Auto | saved model, relative to Auto |",
        "| tree | 1 | 1 |",
    ]


def test_the_page_begins_with_the_losses_of_the_results(losses):
    page = (RESULTS / "peers.md").read_text(encoding="utf-8")
    section = "\n".join(losses(json.loads((RESULTS / "peers.json").read_text()), RESULTS))
    assert section in page, "run python benchmarks/accuracy/peers/losses.py"
    assert page.index("## Where others are better") < page.index("## The next row")
