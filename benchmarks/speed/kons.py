"""KONS and Sketched-KONS at t stored points, row by row and in blocks, against a plain NumPy/SciPy step.

Run: python benchmarks/speed/kons.py
"""

from __future__ import annotations

import os
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np
from _results import note
from scipy.linalg import solve_triangular

from nystream import KONS, Gaussian, SketchedKONS

DIMENSION, WIDTH = 22, 4.0
PLAIN, ROWS, REPEATS = 8, 128, 3
TUNED = "SciPy, no copy"


class Plain:
    """The published recursion, one line per formula, squared loss, clip 1, lam 1, eta 1/8; goes on from a learner.

    Two triangular solves a round on a preallocated factor (and one on KORS's, in a sketch). A slice of it is what one
    writes first, and SciPy copies the slice in every solve; `whole` solves with all of it, the unused part an
    identity, which needs no copy.
    """

    def __init__(self, learner: KONS, *, whole: bool) -> None:
        n, m = learner.size, learner._factor.n
        self.n, self.m, self.whole = n, m, whole
        self.X, self.a, self.d = np.zeros((n + ROWS, DIMENSION)), np.zeros(n + ROWS), np.zeros(n + ROWS)
        self.act = np.zeros(n + ROWS, dtype=int)
        self.X[:n], self.a[:n], self.d[:m] = learner.points, learner.coef, learner.scale_.view[:, 0]
        self.act[:m] = learner._entered
        self.L = np.eye(m + ROWS)
        self.L[:m, :m] = learner._factor.matrix
        self.sketch = learner if isinstance(learner, SketchedKONS) else None
        if self.sketch:
            self.rng = np.random.default_rng(0)
            self.atoms, self.S = self.sketch.kors_.points.copy(), self.sketch.kors_.factor_.scale.copy()
            self.M = self.sketch.kors_.factor_.matrix

    def solve(self, b: np.ndarray, trans: int = 0) -> np.ndarray:
        if not self.whole:
            return solve_triangular(self.L[: self.m, : self.m], b, lower=True, trans=trans, check_finite=False)
        padded = np.concatenate([b, np.zeros(len(self.L) - self.m)])
        return solve_triangular(self.L, padded, lower=True, trans=trans, check_finite=False)[: self.m]

    def coin(self, x: np.ndarray, c: float) -> bool:
        """Whether the row enters the sketch; KORS's own dictionary hardly changes any more, and stays."""
        k = np.exp(-((self.atoms - x) ** 2).sum(1) / (2 * WIDTH**2))
        l = solve_triangular(self.M, c * self.S * k, lower=True, check_finite=False)  # noqa: E741
        s = max(c * c - l @ l, 0.0)
        return self.rng.random() < max(min(1.5 * s / (1 + s), 1.0), self.sketch.gamma)

    def step(self, x: np.ndarray, y: float) -> float:
        n, m = self.n, self.m
        k = np.exp(-((self.X[:n] - x) ** 2).sum(1) / (2 * WIDTH**2))
        ybar = k @ self.a[:n]
        p = np.clip(ybar, -1.0, 1.0)
        l = self.solve(self.d[:m] * k[self.act[:m]])  # noqa: E741
        s = 1.0 - l @ l
        dl = 2 * (p - y)
        z = self.sketch is None or self.coin(x, dl * np.sqrt(1 / 8))
        kap = (ybar - p) / s + dl / (1 + z * dl * dl * s / 8)
        self.a[self.act[:m]] += kap * self.d[:m] * self.solve(l, trans=1)
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


def report(template: KONS, t: int) -> None:
    X, y = stream(t + ROWS)
    new, labels = X[t:], y[t:]
    learner = trained(template, t, X, y)
    if type(template) is KONS:
        plain = Plain(learner, whole=True)
        expected = [plain.step(a, b) for a, b in zip(new[:PLAIN], labels[:PLAIN], strict=True)]
        got = trained(template, t, X, y).run(new[:PLAIN], labels[:PLAIN])
        np.testing.assert_allclose(got, expected, atol=1e-9)  # the same algorithm

    def by_rows(model, rows=ROWS) -> None:
        for a, b in zip(new[:rows], labels[:rows].tolist(), strict=True):
            model.step(a, b)

    times = {
        "plain NumPy": seconds(lambda: Plain(learner, whole=False), lambda m: by_rows(m, PLAIN)) / PLAIN,
        TUNED: seconds(lambda: Plain(learner, whole=True), lambda m: by_rows(m, PLAIN)) / PLAIN,
        "row by row": seconds(lambda: trained(template, t, X, y), by_rows) / ROWS,
        "blocks": seconds(lambda: trained(template, t, X, y), lambda m: m.run(new, labels)) / ROWS,
    }
    for mode, taken in times.items():
        base, tuned = times["plain NumPy"] / taken, times[TUNED] / taken
        size = f"{type(template).__name__:>13} {t:>5} {learner._factor.n:>6}"
        print(f"{size} {mode:>14} {1e6 * taken:>9.0f} {base:>8.1f} {tuned:>8.1f}")
        if mode not in ("plain NumPy", TUNED):
            note(f"{type(template).__name__} at row {t:,}", mode, 1e6 * taken, "us", base, "plain NumPy")


def main() -> None:
    print(f"{'learner':>13} {'t':>5} {'factor':>6} {'mode':>14} {'us/row':>9} {'x NumPy':>8} {'x SciPy':>8}")
    for template in (KONS(Gaussian(WIDTH)), SketchedKONS(Gaussian(WIDTH), gamma=0.1, seed=0)):
        for t in (1000, 2000, 3000):
            report(template, t)


if __name__ == "__main__":
    main()
