"""Bytes at equal error: the smallest size at which a bounded learner reaches a fixed error, and the bytes of its model.

    python benchmarks/scale/memory.py [--out FOLDER]        (data: the folder NYSTREAM_DATA, default ../shared/data)

Streams: 10,000 rows of ijcnn1 and cod-rna (error rate) and all rows of cpusmall (mean squared error over the variance).
The rows are shuffled once and the columns are standardised beforehand. The kernel is a Gaussian of width sqrt(d / 2).
Step sizes and ridges are the defaults, except for SETTINGS. The error is that of the second half, where each row is
predicted before it is learnt. Sizes are powers of two; the first one whose error is at most 2 percent above the target
of the stream counts. The targets are about the errors of 256 to 512 random features. They were fixed before the first
run. A learner that does not reach the target, or would take more than LONGEST seconds for a run, has a dash. Writes
memory.json and memory.md.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is loaded

import argparse
import datetime
import json
import platform
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np

import nystream
from nystream.model.building import build
from nystream.registry import LEARNERS

SIZES = [2**k for k in range(4, 12)]
LONGEST, NEAR = 20.0, 1.02
TARGETS = {"ijcnn1": 0.07, "cod-rna": 0.08, "cpusmall": 0.1}
GROWS = {
    "dim": ["fogd", "rrf", "pkawv", "pkrr", "ons", "sketched-ons", "forgetting"],
    "landmarks": ["nogd", "nolana"],
    "max_atoms": ["nystrom-pkawv", "nystrom-pkrr"],
    "budget": ["norma", "silk", "svmd", "random-budget-perceptron", "forgetron", "projectron", "budget-pa", "bsgd"],
    "window": ["kernel-smoother"],
}
"""What is doubled, and in which learners."""
SETTINGS: dict[str, dict[str, Any]] = {
    "norma": {"keep": "support"},
    "forgetting": {"decay": 0.999},
    "bsgd": {"lam": 1e-4},
    "projectron": {"tol": 0.0},
    "nystrom-pkawv": {"beta": 1000.0},
    "nystrom-pkrr": {"beta": 1000.0},
}


def stream(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Standardised columns; labels -1/+1, or standardised ones."""
    folder = Path(os.environ.get("NYSTREAM_DATA", Path(__file__).parents[3] / "shared" / "data"))
    X, y = nystream.streams.libsvm(str(folder / name / f"{name}.bz2")).load()
    order = np.random.default_rng(0).permutation(len(X))[:10_000]
    X, y = X[order], np.asarray(y, dtype=float)[order]
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    return X, (y - y.mean()) / y.std() if name == "cpusmall" else np.where(y > 0, 1.0, -1.0)


def made(name: str, parameter: str, size: int, d: int, regression: bool) -> Any:
    """The learner of that size, or None where it does not learn numbers."""
    settings = dict(SETTINGS.get(name, {}))
    if parameter != "dim":
        settings[parameter] = size
    if regression and "loss" in LEARNERS[name].cls._names():
        settings["loss"] = "squared"
    try:
        learner = build(name, None, settings, sigma=(d / 2) ** 0.5, dim=size, seed=0)
    except ValueError:
        return None
    return None if regression and learner.labels != "real" else learner


def least(name: str, parameter: str, X: np.ndarray, y: np.ndarray, target: float) -> dict[str, Any] | None:
    """The first size that is good enough."""
    regression = len(np.unique(y)) > 2
    half = len(X) // 2
    for size in SIZES:
        learner = made(name, parameter, size, X.shape[1], regression)
        if learner is None:
            return None
        began = time.process_time()
        p, late = learner.run(X, y)[half:], y[half:]
        error = np.mean((p - late) ** 2) / late.var() if regression else np.mean(p * late <= 0)
        if error <= NEAR * target:
            return {"size": size, "parameter": parameter, "bytes": learner.nbytes, "error": float(error)}
        if 2 * (time.process_time() - began) > LONGEST:
            return None
    return None


def table(results: dict[str, Any]) -> str:
    """The page."""
    head = "| learner | " + " | ".join(f"{name}: size | bytes | error" for name in TARGETS) + " |"
    lines = [head, "|---" * (1 + 3 * len(TARGETS)) + "|"]
    for name, found in results["learners"].items():
        cells = []
        for case in TARGETS:
            row = found[case]
            cells += [str(row["size"]), f"{row['bytes']:,}", f"{row['error']:.4f}"] if row else ["-", "-", "-"]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    targets = ", ".join(f"{name} {target:g}" for name, target in TARGETS.items())
    return "\n".join(
        [
            "# Bytes at equal error",
            "",
            "This page shows how many bytes each learner needs to reach the same error. The size of a learner is its "
            "number of random features, landmarks, stored points, or rows of a window. The sizes "
            f"{SIZES[0]}, {2 * SIZES[0]}, {4 * SIZES[0]}, ..., {SIZES[-1]} are tried in this order. The table gives "
            "the first size at which the error is at most 2 percent above the target of the stream, the bytes of the "
            "model at this size, and its error.",
            "",
            f"The targets are {targets}. The error of ijcnn1 and cod-rna is the error rate. The error of cpusmall is "
            "the mean squared error divided by the variance of the labels. A dash means that no size reaches the "
            f"target, that a run would take more than about {LONGEST:g} seconds, or that the learner does not learn "
            "labels of this kind.",
            "",
            f"`python benchmarks/scale/memory.py` measures and writes this page, and its help text describes the "
            f"method. Measured on {results['date']} with commit {results['commit'][:10]}.",
            "",
            *lines,
            "",
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "results")
    out = parser.parse_args().out
    git = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip() or "unknown"
    learners: dict[str, Any] = {name: {} for names in GROWS.values() for name in names}
    for case, target in TARGETS.items():
        X, y = stream(case)
        for parameter, names in GROWS.items():
            for name in names:
                learners[name][case] = found = least(name, parameter, X, y, target)
                print(case, name, found, flush=True)
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    results = {"commit": commit, "date": date, "machine": platform.machine(), "targets": TARGETS, "learners": learners}
    (out / "memory.json").write_text(json.dumps(results, indent=1) + "\n")
    (out / "memory.md").write_text(table(results))


if __name__ == "__main__":
    main()
