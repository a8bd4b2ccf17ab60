"""The automatic learner with no option on ten real streams, one pass (peers.py: beside other libraries).

    python benchmarks/accuracy/auto_streams.py [STREAM ...] [--rows 20000] [--memory 64MB ...] [--no-lags] [--json FILE]

Every row is predicted before its label is given. elec2, weather, covtype and mnist come in stored order, the others
shuffled with seed 0; of ijcnn1, cod-rna and mnist the training part, of covtype either all classes or class 2 against
the rest. Errors are error rates, or root mean squared errors for casp and cpusmall, also of the last third of
the rows; then log loss and expected calibration error (15 bins), rows per second (one thread) and bytes of the model,
for every one of the budgets. The files are looked for in
NYSTREAM_DATA (default: ../shared/data beside the repository), then downloaded. `--json FILE` keeps the figures.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from functools import lru_cache, partial
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import nystream
from nystream import datasets
from nystream.auto.learner import Auto

DATA = Path(os.environ.get("NYSTREAM_DATA", Path(__file__).resolve().parents[2].parent / "shared" / "data"))
PUBLISHED = {
    "elec2": 0.060,
    "weather": 0.182,
    "covtype2": 0.069,
    "covtype7": 0.128,
    "ijcnn1": 0.030,
    "cod-rna": 0.052,
    "usps": 0.047,
    "mnist": 0.053,
    "casp": 4.37,
    "cpusmall": 3.55,
}
"""What a NumPy prototype of the recipe reached on the first 20,000 rows."""
LEAST = 1e-6
"""Probabilities below count as this in the log loss, or a single zero would decide it."""
REGRESSION = ("casp", "cpusmall")
Block = tuple[np.ndarray, np.ndarray]


@lru_cache(maxsize=1)  # the two streams of covtype come one after the other
def _load(name: str, part: str = "all") -> Block:
    X, y = datasets.load(name, part, data=DATA if DATA.is_dir() else None)
    if datasets.find(name).task == "classification":
        y = np.searchsorted(np.unique(y), y).astype(float)
    return X, y


def _second_class() -> Block:
    X, y = _load("covtype")
    return X, (y == 1).astype(float)


READERS: dict[str, Callable[[], Block]] = {
    "elec2": partial(_load, "elec2"),
    "weather": partial(_load, "weather"),
    "covtype2": _second_class,
    "covtype7": partial(_load, "covtype"),
    "ijcnn1": partial(_load, "ijcnn1", "train"),
    "cod-rna": partial(_load, "cod-rna", "train"),
    "usps": partial(_load, "usps"),
    "mnist": partial(_load, "mnist", "train"),
    "casp": partial(_load, "casp"),
    "cpusmall": partial(_load, "cpusmall"),
}
ORDERED = ("elec2", "weather", "covtype2", "covtype7", "mnist")


def read(name: str, rows: int) -> Block:
    """The first rows of a stream, in the order stated above; class numbers from 0, in order of the labels."""
    X, y = READERS[name]()
    if name not in ORDERED:
        order = np.random.default_rng(0).permutation(len(X))
        X, y = X[order], y[order]
    return np.ascontiguousarray(X[:rows]), y[:rows]


def figures(p: np.ndarray, y: np.ndarray, P: np.ndarray | None = None, *, regression: bool) -> dict[str, float]:
    """Error of labels or values p, and of probabilities P (n, K) log loss and expected calibration error."""
    if regression:
        return {"error": float(np.sqrt(np.mean((p - y) ** 2)))}
    right = p == y
    error = {"error": float(1 - right.mean())}
    if P is None:
        return error
    top = P.max(axis=1)
    bins = np.minimum((top * 15).astype(int), 14)
    gaps = [abs(right[bins == b].sum() - top[bins == b].sum()) for b in range(15)]
    loss = -np.log(np.maximum(P[np.arange(len(y)), y.astype(int)], LEAST)).mean()
    return {**error, "log loss": float(loss), "ECE": float(sum(gaps) / len(y))}


def auto(X: np.ndarray, y: np.ndarray, regression: bool, lags: bool, memory: str) -> dict[str, float]:
    model = Auto(memory=memory, lags=lags, task="regression" if regression else "classification")
    start, most, parts = time.perf_counter(), 0, []
    for i in range(0, len(X), 256):
        parts.append(model.run(X[i : i + 256], y[i : i + 256]))
        most = max(most, model.nbytes)
    seconds = time.perf_counter() - start
    if regression:
        p = np.concatenate(parts)
        found = figures(p, y, regression=True)
    else:
        P = np.zeros((len(X), model.outputs_))
        row = 0
        for part in parts:
            P[row : row + len(part), : part.shape[1]] = np.exp(part)
            row += len(part)
        p = P.argmax(axis=1)
        found = figures(p, y, P, regression=False)
    late = slice(2 * len(y) // 3, None)
    third = figures(p[late], y[late], regression=regression)["error"]
    return {**found, "last third": third, "rows/s": len(X) / seconds, "bytes": most}


def main() -> None:
    from_command_line = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    from_command_line.add_argument("streams", nargs="*", default=list(READERS))
    from_command_line.add_argument("--rows", type=int, default=20_000)
    from_command_line.add_argument("--memory", nargs="+", default=["64MB"])
    from_command_line.add_argument("--no-lags", action="store_true")
    from_command_line.add_argument("--json", default=None)
    options = from_command_line.parse_args()
    found = {}
    for name in options.streams:
        X, y = read(name, options.rows)
        for memory in options.memory:
            told = name if len(options.memory) == 1 else f"{name} {memory}"
            found[told] = auto(X, y, name in REGRESSION, not options.no_lags, memory)
            text = "  ".join(f"{k} {v:,.4g}" if v < 1e4 else f"{k} {v:,.0f}" for k, v in found[told].items())
            print(f"{told:>9} {len(X):>6} x {X.shape[1]:<4} {text}  (prototype {PUBLISHED[name]:g})", flush=True)
    if options.json:
        about = {"nystream": nystream.__version__, "numpy": np.__version__, "python": platform.python_version()}
        Path(options.json).write_text(json.dumps({"versions": about, "rows": options.rows, "streams": found}, indent=1))


if __name__ == "__main__":
    main()
