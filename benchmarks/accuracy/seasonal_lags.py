"""Whether labels of a day or a week before help the automatic learner, given as further columns.

    python benchmarks/accuracy/seasonal_lags.py [--rows 9000]

bike and beijing have a row an hour, elec2 one in half an hour (files as in boosters.py). The highest peaks of the
labels' autocorrelation up to 400 rows, and the error (RMSE, error rate) over all rows and the last third.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from refitted.streams import read

from nystream import Auto

SEASONS = {"bike": (24, 168), "beijing": (24, 168), "elec2": (48, 336)}
REACH = 400


def peaks(y: np.ndarray) -> list[tuple[int, float]]:
    """Lags of the highest local maxima of the autocorrelation."""
    f = np.fft.rfft(y - y.mean(), 2 * len(y))
    r = np.fft.irfft(f * f.conj())[:REACH]
    inner = np.flatnonzero((r[1:-1] > r[:-2]) & (r[1:-1] > r[2:])) + 1
    return [(int(k), float(r[k] / r[0])) for k in inner[np.argsort(-r[inner])][:4]]


def errors(X: np.ndarray, y: np.ndarray, classes: int) -> tuple[float, float]:
    P = Auto(task="classification" if classes else "regression").run(X, y)
    losses = (P.argmax(axis=1) != y) if classes else (P - y) ** 2
    first, last = float(losses.mean()), float(losses[-len(y) // 3 :].mean())
    return (first, last) if classes else (first**0.5, last**0.5)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--rows", type=int, default=9000)
    rows = options.parse_args().rows
    print("| stream | peaks of the autocorrelation | further columns | all rows | last third |\n|---|---|---|---|---|")
    for name, seasons in SEASONS.items():
        stream = read(name, rows)
        told = ", ".join(f"{lag}: {r:.2f}" for lag, r in peaks(stream.y))
        for lags in ((), seasons[:1], seasons):
            before = [np.r_[np.full(lag, np.nan), stream.y[:-lag]] for lag in lags]
            whole, last = errors(np.column_stack([stream.X, *before]), stream.y, stream.classes)
            given = " and ".join(f"{lag} rows before" for lag in lags) or "none"
            print(f"| {name} | {told} | {given} | {whole:.4g} | {last:.4g} |", flush=True)


if __name__ == "__main__":
    main()
