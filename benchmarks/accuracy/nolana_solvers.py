"""What the cheap solvers of NOLANA change: against "eigh", which decomposes the kernel matrix after every move.

Two streams: Gaussian inputs that drift away from their first rows, and usps (first rows, class 0 against the rest), 100
landmarks, hinge loss. Columns: moves; the median and largest difference of predictions from those of "eigh" on the
same stream, as a share of the deviation of the latter; errors in percent.

Run: python benchmarks/accuracy/nolana_solvers.py [rows, default 3000]
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np

from nystream import NOLANA, Gaussian, datasets

LANDMARKS = 100


def streams(rows: int) -> Iterator[tuple[str, np.ndarray, np.ndarray, float, float]]:
    """Name, inputs, labels, kernel width, eps."""
    X = np.random.default_rng(0).normal(size=(rows, 4)) + np.linspace(0, 3, rows)[:, None]
    yield "drifting", X, np.where(np.sin(X[:, 0]) + X[:, 1] * X[:, 2] >= 1, 1.0, -1.0), 2.0, 0.5
    try:
        usps = datasets.load("usps")
    except (FileNotFoundError, ValueError) as error:
        print(f"usps left out: {error}", file=sys.stderr)
        return
    X, y = (np.asarray(part[:rows]) for part in usps)
    yield "usps", X, np.where(y == y[0], 1.0, -1.0), 7.0, 50.0


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 3000
    print(f"{'stream':<10} {'rank':>5} {'solver':<8} {'moves':>6} {'median':>9} {'largest':>9} {'error %':>8}")
    for name, X, y, sigma, eps in streams(rows):
        for rank in (LANDMARKS, 80, 25):
            base = None
            for solver in ("eigh", "reflect", "warm", "rank2"):
                model = NOLANA(Gaussian(sigma), landmarks=LANDMARKS, rank=rank, eps=eps, solver=solver)
                p = model.run(X, y)
                base = p if base is None else base
                gap = np.abs(p - base)[LANDMARKS:] / base[LANDMARKS:].std()
                wrong = 100 * np.mean((p >= 0) != (y > 0))
                print(
                    f"{name:<10} {rank:>5} {solver:<8} {model.moves:>6} {np.median(gap):>9.1e} {gap.max():>9.1e} "
                    f"{wrong:>8.2f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
