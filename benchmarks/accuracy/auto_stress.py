"""The automatic learner where labels are hard: accidents far beyond all others, heavy tails, thousands of classes.

    python benchmarks/accuracy/auto_stress.py [--rows 6000]

Regression on cpusmall (files as in auto_streams.py) and on a generated stream of five columns: root mean squared error
against the true labels, on rows whose label was left as it is, of a model that was given the true labels and of one
that was given others: some labels multiplied, labels 2 and 8 of a million deviations, Cauchy noise of a fifth of the
deviation. Then labels that are far off by nature, skewed noise and functions with far values, on 1,200 rows: error
against the labels without `nystream.auto.tails` and with it; and what a `step` takes, rows 3,801 to 4,300, where tails
are long over what it takes where they are not. Then 2,000 classes of Zipf frequencies around centres in 8 columns:
error, all rows and second half, of the model and of the most frequent class; peak of traced memory; processor time.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc

import numpy as np
from auto_streams import read

from nystream import Auto


def accidents(name: str, X: np.ndarray, y: np.ndarray) -> None:
    rng = np.random.default_rng(1)
    true = Auto().run(X, y)

    def compare(kind: str, given: np.ndarray, use: np.ndarray) -> None:
        said = Auto().run(X, given)
        clean, hurt = (np.sqrt(np.mean((p - y)[use] ** 2)) for p in (true, said))
        print(f"{name:>10} {kind:<32} {clean:8.4f} -> {hurt:8.4f}   (deviation {y.std():.4f})", flush=True)

    for share, times in ((0.002, 1e6), (0.002, 30.0), (0.01, 1e6)):
        bad = rng.random(len(y)) < share
        compare(f"{share:.1%} of labels times {times:g}", np.where(bad, times * y, y), ~bad)
    early = y.copy()
    early[[1, 7]] = 1e6 * y.std(), -1e6 * y.std()
    compare("labels 2 and 8, rows from 21", early, np.arange(len(y)) > 20)
    compare("Cauchy noise", y + 0.2 * y.std() * rng.standard_cauchy(len(y)), np.ones(len(y), dtype=bool))


def by_nature(rows: int = 1200) -> None:
    for seed in (0, 1):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(rows, 5))
        f, z = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2], rng.normal(size=rows)
        streams = {
            "f + lognormal noise": f + np.exp(z),
            "f + exponential noise": f + rng.exponential(size=rows),
            "f + Laplace noise": f + rng.laplace(size=rows),
            "exp(f + normal noise)": np.exp(f + 0.5 * z),
            "exp of a column": np.exp(1.5 * X[:, 0]),
            "f": f,
        }
        for name, y in streams.items():
            plain, told = Auto(), Auto()
            for model in (plain, told):
                model.run(X[:1], y[:1])
            plain.tails_ = None
            a, b = (_error(model, X[1:], y[1:]) for model in (plain, told))
            print(f"{name:<24} seed {seed}: {a:8.4f} without, {b:8.4f} with", flush=True)


def _error(model: Auto, X: np.ndarray, y: np.ndarray) -> float:
    """Of all rows but the first few."""
    return float(np.sqrt(np.mean((model.run(X, y) - y)[20:] ** 2)))


def steps(rows: int = 4300, timed: int = 500) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 5))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=rows)
    seconds = []
    for labels in (y, y + 0.25 * rng.standard_cauchy(rows)):
        model = Auto()
        model.run(X[:-timed], labels[:-timed])
        start = time.process_time()
        for x, label in zip(X[-timed:], labels[-timed:], strict=True):
            model.step(x, label)
        seconds.append((time.process_time() - start) / timed)
    print(f"a step: {1e6 * seconds[0]:.0f} us, with Cauchy noise {seconds[1] / seconds[0]:.2f} times that", flush=True)


def classes(rows: int, memory: str) -> None:
    rng = np.random.default_rng(0)
    frequency = 1 / np.arange(1.0, 2001)
    c = rng.choice(2000, size=rows, p=frequency / frequency.sum()).astype(float)
    X = rng.normal(size=(2000, 8))[c.astype(int)] + 0.3 * rng.normal(size=(rows, 8))
    model, said, start = Auto(task="classification", memory=memory), [], time.process_time()
    tracemalloc.start()
    for i in range(0, rows, 100):
        said += model.run(X[i : i + 100], c[i : i + 100]).argmax(axis=1).tolist()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    wrong, most = np.array(said) != c, (c != 0).mean()
    cost = f"peak {peak / 1e6:.1f} MB, {1e3 * (time.process_time() - start) / rows:.1f} ms a row"
    errors = f"error {wrong.mean():.3f}, second half {wrong[rows // 2 :].mean():.3f}, most frequent class {most:.3f}"
    print(f"2,000 classes, {rows} rows, {memory}: {errors}; {cost}", flush=True)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--rows", type=int, default=6000)
    rows = options.parse_args().rows
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 5))
    accidents("generated", X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=rows))
    accidents("cpusmall", *read("cpusmall", rows))
    by_nature()
    steps()
    for memory in ("64MB", "32MB"):
        classes(rows // 2, memory)


if __name__ == "__main__":
    main()
