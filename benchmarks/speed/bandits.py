"""KernelUCB, BKB and SQUEAK: rounds per second against plain NumPy. Run: python benchmarks/speed/bandits.py"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np
from _results import note
from _timing import in_turn
from scipy import linalg

from nystream import BKB, Gaussian, KernelUCB
from nystream.dictionary import SQUEAK

LAM, BETA, SIGMA, Q = 0.1, 0.3, 0.2, 5.0
RIDGE, EPS, COPIES, BLOCK = 1.0, 0.5, 8, 64


def rows(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    square = (A * A).sum(axis=1)[:, None] + (B * B).sum(axis=1) - 2 * A @ B.T
    return np.exp(-np.maximum(square, 0.0) / (2 * SIGMA**2))


def plain_ucb(arms: np.ndarray, rewards: np.ndarray) -> list[int]:
    """One NumPy line per formula, with the inverse of K + lam I, grown by a row a round."""
    inverse, K, r, pulled = np.zeros((0, 0)), np.zeros((len(arms), 0)), np.zeros(0), []
    for reward in rewards:
        mean, square = K @ (inverse @ r), (1 - ((K @ inverse) * K).sum(axis=1)) / LAM
        best = int(np.argmax(mean + BETA * np.sqrt(np.maximum(square, 0.0))))
        u = inverse @ K[best]
        rest = 1 + LAM - K[best] @ u
        inverse = np.block([[inverse + np.outer(u, u) / rest, -u[:, None] / rest], [-u / rest, 1 / rest]])
        K, r = np.column_stack([K, rows(arms, arms[best : best + 1])]), np.append(r, reward[best])
        pulled.append(best)
    return pulled


def plain_bkb(arms: np.ndarray, rewards: np.ndarray, batch: float) -> list[int]:
    """Features of all arms anew whenever atoms are sampled, and the inverse of A."""
    rng, pulled = np.random.default_rng(0), []
    counts, sums, since = np.zeros(len(arms)), np.zeros(len(arms)), 0.0
    Z, inverse, b = np.zeros((len(arms), 0)), np.zeros((0, 0)), np.zeros(0)
    for reward in rewards:
        mean, square = Z @ (inverse @ b), widths(Z, inverse)
        best = int(np.argmax(mean + BETA * np.sqrt(np.maximum(square, 0.0))))
        pulled.append(best)
        counts[best], sums[best], since = counts[best] + 1, sums[best] + reward[best], since + square[best]
        u = inverse @ Z[best]
        inverse, b = inverse - np.outer(u, u) / (1 + Z[best] @ u), b + reward[best] * Z[best]
        if 1 + since > batch:
            seen = list(dict.fromkeys(pulled))
            odds = np.minimum(Q * widths(Z, inverse)[seen], 1.0)
            atoms = arms[seen][rng.random(len(seen)) < 1 - (1 - odds) ** counts[seen]]
            factor = np.linalg.cholesky(rows(atoms, atoms) + 1e-12 * np.eye(len(atoms)))
            Z = linalg.solve_triangular(factor, rows(atoms, arms), lower=True).T
            inverse = np.linalg.inv(LAM * np.eye(len(atoms)) + (Z.T * counts) @ Z)
            b, since = Z.T @ sums, 0.0
    return pulled


def widths(Z: np.ndarray, inverse: np.ndarray) -> np.ndarray:
    return ((Z @ inverse) * Z).sum(axis=1) + (1 - (Z * Z).sum(axis=1)) / LAM


def plain_squeak(X: np.ndarray) -> int:
    """Every block's scores from a matrix of all atoms."""
    rng = np.random.default_rng(0)
    P, odds, copies = X[:0], np.zeros(0), np.zeros(0, dtype=np.int64)
    for i in range(0, len(X), BLOCK):
        new = X[i : i + BLOCK]
        P, odds = np.vstack([P, new]), np.append(odds, np.ones(len(new)))
        copies = np.append(copies, np.full(len(new), COPIES))
        w = copies / (COPIES * odds)
        S = np.sqrt(w)[:, None] * rows(P, P) * np.sqrt(w)
        scores = (1 - EPS) * np.diagonal(np.linalg.solve(S + RIDGE * np.eye(len(P)), S)) / w
        lower = np.minimum(odds, scores)
        copies = rng.binomial(copies, lower / odds)
        stay = copies > 0
        P, odds, copies = P[stay], lower[stay], copies[stay]
    return len(P)


def play(pattern: KernelUCB | BKB, arms: np.ndarray, rewards: np.ndarray) -> list[int]:
    bandit, pulled = pattern.clone(), []
    for reward in rewards:
        best = bandit.choose(arms)
        bandit.learn(arms[best], float(reward[best]))
        pulled.append(best)
    return pulled


def compared(
    workload: str, rounds: int, plain: Callable[[], object], ours: Callable[[], object], repeats: int = 3
) -> None:
    taken = in_turn({"numpy": plain, "nystream": ours}, repeats)
    for mode, seconds in taken.items():
        ratio = taken["numpy"] / seconds
        print(f"{workload:<34} {mode:<9} {rounds / seconds:>10,.0f} {seconds / rounds * 1e6:>9.1f} {ratio:>8.2f}")
    note(workload, "rounds", rounds / taken["nystream"], "/s", taken["numpy"] / taken["nystream"], "plain NumPy")


def main() -> None:
    print(f"{'workload':<34} {'mode':<9} {'rounds/s':>10} {'us/round':>9} {'x NumPy':>8}")
    rng, kernel = np.random.default_rng(0), Gaussian(SIGMA)
    arms = rng.uniform(size=(200, 2))
    f = np.sin(5 * arms[:, 0]) * arms[:, 1]
    rewards = f + 0.1 * rng.normal(size=(300, len(arms)))
    exact = KernelUCB(kernel, lam=LAM, beta=BETA)
    for rounds in (100, 300):
        part = rewards[:rounds]
        assert plain_ucb(arms, part) == play(exact, arms, part)  # the same algorithm
        title = f"KernelUCB, 200 arms, {rounds} rounds"
        compared(title, rounds, partial(plain_ucb, arms, part), partial(play, exact, arms, part))
    for batch in (1.0, 2.0):
        bandit = BKB(kernel, lam=LAM, beta=BETA, q=Q, batch=batch, seed=0)
        assert plain_bkb(arms, rewards, batch)[:50] == play(bandit, arms, rewards)[:50]
        title = f"BKB, batch {batch:g}, 200 arms, {len(rewards)} rounds"
        compared(title, len(rewards), partial(plain_bkb, arms, rewards, batch), partial(play, bandit, arms, rewards))
    X = rng.uniform(-1, 1, (4000, 2))

    def ours() -> int:
        return SQUEAK(kernel, RIDGE, eps=EPS, copies=COPIES, block=BLOCK, seed=0).partial_fit(X).n

    assert abs(plain_squeak(X) - ours()) <= 2
    compared("SQUEAK, 2 columns, rows", len(X), partial(plain_squeak, X), ours)


if __name__ == "__main__":
    main()
