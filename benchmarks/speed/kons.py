"""KONS and Sketched-KONS at t stored points, row by row and in blocks, against a plain NumPy/SciPy step.

Run: python benchmarks/speed/kons.py
"""

from __future__ import annotations

import os
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np
from scipy.linalg import solve_triangular

from nystream import KONS, Gaussian, SketchedKONS

DIMENSION, WIDTH = 22, 4.0
PLAIN, ROWS, REPEATS = 8, 128, 3
TUNED = "SciPy, F-order"


class Plain:
    """The published recursion, one line per formula, squared loss, clip 1, lam 1, eta 1/8; goes on from a learner.

    Two triangular solves a round on a preallocated factor. `order="C"` is the array as one writes it first, a slice
    of which SciPy copies in every solve; "F" is one that BLAS takes without a copy.
    """

    def __init__(self, learner: KONS, room: int, order: str, gamma: float = 1.0, seed: int = 0) -> None:
        n, m = learner.size, learner._factor.n
        self.n, self.m, self.gamma, self.rng = n, m, gamma, np.random.default_rng(seed)
        self.X = np.zeros((n + room, DIMENSION))
        self.X[:n] = learner.points
        self.a, self.act = np.zeros(n + room), np.zeros(n + room, dtype=int)
        self.a[:n], self.act[:m] = learner.coef, learner._entered
        self.d = np.zeros(n + room)
        self.d[:m] = learner.scale_.view[:, 0]
        self.L = np.zeros((m + room, m + room), order=order)
        self.L[:m, :m] = learner._factor.matrix

    def step(self, x: np.ndarray, y: float) -> float:
        n, m = self.n, self.m
        k = np.exp(-((self.X[:n] - x) ** 2).sum(1) / (2 * WIDTH**2))
        ybar = k @ self.a[:n]
        p = np.clip(ybar, -1.0, 1.0)
        l = solve_triangular(self.L[:m, :m], self.d[:m] * k[self.act[:m]], lower=True, check_finite=False)  # noqa: E741
        s = 1.0 - l @ l
        dl = 2 * (p - y)
        z = self.rng.random() < self.gamma
        kap = (ybar - p) / s + dl / (1 + z * dl * dl * s / 8)
        q = solve_triangular(self.L[:m, :m], l, lower=True, trans=1, check_finite=False)
        self.a[self.act[:m]] += kap * self.d[:m] * q
        self.X[n], self.a[n] = x, -kap
        if z:
            self.d[m], self.act[m] = dl * np.sqrt(1 / 8), n
            self.L[m, :m], self.L[m, m] = self.d[m] * l, np.sqrt(1 + dl * dl * s / 8)
            self.m += 1
        self.n += 1
        return float(p)


def stream(n: int) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(n, DIMENSION))
    return X, np.tanh(X[:, 0] * X[:, 1])


def trained(learner: KONS, t: int, X: np.ndarray, y: np.ndarray) -> KONS:
    learner = learner.clone()
    learner.run(X[:t], y[:t])
    return learner


def seconds(make, work) -> float:
    """Least time of several fresh starts; the first touch of new memory is not what is measured."""
    taken = []
    for _ in range(REPEATS):
        model = make()
        start = time.perf_counter()
        work(model)
        taken.append(time.perf_counter() - start)
    return min(taken)


def report(name: str, template: KONS, t: int, gamma: float) -> None:
    X, y = stream(t + ROWS)
    new, labels = X[t:], y[t:]
    learner = trained(template, t, X, y)
    if gamma == 1.0:
        plain = Plain(learner, ROWS, "C")
        expected = [plain.step(a, b) for a, b in zip(new[:PLAIN], labels[:PLAIN], strict=True)]
        got = trained(template, t, X, y).run(new[:PLAIN], labels[:PLAIN])
        np.testing.assert_allclose(got, expected, atol=1e-9)  # the same algorithm

    def by_rows(model, rows=ROWS) -> None:
        for a, b in zip(new[:rows], labels[:rows].tolist(), strict=True):
            model.step(a, b)

    times = {
        "plain NumPy": seconds(lambda: Plain(learner, ROWS, "C", gamma), lambda m: by_rows(m, PLAIN)) / PLAIN,
        TUNED: seconds(lambda: Plain(learner, ROWS, "F", gamma), lambda m: by_rows(m, PLAIN)) / PLAIN,
        "row by row": seconds(lambda: trained(template, t, X, y), by_rows) / ROWS,
        "blocks": seconds(lambda: trained(template, t, X, y), lambda m: m.run(new, labels)) / ROWS,
    }
    for mode, taken in times.items():
        base, tuned = times["plain NumPy"] / taken, times[TUNED] / taken
        print(f"{name:>13} {t:>5} {learner._factor.n:>6} {mode:>14} {1e6 * taken:>9.0f} {base:>8.1f} {tuned:>8.1f}")


def main() -> None:
    print(f"{'learner':>13} {'t':>5} {'factor':>6} {'mode':>14} {'us/row':>9} {'x NumPy':>8} {'x SciPy':>8}")
    for t in (1000, 2000, 3000):
        report("KONS", KONS(Gaussian(WIDTH)), t, 1.0)
    for t in (1000, 2000, 3000):
        report("SketchedKONS", SketchedKONS(Gaussian(WIDTH), gamma=0.1, seed=0), t, 0.1)


if __name__ == "__main__":
    main()
