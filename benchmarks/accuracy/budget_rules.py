"""What a buffer should do with the point that leaves it: accuracy at equal budget, one table, 10 seeds.

    python benchmarks/accuracy/budget_rules.py

Checkerboard (4 x 4 cells, 3000 rounds) and drifting Gaussians (2000 rounds, one turn): accuracy of the predictions made
before each label, mean and standard deviation over seeds 0..9. Every learner gets the same number of settings, chosen
by the mean accuracy over seeds 100..102; the kernel's width is given, the same for all. A star marks a setting at an
edge of its grid that could be extended (tau and lam end at 0 by nature). ILK keeps every point: it is what an unlimited
buffer reaches.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import product

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import nystream
from nystream.kernels import Gaussian
from nystream.learners import ILK, NORMA, SILK, Learner
from nystream.streams import checkerboard, drifting_gaussians

CHOOSE, REPORT = range(100, 103), range(10)
TASKS = {
    "checkerboard": (lambda seed: checkerboard(3000, seed=seed).load(), Gaussian(0.125), (50, 100)),
    "drifting": (lambda seed: drifting_gaussians(seed=seed).load(), Gaussian(np.sqrt(0.5)), (20, 60)),
}
IMPLICIT = {"tau": (0.0, 1e-4, 1e-3, 1e-2, 3e-2, 0.1), "C": (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)}
EXPLICIT = {"eta": (0.03, 0.1, 0.3, 1.0, 3.0, 9.0), "lam": (0.0, 1e-4, 1e-3, 1e-2, 3e-2, 0.1)}
PEGASOS = {"lam": tuple(np.geomspace(1e-7, 1e-1, 36))}

Make = Callable[..., Learner]
Grid = dict[str, tuple[float, ...]]


def methods(kernel: Gaussian, budget: int) -> dict[str, tuple[Make, Grid]]:
    """Name -> maker and grid; BSGD only where this installation has it."""

    def silk(drop: str) -> Make:
        return lambda **p: SILK(kernel, budget=budget, drop=drop, **p)

    found: dict[str, tuple[Make, Grid]] = {
        f"SILK {drop}": (silk(drop), IMPLICIT) for drop in ("smallest", "oldest", "project", "merge")
    }
    found["NORMA support"] = (lambda **p: NORMA(kernel, budget=budget, keep="support", **p), EXPLICIT)
    if hasattr(nystream, "BSGD"):

        def bsgd(maintenance: str) -> Make:
            return lambda **p: nystream.BSGD(kernel, budget=budget, maintenance=maintenance, **p)

        found |= {f"BSGD {m}": (bsgd(m), PEGASOS) for m in ("remove", "project", "merge")}
    found["ILK (all points)"] = (lambda **p: ILK(kernel, **p), IMPLICIT)
    return found


def accuracy(model: Learner, X: np.ndarray, y: np.ndarray) -> float:
    return 100 * float(np.mean(np.where(model.run(X, y) >= 0, 1.0, -1.0) == y))


def chosen(make: Make, grid: Grid, streams: list[tuple[np.ndarray, np.ndarray]]) -> dict[str, float]:
    settings = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    return max(settings, key=lambda s: np.mean([accuracy(make(**s), X, y) for X, y in streams]))


def main() -> None:
    print(f"{'stream':>14} {'budget':>7} {'learner':>18} {'accuracy':>9} {'sd':>5} {'us/row':>7}  setting")
    for name, (draw, kernel, budgets) in TASKS.items():
        choose, report = [draw(seed) for seed in CHOOSE], [draw(seed) for seed in REPORT]
        for budget in budgets:
            for label, (make, grid) in methods(kernel, budget).items():
                setting = chosen(make, grid, choose)
                start = time.perf_counter()
                found = [accuracy(make(**setting), X, y) for X, y in report]
                each = (time.perf_counter() - start) / sum(len(y) for _, y in report) * 1e6
                text = ", ".join(
                    f"{k} {v:.3g}{'*' if v and v in (grid[k][0], grid[k][-1]) else ''}" for k, v in setting.items()
                )
                mean, sd = np.mean(found), np.std(found, ddof=1)
                print(f"{name:>14} {budget:>7} {label:>18} {mean:>9.2f} {sd:>5.2f} {each:>7.2f}  {text}", flush=True)


if __name__ == "__main__":
    main()
