"""The automatic learner with no option on ten real streams, one pass, beside what users would otherwise run.

    python benchmarks/accuracy/auto_streams.py [STREAM ...] [--rows 20000] [--no-lags] [--peers] [--river]

Every row is predicted before its label is given. elec2, weather, covtype and mnist come in stored order, the others
shuffled with seed 0. Errors are error rates, or root mean squared errors for casp and cpusmall; then log loss and
expected calibration error (15 bins), rows per second (one thread) and bytes of the model. `--peers`: linear ridge,
no-change, scikit-learn's Nystroem(1000) and RBFSampler(1000) + SGD in blocks of 100, standardised, gamma 1/d;
`--river`: adaptive random forest, Hoeffding adaptive tree and nearest neighbours, which are slow. The files are looked
for in NYSTREAM_DATA (default: ../shared/data beside the repository). `--json FILE` keeps the figures.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import platform
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from auto_peers import peers

import nystream
from nystream import streams
from nystream.learners.auto import Auto

DATA = Path(os.environ.get("NYSTREAM_DATA", Path(__file__).parents[2].parent / "shared" / "data"))
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
REGRESSION = ("casp", "cpusmall")
Block = tuple[np.ndarray, np.ndarray]


def _numbers(y: np.ndarray) -> np.ndarray:
    return np.searchsorted(np.unique(y), y).astype(float)


def _file(name: str, **options: object) -> Block:
    X, y = streams.open_stream(DATA / name, **options).load()
    return np.asarray(X, dtype=float), np.asarray(y, dtype=float)


def _weather() -> Block:
    X = np.genfromtxt(_text("weather/NEweather_data.csv.xz"), delimiter=",")
    return X, np.genfromtxt(_text("weather/NEweather_class.csv.xz"), delimiter=",")


def _text(name: str) -> str:
    return str(DATA / name)


def _usps() -> Block:
    parts = [_file(f"usps/{name}.bz2", d=256) for name in ("usps", "usps.t")]
    X, y = (np.concatenate(p) for p in zip(*parts, strict=True))
    return X, _numbers(y)


def _mnist() -> Block:
    with (
        gzip.open(DATA / "mnist/train-images-idx3-ubyte.gz") as images,
        gzip.open(DATA / "mnist/train-labels-idx1-ubyte.gz") as labels,
    ):
        X = np.frombuffer(images.read(), np.uint8, offset=16).reshape(-1, 784)
        return X.astype(float), np.frombuffer(labels.read(), np.uint8, offset=8).astype(float)


def _covtype() -> Block:
    return _file("covtype/covtype.data.gz", labels=range(1, 8))


def _coded(name: str) -> Block:
    X, y = _file(name)
    return X, _numbers(y)


READERS: dict[str, Callable[[], Block]] = {
    "elec2": lambda: _coded("elec2/elecNormNew.arff.xz"),
    "weather": _weather,
    "covtype2": lambda: (lambda X, y: (X, (y == 1).astype(float)))(*_covtype()),
    "covtype7": _covtype,
    "ijcnn1": lambda: _coded("ijcnn1/ijcnn1.bz2"),
    "cod-rna": lambda: _coded("cod-rna/cod-rna.bz2"),
    "usps": _usps,
    "mnist": _mnist,
    "casp": lambda: _file("casp/CASP.csv.xz", target="RMSD"),
    "cpusmall": lambda: _file("cpusmall/cpusmall.bz2"),
}
ORDERED = ("elec2", "weather", "covtype2", "covtype7", "mnist")


def read(name: str, rows: int) -> Block:
    """The first rows of a stream, in the order stated above; class numbers from 0, in order of the labels."""
    X, y = READERS[name]()
    if name not in ORDERED:
        order = np.random.default_rng(0).permutation(len(X))
        X, y = X[order], y[order]
    return np.ascontiguousarray(X[:rows]), y[:rows]


def figures(P: np.ndarray, y: np.ndarray, regression: bool) -> dict[str, float]:
    """Error, and for probabilities P (n, K) log loss and expected calibration error."""
    if regression:
        return {"error": float(np.sqrt(np.mean((P - y) ** 2)))}
    right = P.argmax(axis=1) == y
    if P.shape[1] <= y.max():
        return {"error": float(1 - right.mean())}
    top = P.max(axis=1)
    bins = np.minimum((top * 15).astype(int), 14)
    gaps = [abs(right[bins == b].sum() - top[bins == b].sum()) for b in range(15)]
    loss = -np.log(np.maximum(P[np.arange(len(y)), y.astype(int)], 1e-12)).mean()
    return {"error": float(1 - right.mean()), "log loss": float(loss), "ECE": float(sum(gaps) / len(y))}


def auto(X: np.ndarray, y: np.ndarray, regression: bool, lags: bool) -> dict[str, float]:
    model = Auto(lags=lags, task="regression" if regression else "classification")
    start, most, parts = time.perf_counter(), 0, []
    for i in range(0, len(X), 256):
        parts.append(model.run(X[i : i + 256], y[i : i + 256]))
        most = max(most, model.nbytes)
    seconds = time.perf_counter() - start
    if regression:
        P = np.concatenate(parts)
    else:
        P = np.zeros((len(X), model.outputs_))
        row = 0
        for part in parts:
            P[row : row + len(part), : part.shape[1]] = np.exp(part)
            row += len(part)
    return {**figures(P, y, regression), "rows/s": len(X) / seconds, "bytes": most}


def main() -> None:
    from_command_line = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    from_command_line.add_argument("streams", nargs="*", default=list(READERS))
    from_command_line.add_argument("--rows", type=int, default=20_000)
    from_command_line.add_argument("--no-lags", action="store_true")
    from_command_line.add_argument("--peers", action="store_true")
    from_command_line.add_argument("--river", action="store_true")
    from_command_line.add_argument("--json", default=None)
    options = from_command_line.parse_args()
    found = {}
    for name in options.streams:
        X, y = read(name, options.rows)
        regression = name in REGRESSION
        rows = {"Auto": auto(X, y, regression, not options.no_lags)}
        if options.peers or options.river:
            rows |= peers(X, y, regression, figures, river=options.river)
        found[name] = rows
        for label, values in rows.items():
            text = "  ".join(f"{k} {v:,.4g}" if v < 1e4 else f"{k} {v:,.0f}" for k, v in values.items())
            goal = f"  (prototype {PUBLISHED[name]:g})" if label == "Auto" else ""
            print(f"{name:>9} {len(X):>6} x {X.shape[1]:<4} {label:<18} {text}{goal}", flush=True)
    if options.json:
        about = {"nystream": nystream.__version__, "numpy": np.__version__, "python": platform.python_version()}
        Path(options.json).write_text(json.dumps({"versions": about, "rows": options.rows, "streams": found}, indent=1))


if __name__ == "__main__":
    main()
