"""SILK, NORMA and SVMD with 100 stored points on ijcnn1: rows per second, relative to a plain NumPy step.

    python benchmarks/speed/expansion.py            (data: the folder NYSTREAM_DATA, default ../shared/data)

Without the data, a synthetic stream of the same width is used. The plain steps hold their buffer in arrays of fixed
size and do one NumPy line per formula. The overhead of a single `step` is what it costs above the same round inside a
block: the call, its checks and the kernel row that no other row shares.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np
from _results import note
from _timing import by_rows, in_turn, rows_of_ijcnn1

import nystream
from nystream.learners import NORMA, SILK, SVMD

ROWS, BUDGET, SIGMA, REPEATS = 6000, 100, 0.7, 5
TARGETS = (6, 30)
"""Multiples of plain NumPy that are wanted: row by row, whole stream."""


class Plain:
    """A buffer of points and coefficients in NumPy; `silk` and `norma` are the published steps, hinge loss."""

    def __init__(self, d: int) -> None:
        self.X, self.a, self.birth = np.zeros((BUDGET + 1, d)), np.zeros(BUDGET + 1), np.zeros(BUDGET + 1)
        self.n = self.t = 0

    def score(self, x: np.ndarray) -> float:
        X = self.X[: self.n]
        k = np.exp(-((X * X).sum(1) + x @ x - 2 * (X @ x)) / (2 * SIGMA**2))
        return float(self.a[: self.n] @ k)

    def store(self, x: np.ndarray, alpha: float, size: np.ndarray) -> None:
        self.X[self.n], self.a[self.n], self.birth[self.n] = x, alpha, self.t
        self.n += 1
        if self.n > BUDGET:
            r, last = int(np.argmin(np.abs(size))), self.n - 1
            self.X[r], self.a[r], self.birth[r] = self.X[last], self.a[last], self.birth[last]
            self.n = last

    def silk(self, x: np.ndarray, y: float) -> float:
        f = self.score(x)
        self.t += 1
        self.a[: self.n] *= 0.999
        alpha = y * min(max(1 - y * 0.999 * f, 0.0), 0.999)
        if alpha != 0:
            self.store(x, alpha, self.a)
        return f

    def norma(self, x: np.ndarray, y: float) -> float:
        f = self.score(x)
        self.t += 1
        self.a[: self.n] *= 0.999
        if y * f < 1:
            self.store(x, 0.1 * y, self.birth)
        return f


def main() -> None:
    name, X, y = rows_of_ijcnn1(ROWS)
    kernel = nystream.Gaussian(SIGMA)
    learners = {
        "SILK smallest": (SILK(kernel, budget=BUDGET), "silk"),
        "SILK oldest": (SILK(kernel, budget=BUDGET, drop="oldest"), "silk"),
        "SILK project": (SILK(kernel, budget=BUDGET, drop="project"), None),
        "SILK merge": (SILK(kernel, budget=BUDGET, drop="merge"), None),
        "NORMA support": (NORMA(kernel, budget=BUDGET, keep="support"), "norma"),
        "NORMA age": (NORMA(kernel, budget=BUDGET), "norma"),
        "SVMD": (SVMD(kernel, budget=BUDGET), None),
    }
    silk, norma = Plain(X.shape[1]), Plain(X.shape[1])
    works = {"silk": lambda: by_rows(silk.silk, X, y), "norma": lambda: by_rows(norma.norma, X, y)}
    for label, (learner, _) in learners.items():
        works[f"{label}, stream"] = lambda learner=learner: learner.run(X, y)
        works[f"{label}, rows"] = lambda learner=learner: by_rows(learner.step, X, y)
    taken = {name: least / ROWS * 1e6 for name, least in in_turn(works, REPEATS).items()}
    print(f"{name}, {ROWS} rows, {X.shape[1]} columns, budget {BUDGET}")
    print(f"plain NumPy: SILK {taken['silk']:.1f} us a row, NORMA {taken['norma']:.1f} us a row")
    print(f"{'':>14} {'row by row':>20} {'whole stream':>20} {'overhead':>12}")
    print(f"{'learner':>14} {'rows/s':>11} {'x NumPy':>8} {'rows/s':>11} {'x NumPy':>8} {'of step, us':>12}")
    for label, (_, base) in learners.items():
        row, stream = taken[f"{label}, rows"], taken[f"{label}, stream"]
        by_row, whole = (f"{taken[base] / v:.1f}x" if base else "-" for v in (row, stream))
        print(f"{label:>14} {1e6 / row:>11,.0f} {by_row:>8} {1e6 / stream:>11,.0f} {whole:>8} {row - stream:>12.2f}")
        for mode, each in (("row by row", row), ("whole stream", stream)):
            ratio = taken[base] / each if base else None
            note(f"{label}, budget {BUDGET}", mode, 1e6 / each, "rows/s", ratio, "plain NumPy" if base else "")
    print(f"targets: {TARGETS[0]}x row by row, {TARGETS[1]}x whole stream")


if __name__ == "__main__":
    main()
