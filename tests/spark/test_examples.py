"""The programs of examples/spark run as they stand."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

pytestmark = pytest.mark.exhaustive  # Spark is slow to start what these need
EXAMPLES = Path(__file__).parents[2] / "examples" / "spark"


def program(name: str):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_keyed_sensors_from_files(spark, tmp_path, capsys):
    program("keyed_sensors").main(spark, "files", tmp_path)
    shown = capsys.readouterr().out
    assert "sensor 3:" in shown
    assert "overall" in shown


def test_keyed_sensors_from_the_rate_source_go_on_where_they_were(spark, tmp_path, capsys):
    example = program("keyed_sensors")
    rows = []
    for _ in range(2):
        example.main(spark, "rate", tmp_path)
        rows.append(int(capsys.readouterr().out.partition("sensor 3: ")[2].split()[0]))
    assert 0 < rows[0] < rows[1]


def test_nightly_fits_merge_and_forget(spark, tmp_path, capsys):
    program("nightly").main(spark, tmp_path, days=4)
    assert "night 3 rows 6000" in capsys.readouterr().out
