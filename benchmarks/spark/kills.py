"""Keyed models through kills: an executor, Python workers and the driver, each inside a micro-batch.

    python benchmarks/spark/kills.py [--rows 60000] [--keys 200] [--kills 20]

A query of `nystream.spark.per_key` runs on `local-cluster[2,1,1024]`; after a kill of the driver it is started again,
from its checkpoint. One row in 100 is bad: its key or its order is null, or a feature is infinite; these rows must be
in the folder of dead letters, once each. The predictions of all other rows must be in the table that the query writes,
once each. The models that `load_keys` reads out of the checkpoint must be equal, to the byte, to those of one process
that learnt the good rows. Negative control: the same query with the rows of a key learnt in the order in which they
come, which has to be found different. Only processes that this program started are ended, by their ids.
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
from running import COLUMNS, command_of, descendants, examples, session

import nystream
import nystream.spark
from nystream.spark import keyed

PER_BATCH = 2
KILLED = ("executor", "workers", "executor", "workers", "driver")
"""In turns."""
MOST_RESTARTS = 20
BAD = 100
"""One row in so many is bad."""


def pattern() -> nystream.PKRR:
    return nystream.PKRR(nystream.Fourier(nystream.Gaussian(2.0), 16, seed=1), lam=0.1)


def model() -> nystream.Model:
    return nystream.Model(pattern(), nystream.Schema(COLUMNS, "y", "regression"), keep=0)


class Unsorted(keyed.Keyed):
    """The negative control: rows of a key as they come."""

    def _ordered(self, key: Any, frames: Any) -> tuple[pd.DataFrame, int]:
        rows = pd.concat(list(frames), ignore_index=True)
        return rows[rows["seq"].notna()].reset_index(drop=True), 0


def data(rows: int, keys: int, files: int) -> pd.DataFrame:
    """All rows, some of them bad, with the number of the file that each is in; `seq` is their order."""
    X, y = examples(rows)
    rng = np.random.default_rng(0)
    found = pd.DataFrame({**dict(zip(COLUMNS, X.T, strict=True)), "y": y})
    found["key"] = pd.array(rng.integers(keys, size=rows), "Int64")
    found["seq"] = pd.array(np.arange(rows), "Int64")
    found["file"] = np.arange(rows) * files // rows
    bad = rng.choice(rows, size=rows // BAD, replace=False)
    found.loc[bad[::3], "key"] = pd.NA
    found.loc[bad[1::3], "seq"] = pd.NA
    found.loc[bad[2::3], "x1"] = np.inf
    found["is_bad"] = np.isin(np.arange(rows), bad)
    return found


def query(folder: Path, master: str, unsorted: bool) -> None:
    """The driver: runs until all files are learnt."""
    if unsorted:
        keyed.Keyed = Unsorted  # type: ignore[misc]
    spark = session(master)
    schema = spark.read.parquet(str(folder / "data")).schema
    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", PER_BATCH).parquet(str(folder / "data"))
    name = "unsorted" if unsorted else "ck"
    letters = str(folder / f"letters-{name}")
    found = nystream.spark.per_key(source, "key", pattern(), COLUMNS, "y", order_by="seq", on_error=letters)
    writer = found.writeStream.format("parquet").option("path", str(folder / f"out-{name}"))
    writer = writer.option("checkpointLocation", str(folder / name))
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
    """Run the query through the kills; its exit code and what was done.

    A driver that ends by itself before the rows do (a Python worker that did not start in time on a busy machine, say)
    is started again, as a supervisor would.
    """
    driver, log, began = started(folder, master), [], time.perf_counter()
    restarts = 0
    for what in kills:
        goal = commits(folder) + 1
        while commits(folder) < goal:
            if driver.poll() is not None:
                if driver.returncode == 0 or restarts == MOST_RESTARTS:
                    break
                restarts += 1
                print(f"  the driver ended with code {driver.returncode} and is started again", flush=True)
                driver = started(folder, master)
            time.sleep(0.05)
        time.sleep(random.uniform(0.2, 2.0))  # inside the next micro-batch
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
    while driver.wait() != 0 and restarts < MOST_RESTARTS:
        restarts += 1
        print(f"  the driver ended with code {driver.returncode} and is started again", flush=True)
        driver = started(folder, master)
    return driver.returncode, log


def alone(rows: pd.DataFrame) -> dict[int, bytes]:
    """The models of one process that learns the good rows, with the cuts of the stream."""
    models: dict[int, nystream.Model] = {}
    good = rows[~rows["is_bad"]]
    for _, batch in good.groupby(good["file"] // PER_BATCH):
        for key, part in batch.groupby("key"):
            models.setdefault(int(key), model()).run(part.sort_values("seq")[[*COLUMNS, "y"]])
    return {key: found.to_bytes() for key, found in models.items()}


def compared(spark: Any, folder: Path, name: str, rows: pd.DataFrame, expected: dict[int, bytes]) -> dict[str, Any]:
    """Return what the checkpoint, the table and the dead letters have, beside what they should have."""
    kept = {row["key"]: row for row in nystream.spark.load_keys(spark, str(folder / name)).collect()}
    counts = {key: nystream.from_bytes(content).n_seen for key, content in expected.items()}
    out = spark.read.parquet(str(folder / f"out-{name}")).toPandas()["seq"]
    letters = [
        json.loads(line)["row"]["y"]
        for path in (folder / f"letters-{name}").glob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    good, bad = rows[~rows["is_bad"]], rows[rows["is_bad"]]
    return {
        "keys": len(expected),
        "found": len(kept),
        "row counts equal": sum(kept[key]["rows"] == counts[key] for key in expected if key in kept),
        "equal to the byte": sum(bytes(kept[key]["model"]) == expected[key] for key in expected if key in kept),
        "rows lost": len(set(good["seq"]) - set(out)),
        "rows doubled": len(out) - out.nunique(),
        "bad rows": len(bad),
        "letters lost": len(set(bad["y"]) - set(letters)),
        "letters doubled": len(letters) - len(set(letters)),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--keys", type=int, default=200)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--master", default="local-cluster[2,1,1024]")
    parser.add_argument("--query", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--unsorted", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.query:
        query(given.query, given.master, given.unsorted)
        return 0
    random.seed(3)
    folder = Path(tempfile.mkdtemp(prefix="kills-"))
    files = PER_BATCH * (given.kills + 2)
    rows = data(given.rows, given.keys, files)
    (folder / "data").mkdir()
    for i, part in rows.groupby("file"):
        shuffled = part.sample(frac=1.0, random_state=int(i)).drop(columns=["file", "is_bad"])
        shuffled.to_parquet(folder / "data" / f"{i:05d}.parquet", compression="gzip")
        os.utime(folder / "data" / f"{i:05d}.parquet", (1_700_000_000 + int(i), 1_700_000_000 + int(i)))
    began = time.perf_counter()
    code, log = disturbed(folder, given.master, [KILLED[i % len(KILLED)] for i in range(given.kills)])
    seconds = time.perf_counter() - began
    control = started(folder, "local[2]", unsorted=True).wait()
    expected = alone(rows)
    spark = session("local[2]")
    found = compared(spark, folder, "ck", rows, expected)
    without = compared(spark, folder, "unsorted", rows, expected)
    spark.stop()
    caught = without["equal to the byte"] < found["keys"] and without["row counts equal"] == found["keys"]
    print(json.dumps({"rows": given.rows, "kills": len(log), **found, "exit code": code, "seconds": round(seconds)}))
    print(json.dumps({"negative control": "no sort", **without, "exit code": control, "caught": caught}))
    shutil.rmtree(folder)
    right = found["equal to the byte"] == found["keys"] == found["found"] == given.keys and len(log) == given.kills
    nothing = not any(found[name] for name in ("rows lost", "rows doubled", "letters lost", "letters doubled"))
    return 0 if right and nothing and code == 0 and caught else 1


if __name__ == "__main__":
    raise SystemExit(main())
