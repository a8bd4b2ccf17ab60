"""Rows a second: one process, Spark with one core and with two, and what a micro-batch costs, by its size.

    python benchmarks/spark/scaling.py [--rows 400000] [--features 200] [--costs benchmarks/results/spark.json]
    python benchmarks/spark/scaling.py --paper [--costs benchmarks/results/spark.json]

The first measures and writes the costs: the batch fit (rows/s of `fit` beside `run` in one process), and keyed streams
of batches of several sizes and numbers of keys beside one process with the same batches; with what follows by least
squares: seconds for a batch whatever is in it, for a row and for a key. Warm: a first fit and the first batch of a
stream, which start workers, are not counted. Beside the seconds on the clock it counts seconds of cores that Java and
Python used, which other work on the machine does not change; the least of several runs. The second prints from these
costs where Spark begins to pay for 10, 100 and 1,000 cores (`paper.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from paper import printed
from running import COLUMNS, cpu_seconds, examples, session, write

import nystream
import nystream.spark

COSTS = Path(__file__).resolve().parents[1] / "results" / "spark.json"
BATCHES = 3
STREAMS = ((2_000, 200), (20_000, 200), (60_000, 200), (20_000, 1_000))
"""Rows of a batch, and keys."""
KEYED_FEATURES, STATE_PARTITIONS = 16, 4


def pattern(features: int) -> nystream.PKRR:
    return nystream.PKRR(nystream.Fourier(nystream.Gaussian(2.0), features, seed=1), lam=0.1)


def least(action: Any, times: int = 2) -> dict[str, float]:
    """Seconds on the clock and of cores: the least of so many runs."""
    clock, cores = [], []
    for _ in range(times):
        began, used = time.perf_counter(), cpu_seconds()
        action()
        clock.append(time.perf_counter() - began)
        cores.append(cpu_seconds() - used)
    return {"clock": min(clock), "cores": max(min(cores), 1 / os.sysconf("SC_CLK_TCK"))}


def shown(rows: int, seconds: dict[str, float]) -> str:
    each = [f"{seconds[name]:6.2f} s {rows / seconds[name]:>9.0f} rows/s" for name in ("clock", "cores")]
    return f"{each[0]}; of cores {each[1]}"


def timed_fits(folder: Path, rows: int, features: int) -> dict[str, Any]:
    """Seconds of one process, of Spark with few and many partitions, and of one merge."""
    X, y = examples(rows)
    alone = least(lambda: pattern(features).run(X, y))
    print(f"fit of {rows} rows, {features} features")
    print(f"  one process                         {shown(rows, alone)}", flush=True)
    left, right = pattern(features), pattern(features)
    left.run(X[:2000], y[:2000])
    right.run(X[2000:4000], y[2000:4000])
    found: dict[str, Any] = {"rows": rows, "features": features, "alone": alone}
    found["state bytes"] = len(left.to_bytes())
    content = [model.to_bytes() for model in (left, right)]
    found["merge"] = least(lambda: [_merged(content) for _ in range(20)])["cores"] / 20
    for cores in (1, 2):
        spark = session(f"local[{cores}]")
        for parts, shares in ((cores, (1.0, 0.1)), (8, (0.1,))):
            for share in shares:
                frame = spark.read.parquet(str(folder / ("some" if share < 1 else "all"))).coalesce(parts)
                nystream.spark.fit(frame, pattern(features), COLUMNS, "y")  # starts the workers
                seconds = least(lambda f=frame: nystream.spark.fit(f, pattern(features), COLUMNS, "y"))
                found[f"local[{cores}], {parts} partitions, {share}"] = seconds
                count = int(rows * share)
                print(f"  local[{cores}], {parts} partitions, {count:>7} rows {shown(count, seconds)}", flush=True)
        spark.stop()
    return found


def _merged(content: list[bytes]) -> Any:
    left, right = map(nystream.from_bytes, content)
    return left.merge(right)


def keyed_alone(folder: Path) -> list[float]:
    """Seconds of a core for each of the batches in one process, its models held in memory."""
    models: dict[int, nystream.Model] = {}
    schema, seconds = nystream.Schema(COLUMNS, "y", "regression"), []
    for path in sorted(folder.glob("*.parquet")):
        began = time.process_time()
        for key, part in pd.read_parquet(path).groupby("key"):
            if key not in models:
                models[key] = nystream.Model(pattern(KEYED_FEATURES), schema, keep=0)
            models[key].run(part.sort_values("seq")[[*COLUMNS, "y"]])
        seconds.append(time.process_time() - began)
    return seconds[1:]


def shuffled(spark: Any) -> int:
    """Bytes that this session has written for shuffles so far."""
    executors = spark.sparkContext._jsc.sc().statusStore().executorList(False)
    return sum(executors.apply(i).totalShuffleWrite() for i in range(executors.size()))


def used_by_batches(query: Any, commits: Path) -> float:
    """Seconds of cores for a batch, from the first commit to the last."""
    at: list[float] = []
    while query.isActive:
        done = len(list(commits.glob("[0-9]*")))
        if done > len(at):
            at += [cpu_seconds()] * (done - len(at))
        time.sleep(0.02)
    query.awaitTermination()
    return (at[-1] - at[0]) / (len(at) - 1)


def timed_stream(spark: Any, folder: Path, rows: int, keys: int) -> dict[str, Any]:
    X, y = examples(rows * BATCHES)
    key = np.random.default_rng(0).integers(keys, size=len(y))
    write(folder / "data", X, y, BATCHES, key=key, seq=np.arange(len(y)))
    schema = spark.read.parquet(str(folder / "data")).schema
    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "data"))
    learner = pattern(KEYED_FEATURES)
    models = nystream.spark.per_key(source, "key", learner, COLUMNS, "y", order_by="seq", emit="metrics")
    writer, before = models.writeStream.format("noop").option("checkpointLocation", str(folder / "ck")), shuffled(spark)
    query = writer.trigger(availableNow=True).start()
    used = used_by_batches(query, folder / "ck" / "commits")
    shuffle = (shuffled(spark) - before) / (rows * BATCHES)
    batches = [p["durationMs"]["triggerExecution"] / 1000 for p in query.recentProgress if p["numInputRows"]][1:]
    files = sum(path.stat().st_size for path in (folder / "ck" / "state").rglob("*") if path.is_file())
    state = nystream.spark.load_keys(spark, str(folder / "ck")).selectExpr("avg(length(model)) as b").collect()
    touched = len(np.unique(key[-rows:]))
    found = {
        "rows": rows,
        "keys": touched,
        "clock": min(batches),
        "slowest": max(batches),
        "cores": used,
        "alone": min(keyed_alone(folder / "data")),
        "model bytes": state[0].b,
        "checkpoint bytes": files / BATCHES / touched,
        "shuffle bytes": shuffle,
    }
    print(
        f"  {rows:>6} rows of {touched:>4} keys: {found['clock']:.2f}-{found['slowest']:.2f} s, "
        f"{rows / found['clock']:>6.0f} rows/s; of cores {used:.2f} s, one process {found['alone']:.3f} s; a model "
        f"{state[0].b:.0f} bytes, checkpoint {found['checkpoint bytes']:.0f} bytes a key and batch, shuffle "
        f"{shuffle:.0f} bytes a row",
        flush=True,
    )
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--features", type=int, default=200)
    parser.add_argument("--costs", type=Path, default=COSTS)
    parser.add_argument("--paper", action="store_true")
    given = parser.parse_args()
    if given.paper:
        printed(json.loads(given.costs.read_text()))
        return 0
    folder = Path(tempfile.mkdtemp(prefix="scaling-"))
    X, y = examples(given.rows)
    write(folder / "all", X, y, 8)
    write(folder / "some", X[: given.rows // 10], y[: given.rows // 10], 8)
    costs: dict[str, Any] = {"version": nystream.__version__, "fit": timed_fits(folder, given.rows, given.features)}
    print(f"keyed stream, {KEYED_FEATURES} features, {STATE_PARTITIONS} state partitions, local[2]: seconds a batch")
    spark = session("local[2]", **{"spark.sql.shuffle.partitions": str(STATE_PARTITIONS)})
    costs["streams"] = [timed_stream(spark, folder / f"{rows}-{keys}", rows, keys) for rows, keys in STREAMS]
    spark.stop()
    shutil.rmtree(folder)
    costs["load average"] = round(os.getloadavg()[2], 1)
    given.costs.write_text(json.dumps(costs, indent=1) + "\n")
    printed(costs)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
