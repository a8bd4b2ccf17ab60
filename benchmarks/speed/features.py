"""Feature maps: microseconds per row, relative to vectorised NumPy. Run: python benchmarks/speed/features.py"""

from __future__ import annotations

import os
from collections.abc import Callable

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np
from _results import note
from _timing import seconds

from nystream.features import Fastfood, FeatureMap, Fourier, Taylor
from nystream.kernels import Gaussian

ROWS, REPEATS, SIGMA = 512, 15, 4.0  # as many rows as a learner maps at once
TARGETS = {"Taylor 18, M=2": 0.15, "Taylor 8, M=4": 0.4}
"""Microseconds per row in blocks."""


def taylor_runs(d: int, degree: int) -> tuple[list[tuple[int, int, int, int]], np.ndarray]:
    """(start, stop, source, variable) of the runs of monomials that share a first variable; the scale of each one."""
    runs, lead, scale, start, counts = [], [0] + [1] * d, [1.0] * (1 + d), 1 + d, list(range(d, 0, -1))
    for _ in range(2, degree + 1):
        end = start
        for j, m in enumerate(counts):
            own = m - (counts[j + 1] if j + 1 < d else 0)
            runs.append((start, start + m, end - m, j))
            for i in range(m):
                lead.append(lead[end - m + i] + 1 if i < own else 1)
                scale.append(scale[end - m + i] / lead[-1] ** 0.5)
            start += m
        counts = [sum(counts[j:]) for j in range(d)]
    return runs, np.array(scale)


def numpy_taylor(d: int, degree: int) -> Callable[[np.ndarray], np.ndarray]:
    """One product for each run of monomials, feature by feature, then one scaling."""
    runs, scale = taylor_runs(d, degree)

    def features(X: np.ndarray) -> np.ndarray:
        U = np.ascontiguousarray(X.T) / SIGMA
        Z = np.empty((len(scale), len(X)))
        Z[0] = np.exp(-0.5 * np.einsum("ij,ij->j", U, U))
        np.multiply(Z[0], U, out=Z[1 : d + 1])
        for start, stop, source, variable in runs:
            np.multiply(Z[source : source + stop - start], U[variable], out=Z[start:stop])
        Z *= scale[:, None]
        return np.ascontiguousarray(Z.T)

    return features


def numpy_fourier(W: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    def features(X: np.ndarray) -> np.ndarray:
        U = X @ W
        return np.hstack([np.cos(U), np.sin(U)]) / np.sqrt(W.shape[1])

    return features


def workloads() -> list[tuple[str, FeatureMap, int, Callable[[np.ndarray], np.ndarray]]]:
    """(name, started map, columns, the same in NumPy); Fastfood stands against Fourier of the same size."""
    loads: list[tuple[str, FeatureMap, int, Callable[[np.ndarray], np.ndarray]]] = []
    for d, degree in ((18, 2), (8, 4), (22, 2), (3, 10)):
        taylor = Taylor(Gaussian(SIGMA), degree=degree)
        taylor.start(d)
        loads.append((f"Taylor {d}, M={degree}", taylor, d, numpy_taylor(d, degree)))
    for d, dim in ((22, 100), (22, 200), (22, 1000), (256, 200), (784, 2000)):
        fourier = Fourier(Gaussian(SIGMA), dim, seed=0)
        fourier.start(d)
        loads.append((f"Fourier {d}, {dim}", fourier, d, numpy_fourier(fourier.W_)))
        fastfood = Fastfood(Gaussian(SIGMA), dim, seed=0)
        fastfood.start(d)
        loads.append((f"Fastfood {d}, {dim}", fastfood, d, numpy_fourier(fourier.W_)))
    return loads


def main() -> None:
    print(f"{'map, columns, size':>20} {'dim':>8} {'NumPy us':>9} {'us':>6} {'x NumPy':>8} {'row us':>7} {'target':>7}")
    for name, features, d, in_numpy in workloads():
        X = np.random.default_rng(0).normal(size=(ROWS, d))
        Z = np.empty((ROWS, features.dim))
        features.transform(X, out=Z)
        if not isinstance(features, Fastfood):  # which draws other directions
            np.testing.assert_allclose(Z, in_numpy(X), rtol=0, atol=1e-12)
        plain = seconds(lambda X=X, in_numpy=in_numpy: in_numpy(X), REPEATS) / ROWS * 1e6
        block = seconds(lambda X=X, Z=Z, features=features: features._map(X, Z), REPEATS) / ROWS * 1e6
        row = seconds(lambda X=X, features=features: [features.row(x) for x in X], REPEATS) / ROWS * 1e6
        target = TARGETS.get(name, "")
        print(f"{name:>20} {features.dim:>8} {plain:>9.3f} {block:>6.3f} {plain / block:>8.1f} {row:>7.2f} {target:>7}")
        note(f"features {name}", "whole block", block, "us", plain / block, "NumPy")
        note(f"features {name}", "row by row", row, "us")


if __name__ == "__main__":
    main()
