"""Spark sessions for the benchmarks: small, on this machine alone, one thread of linear algebra everywhere."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")

import warnings

import numpy as np

import nystream

warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")

SOURCES = str(Path(nystream.__file__).parents[1])
SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.executor.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.default.parallelism": "4",
    "spark.sql.adaptive.enabled": "false",
    "spark.python.authenticate.socketTimeout": "300s",  # a busy machine starts a Python slowly
    "spark.executorEnv.OMP_NUM_THREADS": "1",
    "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
}
COLUMNS = [f"x{j}" for j in range(5)]


def session(master: str = "local[2]", **settings: str) -> Any:
    """A session; workers find nystream where this process has it."""
    from pyspark.sql import SparkSession

    os.environ["PYTHONPATH"] = os.pathsep.join([SOURCES, os.environ.get("PYTHONPATH", "")])
    builder = SparkSession.builder.master(master).appName("nystream-benchmark")
    more = {"spark.executorEnv.PYTHONPATH": os.environ["PYTHONPATH"], **settings}
    for name, value in {**SETTINGS, **more}.items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    return found


def examples(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of five columns and what is learnt from them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, len(COLUMNS)))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)


def write(folder: Path, X: np.ndarray, y: np.ndarray, files: int, **more: np.ndarray) -> None:
    """Parquet files of stretches of the rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    for i, part in enumerate(np.array_split(np.arange(len(y)), files)):
        columns = {**dict(zip(COLUMNS, X.T, strict=True)), "y": y, **more}
        table = pa.table({name: values[part] for name, values in columns.items()})
        pq.write_table(table, folder / f"{i:05d}.parquet", compression="gzip")


def descendants(root: int) -> list[int]:
    """Process ids below one, and itself."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            text = path.read_text()
        except OSError:
            continue
        children.setdefault(int(text[text.rindex(")") + 2 :].split()[1]), []).append(int(path.parent.name))
    found, waiting = [], [root]
    while waiting:
        found.append(waiting.pop())
        waiting += children.get(found[-1], [])
    return found


def cpu_seconds() -> float:
    """Seconds of a core that this process and all below it have used so far, ended ones included."""
    ticks = 0
    for process in descendants(os.getpid()):
        try:
            text = Path(f"/proc/{process}/stat").read_text()
        except OSError:
            continue
        ticks += sum(map(int, text[text.rindex(")") + 2 :].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def command_of(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""
