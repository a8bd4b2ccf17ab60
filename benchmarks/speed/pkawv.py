"""PKAWV on Taylor features, relative to plain NumPy and to the dgemm (matrix product) of the machine.

Run: python benchmarks/speed/pkawv.py
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np
from _results import note
from _timing import by_rows, seconds

from nystream._core.linalg import ISA
from nystream.features import Taylor
from nystream.kernels import Gaussian
from nystream.learners.pkawv import PKAWV

REPEATS = 7
TARGETS = {("row by row", 190): (8, None), ("whole stream", 190): (20, 0.5)}
TARGETS |= {("row by row", 495): (8, None), ("whole stream", 495): (18, 0.6)}
"""Wanted, by mode and features: multiples of plain NumPy, and share of dgemm on 2 r^2 flops a row."""


def listing(Z: np.ndarray, y: np.ndarray, lam: float) -> np.ndarray:
    """The published listing's arithmetic: A^-1 by Sherman and Morrison, then w = A^-1 b, one NumPy line each."""
    P, b, out = np.eye(Z.shape[1]) / lam, np.zeros(Z.shape[1]), np.empty(len(y))
    for t, z in enumerate(Z):
        v = P @ z
        v /= np.sqrt(1 + z @ v)
        P -= np.outer(v, v)
        out[t] = z @ (P @ b)
        b += y[t] * z
    return out


def dgemm_rate(n: int = 1000) -> float:
    """Flops per second of a matrix product on one thread."""
    rng = np.random.default_rng(0)
    A, B, C = rng.normal(size=(n, n)), rng.normal(size=(n, n)), np.empty((n, n))
    return 2 * n**3 / seconds(lambda: np.matmul(A, B, out=C), 15)


def main() -> None:
    rate = dgemm_rate()
    print(f"one thread, {ISA}; dgemm {rate / 1e9:.1f} GF/s; features included, except in NumPy's time")
    print(f"{'r':>4} {'mode':>13} {'rows/s':>9} {'us/row':>7} {'x NumPy':>8} {'want':>4} {'of dgemm':>8} {'want':>4}")
    for columns, degree, rows in ((18, 2, 6144), (8, 4, 1536)):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(rows, columns))
        y = np.tanh(X[:, 0] + 0.5 * X[:, 1] * X[:, 2]) + 0.1 * rng.normal(size=rows)
        features = Taylor(Gaussian(4.0), degree=degree)
        Z, few = features.fit_transform(X), rows // 4
        model = PKAWV(features.clone())
        np.testing.assert_allclose(model.run(X[:few], y[:few]), listing(Z[:few], y[:few], 1.0), atol=1e-9)  # the same
        base = seconds(lambda Z=Z, y=y, few=few: listing(Z[:few], y[:few], 1.0), 3) / few
        r = model.size
        print(f"{r:>4} {'plain NumPy':>13} {1 / base:>9,.0f} {base * 1e6:>7.2f} {1.0:>8.1f}")
        modes = {
            "row by row": lambda X=X, y=y, model=model: by_rows(model.step, X, y),
            "whole stream": lambda X=X, y=y, model=model: model.run(X, y),
        }
        for mode, work in modes.items():
            each = seconds(work, REPEATS) / rows
            share = 2 * r * r / each / rate
            times, part = TARGETS[mode, r]
            print(
                f"{r:>4} {mode:>13} {1 / each:>9,.0f} {each * 1e6:>7.2f} {base / each:>8.1f} {times:>4} "
                f"{share:>8.2f} {part or '':>4}"
            )
            note(f"PKAWV, {r} features", mode, 1 / each, "rows/s", base / each, "plain NumPy")
            note(f"PKAWV, {r} features", f"{mode}, of dgemm", 2 * r * r / each / 1e9, "GF/s", share, "dgemm")


if __name__ == "__main__":
    main()
