"""FOGD: rows per second, as multiples of the plain NumPy step. Run: python benchmarks/speed/fogd.py"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np
from _results import note
from _timing import by_rows, seconds

from nystream.kernels import Gaussian
from nystream.learners.fogd import FOGD

ROWS, COLUMNS = 4000, 22
TARGETS = {"row by row": 4, "whole stream": 10}
"""Multiples of plain NumPy that are wanted at 100 features."""


def plain(X: np.ndarray, y: np.ndarray, dim: int, eta: float) -> np.ndarray:
    """The published algorithm, one NumPy line per formula, hinge loss."""
    directions = np.random.default_rng(0).normal(size=(dim // 2, COLUMNS)) / 3.0
    w, P = np.zeros(dim), np.empty(len(X))
    for t, x in enumerate(X):
        u = directions @ x
        z = np.concatenate((np.cos(u), np.sin(u))) / np.sqrt(dim // 2)
        P[t] = w @ z
        if y[t] * P[t] < 1:
            w += eta * y[t] * z
    return P


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS))
    y = np.where(X[:, 0] * X[:, 1] >= 0, 1.0, -1.0)
    print(f"{'features':>16} {'mode':>13} {'rows/s':>10} {'x NumPy':>8} {'target':>7}")
    for dim in (100, 400):
        base = seconds(lambda dim=dim: plain(X, y, dim, 0.3))
        print(f"{f'numpy {dim}':>16} {'row by row':>13} {ROWS / base:>10,.0f} {1.0:>8.1f}")
        for kind in ("fourier", "fastfood"):
            learner = FOGD(Gaussian(3.0), dim=dim, features=kind, seed=0)
            modes = {
                "row by row": lambda learner=learner: by_rows(learner.step, X, y),
                "whole stream": lambda learner=learner: learner.run(X, y),
            }
            for mode, work in modes.items():
                taken = seconds(work)
                target = TARGETS[mode] if (dim, kind) == (100, "fourier") else ""
                print(f"{f'{kind} {dim}':>16} {mode:>13} {ROWS / taken:>10,.0f} {base / taken:>8.1f} {target:>7}")
                note(f"FOGD, {kind} {dim}", mode, ROWS / taken, "rows/s", base / taken, "plain NumPy")


if __name__ == "__main__":
    main()
