"""Coverage asked and measured of `Conformal`, on independent rows, under drift and on real streams.

Every row is asked for its interval before its label is learnt. Three rules: "aci", "dtaci", and "fixed", the quantile
of the last 500 residuals at the level that is asked for, which is never adapted. Columns: share of labels inside, the
lowest share in any 500 rows in a row, share of infinite intervals, median width over the standard deviation of the
labels, and microseconds that a row costs beyond the learner's (interval and round together). --plot draws the share
inside in the last 500 rows, asked 0.8, on the streams that drift.

Run: NYSTREAM_DATA=DIR python benchmarks/accuracy/conformal.py [rows, default 10000] [--plot FILE]
"""

from __future__ import annotations

import lzma
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np

from nystream import PKRR, Conformal, Fourier, Gaussian, Standardized, datasets
from nystream.scaling.distance import median_distance

STRETCH, SHOWN = 500, 0.8
DRIFTING = ("noise x5 at half", "function changes at half", "random walk")
RULES = {"fixed": {"method": "aci", "rate": 1e-12}, "aci": {"method": "aci"}, "dtaci": {"method": "dtaci"}}


def streams(rows: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    t = np.arange(rows)
    X = rng.uniform(-1, 1, (rows, 2))
    f, noise = np.sin(3 * X[:, 0]) + X[:, 1], rng.normal(size=rows)
    yield "independent", X, f + 0.3 * noise
    yield "noise x5 at half", X, f + np.where(t < rows // 2, 0.3, 1.5) * noise
    yield "noise in waves", X, f + (0.05 + np.abs(np.sin(t / 300))) * noise
    yield "function changes at half", X, np.where(t < rows // 2, f, -f + 2) + 0.3 * noise
    yield "random walk", X, f + np.cumsum(0.05 * noise)
    for name, load in (("cpusmall", datasets.load), ("casp", datasets.load), ("bike-sharing", load_bikes)):
        try:
            X, y = load(name)
        except (FileNotFoundError, ValueError) as error:
            print(f"{name} left out: {error}", file=sys.stderr)
            continue
        yield name, np.asarray(X, dtype=float)[:rows], np.asarray(y, dtype=float)[:rows]


def load_bikes(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rentals an hour in time order: season to windspeed, and the count."""
    with lzma.open(Path(os.environ.get("NYSTREAM_DATA", ".")) / name / "hour.csv.xz", "rt") as file:
        table = np.genfromtxt(file, delimiter=",", skip_header=1, usecols=[*range(2, 14), 16])
    return table[:, :-1], table[:, -1]


def measure(X: np.ndarray, y: np.ndarray, coverage: float, settings: dict[str, object]) -> tuple[np.ndarray, ...]:
    """Shares inside of stretches of rows, and the columns."""
    spread = X.std(axis=0)
    features = Fourier(Gaussian(median_distance((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))), 100, seed=0)
    model = Conformal(Standardized(PKRR(features, lam=0.1)), coverage, **settings)
    inside, width, spent = np.zeros(len(y)), np.zeros(len(y)), 0.0
    plain = model.learner.clone()
    for t, x in enumerate(X):
        start = time.perf_counter()
        low, high = model.predict_interval(x[None], coverage, ahead=1)
        model.step(x, y[t])
        between = time.perf_counter()
        plain.step(x, y[t])
        spent += 2 * between - start - time.perf_counter()
        inside[t], width[t] = low[0] <= y[t] <= high[0], high[0] - low[0]
    stretches = np.convolve(inside, np.full(STRETCH, 1 / STRETCH), "valid")
    figures = (inside.mean(), stretches.min(), np.isinf(width).mean(), np.median(width) / y.std(), 1e6 * spent / len(y))
    return stretches, np.array(figures)


def draw(curves: dict[str, dict[str, np.ndarray]], coverage: float, path: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(curves), figsize=(4.2 * len(curves), 3.4), squeeze=False, sharey=True)
    for axis, (stream, rules) in zip(axes[0], curves.items(), strict=True):
        for rule, stretches in rules.items():
            axis.plot(STRETCH + np.arange(len(stretches)), stretches, label=rule, linewidth=1)
        axis.axhline(coverage, color="black", linestyle=":", linewidth=1)
        axis.set(title=stream, xlabel="rows")
    axes[0][0].set_ylabel(f"share inside, last {STRETCH} rows")
    axes[0][0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main() -> None:
    plot = sys.argv[sys.argv.index("--plot") + 1] if "--plot" in sys.argv else None
    given = [a for a in sys.argv[1:] if a.isdigit()]
    rows = int(given[0]) if given else 10_000
    curves: dict[str, dict[str, np.ndarray]] = {}
    print(f"{'stream':<26}{'asked':>6} {'rule':<6} {'inside':>7} {'worst':>6} {'infinite':>9} {'width':>6} {'us':>5}")
    for name, X, y in streams(rows):
        for coverage in (0.8, 0.95):
            for rule, settings in RULES.items():
                stretches, (share, worst, infinite, width, cost) = measure(X, y, coverage, settings)
                line = f"{share:>7.4f} {worst:>6.3f} {infinite:>9.4f} {width:>6.3f} {cost:>5.0f}"
                print(f"{name:<26}{coverage:>6g} {rule:<6} {line}", flush=True)
                if name in DRIFTING and coverage == SHOWN:
                    curves.setdefault(name, {})[rule] = stretches
    if plot:
        draw(curves, SHOWN, plot)


if __name__ == "__main__":
    main()
