"""FOGD on ijcnn1: rows per second, relative to a plain NumPy step.

    python benchmarks/speed/fogd.py            (data: the folder NYSTREAM_DATA, default ../shared/data)

Without the data, a synthetic stream of the same width is used.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np
from _results import note
from _timing import by_rows, in_turn, rows_of_ijcnn1

from nystream.kernels import Gaussian
from nystream.learners.fogd import FOGD

ROWS, SIGMA, REPEATS = 4000, 0.7, 5
TARGETS = {"row by row": 6, "whole stream": 30}
"""Multiples of plain NumPy that are wanted at 100 features."""


def plain(X: np.ndarray, y: np.ndarray, dim: int, eta: float) -> np.ndarray:
    """The published algorithm, one NumPy line per formula, hinge loss."""
    directions = np.random.default_rng(0).normal(size=(dim // 2, X.shape[1])) / SIGMA
    w, P = np.zeros(dim), np.empty(len(X))
    for t, x in enumerate(X):
        u = directions @ x
        z = np.concatenate((np.cos(u), np.sin(u))) / np.sqrt(dim // 2)
        P[t] = w @ z
        if y[t] * P[t] < 1:
            w += eta * y[t] * z
    return P


def main() -> None:
    name, X, y = rows_of_ijcnn1(ROWS)
    print(f"{name}, {len(X)} rows, {X.shape[1]} columns")
    print(f"{'features':>16} {'mode':>13} {'rows/s':>10} {'x NumPy':>8} {'target':>7}")
    for dim in (100, 400):
        works = {("numpy", "row by row"): lambda dim=dim: plain(X, y, dim, 0.3)}
        for kind in ("fourier", "fastfood"):
            learner = FOGD(Gaussian(SIGMA), dim=dim, features=kind, seed=0)
            works[kind, "row by row"] = lambda learner=learner: by_rows(learner.step, X, y)
            works[kind, "whole stream"] = lambda learner=learner: learner.run(X, y)
        taken = in_turn(works, REPEATS)
        for (kind, mode), least in taken.items():
            ratio = taken["numpy", "row by row"] / least
            target = TARGETS[mode] if (dim, kind) == (100, "fourier") else ""
            print(f"{f'{kind} {dim}':>16} {mode:>13} {len(X) / least:>10,.0f} {ratio:>8.1f} {target:>7}")
            if kind != "numpy":
                note(f"FOGD, {kind} {dim}", mode, len(X) / least, "rows/s", ratio, "plain NumPy")


if __name__ == "__main__":
    main()
