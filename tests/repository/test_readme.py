"""The README: its Python runs, its links lead somewhere, its figures are those of the results, it is short."""

from __future__ import annotations

import importlib
import json
import re
from operator import attrgetter
from pathlib import Path

import numpy as np
import pytest

import nystream
from nystream.cli.app import COMMANDS

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
SCREENS = 2 * 45
"""Lines of two screens."""


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # models are saved there
    names = {"__name__": "readme"}
    assert BLOCKS
    for number, block in enumerate(BLOCKS, start=1):
        try:
            exec(compile(block, f"README.md, Python block {number}", "exec"), names)
        except Exception as error:
            pytest.fail(f"Python block {number} of the README: {type(error).__name__}: {error}\n{block}")


def test_what_the_readme_points_to_is_there():
    links = re.findall(r"\]\(([^)#]+)\)", TEXT)
    links += re.findall(r"python ((?:docs|benchmarks)/\S+\.py)", TEXT)
    assert len(links) > 12
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_every_name_of_the_table_exists():
    pytest.importorskip("river", reason="river is not installed")
    pytest.importorskip("pyspark", reason="Spark is not installed")
    for facade in ("river", "sklearn", "spark"):
        importlib.import_module(f"nystream.{facade}")
    names = set(re.findall(r"\bnystream\.((?:\w+\.)*\w+)\(", TEXT)) | {"spark.per_key"}
    assert len(names) > 8
    for name in names:
        assert attrgetter(name)(nystream) is not None
    learner = nystream.PKAWV(nystream.Fourier(nystream.Gaussian(1.0), 10))
    for method in re.findall(r"\bmodel\.(\w+)\(", TEXT):
        assert any(hasattr(one, method) for one in (nystream.Auto, learner)), method


def test_every_command_of_the_readme_exists():
    commands = set(re.findall(r"^\s*nystream (\w+)|`nystream (\w+)", TEXT, re.MULTILINE))
    assert {first or second for first, second in commands} <= set(COMMANDS)
    targets = set(re.findall(r"(?:^ {4}|`)make (\S+?)[`\s]", TEXT, re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert {"demo", "test"} <= targets
    assert all(re.search(rf"^{target}\b.*:", makefile, re.MULTILINE) for target in targets)


def test_the_readme_fits_on_two_screens():
    assert len(TEXT.splitlines()) <= SCREENS


def test_the_picture_shows_the_best_of_river_and_says_what_is_true(monkeypatch, tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    monkeypatch.syspath_prepend(ROOT / "docs")
    script = importlib.import_module("make_picture")
    assert f'src="{script.PICTURE.relative_to(ROOT).as_posix()}"' in TEXT
    kept = json.loads(script.FIGURES.read_text())
    figures = kept["squared error"]
    river = {name: one["all rows"] for name, one in figures.items() if name.startswith("river")}
    assert len(river) == 7
    assert [name for name in kept["drawn"] if name in river] == [min(river, key=river.__getitem__)]
    others = [one for name, one in figures.items() if name != script.AUTO]
    for stretch in ("500 rows after the change", "last 1,000 rows"):  # what its text says of Auto
        assert figures[script.AUTO][stretch] < min(one[stretch] for one in others)
    rng = np.random.default_rng(0)
    y = rng.normal(size=script.ROWS)
    script.draw({name: y + rng.normal(size=len(y)) for name in kept["drawn"]}, y, tmp_path / "picture.png")
    assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_the_readme_repeats_the_figures_of_the_results():
    results = ROOT / "benchmarks" / "results"
    (better,) = re.findall(r"Vowpal Wabbit on (\d+ of \d+) streams", TEXT)
    assert f"every other library and baseline on {better} streams" in (results / "peers.md").read_text(encoding="utf-8")
    peers = json.loads((results / "peers.json").read_text())["streams"].values()
    rates = [float(f"{one['found']['Auto']['rows/s']:.2g}") for one in peers]
    assert f"{min(rates):,.0f} to {max(rates):,.0f} rows per second" in TEXT
    streams = json.loads((results / "boosters.json").read_text())["streams"].values()
    ratios = {
        part: [one["Auto"][part] / min(v[part] for k, v in one.items() if k != "Auto" and part in v) for one in streams]
        for part in ("all rows", "last third")
    }
    assert f"best booster on {sum(r < 1 for r in ratios['all rows'])} of {len(streams)} streams" in TEXT
    behind = [r for r in ratios["last third"] if r > 1]
    assert f"higher on {len(behind)} of {len(streams)}, by up to {100 * (max(behind) - 1):.1f}%" in TEXT
    series = json.loads((results / "forecast.json").read_text())["accuracy"]
    (line,) = re.findall(r"^- \*\*Forecasts.*", TEXT, re.MULTILINE)
    sentences = "the lowest mean absolute error on {} series", "the lowest root mean squared error on {}."
    for error, sentence in enumerate(sentences):
        best = [min(found, key=lambda name: found[name]["relative"][error]) for found in series.values()]
        assert sentence.format(f"{best.count('Forecaster')} of {len(series)}") in line
        assert all(name.split(" ")[0] in line for name in set(best) - {"Forecaster"})  # who is better where we are not


def test_the_commands_for_a_file_run(tmp_path, monkeypatch, capsys):
    """In their order, on a small file with the columns that they name."""
    pytest.importorskip("typer", reason="the command line is not installed")
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    app = importlib.import_module("nystream.cli.app")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [f"{10 + i % 24},{'work' if i % 7 else 'free'},{5 + i % 24 + rng.normal():.2f}" for i in range(120)]
    Path("power.csv").write_text("\n".join(["temp,day,load", *rows]))
    Path("new.csv").write_text("temp,day\n12,work\n,free\n")
    (block,) = re.findall(r"^```sh\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    for line in block.splitlines():
        command, _, about = line.partition("#")
        assert about, line
        assert app.call(command.split()[1:]) == 0, line
    assert "prediction,prediction_low,prediction_high" in capsys.readouterr().out
