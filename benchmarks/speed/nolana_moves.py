"""What a move of a landmark costs NOLANA: microseconds a round, by landmarks and rank.

Run: python benchmarks/speed/nolana_moves.py [--before PYTHON]

Every round moves a landmark (eps 0). The limit is the products of a matrix with a vector in a move at full rank, seven
of m x m, by BLAS. PYTHON: the interpreter of an environment with an earlier nystream, for the column "before".
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np
from _before import measured
from _results import note
from _timing import seconds
from scipy.linalg.blas import dgemv

from nystream.features import adaptive_nystrom
from nystream.kernels import Gaussian
from nystream.learners import NOLANA

SIZES = (25, 50, 100, 200, 400)
SHARES = {"m": 1.0, "0.8 m": 0.8}
PRODUCTS = 7
WANTED = {100: 20}
"""Times as fast as before, by landmarks."""
SOLVER = "reflect" if "reflect" in getattr(adaptive_nystrom, "SOLVERS", ()) else "auto"
"""Earlier ones have no reflections."""


def microseconds() -> dict[str, float]:
    """Of a round that moves a landmark."""
    found = {}
    for m in SIZES:
        rows = max(40, 30_000 // m)
        X = np.random.default_rng(0).normal(size=(m + 6 * rows, 8))
        y = np.sign(np.sin(X[:, 0]) + X[:, 1] * X[:, 2])
        for name, share in SHARES.items():
            model = NOLANA(Gaussian(2.0), landmarks=m, rank=int(share * m), eps=0.0, solver=SOLVER)
            model.run(X[: m + rows], y[: m + rows])
            parts = iter(range(m + rows, len(X), rows))

            def work(model: NOLANA = model, parts=parts, rows: int = rows, X=X, y=y) -> None:
                at = next(parts)
                model.run(X[at : at + rows], y[at : at + rows])

            found[f"{m} {name}"] = 1e6 * seconds(work, 5) / rows
    return found


def limit(m: int) -> float:
    A, x = np.asfortranarray(np.eye(m)), np.ones(m)

    def products() -> None:
        for _ in range(PRODUCTS * 100):
            dgemv(1.0, A, x)

    return 1e6 * seconds(products) / 100


def main() -> None:
    now, before = measured(microseconds, __doc__)
    print(
        f"{'landmarks':>10} {'rank':>6} {'before':>9} {'now':>8} {'times':>6} {'wanted':>7} {'limit':>7}   us a round"
    )
    for key, taken in now.items():
        m, rank = key.split(" ", 1)
        earlier, least = before[key] if before else float("nan"), limit(int(m))
        print(
            f"{m:>10} {rank:>6} {earlier:9.1f} {taken:8.1f} {earlier / taken:6.1f} {WANTED.get(int(m), ''):>7} "
            f"{least:7.1f}"
        )
        figure = (f"NOLANA, {m} landmarks, rank {rank}", "a round with a move", taken, "us")
        against = (earlier / taken, "before") if before else ()
        note(*figure, *against, before=earlier if before else None, limit=least)


if __name__ == "__main__":
    main()
