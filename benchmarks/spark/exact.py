"""Fits on Spark beside one machine: 1, 4 and 16 partitions, further merging rounds, and with an executor killed.

    python benchmarks/spark/exact.py [--rows 200000] [--features 200] [--no-kill]

Prints the largest differences to one pass over all rows in this process: of coefficients and of predictions, as they
are, and of the best loss in hindsight, relative; and of the regret to the same parts learnt and merged here, relative.
As a yardstick, one pass in this process over the same rows in another order, which differs by rounding alone too. The
killed executor dies while it learns (`local-cluster[2,1,1024]`). Negative control: a fit without one of its files has
to be found different. All differences must be below 1e-10.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from running import COLUMNS, command_of, descendants, examples, session, write

import nystream
import nystream.spark

FILES = 16


def pattern(features: int) -> nystream.PKRR:
    return nystream.PKRR(nystream.Fourier(nystream.Gaussian(2.0), features, seed=1), lam=0.1)


def compared(model: Any, whole: Any, X: np.ndarray) -> tuple[float, float, float]:
    theirs = whole.solver_.weights
    weights = np.abs(model.solver_.weights - theirs).max()
    answers = np.abs(model.predict(X) - whole.predict(X)).max()
    best = np.abs(model.solver_.meter_.best / whole.solver_.meter_.best - 1).max()
    return float(weights), float(answers), float(best)


def line(name: str, found: tuple[float, float, float]) -> str:
    return f"{name:<28} {found[0]:>13.1e} {found[1]:>13.1e} {found[2]:>12.1e}"


def merged(frame: Any, features: int) -> Any:
    """The partitions of the frame, learnt and merged in this process."""
    from pyspark.sql.functions import spark_partition_id

    rows = frame.select(spark_partition_id().alias("part"), *COLUMNS, "y").toPandas()
    model = pattern(features)
    for _, part in rows.groupby("part"):
        piece = pattern(features)
        piece.run(np.ascontiguousarray(part[COLUMNS].to_numpy()), part["y"].to_numpy())
        model.merge(piece)
    return model


def kill_an_executor(seconds: float, found: list[str]) -> None:
    """End one executor of this process's own cluster after so many seconds."""
    time.sleep(seconds)
    executors = [p for p in descendants(os.getpid()) if "CoarseGrainedExecutorBackend" in command_of(p)]
    for process in executors[:1]:
        os.kill(process, signal.SIGKILL)
        found.append(f"kill -9 of executor {process}, one of {len(executors)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=200)
    parser.add_argument("--no-kill", action="store_true")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="exact-"))
    X, y = examples(given.rows)
    write(folder / "data", X, y, FILES)
    whole = pattern(given.features)
    began = time.perf_counter()
    whole.run(X, y)
    print(f"{given.rows} rows, {given.features} features; one process: {time.perf_counter() - began:.1f} s")
    largest, condition = np.abs(whole.solver_.weights).max(), np.linalg.cond(whole.solver_.matrix)
    print(f"largest coefficient {largest:.1f}; condition number of A {condition:.1e}")
    print("                              coefficients   predictions  best (rel.)   regret (rel.)  seconds")
    order, other = np.random.default_rng(1).permutation(given.rows), pattern(given.features)
    other.run(np.ascontiguousarray(X[order]), y[order])
    print(line("one process, another order", compared(other, whole, X[:5000])))
    spark, worst = session("local[2]"), 0.0
    for parts, depth in ((1, None), (4, None), (16, None), (16, 1), (16, 2)):
        frame = spark.read.parquet(str(folder / "data")).repartition(parts).cache()
        frame.count()
        began = time.perf_counter()
        model = nystream.spark.fit(frame, pattern(given.features), COLUMNS, "y", depth=depth)
        seconds = time.perf_counter() - began
        found = compared(model, whole, X[:5000])
        regret = abs(model.regret() / merged(frame, given.features).regret() - 1) if depth is None else 0.0
        worst = max(worst, *found, regret)
        name = f"{parts} partitions" + (f", depth {depth}" if depth else "")
        shown = f"{regret:.1e}" if depth is None else ""
        print(line(name, found) + f" {shown:>15} {seconds:>8.1f}", flush=True)
        frame.unpersist()
    (folder / "data" / "00007.parquet").rename(folder / "aside.parquet")
    lacking = nystream.spark.fit(spark.read.parquet(str(folder / "data")), pattern(given.features), COLUMNS, "y")
    control = compared(lacking, whole, X[:5000])
    (folder / "aside.parquet").rename(folder / "data" / "00007.parquet")
    caught = min(control) > 1e-8
    print(line("control: one file is missing", control) + f"   caught: {caught}")
    spark.stop()
    if not given.no_kill:
        spark = session("local-cluster[2,1,1024]")
        frame = spark.read.parquet(str(folder / "data")).repartition(16)
        frame.count()
        killed: list[str] = []
        thread = threading.Thread(target=kill_an_executor, args=(1.0, killed))
        began = time.perf_counter()
        thread.start()
        model = nystream.spark.fit(frame, pattern(given.features), COLUMNS, "y")
        seconds = time.perf_counter() - began
        thread.join()
        found = compared(model, whole, X[:5000])
        worst = max(worst, *found)
        print(line("16, an executor killed", found) + f" {'':>15} {seconds:>8.1f}")
        print(f"  {killed[0] if killed else 'nothing was killed'}; rows learnt {model.n_seen} of {given.rows}")
        spark.stop()
        worst = worst if killed else np.inf
    shutil.rmtree(folder)
    print(f"largest difference {worst:.1e}")
    return 0 if worst < 1e-10 and caught else 1


if __name__ == "__main__":
    raise SystemExit(main())
