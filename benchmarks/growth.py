"""How the processor time of a row grows with rows, columns, size and classes, for every bounded learner.

Run: python benchmarks/growth.py [--learner NAME ...] [--rows N] [--most MS] [--warm S] [--out FOLDER]

One thing grows at a time, the others stay at 10 columns, size 100, two classes; labels are random, so that every
learner has all the work that a row can be. Each figure is the median of blocks of 64 rows, once the learner has its
size. A sweep ends where a row would cost more than --most, or filling the learner more than --warm seconds. The
exponent is the slope in the logarithms over the upper half of what was measured, beside the one that
`nystream.choosing` says. Writes growth.json and growth.md, and growth.png beside the pages.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["NYSTREAM_THREADS"] = "1"  # before NumPy is loaded

import argparse
import datetime
import json
import math
import platform
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import nystream
from growing.chart import draw
from growing.learners import AXES, BOUNDED, said
from growing.page import page
from nystream.learners.base import Learner
from nystream.tasks import for_task

HERE = Path(__file__).parent
BLOCK = 64
AT = {"columns": 10, "size": 100, "classes": 2}
POINTS = {
    "columns": (2, 6, 20, 60, 200, 600, 2000),
    "size": (50, 100, 200, 500, 1000, 2000, 4000),
    "classes": (2, 5, 20, 60, 200),
}
LEAST = 0.03
"""Seconds of processor time that a figure is the median of, where blocks are that quick."""
FULL = 0.9
"""Of the wanted size; a learner that does not get there is not measured."""


def rows(n: int, d: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of unit scale, and labels that say nothing: -1 and +1, or numbers of classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) / math.sqrt(d)
    y = rng.integers(classes, size=n).astype(np.float64)
    return X, 2.0 * y - 1.0 if classes == 2 else y


def seconds_of_blocks(learner: Learner, X: np.ndarray, y: np.ndarray) -> list[float]:
    """Processor time of a row, block by block."""
    found = []
    for i in range(0, len(X) - BLOCK + 1, BLOCK):
        start = time.thread_time()
        learner.run(X[i : i + BLOCK], y[i : i + BLOCK])
        found.append((time.thread_time() - start) / BLOCK)
    return found


def measured(name: str, d: int, size: int, classes: int, warm: float) -> float | None:
    """Seconds of a row, or None where the learner does not get to its size in the time that there is."""
    learner = BOUNDED[name].of(size)
    if classes > 2:
        learner = for_task(learner, "classification", d)
    needed = int(BOUNDED[name].filled * size) + BLOCK
    X, y = rows(max(needed, 4 * BLOCK), d, classes)
    spent = time.thread_time() + warm
    for i in range(0, needed, BLOCK):
        learner.run(X[i : i + BLOCK], y[i : i + BLOCK])
        if time.thread_time() > spent:
            return None
    if BOUNDED[name].filled and classes == 2 and learner.size < FULL * size:
        return None
    found: list[float] = []
    while len(found) < 4 or (sum(found) * BLOCK < LEAST and len(found) < 400):
        X, y = rows(4 * BLOCK, d, classes, seed=1 + len(found))  # not seen before
        found += seconds_of_blocks(learner, X, y)
        if sum(found) * BLOCK > warm:
            break
    return float(np.median(found))


def over_rows(name: str, most: int, warm: float) -> list[tuple[int, float]]:
    """(rows so far, seconds of a row): the median over the blocks of the last tenth, at powers of ten."""
    learner = BOUNDED[name].of(AT["size"])
    points: list[tuple[int, float]] = []
    n, recent, spent = 0, [0.0], 0.0
    while n < most:
        X, y = rows(64 * BLOCK, AT["columns"], 2, seed=n)
        found = seconds_of_blocks(learner, X, y)
        n += len(X)
        recent = (recent + found)[-max(16, n // (10 * BLOCK)) :]
        spent += sum(found) * BLOCK
        if n >= 1.5 * (points[-1][0] if points else 1000):
            points.append((n, float(np.median(recent))))
        if spent > 10 * warm:
            break
    return points


def swept(name: str, axis: str, most: float, warm: float) -> list[tuple[int, float]]:
    """(what grows, seconds of a row)."""
    points: list[tuple[int, float]] = []
    for x in POINTS[axis]:
        if points and points[-1][1] * (x / points[-1][0]) ** max(1, said(name, axis)) > most:
            break
        if axis == "size" and x > BOUNDED[name].largest:
            break
        at = {**AT, axis: x}
        try:
            found = measured(name, at["columns"], at["size"], at["classes"], warm)
        except ValueError as error:
            print(f"{name}, {axis} {x}: {error}", file=sys.stderr)
            break
        if found is None:
            break
        points.append((x, found))
    return points


def slope(points: list[tuple[int, float]]) -> float | None:
    """The exponent over the upper half of the points, in logarithms; None for fewer than three."""
    upper = points[len(points) // 2 - (len(points) % 2 == 0) :] if len(points) > 3 else points
    if len(upper) < 2 or len(points) < 3:
        return None
    x, y = np.log([p[0] for p in upper]), np.log([p[1] for p in upper])
    return float(np.polyfit(x, y, 1)[0])


def results(names: list[str], most_rows: int, most: float, warm: float) -> dict[str, Any]:
    git = ["git", "-C", str(HERE)]
    commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    learners: dict[str, Any] = {}
    for name in names:
        start = time.process_time()
        sweeps = {"rows": over_rows(name, most_rows, warm)}
        sweeps |= {axis: swept(name, axis, most, warm) for axis in POINTS}
        learners[name] = {
            axis: {"points": points, "exponent": slope(points), "said": said(name, axis)}
            for axis, points in sweeps.items()
        }
        told = "  ".join(f"{axis} {_of(learners[name][axis])}" for axis in AXES)
        print(f"{name:>26}  {told}  ({time.process_time() - start:.1f} s)", flush=True)
    return {
        "commit": commit or None,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "versions": {"nystream": nystream.__version__, "numpy": np.__version__},
        "most_rows": most_rows,
        "most_milliseconds": 1e3 * most,
        "learners": learners,
    }


def _of(sweep: dict[str, Any]) -> str:
    found = "   -" if sweep["exponent"] is None else f"{sweep['exponent']:4.1f}"
    return f"{found}/{sweep['said']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learner", nargs="+", choices=list(BOUNDED), default=list(BOUNDED))
    parser.add_argument("--rows", type=int, default=100_000, help="most rows of a stream")
    parser.add_argument("--most", type=float, default=50.0, help="milliseconds of a row after which a sweep ends")
    parser.add_argument("--warm", type=float, default=4.0, help="seconds that filling a learner may take")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--picture", type=Path, default=HERE.parent / "docs" / "images" / "growth.png")
    parser.add_argument("--again", action="store_true", help="page and picture of the figures that are there")
    given = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # learners that say that they are full
    file = given.out / "growth.json"
    if not given.again:
        found = results(given.learner, given.rows, given.most / 1e3, given.warm)
        file.write_text(json.dumps(found, indent=1) + "\n")
    found = json.loads(file.read_text())
    (given.out / "growth.md").write_text(page(found))
    draw(found, given.picture)


if __name__ == "__main__":
    main()
