"""Rows per second of the automatic learner at 1 and 2 threads, by the clock on the wall.

    python benchmarks/speed/auto_threads.py [--repeats 3] [--processor] [--warm-up 7100]

Generated rows of 8, 22 and 54 columns, numbers as labels: the first 7,100 rows, until what is fitted after 6,400 is
taken up, and the 10,000 rows after them by `run`, and 2,000 more by `step`; the best of several. With `--warm-up 3200`
what is fitted after 3,200 and 6,400 rows is counted into the 10,000. Each number of threads has processes of its own,
in turn. With `--processor`, for machines that are busy: 1 thread, by the processor's clock.

A `step` in units of a row of `run` is told for one thread, and beside it what it would be if all that a row by itself
cost more were landmarks and factors that its experts read, and that rows of a block share: copies of the experts learn
the last rows one by one, and as blocks of 256.
"""

from __future__ import annotations

import argparse
import copy
import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
from _results import note

from nystream import Auto

COLUMNS, WARMUP, ROWS, STEPS, BLOCK = (8, 22, 54), 7100, 10_000, 2000, 256


def more(model: Auto, X: np.ndarray, y: np.ndarray, clock: Callable[[], float]) -> float:
    """Seconds that the experts take more for a row by itself than for one of a block."""
    assert model.pipeline_.incumbent_.targets_ is not None
    T, seconds = model.pipeline_.incumbent_.targets_.standardised(y[:, None]), []
    for size in (1, BLOCK):
        expert_set = copy.deepcopy(model.expert_set_)
        bounds = (np.full((1, 1), -9.0), np.full((1, 1), 9.0))
        begun = clock()
        for i in range(0, len(X), size):
            expert_set.run(X[i : i + size], T[i : i + size], None, bounds)
        seconds.append((clock() - begun) / len(X))
    return seconds[0] - seconds[1]


def measured(d: int, first: int, clock: Callable[[], float]) -> list[float]:
    """Seconds of the first rows, rows per second of `run` and of `step`, and what a step could be of a row of `run`."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(first + ROWS + STEPS, d))
    y = np.sin(2 * X[:, 0]) + np.abs(X[:, 1]) + 0.1 * rng.normal(size=len(X))
    model, marks = Auto(), [clock()]
    for start, stop in ((0, first), (first, first + ROWS)):
        model.run(X[start:stop], y[start:stop])
        marks.append(clock())
    for x, label in zip(X[-STEPS:], y[-STEPS:], strict=True):
        model.step(x, label)
    marks.append(clock())
    warmup, run, step = (b - a for a, b in itertools.pairwise(marks))
    limit = 1 + more(model, X[-STEPS:], y[-STEPS:], clock) / (run / ROWS)
    return [warmup, ROWS / run, STEPS / step, limit]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--repeats", type=int, default=3)
    options.add_argument("--processor", action="store_true")
    options.add_argument("--warm-up", type=int, default=WARMUP, help="rows before those that are timed")
    options.add_argument("--one", type=int, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.one is not None:
        clock = time.process_time if given.processor else time.perf_counter
        print(json.dumps(measured(given.one, given.warm_up, clock)))
        return
    print("| columns | threads | first rows, seconds | run, rows/s | step, rows/s | step / run | experts alone |")
    print("|---|---|---|---|---|---|---|")
    for d in COLUMNS:
        found: dict[int, list[list[float]]] = {1: []} if given.processor else {1: [], 2: []}
        for _ in range(given.repeats):
            for threads, tries in found.items():
                around = {**os.environ, "NYSTREAM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": "1"}
                command = [sys.executable, __file__, "--one", str(d), *(["--processor"] * given.processor)]
                command += ["--warm-up", str(given.warm_up)]
                told = subprocess.run(command, env=around, check=True, capture_output=True, text=True).stdout
                tries.append(json.loads(told))
        for threads, tries in found.items():
            warmups, runs, steps, limits = zip(*tries, strict=True)
            ratios = f"{max(runs) / max(steps):.2f} | {min(limits):.2f}" if threads == 1 else " | "
            speeds = f"{min(warmups):.2f} | {max(runs):,.0f} | {max(steps):,.0f}"
            print(f"| {d} | {threads} | {speeds} | {ratios} |", flush=True)
            for mode, i, speed in (("whole stream", 1, max(runs)), ("row by row", 2, max(steps))):
                ratio = speed / max(one[i] for one in found[1])
                note(f"Auto, {d} columns, {threads} threads", mode, speed, "rows/s", ratio, "1 thread")


if __name__ == "__main__":
    main()
