"""Log predictive density, error and coverage of StreamingGP beside a Gaussian process refitted, on three streams.

Streams: casp and cpusmall in a mixed order, and a sine whose noise is known. Inputs and labels are standardised over
the first 200 rows, which everybody only learns; every later row is predicted before its label is read. Learners:

- StreamingGP with its default grid;
- StreamingGP with one model of the grid, the best in hindsight;
- NystromPKRR, its predecessor: one width and one ridge, Gaussian density with `std`;
- scikit-learn's GaussianProcessRegressor (width, amplitude and noise by the evidence), refitted on the last 1,000 rows
  after every 250.

Columns: mean log density of the labels (larger is better), root mean square error, share of labels inside the 90%
interval, the same in the worst 250 rows, and seconds for the stream.

Run: NYSTREAM_DATA=DIR python benchmarks/accuracy/streaming_gp.py [rows, default 3000] [--plot FILE]
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np
from scipy import stats

import nystream as ny
from nystream import datasets
from nystream.scaling.distance import median_distance

FIRST, BLOCK, WINDOW, COVERAGE = 200, 250, 1_000, 0.9
STRIDE = 25_033
"""Rows i * STRIDE mod n: an order without the order of the file."""
Forecast = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
"""Log densities, means, and the ends of the intervals, (n,) each."""


def streams(rows: int) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    found = {"sine": ny.streams.sine(rows, seed=0)}
    for name in ("casp", "cpusmall"):
        try:
            X, y = (np.asarray(part, dtype=float) for part in datasets.load(name))
        except FileNotFoundError as error:
            print(f"{name} left out: {error}", file=sys.stderr)
            continue
        order = np.arange(min(rows, len(X))) * STRIDE % len(X)
        found[name] = X[order], y[order]
    return found


def standardised(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    spread = X[:FIRST].std(axis=0)
    X = (X - X[:FIRST].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    return X, (y - y[:FIRST].mean()) / y[:FIRST].std()


def streaming(model: ny.StreamingGP, X: np.ndarray, y: np.ndarray) -> Forecast:
    """Row by row, each predicted by all rows before it."""
    model.run(X[:FIRST], y[:FIRST])
    parts = []
    for x, label in zip(X[FIRST:], y[FIRST:], strict=True):
        low, high = model.predict_interval(x[None], COVERAGE)
        density = model.log_density(x[None], np.array([label]))
        parts.append((density[0], model.step(x, label), low[0], high[0]))
    return tuple(np.array(parts).T)


def gaussian(mean: np.ndarray, std: np.ndarray, y: np.ndarray) -> Forecast:
    radius = stats.norm.ppf((1 + COVERAGE) / 2) * std
    return stats.norm.logpdf(y, mean, std), mean, mean - radius, mean + radius


def predecessor(model: ny.NystromPKRR, X: np.ndarray, y: np.ndarray) -> Forecast:
    model.run(X[:FIRST], y[:FIRST])
    std, mean = [], []
    for x, label in zip(X[FIRST:], y[FIRST:], strict=True):
        std.append(model.std(x[None])[0])
        mean.append(model.step(x, label))
    return gaussian(np.array(mean), np.array(std), y[FIRST:])


def refitted(X: np.ndarray, y: np.ndarray, width: float) -> Forecast:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    parts = []
    for start in range(FIRST, len(X), BLOCK):
        past = slice(max(0, start - WINDOW), start)
        kernel = ConstantKernel(1.0) * RBF(width, (1e-2, 1e3)) + WhiteKernel(0.1, (1e-6, 1e2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = GaussianProcessRegressor(kernel, random_state=0).fit(X[past], y[past])
        part = slice(start, start + BLOCK)
        mean, std = model.predict(X[part], return_std=True)
        parts.append(gaussian(mean, std, y[part]))
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))


def show(stream: str, learner: str, forecast: Callable[[], Forecast], y: np.ndarray) -> np.ndarray:
    start = time.perf_counter()
    density, mean, low, high = forecast()
    seconds = time.perf_counter() - start
    inside = (low <= y) & (y <= high)
    worst = min(inside[i : i + BLOCK].mean() for i in range(0, len(y) - BLOCK + 1, BLOCK))
    error = np.sqrt(((mean - y) ** 2).mean())
    figures = f"{density.mean():>9.4f} {error:>8.4f} {inside.mean():>7.3f} {worst:>7.3f} {seconds:>8.2f}"
    print(f"{stream:<9} {learner:<30} {figures}", flush=True)
    return density


def compare(stream: str, X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """Print a line for each learner; the log densities of those to draw."""
    width = float(median_distance(X[:FIRST]))
    grid, labels = ny.StreamingGP(ny.Gaussian(width)), y[FIRST:]
    found = {"StreamingGP": show(stream, "StreamingGP", lambda: streaming(grid, X, y), labels)}
    weights = grid.weights()
    best = max(weights, key=weights.__getitem__)
    h, lam = (float(part.split()[1]) for part in best.split(", "))
    one = ny.StreamingGP(ny.Gaussian(width), widths=h, lam=lam)
    show(stream, f"its model ({best})", lambda: streaming(one, X, y), labels)
    ridge = ny.NystromPKRR(ny.Gaussian(width), lam=0.1, dictionary="ald", nu=0.01, max_atoms=100)
    found["NystromPKRR"] = show(stream, "NystromPKRR", lambda: predecessor(ridge, X, y), labels)
    title = "scikit-learn GP, refitted"
    found[title] = show(stream, title, lambda: refitted(X, y, width), labels)
    return found


def draw(curves: dict[str, dict[str, np.ndarray]], path: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(curves), figsize=(4.2 * len(curves), 3.4), squeeze=False)
    for axis, (stream, learners) in zip(axes[0], curves.items(), strict=True):
        for name, density in learners.items():
            rows = np.arange(1, len(density) + 1)
            axis.plot(FIRST + rows, np.cumsum(density) / rows, label=name)
        ends = [np.cumsum(d)[-1] / len(d) for d in learners.values()]
        axis.set_ylim(min(ends) - 0.4, max(ends) + 0.2)
        axis.set(title=stream, xlabel="rows")
    axes[0][0].set_ylabel("mean log density so far")
    axes[0][0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    plot = sys.argv[sys.argv.index("--plot") + 1] if "--plot" in sys.argv else None
    given = [a for a in sys.argv[1:] if a.isdigit()]
    rows = int(given[0]) if given else 3_000
    columns = f"{'density':>9} {'rmse':>8} {'inside':>7} {'worst':>7} {'seconds':>8}"
    print(f"{'stream':<9} {'learner':<30} {columns}")
    curves = {stream: compare(stream, *standardised(X, y)) for stream, (X, y) in streams(rows).items()}
    if plot:
        draw(curves, plot)


if __name__ == "__main__":
    main()
