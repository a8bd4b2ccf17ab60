"""The parts of the automatic learner, microseconds a row, one thread. Run: python benchmarks/speed/auto_parts.py"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np
from _results import note
from _timing import seconds

from nystream import PKRR, Nystrom
from nystream.features import Landmarks, LearnedMetric, WithConstant
from nystream.kernels import Gaussian, median_distance
from nystream.learners import Forgetting, KernelSmoother, Learner
from nystream.scaling import GlobalScale, LogScale, StandardScale

ROWS = 2000
SHAPES = {22: 1, 54: 7, 784: 10}
"""Columns and outputs."""


def learners(X: np.ndarray) -> Iterator[tuple[str, Learner]]:
    kernel = Gaussian(median_distance(X))
    for m in (300, 1000):
        yield f"ridge, {m} landmarks", PKRR(WithConstant(Landmarks(kernel, X[:m])), lam=0.01)
        yield f"ridge, {m} landmarks, whitened", PKRR(WithConstant(Nystrom(kernel, X[:m])), lam=0.01)
    yield "forgetting .99, 100 landmarks", Forgetting(WithConstant(Landmarks(kernel, X[:100])), decay=0.99)
    yield "forgetting .95, affine", Forgetting(decay=0.95)
    yield "smoother, window 1000", KernelSmoother(1000)
    yield "smoother, window 100", KernelSmoother(100)


def main(columns: list[int]) -> None:
    print(f"{'columns':>7} {'outputs':>7}  {'part':<32} {'us/row':>8} {'once, ms':>9}")
    for d in columns:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(ROWS, d))
        Y = np.sign(X[:, :1] + rng.normal(size=(ROWS, SHAPES.get(d, 1))))

        def line(part: str, row: float | None, once: float | None, d: int = d) -> None:
            cells = ["" if value is None else f"{value:.2f}" for value in (row, once)]
            print(f"{d:>7} {SHAPES.get(d, 1):>7}  {part:<32} {cells[0]:>8} {cells[1]:>9}")
            if row is not None:
                note(f"Auto's {part}, {d} columns", "blocks", row, "us")

        for scale in (StandardScale(), GlobalScale(), LogScale()):
            fit = seconds(lambda scale=scale, X=X: scale.fit(X))
            line(repr(scale), seconds(lambda scale=scale, X=X: scale(X)) / ROWS * 1e6, fit * 1e3)
        for gradients in (None, 200):
            metric = LearnedMetric(gradients=gradients)
            fit = seconds(lambda metric=metric, X=X, Y=Y: metric.fit(X, Y), 2)
            line(repr(metric), seconds(lambda metric=metric, X=X: metric.transform(X)) / ROWS * 1e6, fit * 1e3)
        for name, model in learners(X):
            start = seconds(lambda model=model, X=X, Y=Y: model.run(X[:1], Y[:1]), 1)
            model.run(X[:1000], Y[:1000])
            line(name, seconds(lambda model=model, X=X, Y=Y: model.run(X, Y), 3) / ROWS * 1e6, start * 1e3)


if __name__ == "__main__":
    main([int(d) for d in sys.argv[1:]] or [22])
