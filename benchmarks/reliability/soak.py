"""Ten million rounds of PKAWV on Taylor features (r = 190): does memory grow, does the factor drift?

    python benchmarks/reliability/soak.py [rounds]

A second model is kept beside it, the plain sums A = lam I + Z'Z and b = Z'y, and factorised afresh at checkpoints; the
largest difference of the two predictions over 1,000 test rows is printed, and the growth of the resident memory.
"""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import resource
import sys
import time
from pathlib import Path

import numpy as np
from scipy.linalg import cho_factor, cho_solve

import nystream

LAM, D, BLOCK = 1.0, 18, 10_000


def resident() -> float:
    """Resident memory in MB, now (Linux), else the largest so far."""
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * resource.getpagesize() / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def rows(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((n, D))
    return X, np.tanh(X[:, 0] + 0.5 * X[:, 1] * X[:, 2]) + 0.1 * rng.standard_normal(n)


def main(rounds: int) -> None:
    rng = np.random.default_rng(0)
    model = nystream.PKAWV(nystream.Taylor(nystream.Gaussian(4.0), degree=2), lam=LAM)
    features = nystream.Taylor(nystream.Gaussian(4.0), degree=2)
    features.start(D)
    A, b = LAM * np.eye(features.dim), np.zeros(features.dim)
    test, _ = rows(rng, 1000)
    Z_test = features.transform(test)
    checkpoints = {rounds * k // 10 // BLOCK * BLOCK for k in range(1, 11)}
    learning, worst, start = 0.0, 0.0, None
    for n in range(BLOCK, rounds + 1, BLOCK):
        X, y = rows(rng, BLOCK)
        began = time.perf_counter()
        model.run(X, y)
        learning += time.perf_counter() - began
        Z = features.transform(X)
        A += Z.T @ Z
        b += Z.T @ y
        if n in checkpoints:
            factor = cho_factor(A)
            leverage = (Z_test * cho_solve(factor, Z_test.T).T).sum(1)
            fresh = Z_test @ cho_solve(factor, b) / (1 + leverage)
            difference = float(abs(model.predict(test) - fresh).max())
            worst = max(worst, difference)
            start = resident() if start is None else start  # after the first checkpoint, whose workspace stays
            print(
                f"{n:>12,} rounds: difference to a fresh factorisation {difference:.1e}, resident {resident():.1f} MB",
                flush=True,
            )
    print(
        f"r = {features.dim}: {rounds:,} rounds at {rounds / learning:,.0f} rows/s; largest difference {worst:.1e}; "
        f"resident memory grew by {resident() - (start or 0):.2f} MB over the last nine tenths"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
