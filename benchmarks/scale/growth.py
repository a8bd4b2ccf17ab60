"""How the processor time of a row grows with rows, columns, size and classes, for every bounded learner.

Run: python benchmarks/scale/growth.py [--learner NAME ...] [--go-on] [--most MS] [--warm S] [--stream S] [--out FOLDER]

One quantity grows at a time; the others stay at 10 columns, size 100 and two classes. Labels are random, so that every
learner has as much work with a row as possible. Rows: a stream of a million rows; copies of the learner after 10,000,
100,000 and a million rows are measured. Columns, size and classes: one learner for each value, once it has reached its
size. Each figure is the median over blocks of 64 rows. The points of a sweep are measured in turns, ten times, so that
other load on the machine affects all of them alike. A sweep ends where a row would take more than --most, filling a
learner more than --warm seconds, or the stream more than --stream. The exponent is the slope in logarithms over the
upper half of the measured points. It is compared with the one in `nystream.registry`.

Writes growth.json after every learner, then growth.md and growth.png. With --go-on, only learners that are not in the
file are measured; with --learner, only the named ones. --again measures nothing and writes the page and the chart.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["NYSTREAM_THREADS"] = "1"  # before NumPy is loaded

import argparse
import datetime
import json
import platform
import subprocess
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from growing.chart import draw
from growing.learners import AXES, BOUNDED, said
from growing.measuring import Bounds, sweep
from growing.page import page

import nystream

HERE = Path(__file__).parent


def slope(points: list[tuple[int, float]]) -> float | None:
    """The exponent over the upper half of the points, in logarithms; None for fewer than two."""
    if len(points) < 2:
        return None
    upper = points[len(points) // 2 - (len(points) % 2 == 0) :] if len(points) > 3 else points
    x, y = np.log([p[0] for p in upper]), np.log([p[1] for p in upper])
    return float(np.polyfit(x, y, 1)[0])


def measured(name: str, bounds: Bounds) -> dict[str, Any]:
    """The sweeps of a learner."""
    start = time.process_time()
    sweeps = exponents(name, {axis: {"points": sweep(name, axis, bounds)} for axis in AXES})
    told = "  ".join(f"{axis} {_of(sweeps[axis])}" for axis in AXES)
    print(f"{name:>26}  {told}  ({time.process_time() - start:.1f} s)", flush=True)
    return sweeps


def exponents(name: str, sweeps: dict[str, Any]) -> dict[str, Any]:
    """The sweeps with what was found and what is said."""
    return {
        axis: {**found, "exponent": slope(found["points"]), "said": said(name, axis)} for axis, found in sweeps.items()
    }


def circumstances(bounds: Bounds) -> dict[str, Any]:
    git = ["git", "-C", str(HERE)]
    commit = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    return {
        "commit": commit or None,
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "versions": {"nystream": nystream.__version__, "numpy": np.__version__},
        "seconds": bounds._asdict(),
    }


def _of(sweep: dict[str, Any]) -> str:
    found = "   -" if sweep["exponent"] is None else f"{sweep['exponent']:4.1f}"
    return f"{found}/{sweep['said']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--learner", nargs="+", choices=list(BOUNDED), default=list(BOUNDED))
    parser.add_argument("--most", type=float, default=100.0, help="milliseconds of a row after which a sweep ends")
    parser.add_argument("--warm", type=float, default=150.0, help="seconds that filling a learner may take")
    parser.add_argument("--stream", type=float, default=150.0, help="seconds that a stream may take")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--picture", type=Path, default=HERE.parent / "docs" / "images" / "growth.png")
    parser.add_argument("--go-on", action="store_true", help="only learners that the file does not have")
    parser.add_argument("--again", action="store_true", help="page and picture of the figures that are there")
    given = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)  # learners that say that they are full
    file = given.out / "growth.json"
    bounds = Bounds(given.most / 1e3, given.warm, given.stream)
    kept = given.go_on or given.again or set(given.learner) != set(BOUNDED)
    found: dict[str, Any] = json.loads(file.read_text()) if kept and file.exists() else {"learners": {}}
    for name in () if given.again else given.learner:
        if not (given.go_on and name in found["learners"]):
            learners = {**found["learners"], name: measured(name, bounds)}
            found = {
                **circumstances(bounds),
                "learners": {known: learners[known] for known in BOUNDED if known in learners},
            }
            file.write_text(json.dumps(found, indent=1) + "\n")
    found["learners"] = {name: exponents(name, sweeps) for name, sweeps in found["learners"].items()}
    (given.out / "growth.md").write_text(page(found))
    draw(found, given.picture)


if __name__ == "__main__":
    main()
