"""The tools around the speed benchmarks: what they write, and what runs under two commits."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from nystream.registry import LEARNERS

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def script(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, BENCHMARKS / path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_is_made_from_the_results():
    results = json.loads((BENCHMARKS / "results" / "speed.json").read_text())
    assert script("run.py").page(results) == (BENCHMARKS / "results" / "speed.md").read_text()
    for name, result in results.items():
        assert (BENCHMARKS / "speed" / f"{name}.py").exists()
        assert result["lines"]
        assert {"commit", "date", "machine", "title"} <= set(result)


def test_notes_are_lines_of_json_where_they_are_asked_for(tmp_path, monkeypatch):
    results = script("speed/_results.py")
    monkeypatch.delenv(results.VARIABLE, raising=False)
    results.note("a", "row by row", 1.5, "us")
    monkeypatch.setenv(results.VARIABLE, str(tmp_path / "notes"))
    results.note("a", "row by row", 1.5, "us")
    results.note("a", "whole stream", 0.5, "us", 3, "plain NumPy")
    first, second = map(json.loads, (tmp_path / "notes").read_text().splitlines())
    assert first == {"workload": "a", "mode": "row by row", "value": 1.5, "unit": "us", "ratio": None, "reference": ""}
    assert (second["ratio"], second["reference"]) == (3.0, "plain NumPy")
    assert script("run.py").VARIABLE == results.VARIABLE


def test_workloads_answer_requests():
    asked = [
        {},
        {"name": "fogd", "mode": "row by row", "rows": 50},
        {"name": "one against the rest", "mode": "whole stream", "rows": 50},
        {"name": "pixels", "mode": "whole stream", "rows": 1000},
        {"name": "nobody", "mode": "whole stream", "rows": 50},
    ]
    told = subprocess.run(
        [sys.executable, str(BENCHMARKS / "speed" / "commits" / "workloads.py")],
        input="\n".join(map(json.dumps, asked)),
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    names, *times, refused = map(json.loads, told.splitlines())
    assert set(LEARNERS) < set(names["names"])
    assert all(answer["seconds"] > 0 for answer in times)
    assert refused == {"error": "KeyError: 'nobody'"}


def test_what_is_slower_comes_first_and_what_one_side_lacks_last():
    compare = script("speed/commits/compare.py")
    found = {
        ("a", "row by row"): compare.Times(100, {"before": 0.1, "after": 0.1}),
        ("b", "row by row"): compare.Times(100, {"before": 0.1, "after": 0.2}),
        ("c", "row by row"): compare.Times(error="before: KeyError: 'c'"),
    }
    lines = compare.table(found).splitlines()[2:]
    assert [line.split(" | ")[0] for line in lines] == ["| b", "| a", "| c"]
    assert "1000.00 | 2000.00 | 2.00 |" in lines[0]
    assert "KeyError" in lines[2]


@pytest.mark.parametrize(("each", "rows"), [(1e-3, 250), (1e-4, 1000), (1e-9, 2000)])
def test_as_many_rows_are_taken_as_the_time_allows(each, rows):
    compare = script("speed/commits/compare.py")

    class Fixed:
        def ask(self, **request):
            return {"seconds": each * request["rows"]} if request else {"most": 2000}

    assert compare.fitting(Fixed(), ("a", "row by row")) == rows
