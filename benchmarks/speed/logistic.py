"""AIOLI and GAF: rows per second against plain NumPy. Run: python benchmarks/speed/logistic.py"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np
from _results import note
from _timing import by_rows, in_turn
from scipy import special

from nystream import AIOLI, GAF

CLIP, LAM = 3.0, 0.1


def plain_aioli(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """One NumPy line per formula, with the inverse of A; scalars are Python's."""
    inverse, b, out = np.eye(X.shape[1]) / (2 * LAM), np.zeros(X.shape[1]), np.empty(len(X))
    for t, x in enumerate(X):
        u = inverse @ x
        m, v = u @ b, x @ u
        p = np.sign(m) * max(abs(m) - v, abs(m) / (1 + v / 2))
        for _ in range(60):
            h = np.tanh(p / 2)
            step = (m - p - v * h) / (1 + v / 2 * (1 - h * h))
            p += step
            if abs(step) <= 4e-16 * abs(p):
                break
        out[t] = p
        w = special.expit(p) * special.expit(-p) / (1 + CLIP)
        inverse -= np.outer(u, u) * (w / (1 + w * v))
        b += (w * p + y[t] * special.expit(-y[t] * p)) * x
    return out


def plain_gaf(X: np.ndarray, y: np.ndarray, points: np.ndarray, c: float) -> np.ndarray:
    """One NumPy line per formula, with the inverse of the Hessian; the implicit step by plain Newton steps."""
    K, r = points.shape[1], X.shape[1]
    inverse, mean, out = np.eye(K * r) / (2 * LAM), np.zeros(K * r), np.empty((len(X), K))
    for t, x in enumerate(X):
        each = np.kron(np.eye(K), x)
        U = inverse @ each.T
        m, V = each @ mean, each @ U
        sizes, Q = np.linalg.eigh(V)
        out[t] = special.softmax(m + points @ (Q * np.sqrt(sizes) @ Q.T), axis=1).mean(axis=0)
        a, label = np.zeros(K), int(y[t])
        for _ in range(60):
            p = special.softmax(m + V @ a)
            g = np.eye(K)[label] - p
            if np.abs(g - a).max() < 1e-13:
                break
            a = a + np.linalg.solve(np.eye(K) + (np.diag(p) - np.outer(p, p)) @ V, g - a)
        mean += U @ g
        B = np.sqrt(c) * (np.diag(np.sqrt(p)) - np.outer(p, np.sqrt(p)))
        N = U @ B
        inverse -= N @ np.linalg.solve(np.eye(K) + B.T @ V @ B, N.T)
    return np.log(out)


def compared(workload: str, rows: int, works: dict[str, object], repeats: int = 3) -> None:
    taken = in_turn(works, repeats)
    base = taken["numpy rows"]
    for mode, seconds in taken.items():
        print(f"{workload:<24} {mode:>12} {rows / seconds:>10,.0f} {seconds / rows * 1e6:>8.1f} {base / seconds:>8.2f}")
        if mode != "numpy rows":
            note(workload, mode, rows / seconds, "rows/s", base / seconds, "plain NumPy")


def main() -> None:
    print(f"{'workload':<24} {'mode':>12} {'rows/s':>10} {'us/row':>8} {'x NumPy':>8}")
    rng = np.random.default_rng(0)
    for r, rows in ((50, 2000), (200, 1000), (500, 400)):
        X = rng.normal(size=(rows, r)) / np.sqrt(r)
        y = np.where(X[:, 0] + 0.05 * rng.normal(size=rows) > 0, 1.0, -1.0)
        model = AIOLI(clip=CLIP, lam=LAM)
        np.testing.assert_allclose(model.clone().run(X, y), plain_aioli(X, y), atol=1e-8)  # the same algorithm
        works = {
            "numpy rows": lambda X=X, y=y: plain_aioli(X, y),
            "row by row": lambda X=X, y=y, model=model: by_rows(model.clone().step, X, y),
            "whole stream": lambda X=X, y=y, model=model: model.clone().run(X, y),
        }
        compared(f"AIOLI, {r} columns", rows, works)
    for K, r, rows in ((3, 20, 500), (3, 100, 200), (10, 40, 150)):
        X = rng.normal(size=(rows, r)) / np.sqrt(r)
        y = (X[:, :K] + 0.05 * rng.normal(size=(rows, K))).argmax(axis=1).astype(float)

        def fresh(r: int = r, K: int = K) -> GAF:
            model = GAF(clip=CLIP, lam=LAM)
            model.reserve(r, K)
            return model

        solver = fresh().solver_
        points, c = solver.points_, solver.c
        np.testing.assert_allclose(fresh().run(X, y), plain_gaf(X, y, points, c), atol=1e-8)  # the same algorithm
        works = {
            "numpy rows": lambda X=X, y=y, points=points, c=c: plain_gaf(X, y, points, c),
            "row by row": lambda X=X, y=y, fresh=fresh: by_rows(fresh().step, X, y),
            "whole stream": lambda X=X, y=y, fresh=fresh: fresh().run(X, y),
        }
        compared(f"GAF, {K} classes, {r} columns", rows, works)


if __name__ == "__main__":
    main()
