"""ONS: rows per second, in exact blocks and row by row, relative to plain NumPy. Run: python benchmarks/speed/ons.py"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np
from _results import note
from _timing import by_rows, seconds

from nystream.learners.ons import ONS


def plain(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Clipped ONS, one NumPy line per formula; squared loss, clip 1, lam 1, eta 1/8."""
    u, P, out = np.zeros(X.shape[1]), np.eye(X.shape[1]), np.empty(len(X))
    for t, x in enumerate(X):
        ybar = u @ x
        out[t] = p = np.clip(ybar, -1.0, 1.0)
        v = P @ x
        s = x @ v
        dl = 2 * (p - y[t])
        den = 1 + dl * dl * s / 8
        u -= ((ybar - p) / s + dl / den) * v
        P -= (dl * dl / 8 / den) * np.outer(v, v)
    return out


def main() -> None:
    print(f"{'r':>5} {'mode':>13} {'rows/s':>10} {'us/row':>8} {'x NumPy':>8}")
    for r, rows in ((50, 4000), (190, 1500), (500, 400)):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(rows, r)) / np.sqrt(r)
        y = np.tanh(3 * X[:, 0])
        learner = ONS()
        np.testing.assert_allclose(learner.run(X, y), plain(X, y), atol=1e-9)  # the same algorithm
        base = seconds(lambda X=X, y=y: plain(X, y))
        print(f"{r:>5} {'numpy rows':>13} {rows / base:>10,.0f} {base / rows * 1e6:>8.2f} {1.0:>8.1f}")
        modes = {
            "row by row": lambda X=X, y=y, learner=learner: by_rows(learner.step, X, y),
            "exact blocks": lambda X=X, y=y, learner=learner: learner.run(X, y),
        }
        for mode, work in modes.items():
            taken = seconds(work)
            print(f"{r:>5} {mode:>13} {rows / taken:>10,.0f} {taken / rows * 1e6:>8.2f} {base / taken:>8.1f}")
            note(f"ONS, {r} columns", mode, rows / taken, "rows/s", base / taken, "plain NumPy")


if __name__ == "__main__":
    main()
