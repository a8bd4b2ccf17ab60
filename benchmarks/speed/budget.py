"""Learners with a budget of 100 stored points on ijcnn1: rows per second, relative to a plain NumPy step.

    python benchmarks/speed/budget.py            (data: the folder NYSTREAM_DATA, default ../shared/data)

Without the data, a synthetic stream of the same width is used. The plain steps hold their buffer in arrays of fixed
size and do one NumPy line per formula; those of Projectron, the random budget perceptron and BSGD with removal are
checked to give the learner's own predictions.
"""

from __future__ import annotations

import os
from collections.abc import Callable

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np
from _results import note
from _timing import by_rows, in_turn, rows_of_ijcnn1

import nystream
from nystream import BSGD, BudgetPA, DualSGD, Forgetron, Perceptron, Projectron, RandomBudgetPerceptron

ROWS, BUDGET, SIGMA, LAM, TOL, REPEATS = 6000, 100, 0.7, 1e-4, 0.1, 5
TARGETS = (6, 30)
"""Multiples of plain NumPy that are wanted: row by row, whole stream."""
GOLDEN = 0.6180339887498949


class Plain:
    """A buffer of points and coefficients in NumPy, and the published steps on it."""

    def __init__(self, d: int, budget: int = BUDGET) -> None:
        self.X, self.a, self.birth = np.zeros((budget + 1, d)), np.zeros(budget + 1), np.zeros(budget + 1)
        self.n = self.t = 0
        self.Kinv, self.rng = np.zeros((0, 0)), np.random.default_rng(0)

    def row(self, x: np.ndarray) -> np.ndarray:
        X = self.X[: self.n]
        return np.exp(-np.maximum((X * X).sum(1) + x @ x - 2 * (X @ x), 0.0) / (2 * SIGMA**2))

    def append(self, x: np.ndarray, alpha: float) -> None:
        self.X[self.n], self.a[self.n], self.birth[self.n] = x, alpha, self.t
        self.n += 1

    def drop(self, r: int) -> None:
        self.n -= 1
        for array in (self.X, self.a, self.birth):
            array[r] = array[self.n]

    def pegasos(self, x: np.ndarray, y: float, reduce: Callable[[], None]) -> float:
        """f = sum_i a_i k(x_i, .) / (lam t): the decay 1 - 1/t telescopes."""
        f = float(self.a[: self.n] @ self.row(x)) / (LAM * max(self.t, 1))
        self.t += 1
        if y * f < 1:
            self.append(x, y)
            if self.n > BUDGET:
                reduce()
        return f

    def remove(self) -> None:
        self.drop(int(np.lexsort((self.birth[: self.n], np.abs(self.a[: self.n])))[0]))

    def merge(self) -> None:
        """Golden section to 1e-6 for all partners at once."""
        a, n = self.a, self.n
        i = int(np.argmin(np.abs(a[:n])))
        k = self.row(self.X[i])
        partners = np.flatnonzero((np.sign(a[:n]) == np.sign(a[i])) & (k > 0))
        partners = partners[partners != i]
        if len(partners):
            log_k, aj = np.log(k[partners]), a[partners]

            def value(h: np.ndarray) -> np.ndarray:
                return np.abs(a[i] * np.exp((1 - h) ** 2 * log_k) + aj * np.exp(h**2 * log_k))

            low, high = np.zeros(len(aj)), np.ones(len(aj))
            for _ in range(29):
                left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
                up = value(left) < value(right)
                low, high = np.where(up, left, low), np.where(up, high, right)
            h = 0.5 * (low + high)
            best = int(np.argmin(a[i] ** 2 + aj**2 + 2 * a[i] * aj * k[partners] - value(h) ** 2))
            j, place = int(partners[best]), float(h[best])
            a[j] = np.sign(a[i]) * value(h)[best]
            self.X[j], self.birth[j] = place * self.X[i] + (1 - place) * self.X[j], self.t
        self.drop(i)

    def bsgd_merge(self, x: np.ndarray, y: float) -> float:
        return self.pegasos(x, y, self.merge)

    def bsgd_remove(self, x: np.ndarray, y: float) -> float:
        return self.pegasos(x, y, self.remove)

    def projectron(self, x: np.ndarray, y: float) -> float:
        k = self.row(x)
        f = float(self.a[: self.n] @ k)
        if y * f <= 0:
            d = self.Kinv @ k
            delta2 = max(0.0, 1 - float(k @ d))
            if self.n and (np.sqrt(delta2) <= TOL or self.n >= BUDGET):
                self.a[: self.n] += y * d
            else:
                e = np.append(d, -1.0)
                self.Kinv = np.pad(self.Kinv, ((0, 1), (0, 1))) + np.outer(e, e) / delta2
                self.append(x, y)
        return f

    def random_budget(self, x: np.ndarray, y: float) -> float:
        f = float(self.a[: self.n] @ self.row(x))
        if y * f <= 0:
            if self.n < BUDGET:
                self.append(x, y)
            else:
                r = int(BUDGET * self.rng.random())
                self.X[r], self.a[r] = x, y
        return f


def main() -> None:
    name, X, y = rows_of_ijcnn1(ROWS)
    kernel, d = nystream.Gaussian(SIGMA), X.shape[1]
    learners = {
        "BSGD merge": (BSGD(kernel, budget=BUDGET, lam=LAM), "bsgd_merge"),
        "BSGD remove": (BSGD(kernel, budget=BUDGET, lam=LAM, maintenance="remove"), "bsgd_remove"),
        "BSGD project": (BSGD(kernel, budget=BUDGET, lam=LAM, maintenance="project"), None),
        "Projectron": (Projectron(kernel, tol=TOL, budget=BUDGET), "projectron"),
        "Projectron++": (Projectron(kernel, tol=TOL, budget=BUDGET, plus=True), None),
        "RandomBudget": (RandomBudgetPerceptron(kernel, budget=BUDGET, seed=0), "random_budget"),
        "Forgetron": (Forgetron(kernel, budget=BUDGET), None),
        "BudgetPA S": (BudgetPA(kernel, budget=BUDGET), None),
        "BudgetPA NN": (BudgetPA(kernel, budget=BUDGET, variant="NN"), None),
        "BudgetPA P": (BudgetPA(kernel, budget=BUDGET, variant="P"), None),
        "DualSGD": (DualSGD(kernel, budget=BUDGET, lam=LAM, seed=0), None),
        "Perceptron": (Perceptron(kernel), None),
    }
    works: dict[str, Callable[[], object]] = {}
    mistakes = {}
    for label, (learner, plain) in learners.items():
        p = learner.clone().run(X, y)
        mistakes[label] = float(np.mean(p * y <= 0))
        if plain:
            works[plain] = lambda plain=plain: by_rows(getattr(Plain(d), plain), X, y)
            if plain != "bsgd_merge":  # where coefficients are equal, two places on the line are equally good
                np.testing.assert_allclose(works[plain](), p, rtol=1e-6, atol=1e-6)
        works[f"{label}, stream"] = lambda learner=learner: learner.clone().run(X, y)
        works[f"{label}, rows"] = lambda learner=learner: by_rows(learner.clone().step, X, y)
    taken = {name: least / ROWS * 1e6 for name, least in in_turn(works, REPEATS).items()}
    print(f"{name}, {ROWS} rows, {d} columns, budget {BUDGET}; targets {TARGETS[0]}x row by row, {TARGETS[1]}x stream")
    print(f"{'':>13} {'':>8} {'plain NumPy':>11} {'row by row':>20} {'whole stream':>20}")
    print(f"{'learner':>13} {'mistakes':>8} {'rows/s':>11} {'rows/s':>11} {'x NumPy':>8} {'rows/s':>11} {'x NumPy':>8}")
    for label, (_, plain) in learners.items():
        row, stream = taken[f"{label}, rows"], taken[f"{label}, stream"]
        base = f"{1e6 / taken[plain]:,.0f}" if plain else "-"
        by_row, whole = (f"{taken[plain] / v:.1f}x" if plain else "-" for v in (row, stream))
        line = f"{label:>13} {mistakes[label]:>8.1%} {base:>11} {1e6 / row:>11,.0f} {by_row:>8}"
        print(f"{line} {1e6 / stream:>11,.0f} {whole:>8}")
        for mode, taken_by in (("row by row", row), ("whole stream", stream)):
            base_by = taken[plain] / taken_by if plain else None
            note(f"{label}, budget {BUDGET}", mode, 1e6 / taken_by, "rows/s", base_by, "plain NumPy" if plain else "")


if __name__ == "__main__":
    main()
