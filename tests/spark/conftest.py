"""One Spark session for all tests of this folder, which are run by one process: starting Java takes a while."""

from __future__ import annotations

import os
import shutil
import sys

import pytest

REASON = (
    "pyspark is not installed"
    if not __import__("importlib.util").util.find_spec("pyspark")
    else "there is no Java"
    if not (shutil.which("java") or os.environ.get("JAVA_HOME"))
    else None
)
OWN = (
    *("PySpark does not yet fully support pandas", "The copy keyword is deprecated"),
    "unclosed running multiprocessing pool",
)
"""Warnings that pyspark itself is to blame for: about pandas 3, and about the threads of its CrossValidator."""
SETTINGS = {
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.python.authenticate.socketTimeout": "300s",  # a busy machine starts a Python slowly
    "spark.sql.parquet.compression.codec": "gzip",  # Java's own; that of Snappy fails where musl lies beside glibc
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = [item for item in items if "tests/spark/" in item.path.as_posix()]
    for item in here:
        for message in OWN:
            item.add_marker(pytest.mark.filterwarnings(f"ignore:{message}"))
        if REASON:
            item.add_marker(pytest.mark.skip(reason=f"Spark: {REASON}"))


@pytest.fixture(scope="session")
def spark():
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    builder = SparkSession.builder.master("local[2]").appName("nystream-tests")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
