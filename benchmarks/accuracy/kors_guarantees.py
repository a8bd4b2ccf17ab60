"""The three guarantees of KORS with theory's beta, over 24 runs of 6000 unit vectors in three dimensions.

With probability 1 - delta in every round: the weighted atoms are within 1 +- eps of the whole covariance; the score is
between the true online leverage and (1+eps)/(1-eps) times it; there are at most 3 beta (1+eps)/(1-eps) d_onl atoms.
Calandriello, Lazaric, Valko, ICML 2017, Theorem 2. Run: python benchmarks/accuracy/kors_guarantees.py
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np

from nystream.dictionary import KORS, theory_beta
from nystream.kernels import Linear

ROUNDS, RUNS, DELTA, RIDGE = 6000, 12, 0.1, 1.0


def unit_vectors(rng: np.random.Generator) -> np.ndarray:
    X = rng.normal(size=(ROUNDS, 3)) * [1.0, 0.3, 0.1]
    return X / np.linalg.norm(X, axis=1)[:, None]


def accuracy(X: np.ndarray, weights: np.ndarray) -> float:
    """Largest |eigenvalue - 1| of A_t^-1/2 A_t^I A_t^-1/2, over the rounds; weights are 1/p of kept rows, else 0."""
    A = B = RIDGE * np.eye(3)
    worst = 0.0
    for t, (x, w) in enumerate(zip(X, weights, strict=True), 1):
        A, B = A + np.outer(x, x), B + w * np.outer(x, x)
        if t % 20 == 0:
            root = np.linalg.inv(np.linalg.cholesky(A))
            worst = max(worst, np.abs(np.linalg.eigvalsh(root @ B @ root.T) - 1).max())
    return worst


def online_leverages(X: np.ndarray) -> np.ndarray:
    P, tau = np.eye(3) / RIDGE, np.zeros(len(X))
    for t, x in enumerate(X):
        v = P @ x
        tau[t] = x @ v / (1 + x @ v)
        P -= np.outer(v, v) / (1 + x @ v)
    return tau


def main() -> None:
    print(" eps   beta runs worst accuracy   score/leverage   rho        atoms   bound")
    for eps in (0.5, 0.3):
        beta, rho = theory_beta(ROUNDS, DELTA, eps), (1 + eps) / (1 - eps)
        worst, low, high, sizes, limit, broken = 0.0, np.inf, 0.0, [], np.inf, 0
        for seed in range(RUNS):
            rng = np.random.default_rng(seed)
            X = unit_vectors(rng)
            kors = KORS(Linear(), RIDGE, eps=eps, beta=beta)
            kors.start(3)
            score, p, kept = kors.run(X, rng.random(ROUNDS))
            tau = online_leverages(X)
            error, ratio = accuracy(X, np.where(kept, 1 / p, 0.0)), score / tau
            most = 3 * rho * beta * tau.sum()
            broken += error > eps or ratio.min() < 1 - 1e-9 or ratio.max() > rho or kors.n > most
            worst, low, high = max(worst, error), min(low, ratio.min()), max(high, ratio.max())
            sizes.append(kors.n)
            limit = min(limit, most)
        print(
            f"{eps:>4} {beta:>6.1f} {RUNS:>4} {worst:>14.4f} {low:>8.4f}-{high:<7.4f} {rho:>5.2f} "
            f"{min(sizes):>5}-{max(sizes):<6} {limit:>7.0f}   violated in {broken} runs"
        )


if __name__ == "__main__":
    main()
