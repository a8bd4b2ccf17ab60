"""The automatic learner where labels rarely change: its mistakes beside those of the last label.

    python benchmarks/accuracy/no_change.py [--rows 8000] [--unguarded] [--touched] [--first]

Labels that change once in 200, 600, 2,000 rows on average, two and four classes and the same as numbers, with five
columns that tell nothing; the first of them with one label in two, or in ten, known (weight 0 for the others, mistakes
of all rows, beside the last known label); two classes, and numbers from 1 to 9, of which one row in 50 is not 0, so
that changes do not last; and elec2 (files as in auto_streams.py), where columns tell something. With --unguarded the
learner has no first output stage (nystream.auto.outputs). With --touched nothing is learnt: of some streams the
rows, as many as there are or --rows, in which the guard may change a prediction, which labels alone decide. With
--first nothing is learnt either: parts of the streams with classes, from random rows on, one label in 1, 2 or 10 known,
whose first change comes after 5 to 19 equal labels; then the rows up to the next known label, and of how many of them
the new class and the one before it are the label. That is what a guard of the first labels would gain and lose.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from auto_streams import read
from refitted.streams import STREAMS
from refitted.streams import read as read_any

from nystream import Auto
from nystream.auto.outputs import PersistenceStage


def switching(rows: int, mean: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(mean + classes)
    steps = np.where(rng.random(rows) < 1 / mean, rng.integers(1, classes, rows), 0)
    return rng.normal(size=(rows, 5)), np.cumsum(steps) % classes


def single(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(50)
    return rng.normal(size=(rows, 5)), np.where(rng.random(rows) < 1 / 50, rng.integers(1, 10, rows), 0)


class Unguarded(Auto):
    def _start(self, d: int, outputs: int) -> None:
        super()._start(d, outputs)
        self.pipeline_.stages_.persistence_ = None


def said(X: np.ndarray, y: np.ndarray, task: str, guarded: bool, w: np.ndarray | None = None) -> np.ndarray:
    """Predictions, each before its label."""
    return (Auto if guarded else Unguarded)(task=task).run(X, y, w)


def mistakes(X: np.ndarray, y: np.ndarray, guarded: bool, one_in: int = 1) -> tuple[int, int]:
    """Of the last label that was known, one in so many, and of the learner; the first row counts for both."""
    known = np.random.default_rng(9).random(len(y)) < 1 / one_in
    known[0] = True
    P = said(X, y, "classification", guarded, None if one_in == 1 else known.astype(float))
    last = np.maximum.accumulate(np.where(known, np.arange(len(y)), 0))[:-1]
    return 1 + int((y[1:] != y[last]).sum()), int((P.argmax(axis=1) != y).sum())


def errors(X: np.ndarray, y: np.ndarray, guarded: bool) -> tuple[float, float]:
    """Mean squared ones of the last label, and of the learner."""
    p = said(X, y, "regression", guarded)
    return float(np.mean(np.diff(y, prepend=0.0) ** 2)), float(np.mean((p - y) ** 2))


def touched(y: np.ndarray, classes: int) -> int:
    """Rows in which the guard may change a prediction."""
    guard, count = PersistenceStage(classes > 0), 0
    guard.start(1)
    P = np.full((1, max(classes, 1)), -np.log(max(classes, 1)))
    for label in y:
        size, square = guard.steps_[:, 0]
        count += int(20 * size**2 < square and guard.after_[0] >= (1 if classes else 0))
        guard.run(P, np.full((1,) if classes else (1, 1), label), None)
    return count


def after_first(y: np.ndarray, one_in: int, draws: int = 3000, length: int = 3000) -> np.ndarray:
    """Changes that came first, after 5 to 19 equal labels; rows before the next label; those of the new class, the old.

    Of so many parts of a stream, each of that length and from a random row on, or as long as the stream is.
    """
    rng, found = np.random.default_rng(0), np.zeros(4, dtype=int)
    for _ in range(draws):
        start = rng.integers(max(1, len(y) - length))
        part = y[start : start + length]
        known = np.flatnonzero(rng.random(len(part)) < 1 / one_in)
        run = 1 + int(np.argmax(part[known[1:]] != part[known[:-1]]))
        if 5 <= run < 20 and run + 1 < len(known) and part[known[run]] != part[known[0]]:
            rows = part[known[run] + 1 : known[run + 1] + 1]
            found += [1, len(rows), (rows == part[known[run]]).sum(), (rows == part[known[0]]).sum()]
    return found


def print_first(rows: int) -> None:
    print("| stream | one label known in | first changes | rows | of the new class | of the old |")
    print("|---|---|---|---|---|---|")
    streams = {name: read_any(name, rows) for name in STREAMS}
    labels = {name: stream.y for name, stream in streams.items() if stream.classes}
    labels["2 classes, 200 rows"] = switching(rows, 200, 2)[1]
    for name, y in labels.items():
        for one_in in (1, 2, 10):
            print(f"| {name} | {one_in} | " + " | ".join(map(str, after_first(y, one_in))) + " |", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--rows", type=int, default=8000)
    options.add_argument("--unguarded", action="store_true")
    options.add_argument("--touched", action="store_true")
    options.add_argument("--first", action="store_true")
    chosen = options.parse_args()
    if chosen.first:
        print_first(chosen.rows)
        return
    if chosen.touched:
        for name in STREAMS:
            stream = read_any(name, chosen.rows)
            print(f"{name:>9} {len(stream.y):>6} rows, {touched(stream.y, stream.classes):>5} touched", flush=True)
        return
    rows, guarded = chosen.rows, not chosen.unguarded
    print("| labels | change once in | no change | Auto |\n|---|---|---|---|")
    for mean in (200, 600, 2000):
        for classes in (2, 4):
            X, y = switching(rows, mean, classes)
            last, ours = mistakes(X, y, guarded)
            print(f"| {classes} classes, mistakes | {mean} rows | {last} | {ours} |", flush=True)
        last_mse, ours_mse = errors(X, 3.0 * y, guarded)
        print(f"| numbers, mean squared error | {mean} rows | {last_mse:.5f} | {ours_mse:.5f} |", flush=True)
    for one_in in (2, 10):
        X, y = switching(rows, 200, 2)
        last, ours = mistakes(X, y, guarded, one_in)
        print(f"| 2 classes, mistakes, one label in {one_in} known | 200 rows | {last} | {ours} |", flush=True)
    X, y = single(rows)
    last, ours = mistakes(X, np.minimum(y, 1), guarded)
    print(f"| 2 classes, mistakes | 50 rows, for one | {last} | {ours} |", flush=True)
    last_mse, ours_mse = errors(X, y.astype(float), guarded)
    print(f"| numbers, mean squared error | 50 rows, for one | {last_mse:.4f} | {ours_mse:.4f} |", flush=True)
    X, y = read("elec2", rows)
    last, ours = mistakes(X, y, guarded)
    print(f"| elec2, mistakes | | {last} | {ours} |")


if __name__ == "__main__":
    main()
