"""The Python of docs/spark.md runs as it stands, given a frame, a stream and a session."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("pyspark")

pytestmark = pytest.mark.exhaustive  # two streams and a pooled fit take Spark a while
PAGE = Path(__file__).parents[2] / "docs" / "spark.md"


def test_the_python_of_the_page_runs(spark, tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"temp": rng.normal(size=300), "wind": rng.normal(size=300), "time": np.arange(300)})
    rows["machine"] = [f"m{i % 3}" for i in range(300)]
    rows["load"] = np.sin(rows["temp"]) + 0.5 * rows["wind"]
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "rows"
    folder.mkdir()
    rows.to_parquet(folder / "0.parquet", compression="gzip")
    whole = spark.read.parquet(str(folder))
    df, stream = whole.select("temp", "wind", "load"), spark.readStream.schema(whole.schema).parquet(str(folder))
    (block,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    block = re.sub(r'"(ck2?|models|predictions)"', lambda name: f"{str(tmp_path / name[1])!r}", block)
    exec(compile(block, "docs/spark.md", "exec"), {"spark": spark, "df": df, "stream": stream})
    shown = capsys.readouterr().out
    assert "prediction" in shown
    assert "m2" in shown
