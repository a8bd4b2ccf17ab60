"""Measure every learner on three fixed streams: `python docs/make_learners.py [NAME ...]` writes docs/learners.json.

The table "Which learner?" and the figures of the pages of the algorithms are made from that file. Every learner is
what `nystream race` would start (`nystream.model.building.build`), with a Gaussian kernel whose width is the median
distance of the standardised rows; nothing is tuned. Each row is predicted before it is learnt. Rows per second are of
processor time, one thread, whole stream in one block, the best of two runs; they depend on the machine, so read their
ratios.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is imported

import json
import platform
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import nystream
from nystream.model.building import build
from nystream.registry import LEARNERS, find
from nystream.scaling.distance import median_distance

RESULTS = Path(__file__).with_name("learners.json")
ROWS, EVERY = 4000, 100
STREAMS: dict[str, tuple[str, str, Any]] = {
    "bumps": (
        "regression",
        "a sum of Gaussian bumps over two columns, with noise; no drift",
        lambda: nystream.streams.bumps(ROWS, seed=0),
    ),
    "friedman": (
        "regression",
        f"Friedman's function of five of ten columns; the columns swap their roles after row {ROWS // 2:,}",
        lambda: nystream.streams.friedman(ROWS, drift="abrupt", at=ROWS // 2, seed=0),
    ),
    "turning": (
        "classification",
        "two classes, each a mixture of two Gaussians, which rotate once around the origin",
        lambda: nystream.streams.drifting_gaussians(ROWS, seed=0),
    ),
}
"""Name -> task, what it is, the stream."""


def measured(name: str, stream: str) -> dict[str, Any]:
    """Error, rows per second and the error of every stretch of 100 rows, of one learner on one stream."""
    task, _, make = STREAMS[stream]
    X, y = make().load()
    settings = {"loss": "epsilon_insensitive"} if name == "passive-aggressive" and task == "regression" else {}
    sigma = median_distance(((X - X.mean(0)) / X.std(0))[:400])
    labels = (y > 0).astype(float) if task == "classification" else y
    seconds = []
    for _ in range(2):
        learner = build(name, task, settings, sigma=sigma)
        began = time.process_time()
        p = learner.run(X, labels)
        seconds.append(time.process_time() - began)
    losses = loss(p, labels, task)
    return {"error": error(losses, labels, task), "rows_per_second": ROWS / min(seconds)} | {
        "bytes": learner.nbytes,
        "curve": [error(part, labels, task) for part in np.split(losses, ROWS // EVERY)],
    }


def loss(p: Any, y: Any, task: str) -> Any:
    """Squared errors of numbers; 1 for every wrong class."""
    return (p - y) ** 2 if task == "regression" else (p.argmax(axis=1) != y).astype(float)


def error(losses: Any, y: Any, task: str) -> float:
    """Root mean squared error as a share of the labels' deviation; share of wrong classes."""
    return float(np.sqrt(losses.mean() / y.var()) if task == "regression" else losses.mean())


def all_of(name: str) -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        able = [stream for stream, (task, _, _) in STREAMS.items() if task in LEARNERS[name].tasks]
        return {stream: measured(name, stream) for stream in able}


def rounded(value: Any) -> Any:
    """Four digits are enough for a figure, and keep the file small."""
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [rounded(item) for item in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def main(names: list[str]) -> None:
    found = json.loads(RESULTS.read_text())["learners"] if names and RESULTS.exists() else {}
    for name in [find(name).name for name in names] or LEARNERS:
        found[name] = rounded(all_of(name))
        shown = "  ".join(
            f"{stream} {of['error']:.3f} {of['rows_per_second']:>9,.0f} rows/s" for stream, of in found[name].items()
        )
        print(f"{name:25s} {shown}", flush=True)
    versions = {"python": platform.python_version(), "numpy": np.__version__, "nystream": nystream.__version__}
    streams = {name: {"task": task, "what": what, "rows": ROWS} for name, (task, what, _) in STREAMS.items()}
    record = {"versions": versions, "machine": platform.machine(), "streams": streams, "every": EVERY}
    record["learners"] = {name: found[name] for name in LEARNERS if name in found}
    RESULTS.write_text(write(record))


def write(record: dict[str, Any]) -> str:
    """Return the figures as JSON, one learner a line."""
    head = {key: value for key, value in record.items() if key != "learners"}
    lines = [f"{json.dumps(name)}:{json.dumps(of, separators=(',', ':'))}" for name, of in record["learners"].items()]
    return json.dumps(head, separators=(",", ":"))[:-1] + ',\n"learners":{\n' + ",\n".join(lines) + "}}\n"


if __name__ == "__main__":
    main(sys.argv[1:])
