"""`fit_auto` on Spark beside `Auto` on one machine: errors on rows that neither saw, and seconds.

    python benchmarks/spark/auto.py [--sets casp,ijcnn1,cod-rna,covtype] [--rows 50000]

The rows of a set in a random order; a fifth is kept for the test. `Auto` learns the others one by one in that order and
is then asked about the test; `fit_auto` has them in 8 partitions. Errors are shares of wrong classes, of casp RMSE.
Control: the most frequent class or the mean, which both must beat. --rows 0: all rows. The files are looked for in
NYSTREAM_DATA (default: ../shared/data beside the repository), then downloaded.
"""

from __future__ import annotations

import argparse
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from running import session

import nystream
import nystream.spark
from nystream import datasets

DATA = Path(os.environ.get("NYSTREAM_DATA", Path(__file__).resolve().parents[2].parent / "shared" / "data"))
PARTS = 8


def table(name: str, rows: int) -> tuple[np.ndarray, np.ndarray, bool]:
    X, y = datasets.load(name, data=DATA if DATA.is_dir() else None)
    classes = datasets.find(name).task == "classification"
    y = np.searchsorted(np.unique(y), y).astype(float) if classes else y
    order = np.random.default_rng(0).permutation(len(y))[: rows or None]
    return np.ascontiguousarray(X[order], dtype=np.float64), y[order], classes


def error(predicted: Any, y: np.ndarray, classes: bool) -> float:
    wrong = np.asarray(predicted, dtype=np.float64) - y
    return float(np.mean(wrong != 0) if classes else np.sqrt(np.mean(wrong**2)))


def compared(spark: Any, name: str, rows: int, folder: Path) -> bool:
    X, y, classes = table(name, rows)
    cut = 4 * len(y) // 5
    columns = [f"x{j}" for j in range(X.shape[1])]
    path = folder / name
    path.mkdir()
    for i, part in enumerate(np.array_split(np.arange(cut), PARTS)):
        values = {**dict(zip(columns, X[part].T, strict=True)), "y": y[part]}
        pq.write_table(pa.table(values), path / f"{i}.parquet", compression="gzip")
    guess = np.bincount(y[:cut].astype(int)).argmax() if classes else y[:cut].mean()
    control = error(np.full(len(y) - cut, guess), y[cut:], classes)
    auto = nystream.Auto(task="classification" if classes else "regression")
    began = time.perf_counter()
    auto.run(X[:cut], y[:cut])
    online = time.perf_counter() - began
    P = auto.predict(X[cut:])
    ours = error(P.argmax(axis=1) if classes else P, y[cut:], classes)
    began = time.perf_counter()
    frame = spark.read.parquet(str(path)).cache()
    task = "classification" if classes else "regression"
    model = nystream.spark.fit_auto(frame, "y", task=task)
    seconds = time.perf_counter() - began
    frame.unpersist()
    P = model.predict(X[cut:])
    pooled = error(P, y[cut:], classes)
    print(
        f"{name:<8} {cut:>7} rows: Auto {ours:.4f} in {online:.0f} s; fit_auto {pooled:.4f} in {seconds:.0f} s; "
        f"control {control:.4f}",
        flush=True,
    )
    return max(ours, pooled) < control


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="casp,ijcnn1,cod-rna,covtype")
    parser.add_argument("--rows", type=int, default=50_000)
    given = parser.parse_args()
    folder, spark = Path(tempfile.mkdtemp(prefix="auto-")), session()
    right = [compared(spark, name, given.rows, folder) for name in given.sets.split(",")]
    spark.stop()
    shutil.rmtree(folder)
    return 0 if all(right) else 1


if __name__ == "__main__":
    raise SystemExit(main())
