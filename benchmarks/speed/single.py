"""Single precision beside double: rows per second, bytes and mistakes of FOGD and of learners that store points on
ijcnn1; frames of Pixels.

    python benchmarks/speed/single.py            (data: the folder NYSTREAM_DATA, default ../shared/data)

Columns are standardised. Without the data, a synthetic stream of the same width is used. Times are those of one thread,
of works that take turns. The mistakes are means over SEEDS draws of the directions, or orders of the rows; `apart` is
the mean difference of the two precisions with equal draws, `noise` the standard deviation over the draws: what another
seed would change. Learners that store points see the rows as they are, and with columns of noise beside them.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

from collections.abc import Callable
from typing import Any

import numpy as np
from _results import note
from _timing import by_rows, in_turn, rows_of_ijcnn1

from nystream.kernels import Gaussian
from nystream.learners import (
    BSGD,
    FOGD,
    ILK,
    NORMA,
    SILK,
    SVMD,
    BudgetPA,
    DualSGD,
    Forgetron,
    KernelSmoother,
    PassiveAggressive,
    Perceptron,
    RandomBudgetPerceptron,
)
from nystream.video import Pixels

ROWS, SIGMA, REPEATS, SEEDS = 6000, 3.3, 9, 10
DTYPES = ("float64", "float32")
NOISE = 78, 0.3  # further columns, and their scale
STORING: dict[str, Callable[[int, str], Any]] = {
    "SILK": lambda m, dtype: SILK(Gaussian(SIGMA), budget=m, dtype=dtype),
    "NORMA": lambda m, dtype: NORMA(Gaussian(SIGMA), budget=m, dtype=dtype),
    "NORMA, newest": lambda m, dtype: NORMA(Gaussian(SIGMA), budget=m, keep="support", dtype=dtype),
    "BSGD, removal": lambda m, dtype: BSGD(Gaussian(SIGMA), budget=m, lam=1e-4, maintenance="remove", dtype=dtype),
    "DualSGD": lambda m, dtype: DualSGD(Gaussian(SIGMA), budget=m, lam=1e-4, seed=0, dtype=dtype),
    "SVMD": lambda m, dtype: SVMD(Gaussian(SIGMA), budget=m, dtype=dtype),
    "Forgetron": lambda m, dtype: Forgetron(Gaussian(SIGMA), budget=m, dtype=dtype),
    "random budget": lambda m, dtype: RandomBudgetPerceptron(Gaussian(SIGMA), budget=m, seed=0, dtype=dtype),
    "BudgetPA, S": lambda m, dtype: BudgetPA(Gaussian(SIGMA), budget=m, dtype=dtype),
    "KernelSmoother": lambda m, dtype: KernelSmoother(m, dtype=dtype),
}
"""By the points that they store."""
UNBOUNDED: dict[str, Callable[[int, str], Any]] = {
    "ILK": lambda m, dtype: ILK(Gaussian(SIGMA), dtype=dtype),
    "PA-I": lambda m, dtype: PassiveAggressive(Gaussian(SIGMA), dtype=dtype),
    "Perceptron": lambda m, dtype: Perceptron(Gaussian(SIGMA), dtype=dtype),
}


def features(X: np.ndarray, y: np.ndarray) -> None:
    print(f"{'':>14} {'whole stream':>21} {'row by row':>21} {'bytes':>16} {'mistakes':>15}")
    print(f"{'FOGD':>14} {'f32, rows/s':>12} {'x f64':>8} {'f32, rows/s':>12} {'x f64':>8} ", end="")
    print(f"{'f32':>8} {'of f64':>7} {'f64':>7} {'f32':>7} {'apart':>8} {'noise':>7}")
    for kind, dim in ((kind, dim) for kind in ("fourier", "fastfood") for dim in (100, 400, 1600)):
        models = {dtype: fogd(kind, dim, 0, dtype) for dtype in DTYPES}
        works = {(dtype, "run"): lambda model=model: model.run(X, y) for dtype, model in models.items()}
        works |= {(dtype, "step"): lambda m=model: by_rows(m.step, X, y) for dtype, model in models.items()}
        taken = in_turn(works, REPEATS)
        wrong = {dtype: [mistakes(fogd(kind, dim, seed, dtype), X, y) for seed in range(SEEDS)] for dtype in DTYPES}
        line = f"{kind + f' {dim}':>14}"
        for mode in ("run", "step"):
            double, single = (taken[dtype, mode] for dtype in DTYPES)
            line += f" {len(X) / single:>12,.0f} {double / single:>8.2f}"
            note(f"FOGD, float32 {kind} {dim}", mode, len(X) / single, "rows/s", double / single, "float64")
        share = models["float32"].nbytes / models["float64"].nbytes
        print(line + f" {models['float32'].nbytes:>8,} {share:>7.2f}" + errors(wrong))


def points(X: np.ndarray, y: np.ndarray) -> None:
    print(f"{X.shape[1]} columns {'':>12} {'run':>21} {'step':>21} {'bytes':>16} {'mistakes':>15}")
    print(f"{'points':>23} {'f32, rows/s':>12} {'x f64':>8} {'f32, rows/s':>12} {'x f64':>8} ", end="")
    print(f"{'f32':>8} {'of f64':>7} {'f64':>7} {'f32':>7} {'apart':>8} {'noise':>7}")
    for size in (100, 400):
        for name, build in STORING.items():
            stored(name, build, size, X, y)
    for name, build in UNBOUNDED.items():
        stored(name, build, 0, X, y)


def stored(name: str, build: Callable[[int, str], Any], size: int, X: np.ndarray, y: np.ndarray) -> None:
    """A line; bounded learners are timed when they are full, others from their first row on."""
    models = {dtype: build(size, dtype) for dtype in DTYPES}
    for model in models.values():
        model.run(X, y)
    works: dict[Any, Any] = {}
    for dtype, model in models.items():
        works[dtype, "run"] = lambda m=model, dtype=dtype: (m if size else build(0, dtype)).run(X, y)
        works[dtype, "step"] = lambda m=model, dtype=dtype: by_rows((m if size else build(0, dtype)).step, X, y)
    held, share = models["float32"].size, models["float32"].nbytes / models["float64"].nbytes
    taken = in_turn(works, REPEATS)
    wrong: dict[str, list[float]] = {dtype: [] for dtype in DTYPES}
    for seed in range(SEEDS):
        order = np.random.default_rng(seed).permutation(len(X))
        for dtype in DTYPES:
            wrong[dtype].append(mistakes(build(size, dtype), X[order], y[order]))
    line = f"{name:>16}, {held:>5}"
    for mode in ("run", "step"):
        double, single = (taken[dtype, mode] for dtype in DTYPES)
        line += f" {len(X) / single:>12,.0f} {double / single:>8.2f}"
        columns = f"{X.shape[1]} columns, {size} points" if size else f"{X.shape[1]} columns"
        note(f"{name}, float32, {columns}", mode, len(X) / single, "rows/s", double / single, "float64")
    print(line + f" {models['float32'].nbytes:>8,} {share:>7.2f}" + errors(wrong))


def errors(wrong: dict[str, list[float]]) -> str:
    apart, noise = np.mean(np.subtract(wrong["float32"], wrong["float64"])), np.std(wrong["float64"])
    return "".join(f" {np.mean(wrong[dtype]):>7.2%}" for dtype in DTYPES) + f" {apart:>+8.3%} {noise:>7.3%}"


def fogd(kind: str, dim: int, seed: int, dtype: str) -> FOGD:
    return FOGD(Gaussian(SIGMA), dim=dim, features=kind, seed=seed, dtype=dtype)


def mistakes(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    return float(np.mean(model.run(X, y) * y <= 0))


def pixels() -> None:
    rng = np.random.default_rng(0)
    wall = rng.integers(60, 200, size=(120, 160, 3))
    frames = [np.clip(wall + rng.normal(scale=6, size=wall.shape), 0, 255).astype(np.uint8) for _ in range(40)]
    models = {dtype: Pixels(Gaussian(0.1), dtype=dtype, threads=1) for dtype in DTYPES}
    works = {dtype: lambda model=model: model.run(frames) for dtype, model in models.items()}
    taken = in_turn(works, REPEATS)
    double, single = (model.score(frames[0]) for model in models.values())
    share = models["float32"].nbytes / models["float64"].nbytes
    print(f"Pixels, 120 x 160 x 3: float32 {len(frames) / taken['float32']:,.0f} frames/s, ", end="")
    print(f"{taken['float64'] / taken['float32']:.2f} x float64; bytes {share:.2f} of it; ", end="")
    print(f"scores differ by at most {np.abs(double - single).max():.1e}")


def main() -> None:
    name, X, y = rows_of_ijcnn1(ROWS)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    print(f"{name}, {len(X)} rows, {X.shape[1]} columns, {SEEDS} seeds")
    features(X, y)
    points(X, y)
    columns, scale = NOISE
    points(np.ascontiguousarray(np.hstack([X, scale * np.random.default_rng(0).normal(size=(len(X), columns))])), y)
    pixels()


if __name__ == "__main__":
    main()
