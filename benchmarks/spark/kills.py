"""Keyed models through kills: an executor, Python workers and the driver, each inside a micro-batch.

    python benchmarks/spark/kills.py [--rows 60000] [--keys 200] [--files 12] [--kills executor,workers,driver]

A query of `nystream.spark.per_key` runs on `local-cluster[2,1,1024]`; after a kill of the driver it is started again,
from its checkpoint. At the end the models that `load_keys` reads out of the checkpoint must be equal, to the byte, to
those of one process. Negative control: the same query with the rows of a key learnt in the order in which they come,
which has to be found different. Only processes that this program started are ended, by their ids.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from running import COLUMNS, command_of, descendants, examples, session, write

import nystream
import nystream.spark
from nystream.spark import keyed

PER_BATCH = 2


def pattern() -> nystream.PKRR:
    return nystream.PKRR(nystream.Fourier(nystream.Gaussian(2.0), 16, seed=1), lam=0.1)


def model() -> nystream.Model:
    return nystream.Model(pattern(), nystream.Schema(COLUMNS, "y", "regression"), keep=0)


class Unsorted(keyed.Keyed):
    """The negative control: rows of a key as they come."""

    def _ordered(self, key: Any, frames: Any) -> tuple[pd.DataFrame, int]:
        return pd.concat(list(frames), ignore_index=True), 0


def query(folder: Path, master: str, unsorted: bool) -> None:
    """The driver: runs until all files are learnt."""
    if unsorted:
        keyed.Keyed = Unsorted  # type: ignore[misc]
    spark = session(master)
    schema = spark.read.parquet(str(folder / "data")).schema
    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", PER_BATCH).parquet(str(folder / "data"))
    models = nystream.spark.per_key(source, "key", pattern(), COLUMNS, "y", order_by="seq", emit="metrics")
    name = "unsorted" if unsorted else "ck"
    writer = models.writeStream.format("noop").option("checkpointLocation", str(folder / name))
    writer.trigger(availableNow=True).start().awaitTermination()
    spark.stop()


def started(folder: Path, master: str, unsorted: bool = False) -> subprocess.Popen[bytes]:
    command = [sys.executable, __file__, "--query", str(folder), "--master", master] + ["--unsorted"] * unsorted
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log)


def commits(folder: Path) -> int:
    return len(list((folder / "ck" / "commits").glob("[0-9]*")))


def kill(what: str, driver: subprocess.Popen[bytes]) -> int:
    """End processes below the driver, or all of them with it; how many."""
    found = descendants(driver.pid)
    if what == "executor":
        found = [p for p in found if "CoarseGrainedExecutorBackend" in command_of(p)][:1]
    elif what == "workers":
        found = [p for p in found if "pyspark.daemon" in command_of(p) or "pyspark/daemon" in command_of(p)][:2]
    for process in found:
        with contextlib.suppress(OSError):
            os.kill(process, signal.SIGKILL)
    return len(found)


def disturbed(folder: Path, master: str, kills: list[str]) -> tuple[int, list[str]]:
    """Run the query through the kills; its exit code and what was done."""
    driver, log, began = started(folder, master), [], time.perf_counter()
    for what in kills:
        goal = commits(folder) + 1
        while commits(folder) < goal and driver.poll() is None:
            time.sleep(0.05)
        time.sleep(random.uniform(0.2, 1.5))  # inside the next micro-batch
        if driver.poll() is not None:
            log.append(f"the query ended before the kill of the {what}")
            break
        count = kill(what, driver)
        log.append(
            f"{time.perf_counter() - began:.0f} s: kill -9 {what} ({count} processes) after {commits(folder)} commits"
        )
        print("  " + log[-1], flush=True)
        if what == "driver":
            driver.wait()
            driver = started(folder, master)
    return driver.wait(), log


def alone(folder: Path) -> dict[int, bytes]:
    """The models of one process, with the cuts of the stream."""
    models: dict[int, nystream.Model] = {}
    files = sorted((folder / "data").glob("*.parquet"))
    for i in range(0, len(files), PER_BATCH):
        batch = pd.concat([pd.read_parquet(path) for path in files[i : i + PER_BATCH]])
        for key, part in batch.groupby("key"):
            models.setdefault(key, model()).run(part.sort_values("seq")[[*COLUMNS, "y"]])
    return {key: found.to_bytes() for key, found in models.items()}


def compared(spark: Any, checkpoint: Path, expected: dict[int, bytes]) -> dict[str, Any]:
    rows = {row["key"]: row for row in nystream.spark.load_keys(spark, str(checkpoint)).collect()}
    counts = {key: nystream.from_bytes(content).n_seen for key, content in expected.items()}
    return {
        "keys": len(expected),
        "found": len(rows),
        "row counts equal": sum(rows[key]["rows"] == counts[key] for key in expected if key in rows),
        "equal to the byte": sum(bytes(rows[key]["model"]) == expected[key] for key in expected if key in rows),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--keys", type=int, default=200)
    parser.add_argument("--files", type=int, default=12)
    parser.add_argument("--kills", default="executor,workers,driver")
    parser.add_argument("--master", default="local-cluster[2,1,1024]")
    parser.add_argument("--query", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--unsorted", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.query:
        query(given.query, given.master, given.unsorted)
        return 0
    random.seed(3)
    folder = Path(tempfile.mkdtemp(prefix="kills-"))
    X, y = examples(given.rows)
    rng = np.random.default_rng(0)
    key = rng.integers(given.keys, size=given.rows)
    order = np.concatenate([rng.permutation(part) for part in np.array_split(np.arange(given.rows), given.files)])
    write(folder / "data", X[order], y[order], given.files, key=key[order], seq=np.arange(given.rows)[order])
    began = time.perf_counter()
    code, log = disturbed(folder, given.master, given.kills.split(","))
    seconds = time.perf_counter() - began
    control = started(folder, "local[2]", unsorted=True).wait()
    expected = alone(folder)
    spark = session("local[2]")
    found = compared(spark, folder / "ck", expected)
    without = compared(spark, folder / "unsorted", expected)
    spark.stop()
    caught = without["equal to the byte"] < found["keys"] and without["row counts equal"] == found["keys"]
    print(json.dumps({"rows": given.rows, "kills": len(log), **found, "exit code": code, "seconds": round(seconds)}))
    print(json.dumps({"negative control": "no sort", **without, "exit code": control, "caught": caught}))
    shutil.rmtree(folder)
    right = found["equal to the byte"] == found["keys"] == found["found"] == given.keys and len(log) == len(
        given.kills.split(",")
    )
    return 0 if right and code == 0 and caught else 1


if __name__ == "__main__":
    raise SystemExit(main())
