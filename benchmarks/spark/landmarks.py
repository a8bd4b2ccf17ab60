"""What landmarks are worth to `fit_auto`: errors of its Laplacian ridge by their number, and by how they are chosen.

    python benchmarks/spark/landmarks.py [--sets casp,covtype] [--rows 60000] [--counts 667,1333,2667] [--leverage]

It runs in this process, without Spark. The rows of a set come in a random order, --rows of them at most; a fifth is
kept for the test. The scales and the learnt metric come from 20,000 of the others, as in `fit_auto`, and so do the
landmarks: at random, or (--leverage) with probabilities proportional to ridge leverage scores, which as many random
landmarks estimate. A tenth of the rows chooses the ridge. Errors are shares of wrong classes, of casp RMSE.
Control: the most frequent class or the mean, which all must beat.
"""

from __future__ import annotations

import argparse
import os
import time

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
import scipy.linalg

from auto import error, table
from nystream._core.kernels import KernelRows
from nystream._core.linalg import add_gram
from nystream.auto.expert_set import combined
from nystream.auto.pooled import BLOCK, LAMS
from nystream.auto.views import LaplacianView
from nystream.scaling import StandardScale

SAMPLE, METRIC = 20_000, 2000
JITTER = 1e-8


class Problem:
    """Rows of a set as the Laplacian ridge sees them, and what it learns."""

    def __init__(self, name: str, rows: int) -> None:
        X, self.y, self.classes = table(name, rows)
        self.cut = 4 * len(X) // 5
        learnt = self.y[: self.cut]
        self.shift, self.scale = (0.0, 1.0) if self.classes else (learnt.mean(), learnt.std())
        codes = np.where(np.arange(int(self.y.max()) + 1) == self.y[:, None], 1.0, -1.0) if self.classes else None
        self.T = (self.y[:, None] - self.shift) / self.scale if codes is None else codes
        self.sample = np.random.default_rng(0).choice(self.cut, min(SAMPLE, self.cut), replace=False)
        view = LaplacianView(StandardScale())
        view.fit(X[self.sample], combined(self.T[self.sample]), rows=METRIC, seed=0)
        self.U = view(X)
        self.control = np.bincount(learnt.astype(int)).argmax() if self.classes else learnt.mean()

    def error(self, P: np.ndarray) -> float:
        found = P.argmax(axis=1) if self.classes else P[:, 0] * self.scale + self.shift
        return error(found, self.y[self.cut :], self.classes)


class Fit:
    """A Laplacian ridge on these landmarks: its error on new rows, and what leverage scores are computed from."""

    def __init__(self, problem: Problem, points: np.ndarray) -> None:
        self.kernel, self.points = KernelRows("laplacian", -1.0), np.unique(points, axis=0)
        cut, T = problem.cut, problem.T
        G, b = self.sums(problem.U[:cut], T[:cut])
        kept = slice(int(0.9 * cut), cut)
        held = self.sums(problem.U[kept], T[kept])
        K = self.kernel.block(self.points, self.points)
        self.penalty = np.eye(len(G))
        self.penalty[:-1, :-1] = K + JITTER * np.eye(len(K))
        Z, losses = self.features(problem.U[kept]), {}
        for lam in LAMS:
            w = scipy.linalg.solve(G - held[0] + lam * self.penalty, b - held[1], assume_a="pos")
            losses[lam] = np.mean((Z @ w - T[kept]) ** 2)
        self.lam = min(losses, key=lambda lam: losses[lam])
        self.A = G + self.lam * self.penalty
        w = scipy.linalg.solve(self.A, b, assume_a="pos")
        new = problem.U[cut:]
        self.error = problem.error(
            np.concatenate([self.features(new[i : i + BLOCK]) @ w for i in range(0, len(new), BLOCK)])
        )

    def features(self, U: np.ndarray) -> np.ndarray:
        return np.hstack([self.kernel.block(U, self.points), np.ones((len(U), 1))])

    def sums(self, U: np.ndarray, T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        size = len(self.points) + 1
        G, b = np.zeros((size, size)), np.zeros((size, T.shape[1]))
        for i in range(0, len(U), BLOCK):
            Z = self.features(U[i : i + BLOCK])
            add_gram(Z, G)
            b += Z.T @ T[i : i + BLOCK]
        return np.tril(G) + np.tril(G, -1).T, b

    def leverage(self, U: np.ndarray) -> np.ndarray:
        """Return estimated ridge leverage scores of rows: in the span of the landmarks, and beyond it."""
        Z = self.features(U).T
        inside = scipy.linalg.solve_triangular(np.linalg.cholesky(self.A), Z, lower=True)
        near = scipy.linalg.solve_triangular(np.linalg.cholesky(self.penalty[:-1, :-1]), Z[:-1], lower=True)
        beyond = np.maximum(1 - (near**2).sum(axis=0), 0.0) / self.lam
        return np.minimum((inside**2).sum(axis=0) + beyond, 1.0)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", default="casp,covtype")
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--counts", default="667,1333,2667")
    parser.add_argument("--leverage", action="store_true")
    given = parser.parse_args()
    right = True
    for name in given.sets.split(","):
        problem = Problem(name, given.rows)
        control = error(
            np.full(len(problem.y) - problem.cut, problem.control), problem.y[problem.cut :], problem.classes
        )
        print(f"{name}: {problem.cut:,} rows, control {control:.4f}", flush=True)
        for count in map(int, given.counts.split(",")):
            began = time.process_time()
            fit = Fit(problem, problem.U[problem.sample[:count]])
            right &= fit.error < control
            line = f"  {count:,} landmarks at random {fit.error:.4f} in {time.process_time() - began:.0f} s of a core"
            if given.leverage:
                scores = fit.leverage(problem.U[problem.sample])
                chosen = np.random.default_rng(1).choice(
                    problem.sample, min(count, len(scores)), replace=False, p=scores / scores.sum()
                )
                by_scores = Fit(problem, problem.U[chosen])
                right &= by_scores.error < control
                line += f", by leverage scores {by_scores.error:.4f}"
            print(line, flush=True)
    return 0 if right else 1


if __name__ == "__main__":
    raise SystemExit(main())
