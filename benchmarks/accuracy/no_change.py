"""The automatic learner where labels rarely change: its mistakes beside those of the last label.

    python benchmarks/accuracy/no_change.py [--rows 8000]

Labels that change once in 200, 600, 2,000 rows on average, two and four classes and the same as numbers, with five
columns that tell nothing; and elec2 (files as in auto_streams.py), where columns tell something.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from auto_streams import read

from nystream import Auto


def switching(rows: int, mean: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(mean + classes)
    steps = np.where(rng.random(rows) < 1 / mean, rng.integers(1, classes, rows), 0)
    return rng.normal(size=(rows, 5)), np.cumsum(steps) % classes


def mistakes(X: np.ndarray, y: np.ndarray) -> tuple[int, int]:
    """Of the last label, and of the learner; the first row counts for both."""
    P = Auto(task="classification").run(X, y)
    return 1 + int((y[1:] != y[:-1]).sum()), int((P.argmax(axis=1) != y).sum())


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--rows", type=int, default=8000)
    rows = options.parse_args().rows
    print("| labels | change once in | no change | Auto |\n|---|---|---|---|")
    for mean in (200, 600, 2000):
        for classes in (2, 4):
            X, y = switching(rows, mean, classes)
            last, ours = mistakes(X, y)
            print(f"| {classes} classes, mistakes | {mean} rows | {last} | {ours} |", flush=True)
        numbers = 3.0 * y
        last_mse, ours_mse = (
            np.mean(np.diff(numbers, prepend=0.0) ** 2),
            np.mean((Auto().run(X, numbers) - numbers) ** 2),
        )
        print(f"| numbers, mean squared error | {mean} rows | {last_mse:.5f} | {ours_mse:.5f} |", flush=True)
    X, y = read("elec2", rows)
    last, ours = mistakes(X, y)
    print(f"| elec2, mistakes | | {last} | {ours} |")


if __name__ == "__main__":
    main()
