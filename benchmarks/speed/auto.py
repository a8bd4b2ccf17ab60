"""What a row of the automatic learner costs: flat after the warm-up, pauses where it rebuilds, single steps.

    python benchmarks/speed/auto.py [--rows 120000]

A generated stream of 22 columns, one thread: rows per second of processor time for every 10,000 rows from row 20,000
on, in one call; the longest calls of 10 rows each in the first 12,000; microseconds a call of `step`.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from nystream import Auto


def generated(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 22))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=rows)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=120_000)
    X, y = generated(options.parse_args().rows)
    model = Auto()
    model.run(X[:20_000], y[:20_000])
    speeds = []
    for i in range(20_000, len(X), 10_000):
        start = time.process_time()
        model.run(X[i : i + 10_000], y[i : i + 10_000])
        speeds.append(10_000 / (time.process_time() - start))
    print("rows/s by 10,000 rows:", " ".join(f"{s:,.0f}" for s in speeds), f"; {model.nbytes:,} bytes")
    model, seconds = Auto(), []
    for i in range(0, 12_000, 10):
        start = time.perf_counter()
        model.run(X[i : i + 10], y[i : i + 10])
        seconds.append(time.perf_counter() - start)
    longest = sorted(range(len(seconds)), key=lambda i: -seconds[i])[:5]
    print("longest calls of 10 rows:", ", ".join(f"{seconds[i]:.3f} s to row {10 * i + 10:,}" for i in longest))
    start = time.perf_counter()
    for i in range(500):
        model.step(X[i], float(y[i]))
    print(f"step: {(time.perf_counter() - start) / 500 * 1e6:.0f} us")


if __name__ == "__main__":
    main()
