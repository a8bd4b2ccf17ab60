"""What the learned metric is worth, and what may be saved on it: settings of `LearnedMetric` on real streams.

    python benchmarks/accuracy/learned_metric.py [STREAM ...] [--rows 7000]

Two models, each row predicted before its label is given; error rates, or root mean squared errors for casp and
cpusmall. `ridge`: Nystrom ridge, 300 landmarks, lam .01, the width the median distance; scale, metric and landmarks
from the first 3,200 rows, so that these rows see a little of each other. `window`: the kernel smoother over the last
1,000 rows, scale and metric from the last 2,000 rows, anew every 1,000. At the end, relative to two rounds, the
geometric mean over the streams and the worst of them. Streams and data as in auto_streams.py.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from auto_streams import READERS, REGRESSION, read

from nystream import PKRR, Gaussian
from nystream.features import Landmarks, LearnedMetric, WithConstant
from nystream.kernels import median_distance
from nystream.learners import KernelSmoother
from nystream.scaling import StandardScale

FIRST = 3200
SETTINGS = {
    "none": None,
    "1 round": LearnedMetric(1),
    "2 rounds": LearnedMetric(2),
    "3 rounds": LearnedMetric(3),
    "1, at 200": LearnedMetric(1, gradients=200),
    "2, at 200": LearnedMetric(2, gradients=200),
    "1, 2000 at 400": LearnedMetric(1, rows=2000, gradients=400),
    "2, 500 rows": LearnedMetric(2, rows=500),
    "2, 2000 rows": LearnedMetric(2, rows=2000),
}

BASE = list(SETTINGS).index("2 rounds")


def targets(y: np.ndarray, regression: bool) -> np.ndarray:
    """Standardised by the first 100 rows, or -1/+1 for each class (one column if there are two)."""
    if regression:
        return ((y - y[:100].mean()) / y[:100].std())[:, None]
    codes = np.where(y[:, None] == np.unique(y), 1.0, -1.0)
    return codes[:, 1:] if codes.shape[1] == 2 else codes


def error(P: np.ndarray, Y: np.ndarray, unit: float | None) -> float:
    """Error rate, or with a unit the root mean squared error in it."""
    P = P.reshape(Y.shape)
    if unit is not None:
        return float(unit * np.sqrt(np.mean((P - Y) ** 2)))
    wrong = P[:, 0] * Y[:, 0] <= 0 if Y.shape[1] == 1 else P.argmax(axis=1) != Y.argmax(axis=1)
    return float(wrong.mean())


def ridge(X: np.ndarray, Y: np.ndarray, metric: LearnedMetric | None) -> tuple[np.ndarray, float]:
    U = StandardScale().fit(X[:FIRST])(X)
    start = time.thread_time()
    if metric is not None:
        U = metric.clone().fit(U[:FIRST], Y[:FIRST]).transform(U)
    taken = time.thread_time() - start
    chosen = np.random.default_rng(1).choice(min(FIRST, len(X)), 300, replace=False)
    kernel = Gaussian(median_distance(U[:FIRST]))
    return PKRR(WithConstant(Landmarks(kernel, U[chosen])), lam=0.01).run(U, Y), taken


def window(X: np.ndarray, Y: np.ndarray, metric: LearnedMetric | None) -> np.ndarray:
    P = np.zeros_like(Y)
    for start in range(1000, len(X), 1000):
        last, now = slice(max(0, start - 2000), start), slice(start, start + 1000)
        scale = StandardScale().fit(X[last])
        old, new = scale(X[last]), scale(X[now])
        if metric is not None:
            fitted = metric.clone().fit(old, Y[last])
            old, new = fitted.transform(old), fitted.transform(new)
        model = KernelSmoother(1000)
        model.run(old, Y[last])
        P[now] = model.run(new, Y[now]).reshape(P[now].shape)
    return P


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("streams", nargs="*", default=[s for s in READERS if s not in ("covtype2", "mnist")])
    parser.add_argument("--rows", type=int, default=7000)
    arguments = parser.parse_args()
    print(f"{'stream':<9} {'model':<7}" + "".join(f"{name:>15}" for name in SETTINGS))
    errors: dict[str, list[list[float]]] = {"ridge": [], "window": []}
    for name in arguments.streams:
        X, y = read(name, arguments.rows)
        Y = targets(y, name in REGRESSION)
        unit = float(y[:100].std()) if name in REGRESSION else None
        fits = [ridge(X, Y, metric) for metric in SETTINGS.values()]
        errors["ridge"].append([error(P, Y, unit) for P, _ in fits])
        windows = [window(X, Y, metric)[1000:] for metric in SETTINGS.values()]
        errors["window"].append([error(P, Y[1000:], unit) for P in windows])
        for model, rows in errors.items():
            line(name, model, rows[-1], ".4f")
        line(name, "fit, ms", [taken * 1e3 for _, taken in fits], ".0f")
    for model, rows in errors.items():
        relative = np.array(rows) / np.array(rows)[:, [BASE]]
        line("mean", model, np.exp(np.log(relative).mean(axis=0)).tolist(), ".3f")
        line("worst", model, relative.max(axis=0).tolist(), ".3f")


def line(stream: str, model: str, numbers: list[float], form: str) -> None:
    print(f"{stream:<9} {model:<7}" + "".join(f"{number:>15{form}}" for number in numbers), flush=True)


if __name__ == "__main__":
    main()
