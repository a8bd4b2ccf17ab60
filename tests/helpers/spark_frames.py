"""Frames and learners for the tests of Spark."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import nystream

FEATURES = ["x0", "x1", "x2"]
FIRST_FILE = 1_700_000_000
"""When the first file of a stream was written, in seconds."""


def examples(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, len(FEATURES)))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)


def table(X: np.ndarray, y: np.ndarray, **more: Any) -> pd.DataFrame:
    return pd.DataFrame({**dict(zip(FEATURES, X.T, strict=True)), "y": y, **more})


def in_parts(spark: Any, rows: pd.DataFrame, parts: int) -> Any:
    """A frame of so many partitions, each a stretch of the rows in their order."""
    cuts = np.linspace(0, len(rows), parts + 1).astype(int)
    number = np.searchsorted(cuts[1:], np.arange(len(rows)), side="right")
    frame = spark.createDataFrame(rows.assign(part=number))
    return frame.repartitionByRange(parts, "part").sortWithinPartitions("part").drop("part")


def write_file(rows: pd.DataFrame, folder: Path, number: int) -> None:
    """File number so and so of a stream.

    Spark reads files in the order of their times, those of the same millisecond in any order: each file is written
    a second after the one before.
    """
    path = folder / f"{number}.parquet"
    rows.to_parquet(path, compression="gzip")
    os.utime(path, (FIRST_FILE + number, FIRST_FILE + number))


def pkrr(**changes: Any) -> nystream.PKRR:
    features = nystream.Fourier(nystream.Gaussian(1.5), 40, seed=3)
    return nystream.PKRR(**{"features": features, "lam": 0.1, **changes})
