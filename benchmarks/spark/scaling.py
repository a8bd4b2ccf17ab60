"""Rows a second: one process, Spark with one core and with two, and what a micro-batch costs, by its size.

    python benchmarks/spark/scaling.py [--rows 400000] [--features 200]

Prints the batch fit (rows/s of `fit` beside `run` in one process) and keyed streams of batches of several sizes, with
what follows from a line through them: seconds for a batch whatever is in it, and seconds for a row. Warm: a first
fit and the first batch of a stream, which start workers, are not counted.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from running import COLUMNS, examples, session, write

import nystream
import nystream.spark

KEYS, BATCHES = 200, 6
SIZES = (200, 2_000, 20_000)


def pattern(features: int) -> nystream.PKRR:
    return nystream.PKRR(nystream.Fourier(nystream.Gaussian(2.0), features, seed=1), lam=0.1)


def timed_fit(spark: Any, folder: Path, parts: int, features: int) -> float:
    frame = spark.read.parquet(str(folder)).coalesce(parts)
    seconds = []
    for _ in range(3):
        began = time.perf_counter()
        nystream.spark.fit(frame, pattern(features), COLUMNS, "y")
        seconds.append(time.perf_counter() - began)
    return min(seconds[1:])


def timed_batches(spark: Any, folder: Path, size: int) -> list[int]:
    X, y = examples(size * BATCHES)
    key = np.random.default_rng(0).integers(KEYS, size=len(y))
    write(folder / "data", X, y, BATCHES, key=key, seq=np.arange(len(y)))
    schema = spark.read.parquet(str(folder / "data")).schema
    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "data"))
    models = nystream.spark.per_key(source, "key", pattern(16), COLUMNS, "y", order_by="seq", emit="metrics")
    writer = models.writeStream.format("noop").option("checkpointLocation", str(folder / "ck"))
    query = writer.trigger(availableNow=True).start()
    query.awaitTermination()
    found = [p["durationMs"]["triggerExecution"] for p in query.recentProgress if p["numInputRows"]]
    state = sum(path.stat().st_size for path in (folder / "ck" / "state").rglob("*") if path.is_file())
    rows = nystream.spark.load_keys(spark, str(folder / "ck")).selectExpr("avg(length(model)) as b").collect()
    print(f"    a model is {rows[0].b:.0f} bytes, the state's files {state / BATCHES / KEYS:.0f} bytes a key and batch")
    return found[1:]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--features", type=int, default=200)
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="scaling-"))
    X, y = examples(given.rows)
    write(folder / "data", X, y, 8)
    began = time.perf_counter()
    pattern(given.features).run(X, y)
    alone = time.perf_counter() - began
    print(f"fit of {given.rows} rows, {given.features} features")
    print(f"  one process        {alone:7.2f} s {given.rows / alone:>10.0f} rows/s", flush=True)
    for cores in (1, 2):
        spark = session(f"local[{cores}]")
        for parts in (cores, 8):
            seconds = timed_fit(spark, folder / "data", parts, given.features)
            rate = given.rows / seconds
            print(f"  local[{cores}], {parts} partitions {seconds:6.2f} s {rate:>10.0f} rows/s", flush=True)
        if cores == 1:
            spark.stop()
    print(f"keyed stream, {KEYS} keys, 4 state partitions, local[2]: ms a batch after the first")
    medians = []
    for size in SIZES:
        found = timed_batches(spark, folder / str(size), size)
        medians.append(float(np.median(found)) / 1000)
        rate = size / medians[-1]
        print(
            f"  {size:>6} rows: median {1000 * medians[-1]:.0f} ({min(found)}-{max(found)}), {rate:.0f} rows/s",
            flush=True,
        )
    spark.stop()
    slope, start = np.polyfit(SIZES, medians, 1)
    print(f"  so {start:.2f} s a batch and {1e6 * slope:.0f} microseconds a row")
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
