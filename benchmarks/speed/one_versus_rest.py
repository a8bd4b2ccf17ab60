"""Ten digits one against the rest with a binary loss: one map that the ten classes share, beside ten learners.

Run: python benchmarks/speed/one_versus_rest.py   (NYSTREAM_DATA names the folder of the datasets)

usps, the first 2000 rows of default_rng(0).permutation; hinge loss, Gaussian kernel of gamma 0.01, 100 landmarks. Both
ways give the same scores, which is checked. Times are the smaller of two runs.
"""

from __future__ import annotations

import os
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np
from _results import note

from nystream import datasets
from nystream.compose.classes import OneVersusRest
from nystream.kernels import Gaussian
from nystream.learners import FOGD, NOGD, NOLANA, Learner

ROWS, CLASSES, GAMMA = 2000, 10, 0.01
SIGMA = (2 * GAMMA) ** -0.5
PATTERNS = {
    "NOGD": NOGD(Gaussian(SIGMA), landmarks=100, eta=1.0),
    "NOLANA eps 50": NOLANA(Gaussian(SIGMA), landmarks=100, eps=50.0, eta=1.0),
    "NOLANA eps 100": NOLANA(Gaussian(SIGMA), landmarks=100, eps=100.0, eta=1.0),
    "FOGD": FOGD(Gaussian(SIGMA), dim=262, eta=1.0, seed=0),
}


def together(pattern: Learner, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, int]:
    """Scores and bytes of one learner for all classes."""
    model = OneVersusRest(pattern)
    model.declare(CLASSES)
    return model.run(X, y), sum(learner.nbytes for learner in model.learners)


def apart(pattern: Learner, X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, int]:
    """Scores and bytes of one learner for each class."""
    members = [pattern.clone() for _ in range(CLASSES)]
    scores = [m.run(X, np.where(y == k, 1.0, -1.0)) for k, m in enumerate(members)]
    return np.column_stack(scores), sum(m.nbytes for m in members)


def main() -> None:
    X, y = datasets.load("usps")
    order = np.random.default_rng(0).permutation(len(X))[:ROWS]
    X, y = np.ascontiguousarray(X[order]), y[order].astype(np.intp)
    print(f"{'':16}{'rows/s':>8}{'apart':>8}{'times':>7}{'MB':>8}{'apart':>8}{'accuracy':>10}")
    for name, pattern in PATTERNS.items():
        seconds, results = [], []
        for way in (together, apart):
            runs = []
            for _ in range(2):
                start = time.perf_counter()
                result = way(pattern, X, y)
                runs.append(time.perf_counter() - start)
            seconds.append(min(runs))
            results.append(result)
        (scores, small), (same, large) = results
        assert np.array_equal(scores, same), f"{name}: one learner and ten do not agree"
        accuracy = 100 * np.mean(scores.argmax(axis=1) == y)
        print(
            f"{name:16}{ROWS / seconds[0]:8.0f}{ROWS / seconds[1]:8.0f}{seconds[1] / seconds[0]:7.1f}"
            f"{small / 1e6:8.2f}{large / 1e6:8.2f}{accuracy:10.1f}",
            flush=True,
        )
        faster = seconds[1] / seconds[0]
        note(f"one against the rest, {name}", "whole stream", ROWS / seconds[0], "rows/s", faster, "a learner a class")


if __name__ == "__main__":
    main()
