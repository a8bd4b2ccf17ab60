"""`fit_auto` on frames that are hard for it: repeated rows, few values, many partitions, skew. Prints R2 and memory.

    python benchmarks/spark/hard_rows.py [--cases duplicates,binary,partitions,skew] [--partitions 10,100,1000]

duplicates: 300,000 rows, 70% of them the same one. binary: 10^6 rows of three columns of 0 and 1. partitions: 100,000
rows in so many partitions, with Spark's default limits (spark.driver.maxResultSize of 1 GB); the largest memory that
the driver's Python process had is printed, and the bytes that workers sent to it. skew: 100,000 rows in 16 partitions,
90% of them in one. R2 is of 5,000 new rows. Sizes of the model are the same for all (landmarks 300, big 1000, rough
1500), and fixed, so that older versions can be compared. A case that fails prints its error.
"""

from __future__ import annotations

import argparse
import resource
import time
from typing import Any

import numpy as np
import pandas as pd
from running import COLUMNS, examples, session

import nystream.spark

SIZES = {"landmarks": 300, "big": 1000, "rough": 1500}


def frame_of(spark: Any, X: np.ndarray, y: np.ndarray, partitions: int) -> Any:
    """A cached frame of stretches of the rows."""
    columns = [f"x{j}" for j in range(X.shape[1])]
    spark.conf.set("spark.sql.execution.arrow.pyspark.enabled", "true")
    data = pd.DataFrame({**dict(zip(columns, X.T, strict=True)), "y": y})
    found = spark.createDataFrame(data).repartition(partitions).cache()
    found.count()
    return found


def run(name: str, frame: Any, test: tuple[np.ndarray, np.ndarray], seed: int = 0) -> None:
    X, y = test
    began = time.perf_counter()
    try:
        model = nystream.spark.fit_auto(frame, "y", seed=seed, task="regression", **SIZES)
        score = 1 - np.mean((model.predict(X) - y) ** 2) / y.var()
        found = f"R2 {score:.4f}, {model.n_seen:,} rows learnt"
    except Exception as error:
        found = f"{type(error).__name__}: {' '.join(str(error).split())[:160]}"
    seconds = time.perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name:<26} {found}; {seconds:.0f} s; driver's Python at most {memory:,.0f} MB", flush=True)
    frame.unpersist()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="duplicates,binary,partitions,skew")
    parser.add_argument("--partitions", default="10,100,1000")
    parser.add_argument("--seeds", default="0,6", help="of the duplicates")
    parser.add_argument("--rows", type=int, default=100_000)
    given = parser.parse_args()
    cases, spark = given.cases.split(","), session()
    test = examples(5000, seed=9)
    if "duplicates" in cases:
        X, y = examples(300_000)
        X[:210_000], y[:210_000] = X[0], y[0]
        for seed in map(int, given.seeds.split(",")):
            run(f"duplicates, seed {seed}", frame_of(spark, X, y, 8), test, seed)
    if "binary" in cases:
        rng = np.random.default_rng(0)
        X = rng.integers(2, size=(1_000_000, 3)).astype(float)
        y = X[:, 0] - 2 * X[:, 1] * X[:, 2]
        run("three columns of 0 and 1", frame_of(spark, X, y, 8), (X[:5000], y[:5000]))
    if "partitions" in cases:
        for partitions in map(int, given.partitions.split(",")):
            run(f"{partitions} partitions", frame_of(spark, *examples(given.rows), partitions), test)
    if "skew" in cases:
        X, y = examples(given.rows)
        data = pd.DataFrame({**dict(zip(COLUMNS, X.T, strict=True)), "y": y})
        data["part"] = np.where(np.arange(len(y)) < 0.9 * len(y), 0, np.arange(len(y)) % 16)
        parts = spark.createDataFrame(data).repartitionByRange(16, "part").drop("part").cache()
        parts.count()
        run("skew, 90% in 1 of 16", parts, test)
    spark.stop()


if __name__ == "__main__":
    main()
