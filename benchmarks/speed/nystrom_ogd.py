"""NOGD, NOLANA and FOGD on ijcnn1: rows per second, relative to plain NumPy and scikit-learn's SGDClassifier.

Run: python benchmarks/speed/nystrom_ogd.py   (NYSTREAM_DATA names the folder of the datasets)
"""

from __future__ import annotations

import os
import pathlib
import sys

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np
from _results import note
from _timing import by_rows, seconds
from sklearn.linear_model import SGDClassifier

from nystream import streams
from nystream.features import FeatureMap
from nystream.kernels import Gaussian
from nystream.learners import FOGD, NOGD, NOLANA
from nystream.learners.families.feature import FeatureLearner

DATA = pathlib.Path(os.environ.get("NYSTREAM_DATA", pathlib.Path(__file__).parents[3] / "shared" / "data"))
ROWS, SLICE, REPEATS, MINI = 4000, 1000, 25, 1000
LANDMARKS, SIGMA, ETA = 100, 0.7, 0.3
FAR = 100.0
"""A squared distance between rows that does not occur: landmarks stay, but nearest ones are looked for."""
TARGETS = {"row by row": 4, "whole stream": 10}
"""Multiples of plain NumPy that are wanted."""


def numpy_nystrom(points: np.ndarray, rotation: np.ndarray, X: np.ndarray, y: np.ndarray, eps: float) -> int:
    """One NumPy line per formula, hinge loss; the rows that would move a landmark are counted where eps is finite."""
    w, far = np.zeros(len(rotation)), 0
    for t in range(len(X)):
        squares = ((points - X[t]) ** 2).sum(axis=1)
        z = rotation @ np.exp(-squares / (2 * SIGMA**2))
        if y[t] * (w @ z) < 1:
            w += ETA * y[t] * z
        if eps < np.inf and squares[squares.argmin()] >= eps:
            far += 1
    return far


def numpy_fourier(W: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The same for random features."""
    D = W.shape[1]
    w = np.zeros(2 * D)
    for t in range(len(X)):
        u = X[t] @ W
        z = np.concatenate((np.cos(u), np.sin(u))) / np.sqrt(D)
        if y[t] * (w @ z) < 1:
            w += ETA * y[t] * z
    return w


def scikit(features: FeatureMap, X: np.ndarray, y: np.ndarray, rows: int) -> SGDClassifier:
    """Gradient steps of scikit-learn on our features, `rows` at a time, features included."""
    model = SGDClassifier(loss="hinge", alpha=0.0, learning_rate="constant", eta0=ETA, fit_intercept=False)
    for i in range(0, len(X), rows):
        model.partial_fit(features.transform(X[i : i + rows]), y[i : i + rows], classes=[-1.0, 1.0])
    return model


def baseline(learner: FeatureLearner, X: np.ndarray, y: np.ndarray) -> float:
    if isinstance(learner, FOGD):
        return seconds(lambda: numpy_fourier(learner.features_.W_.copy(), X, y), REPEATS) / len(X)
    eps = FAR if isinstance(learner, NOLANA) else np.inf
    return seconds(lambda: numpy_nystrom(learner.points, learner.features_.rotation_, X, y, eps), REPEATS) / len(X)


def main() -> None:
    path = DATA / "ijcnn1" / "ijcnn1.bz2"
    if not path.exists():
        sys.exit(f"{path} is not there; set NYSTREAM_DATA to the folder of the datasets")
    X, y = (a[:ROWS].copy() for a in streams.open_stream(path).load())
    part, labels = X[:SLICE], y[:SLICE]
    kernel = Gaussian(SIGMA)
    learners: list[FeatureLearner] = [
        NOGD(kernel, landmarks=LANDMARKS, eta=ETA),
        NOLANA(kernel, landmarks=LANDMARKS, eta=ETA, eps=FAR),
        FOGD(kernel, dim=LANDMARKS, eta=ETA, seed=0),
    ]
    print(f"ijcnn1, {X.shape[1]} columns, {LANDMARKS} landmarks (rank 80) or {LANDMARKS} random features, hinge loss")
    print(f"{'':>8} {'mode':>13} {'rows/s':>11} {'x NumPy':>8} {'target':>7} {'x sklearn by row':>17} {'by 1000':>8}")
    for learner in learners:
        learner.run(X, y)
        numpy = baseline(learner, part, labels)
        single = seconds(lambda learner=learner: scikit(learner.features_, part[:200], labels[:200], 1), 3) / 200
        many = seconds(lambda learner=learner: scikit(learner.features_, X, y, MINI), REPEATS) / ROWS
        modes = {
            "plain NumPy": numpy,
            "row by row": seconds(lambda learner=learner: by_rows(learner.step, part, labels), REPEATS) / SLICE,
            "whole stream": seconds(lambda learner=learner: learner.run(X, y), REPEATS) / ROWS,
        }
        for mode, taken in modes.items():
            print(
                f"{type(learner).__name__:>8} {mode:>13} {1 / taken:>11,.0f} {numpy / taken:>8.1f} "
                f"{TARGETS.get(mode, ''):>7} {single / taken:>17.0f} {many / taken:>8.2f}"
            )
            if taken is not numpy:
                title = f"{type(learner).__name__}, {LANDMARKS} landmarks or features"
                note(title, mode, 1 / taken, "rows/s", numpy / taken, "plain NumPy")


if __name__ == "__main__":
    main()
