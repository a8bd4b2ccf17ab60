"""Dictionaries sampled apart and merged by sampling again, beside one pass: sizes, accuracy, and what is learnt.

    python benchmarks/spark/dictionaries.py [--rows 20000] [--spark]

First the guarantee, as benchmarks/accuracy/kors_guarantees.py checks it: unit vectors of three dimensions, theory's
beta, 1, 4 and 16 parts; the weighted atoms must be within 1 +- eps of the whole covariance. Then useful sizes: a
Gaussian kernel, beta of 2, and the error of `NystromPKRR` on rows that it did not see, over the merged dictionary and
beside KORS over the whole stream. Negative control: the same atoms, their weights forgotten. With --spark the models
are fitted by `nystream.spark.fit` and not in this process.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from running import COLUMNS, examples, session

import nystream
from nystream.dictionary import KORS, merge_dictionaries, theory_beta
from nystream.kernels import Gaussian, Linear

ROUNDS, RUNS, DELTA, RIDGE = 2000, 3, 0.1, 1.0
PARTS = (1, 4, 16)


def sampled(X: np.ndarray, parts: int, seed: int, sampler: KORS) -> list[KORS]:
    found = []
    for i, rows in enumerate(np.array_split(X, parts)):
        part = sampler.clone()
        part.start(X.shape[1])
        part.run(np.ascontiguousarray(rows), np.random.default_rng([seed, i]).random(len(rows)))
        found.append(part)
    return found


def accuracy(X: np.ndarray, atoms: np.ndarray, weights: np.ndarray) -> float:
    """Largest |eigenvalue - 1| of A^-1/2 B A^-1/2, A of all rows and B of the weighted atoms, with the ridge."""
    A = RIDGE * np.eye(X.shape[1]) + X.T @ X
    B = RIDGE * np.eye(X.shape[1]) + (atoms * weights[:, None]).T @ atoms
    root = np.linalg.inv(np.linalg.cholesky(A))
    return float(np.abs(np.linalg.eigvalsh(root @ B @ root.T) - 1).max())


def guarantees(eps: float = 0.5) -> bool:
    beta, right, caught = theory_beta(ROUNDS, DELTA, eps), True, True
    print(f"guarantee: eps {eps}, beta {beta:.0f}, {RUNS} runs of {ROUNDS} rows; with unweighted atoms in brackets")
    for parts in PARTS:
        errors, controls, sizes, unions = [], [], [], []
        for seed in range(RUNS):
            X = np.random.default_rng(seed).normal(size=(ROUNDS, 3)) * [1.0, 0.3, 0.1]
            X /= np.linalg.norm(X, axis=1)[:, None]
            pieces = sampled(X, parts, seed, KORS(Linear(), RIDGE, eps=eps, beta=beta))
            merged = merge_dictionaries(pieces, seed)
            errors.append(accuracy(X, merged.points, 1 / merged.odds))
            controls.append(accuracy(X, merged.points, np.ones(merged.n)))
            sizes.append(merged.n)
            unions.append(sum(piece.n for piece in pieces))
        right &= max(errors) <= eps
        caught &= min(controls) > eps
        print(
            f"  {parts:>2} parts: worst accuracy {max(errors):.3f} ({min(controls):.2f} at least), atoms "
            f"{min(sizes)}-{max(sizes)} of {min(unions)}-{max(unions)} sampled",
            flush=True,
        )
    print(f"  within eps: {right}; control caught: {caught}")
    return right and caught


def learning(rows: int, on_spark: bool) -> None:
    X, y = examples(rows + 5000)
    test, (X, y) = (X[rows:], y[rows:]), (X[:rows], y[:rows])
    pattern = nystream.NystromPKRR(Gaussian(2.0), lam=0.1, mu=0.5, beta=2.0, seed=0)
    sequential = pattern.clone()
    sequential.run(X, y)
    error = np.mean((sequential.predict(test[0]) - test[1]) ** 2)
    print(f"learning: {rows} rows, variance {test[1].var():.3f}; {'Spark' if on_spark else 'in this process'}")
    print(f"  sequential KORS, one pass: {sequential.size} atoms, mse {error:.4f}", flush=True)
    spark = session() if on_spark else None
    for parts in PARTS:
        if spark is not None:
            frame = spark.createDataFrame(pd.DataFrame({**dict(zip(COLUMNS, X.T, strict=True)), "y": y}))
            model = nystream.spark.fit(frame.repartition(parts), pattern, COLUMNS, "y")
        else:
            pieces = sampled(X, parts, 0, KORS(Gaussian(2.0), 0.5, beta=2.0))
            points = merge_dictionaries(pieces, 0).points
            model = nystream.NystromPKRR(Gaussian(2.0), lam=0.1, mu=0.5, beta=2.0, dictionary=points)
            model.run(X, y)
        error = np.mean((model.predict(test[0]) - test[1]) ** 2)
        few = np.random.default_rng(0).choice(X, model.size, replace=False)
        plain = nystream.NystromPKRR(Gaussian(2.0), lam=0.1, dictionary=few)
        plain.run(X, y)
        control = np.mean((plain.predict(test[0]) - test[1]) ** 2)
        print(
            f"  {parts:>2} parts: {model.size} atoms, mse {error:.4f}; as many rows at random {control:.4f}", flush=True
        )
    if spark is not None:
        spark.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--spark", action="store_true")
    given = parser.parse_args()
    if given.spark:
        import nystream.spark  # noqa: F401
    right = guarantees()
    learning(given.rows, given.spark)
    return 0 if right else 1


if __name__ == "__main__":
    raise SystemExit(main())
