"""StreamingGP: rows per second against plain NumPy. Run: python benchmarks/speed/streaming_gp.py"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np
from _results import note
from _timing import by_rows, seconds
from scipy import linalg
from scipy.special import gammaln

import nystream as ny

WIDTHS, RIDGES, TOL = (0.5, 1.0, 2.0), (0.01, 0.1), 0.01


def plain(X: np.ndarray, y: np.ndarray, most: int) -> np.ndarray:
    """The recursion of the class, one NumPy line per formula: an inverse for each model, a Cholesky factor a width."""
    out, scores = np.empty(len(X)), np.zeros(len(WIDTHS) * len(RIDGES))
    points = [np.zeros((0, X.shape[1])) for _ in WIDTHS]
    factors = [np.zeros((0, 0)) for _ in WIDTHS]
    inverses = [np.zeros((0, 0)) for _ in scores]
    weights = [np.zeros(0) for _ in scores]
    a, beta = 2.0, np.tile([2.0 * lam / (1 + lam) for lam in RIDGES], len(WIDTHS))
    for t, x in enumerate(X):
        means, densities, i = np.empty(len(scores)), np.empty(len(scores)), 0
        for j, width in enumerate(WIDTHS):
            z = np.zeros(0)
            if len(points[j]):
                k = np.exp(-((points[j] - x / width) ** 2).sum(axis=1) / 2)
                z = linalg.solve_triangular(factors[j], k, lower=True)
            missed = max(1.0 - z @ z, 0.0)
            enters = missed > TOL and len(points[j]) < most
            if enters:
                m = len(z)
                grown = np.zeros((m + 1, m + 1))
                grown[:m, :m], grown[m, :m], grown[m, m] = factors[j], z, np.sqrt(missed)
                factors[j], points[j] = grown, np.vstack([points[j], x / width])
                z, missed = np.append(z, np.sqrt(missed)), 0.0
            for lam in RIDGES:
                if enters:
                    inverses[i] = linalg.block_diag(inverses[i], 1 / lam)[-len(z) :, -len(z) :]
                    weights[i] = np.append(weights[i], 0.0)
                v = inverses[i] @ z
                s, noise = z @ v, 1 + missed / lam
                means[i], V = weights[i] @ z, noise + s
                error = y[t] - means[i]
                scale2 = V * beta[i] / a
                densities[i] = gammaln(a + 0.5) - gammaln(a) - 0.5 * np.log(2 * np.pi * a * scale2)
                densities[i] -= (a + 0.5) * np.log1p(error**2 / scale2 / (2 * a))
                weights[i] = weights[i] + v * error / V
                inverses[i] = inverses[i] - np.outer(v, v) / V
                beta[i] += error**2 / (2 * V)
                i += 1
        share = np.exp(scores - scores.max())
        out[t] = share @ means / share.sum()
        scores += densities
        a += 0.5
    return out


def main() -> None:
    print(f"{'landmarks':>9} {'mode':>13} {'rows/s':>10} {'us/row':>8} {'x NumPy':>8}")
    for most, rows in ((25, 1000), (100, 1000)):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(rows, 3))
        y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=rows)
        pattern = ny.StreamingGP(ny.Gaussian(1.0), widths=WIDTHS, lam=RIDGES, landmarks=most, tol=TOL)
        np.testing.assert_allclose(pattern.clone().run(X, y), plain(X, y, most), atol=1e-6)  # the same algorithm
        base = seconds(lambda X=X, y=y, most=most: plain(X, y, most), repeats=2)
        print(f"{most:>9} {'numpy rows':>13} {rows / base:>10,.0f} {base / rows * 1e6:>8.1f} {1.0:>8.1f}")
        modes = {
            "row by row": lambda X=X, y=y, pattern=pattern: by_rows(pattern.clone().step, X, y),
            "blocks": lambda X=X, y=y, pattern=pattern: pattern.clone().run(X, y),
        }
        for mode, work in modes.items():
            taken = seconds(work, repeats=2)
            print(f"{most:>9} {mode:>13} {rows / taken:>10,.0f} {taken / rows * 1e6:>8.1f} {base / taken:>8.1f}")
            note(f"StreamingGP, {most} landmarks", mode, rows / taken, "rows/s", base / taken, "plain NumPy")


if __name__ == "__main__":
    main()
