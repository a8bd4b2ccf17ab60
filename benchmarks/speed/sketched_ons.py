"""SketchedONS: rows per second against an SVD a row in NumPy, and against exact ONS in blocks.

Run: python benchmarks/speed/sketched_ons.py
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np
from _results import note
from _timing import by_rows, seconds

from nystream.learners import ONS, SketchedONS

REPEATS = 3
PLAIN_ROWS = 80
EXACT_LIMIT = 1000


def plain(X: np.ndarray, y: np.ndarray, ell: int) -> np.ndarray:
    """ONS with Frequent Directions, one NumPy line per formula; squared loss, clip 1, lam 1, eta 1/8."""
    d = X.shape[1]
    S, H, u, out = np.zeros((ell, d)), np.ones(ell), np.zeros(d), np.empty(len(X))
    for t, x in enumerate(X):
        ybar = u @ x
        out[t] = p = np.clip(ybar, -1.0, 1.0)
        v = x - S.T @ (H * (S @ x))
        g = 2 * (p - y[t]) * x
        S[-1] = np.sqrt(1 / 8) * g
        _, sv, V = np.linalg.svd(S, full_matrices=False)
        kept = np.maximum(sv**2 - sv[-1] ** 2, 0.0)
        S, H = np.sqrt(kept)[:, None] * V, 1 / (1 + kept)
        u = u - (ybar - p) / (x @ v) * v - (g - S.T @ (H * (S @ g)))
    return out


def main() -> None:
    print(
        f"{'r':>5} {'sketch':>6} {'us/row':>8} {'us/step':>8} {'NumPy us':>9} {'x NumPy':>8} {'ONS us':>8} {'x ONS':>6}"
    )
    for r, rows in ((100, 4000), (400, 2000), (1000, 1000), (4000, 500)):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(rows, r)) / np.sqrt(1 + np.arange(r))
        X /= np.linalg.norm(X, axis=1, keepdims=True)
        y = np.tanh(3 * X[:, 0])
        exact, part = ONS(), slice(0, PLAIN_ROWS)
        whole = seconds(lambda X=X, y=y, exact=exact: exact.run(X, y), REPEATS) / rows if r <= EXACT_LIMIT else np.nan
        for ell in (5, 10, 20, 50):
            learner, check = SketchedONS(sketch=ell), SketchedONS(sketch=ell)
            np.testing.assert_allclose(check.run(X[part], y[part]), plain(X[part], y[part], ell), atol=1e-9)
            base = seconds(lambda X=X[part], y=y[part], ell=ell: plain(X, y, ell), REPEATS) / PLAIN_ROWS
            stream = seconds(lambda X=X, y=y, learner=learner: learner.run(X, y), REPEATS) / rows
            steps = seconds(lambda X=X, y=y, learner=learner: by_rows(learner.step, X, y), REPEATS) / rows
            print(
                f"{r:>5} {ell:>6} {stream * 1e6:>8.2f} {steps * 1e6:>8.2f} {base * 1e6:>9.1f} {base / stream:>8.1f} "
                f"{whole * 1e6:>8.1f} {whole / stream:>6.1f}"
            )
            title = f"SketchedONS, {r} columns, sketch {ell}"
            note(title, "whole stream", 1 / stream, "rows/s", base / stream, "plain NumPy")
            note(title, "row by row", 1 / steps, "rows/s", base / steps, "plain NumPy")


if __name__ == "__main__":
    main()
