"""`nystream run` with FOGD over files of 20 columns and a target: rows per second, by format.

Run: python benchmarks/speed/reading.py [--before PYTHON]   (NYSTREAM_ROWS: how many, default 200,000)

Two columns each, before and now: rows per second of the clock while it learns, and rows per second of processor time of
whichever thread had more to do, which is what two free cores give. The limit is FOGD on the same rows in memory.
"""

from __future__ import annotations

import gzip
import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import contextlib
import io
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from _before import measured
from _results import note
from _timing import seconds

from nystream.cli import run as command
from nystream.cli.app import call
from nystream.kernels import Gaussian
from nystream.learners import FOGD

ROWS = int(os.environ.get("NYSTREAM_ROWS", 200_000))
WANTED = {"csv": 400_000}


def table(rows: int) -> np.ndarray:
    X = np.random.default_rng(0).normal(size=(rows, 20))
    return np.column_stack([X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2]])


def write(folder: Path) -> dict[str, str]:
    """The same rows in every format; numbers in text with all their digits."""
    T = table(ROWS)
    names = [f"x{j}" for j in range(20)] + ["y"]
    paths = {form: str(folder / f"a.{form}") for form in ("csv", "csv.gz", "parquet", "npy", "svm")}
    text = ",".join(names) + "\n" + "".join(",".join(map(repr, row)) + "\n" for row in T.tolist())
    Path(paths["csv"]).write_text(text)
    with gzip.open(paths["csv.gz"], "wt", compresslevel=1) as file:
        file.write(text)
    pa.parquet.write_table(pa.table(dict(zip(names, T.T, strict=True))), paths["parquet"])
    np.save(paths["npy"], T)
    with open(paths["svm"], "w", encoding="utf-8") as file:
        file.writelines(
            f"{row[-1]!r} " + " ".join(f"{j}:{v!r}" for j, v in enumerate(row[:-1], 1)) + "\n" for row in T.tolist()
        )
    return paths


class Clock:
    """Seconds of the clock and of the busier thread while `nystream run` learns."""

    def __init__(self) -> None:
        self.readers = 0.0
        self._learn, self._run = command._learn, threading.Thread.run

    def __enter__(self) -> Clock:
        clock = self

        def run(thread: threading.Thread) -> None:
            start = time.thread_time()
            clock._run(thread)
            clock.readers += time.thread_time() - start

        def learn(*arguments: object, **options: object) -> object:
            wall, own = time.perf_counter(), time.thread_time()
            try:
                return clock._learn(*arguments, **options)  # type: ignore[arg-type]
            finally:
                clock.wall, clock.own = time.perf_counter() - wall, time.thread_time() - own

        threading.Thread.run = run  # type: ignore[method-assign]
        command._learn = learn  # type: ignore[assignment]
        return self

    def __exit__(self, *_: object) -> None:
        threading.Thread.run, command._learn = self._run, self._learn  # type: ignore[method-assign]


def speeds() -> dict[str, tuple[float, float]]:
    """(rows a second of the clock, of the busier thread) by format."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for form, path in write(Path(folder)).items():
            with Clock() as clock, contextlib.redirect_stderr(io.StringIO()):
                if call(["run", path, "--learner", "fogd", "--task", "regression", "--quiet"]) != 0:
                    raise SystemExit(f"{path} was refused")
            found[form] = (ROWS / clock.wall, ROWS / max(clock.own, clock.readers))
    return found


def limit() -> float:
    T = table(min(ROWS, 50_000))
    X, y = np.ascontiguousarray(T[:, :20]), np.ascontiguousarray(T[:, 20])
    return len(X) / seconds(lambda: FOGD(Gaussian(4.0), dim=400, loss="squared", seed=0).run(X, y), 3)


def main() -> None:
    now, before = measured(speeds, __doc__)
    most = limit()
    print(f"{ROWS:,} rows{'before':>14} {'two cores':>10} {'now':>10} {'two cores':>10} {'wanted':>9} {'limit':>11}")
    for form, (clock, cores) in now.items():
        earlier = before[form] if before else (float("nan"), float("nan"))
        print(
            f"{form:>12} {earlier[0]:10,.0f} {earlier[1]:10,.0f} {clock:10,.0f} {cores:10,.0f} "
            f"{WANTED.get(form, 0) or '':>9} {most:11,.0f}"
        )
        figure = (f"reading {form}, learning with FOGD", "two cores", cores, "rows/s", cores / most, "learning alone")
        note(*figure, before=earlier[1] if before else None, limit=most)


if __name__ == "__main__":
    main()
