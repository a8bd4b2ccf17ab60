"""The ridges of the automatic learner, row by row and in blocks: learning every row against learning in groups of 32.

    python benchmarks/speed/auto_big.py

300 and 1,000 landmarks, 22 columns, one and ten targets, one thread: microseconds of processor time a row, kernel
values included, the best of 20 turns of 160 rows that both kinds take one after the other.
"""

from __future__ import annotations

import itertools
import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from _results import note

from nystream.auto.experts import LargeRidge, Ridge
from nystream.auto.views import View
from nystream.scaling import StandardScale

ROWS, TURNS = 160, 20
KINDS = {300: "Auto's ridge", 1000: "Auto's large ridge"}
"""By landmarks. That of 300 learns every row, the large one in groups."""


def best(expert: Ridge, U: np.ndarray, Y: np.ndarray, size: int) -> float:
    start = time.process_time()
    for i in range(0, len(U), size):
        expert.run(U[i : i + size], Y[i : i + size], None)
    return (time.process_time() - start) / len(U) * 1e6


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 22))
    view = View(StandardScale())
    view.fit(X)
    U = view(X[:ROWS])
    for outputs, m in itertools.product((1, 10), KINDS):
        Y = rng.normal(size=(3000, outputs))
        experts = {"every row": Ridge(m), "in groups": LargeRidge(m)}
        for expert in experts.values():
            expert.fit(view, X, Y, None, np.random.default_rng(1))
        for size in (1, ROWS):
            times: dict[str, list[float]] = {name: [] for name in experts}
            for _ in range(TURNS):
                for name, expert in experts.items():
                    times[name].append(best(expert, U, Y[:ROWS], size))
            figures = "  ".join(f"{name} {min(t):6.1f}" for name, t in times.items())
            print(f"{m:>5} landmarks, {outputs:>3} targets, {size:>4} rows a call:  {figures} us a row", flush=True)
            for name, t in times.items():
                note(f"{KINDS[m]}, {outputs} targets, {name}", f"{size} rows a call", min(t), "us")


if __name__ == "__main__":
    main()
