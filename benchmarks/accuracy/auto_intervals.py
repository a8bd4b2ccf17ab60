"""Whether 90 percent intervals of the automatic learner cover 90 percent: casp, cpusmall, a stream that drifts.

    python benchmarks/accuracy/auto_intervals.py [--rows 8000]

Intervals are asked for 20 rows ahead, from row 100 on. Coverage, overall and by quarters of the stream, and the mean
width over the standard deviation of the labels. Data as in auto_streams.py.
"""

from __future__ import annotations

import argparse

import numpy as np
from auto_streams import read

from nystream import Auto, streams

AHEAD, FIRST = 20, 100


def covered(X: np.ndarray, y: np.ndarray, coverage: float) -> tuple[np.ndarray, float]:
    """Whether each label was inside, and the mean width."""
    model, inside, widths = Auto(), [], []
    for i in range(0, len(X), AHEAD):
        part = slice(i, i + AHEAD)
        if i >= FIRST:
            low, high = model.predict_interval(X[part], coverage)
            inside.append((low <= y[part]) & (y[part] <= high))
            widths.append(np.mean(high - low))
        model.run(X[part], y[part])
    return np.concatenate(inside), float(np.mean(widths))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=8000)
    rows = options.parse_args().rows
    drifting = streams.friedman(rows, drift="abrupt", seed=0).load()
    for name, (X, y) in {**{n: read(n, rows) for n in ("casp", "cpusmall")}, "friedman, drifts": drifting}.items():
        inside, width = covered(X, np.asarray(y, dtype=float), 0.9)
        quarters = " ".join(f"{part.mean():.3f}" for part in np.array_split(inside, 4))
        print(f"{name:>17} {len(X):>6} rows  coverage {inside.mean():.3f} ({quarters})  width {width / np.std(y):.2f}")


if __name__ == "__main__":
    main()
