"""Dictionaries of SQUEAK and DISQUEAK beside KORS, their predecessor, and beside as many random rows.

Streams: uniform points of a square, and the columns of cod-rna and casp in a mixed order, standardised; a Gaussian
kernel (width 0.5 on the square, else the median distance), ridge 1. KORS decides once about each row (beta 1), SQUEAK
thins its atoms after every 64 rows (8 copies), DISQUEAK merges the dictionaries of four parts.

Columns: atoms after so many rows; what the atoms miss of all rows, the largest eigenvalue of K - Z Z' over the ridge,
estimated from 1,000 rows; the error of ridge regression in the span of the atoms, trained on 4/5 of the rows and tested
on the others, as a share of the deviation of the labels; seconds for the dictionary. Means of three seeds.

Run: NYSTREAM_DATA=DIR python benchmarks/accuracy/squeak.py [rows, default 8000] [--plot FILE]
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import numpy as np

from nystream import Gaussian, NystromPKRR, datasets
from nystream.dictionary import KORS, SQUEAK, disqueak
from nystream.dictionary.nested import Nested
from nystream.kernels import Kernel
from nystream.scaling.distance import median_distance

RIDGE, SAMPLE, STRIDE, SEEDS = 1.0, 1000, 25_033, (0, 1, 2)
PARTS = (0.125, 0.25, 0.5, 1.0)
Counts = dict[int, int]
"""Atoms after so many rows."""


def streams(rows: int) -> Iterator[tuple[str, np.ndarray, np.ndarray, Kernel]]:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (rows, 2))
    yield "square", X, np.sin(4 * X[:, 0]) * X[:, 1] + 0.1 * rng.normal(size=rows), Gaussian(0.5)
    for name in ("cod-rna", "casp"):
        try:
            X, y = (np.asarray(part, dtype=float) for part in datasets.load(name))
        except (FileNotFoundError, ValueError) as error:
            print(f"{name} left out: {error}", file=sys.stderr)
            continue
        order = np.arange(min(rows, len(X))) * STRIDE % len(X)
        X, y = X[order], y[order]
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        yield name, X, y, Gaussian(float(median_distance(X)))


def by_kors(kernel: Kernel, X: np.ndarray, seed: int, marks: list[int]) -> tuple[np.ndarray, Counts]:
    sampler, rng, counts = KORS(kernel, RIDGE, beta=1.0), np.random.default_rng(seed), {}
    sampler.start(X.shape[1])
    for start, stop in zip([0, *marks], marks, strict=False):
        sampler.run(X[start:stop], rng.random(stop - start))
        counts[stop] = sampler.n
    return sampler.points, counts


def by_squeak(kernel: Kernel, X: np.ndarray, seed: int, marks: list[int]) -> tuple[np.ndarray, Counts]:
    sampler, counts = SQUEAK(kernel, RIDGE, seed=seed), {}
    for start, stop in zip([0, *marks], marks, strict=False):
        sampler.partial_fit(X[start:stop])
        counts[stop] = sampler.n
    return sampler.points, counts


def by_disqueak(kernel: Kernel, X: np.ndarray, seed: int, marks: list[int]) -> tuple[np.ndarray, Counts]:
    sampler = disqueak(X, 4, SQUEAK(kernel, RIDGE, seed=seed))
    return sampler.points, {len(X): sampler.n}


def missed(kernel: Kernel, X: np.ndarray, points: np.ndarray) -> float:
    """The largest eigenvalue of K - Z Z' over the ridge, scaled up from a sample of rows."""
    sample = X[np.random.default_rng(7).choice(len(X), min(SAMPLE, len(X)), replace=False)]
    span = Nested(kernel)
    span.start(X.shape[1])
    span.extend(points)
    Z = span.coordinates(sample)
    gap = kernel(sample, sample) - Z @ Z.T
    return float(np.linalg.eigvalsh(gap)[-1]) * len(X) / len(sample) / RIDGE


def error(kernel: Kernel, X: np.ndarray, y: np.ndarray, points: np.ndarray) -> float:
    cut = 4 * len(y) // 5
    model = NystromPKRR(kernel, lam=0.1, dictionary=points).fit_bulk(X[:cut], y[:cut])
    rest = y[cut:]
    return float(np.sqrt(((model.predict(X[cut:]) - rest) ** 2).mean()) / rest.std())


def main() -> None:
    plot = sys.argv[sys.argv.index("--plot") + 1] if "--plot" in sys.argv else None
    given = [a for a in sys.argv[1:] if a.isdigit()]
    rows = int(given[0]) if given else 8_000
    marks = [int(part * rows) for part in PARTS]
    shown = " ".join(f"{mark:>7,}" for mark in marks)
    print(f"{'stream':<9} {'dictionary':<12} {shown} {'missed':>8} {'error':>7} {'seconds':>8}")
    curves: dict[str, dict[str, np.ndarray]] = {}
    makers: dict[str, Callable[..., tuple[np.ndarray, Counts]]] = {
        "KORS": by_kors,
        "SQUEAK": by_squeak,
        "DISQUEAK": by_disqueak,
    }
    for stream, X, y, kernel in streams(rows):
        sizes: list[int] = []
        for title, make in makers.items():
            found = []
            for seed in SEEDS:
                start = time.process_time()
                points, counts = make(kernel, X, seed, marks)
                seconds = time.process_time() - start
                atoms = [counts.get(mark, np.nan) for mark in marks]
                found.append([*atoms, missed(kernel, X, points), error(kernel, X, y, points), seconds])
                sizes += [len(points)] if title == "SQUEAK" else []
            show(stream, title, np.mean(found, axis=0))
            curves.setdefault(stream, {})[title] = np.mean(found, axis=0)[: len(marks)]
        found = []
        for seed, size in zip(SEEDS, sizes, strict=True):
            points = X[np.random.default_rng(seed).choice(len(X), size, replace=False)]
            found.append(
                [*[np.nan] * (len(marks) - 1), size, missed(kernel, X, points), error(kernel, X, y, points), 0]
            )
        show(stream, "random rows", np.mean(found, axis=0))
    if plot:
        draw(curves, marks, plot)


def show(stream: str, title: str, row: np.ndarray) -> None:
    atoms = " ".join(f"{'' if np.isnan(v) else f'{v:.0f}':>7}" for v in row[:-3])
    print(f"{stream:<9} {title:<12} {atoms} {row[-3]:>8.2f} {row[-2]:>7.4f} {row[-1]:>8.2f}", flush=True)


def draw(curves: dict[str, dict[str, np.ndarray]], marks: list[int], path: str) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(curves), figsize=(4.2 * len(curves), 3.4), squeeze=False)
    for axis, (stream, dictionaries) in zip(axes[0], curves.items(), strict=True):
        for title, atoms in dictionaries.items():
            axis.plot(marks, atoms, marker="o", label=title)
        axis.set(title=stream, xlabel="rows", ylim=(0, None))
    axes[0][0].set_ylabel("atoms")
    axes[0][0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
