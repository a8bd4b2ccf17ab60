"""`fit_bulk` beside one pass of `run` and beside conjugate gradients. Run: python benchmarks/speed/bulk.py [rows]

Processor seconds with one thread, and the largest difference of predictions from those after one pass.

- one pass: `run`, which predicts every row before it learns it.
- fit_bulk: the sums of products by BLAS, one factorisation. The model can go on with the stream.
- CG: conjugate gradients on (Z'Z + lam I) w = Z'y, preconditioned by the factor of the same matrix of a sample of
  10 r rows, as FALKON's is by that of the landmarks; features are computed anew in each iteration. It gives w alone:
  without the factor of Z'Z + lam I a model cannot go on with the stream.
"""

from __future__ import annotations

import os
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np
from _results import note
from scipy import linalg

import nystream as ny

SAMPLE, CLOSE, BLOCK = 10, 1e-8, 2048


def conjugate_gradients(features: ny.features.FeatureMap, X: np.ndarray, y: np.ndarray, lam: float):
    """Weights of ridge regression, and iterations until they are within CLOSE, relative in the metric of the sample."""
    parts = [slice(i, i + BLOCK) for i in range(0, len(X), BLOCK)]
    sample = X[np.random.default_rng(0).choice(len(X), min(len(X), SAMPLE * features.dim), replace=False)]
    Z = features.transform(sample)
    factor = linalg.cho_factor(len(X) / len(Z) * Z.T @ Z + lam * np.eye(features.dim))

    def product(v: np.ndarray) -> np.ndarray:
        total = lam * v
        for part in parts:
            Z = features.transform(X[part])
            total += Z.T @ (Z @ v)
        return total

    b = np.zeros(features.dim)
    for part in parts:
        b += features.transform(X[part]).T @ y[part]
    w, r = np.zeros(features.dim), b.copy()
    s = p = linalg.cho_solve(factor, r)
    size = first = r @ s
    iterations = 0
    while size > CLOSE**2 * first and iterations < 100:
        Ap = product(p)
        step = size / (p @ Ap)
        w, r = w + step * p, r - step * Ap
        s = linalg.cho_solve(factor, r)
        size, before = r @ s, size
        p = s + size / before * p
        iterations += 1
    return w, iterations


def timed(work):
    start = time.process_time()
    found = work()
    return time.process_time() - start, found


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 8))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=rows)
    Q, G = X[:1000] + 0.01, ny.Gaussian(3.0)
    print(f"{rows:,} rows")
    print(f"{'learner':<30} {'way':<10} {'seconds':>8} {'x one pass':>10} {'difference':>10}")
    learners = {
        "PKRR, 100 Fourier features": ny.PKRR(ny.Fourier(G, 100, seed=0), lam=0.1),
        "PKRR, 300 Fourier features": ny.PKRR(ny.Fourier(G, 300, seed=0), lam=0.1),
        "PKRR, 800 Fourier features": ny.PKRR(ny.Fourier(G, 800, seed=0), lam=0.1),
        "NystromPKRR, 300 atoms": ny.NystromPKRR(G, lam=0.1, dictionary=X[:300]),
    }
    for name, pattern in learners.items():
        stream, bulk = pattern.clone(), pattern.clone()
        base, _ = timed(lambda stream=stream: stream.run(X, y))
        expected = stream.predict(Q)
        taken, _ = timed(lambda bulk=bulk: bulk.fit_bulk(X, y))
        found = [("one pass", base, expected), ("fit_bulk", taken, bulk.predict(Q))]
        if isinstance(pattern, ny.PKRR):
            features, lam = stream.features_, pattern.lam
            taken, (w, iterations) = timed(lambda f=features, lam=lam: conjugate_gradients(f, X, y, lam))
            found.append((f"CG, {iterations}", taken, features.transform(Q) @ w))
        for way, taken, predictions in found:
            far = np.abs(predictions - expected).max()
            print(f"{name:<30} {way:<10} {taken:>8.2f} {base / taken:>10.2f} {far:>10.1e}", flush=True)
        note(name, "fit_bulk", rows / found[1][1], "rows/s", base / found[1][1], "one pass")


if __name__ == "__main__":
    main()
