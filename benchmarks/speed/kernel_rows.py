"""Kernel rows (a row against all stored points): microseconds per row, relative to NumPy.

Run: python benchmarks/speed/kernel_rows.py
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np
from _results import note

from nystream._core.kernels import isa
from nystream.dictionary import Rows
from nystream.kernels import Gaussian, Kernel, Laplacian, Matern, Polynomial

ROWS, REPEATS = 256, 15
SIZES = ((100, 22), (500, 22), (2000, 22), (100, 256), (500, 256), (2000, 256))
"""Stored points and columns."""


def numpy_row(P: np.ndarray, norms: np.ndarray, x: np.ndarray, gamma: float) -> np.ndarray:
    """A Gaussian kernel row, norms of the points known."""
    return np.exp(-gamma * np.maximum(norms + x @ x - 2 * (P @ x), 0))


def numpy_block(X: np.ndarray, P: np.ndarray, norms: np.ndarray, gamma: float) -> np.ndarray:
    """A block of them, with as few temporaries as NumPy allows."""
    D = X @ P.T
    D *= -2
    D += (X * X).sum(1)[:, None]
    D += norms
    np.maximum(D, 0, out=D)
    D *= -gamma
    return np.exp(D, out=D)


def microseconds(works: list[Callable[[], object]]) -> list[float]:
    """Least time of several runs of each, per row, taken in turns: the run that the machine disturbed least."""
    least = [float("inf")] * len(works)
    for _ in range(REPEATS):
        for i, work in enumerate(works):
            start = time.thread_time()
            work()
            least[i] = min(least[i], time.thread_time() - start)
    return [seconds / ROWS * 1e6 for seconds in least]


def data(m: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows, and points stored as learners store them."""
    rng = np.random.default_rng(0)
    points = Rows(d)
    points.extend(rng.normal(size=(m, d)))
    return rng.normal(size=(ROWS, d)), points.view


def against_numpy() -> None:
    print(f"{'points':>7} {'columns':>8} | {'NumPy row':>9} {'ours':>7} {'ratio':>6}", end=" | ")
    print(f"{'NumPy block':>11} {'ours':>7} {'ratio':>6}")
    for m, d in SIZES:
        X, P = data(m, d)
        norms, gamma, kernel = (P * P).sum(1), 0.5 / d, Gaussian(float(np.sqrt(d)))
        assert np.allclose(kernel(X, P), numpy_block(X, P, norms, gamma), rtol=1e-12)
        numpy_rows, rows, numpy_blocks, blocks = microseconds(
            [
                lambda X=X, P=P, n=norms, g=gamma: [numpy_row(P, n, x, g) for x in X],
                lambda X=X, P=P, k=kernel: [k.row(P, x) for x in X],
                lambda X=X, P=P, n=norms, g=gamma: numpy_block(X, P, n, g),
                lambda X=X, P=P, k=kernel: k(X, P),
            ]
        )
        print(f"{m:>7} {d:>8} | {numpy_rows:>9.2f} {rows:>7.2f} {numpy_rows / rows:>6.1f}", end=" | ")
        print(f"{numpy_blocks:>11.2f} {blocks:>7.2f} {numpy_blocks / blocks:>6.1f}")
        note(f"Gaussian kernel, {m} points, {d} columns", "row by row", rows, "us", numpy_rows / rows, "NumPy")
        note(f"Gaussian kernel, {m} points, {d} columns", "whole block", blocks, "us", numpy_blocks / blocks, "NumPy")


def of_each_kernel() -> None:
    X, P = data(500, 22)
    kernels: list[Kernel] = [Gaussian(), Laplacian(), Matern(0.5), Matern(1.5), Matern(2.5), Polynomial(3)]
    print(f"\n{'500 points, 22 columns':>24} {'row':>7} {'block':>7}")
    for kernel in kernels:
        rows, blocks = microseconds([lambda k=kernel: [k.row(P, x) for x in X], lambda k=kernel: k(X, P)])
        print(f"{kernel!r:>24} {rows:>7.2f} {blocks:>7.2f}")
        note(f"{kernel!r}, 500 points, 22 columns", "row by row", rows, "us")
        note(f"{kernel!r}, 500 points, 22 columns", "whole block", blocks, "us")


if __name__ == "__main__":
    print(f"microseconds per row, one thread, {isa()}; Gaussian kernel")
    against_numpy()
    of_each_kernel()
