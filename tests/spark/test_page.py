"""The Python of docs/spark.md runs as it stands, one block after the other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

pytestmark = pytest.mark.exhaustive  # streams, fits and a cross-validation take Spark a while
PAGE = Path(__file__).parents[2] / "docs" / "spark.md"


def test_the_python_of_the_page_runs(spark, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 2
    places = r'"(loads|ck2?|models|models/000000.nys|predictions|refused rows|pipeline)"'  # Java stays where it began
    names: dict[str, object] = {}
    for block in blocks:
        absolute = re.sub(places, lambda name: repr(str(tmp_path / name[1])), block)
        exec(compile(absolute, "docs/spark.md", "exec"), names)
    shown = capsys.readouterr().out
    assert "stage 5 of 5" in shown
    assert "|prediction" in shown.replace(" ", "")
    assert "m2" in shown
    assert not (tmp_path / "refused rows").exists()
