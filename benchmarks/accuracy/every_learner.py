"""Every learner of `nystream list` on one regression and one classification stream, with its defaults.

Run: python benchmarks/accuracy/every_learner.py [FILE] [--target NAME] [--rows N] [--learner NAME ...] [--out FILE]

Learners are made as `nystream run --learner NAME` makes them. Printed are the squared error over that of the running
mean, the error rate over that of the most frequent class so far, or the one line of a refusal. A learner
above 1 is worse than doing nothing, and the command then ends with an error. Without FILE two generated streams with
numbers, a category and a boolean are learnt; with it its target decides the task.
"""

from __future__ import annotations

import os

for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"  # before NumPy is loaded

import argparse
import csv
import json
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from nystream.cli.rows import open_rows
from nystream.cli.source import opened
from nystream.evaluate import prequential
from nystream.model import Model
from nystream.model.building import build
from nystream.registry import LEARNERS

WORST = 1.0
"""Of what doing nothing gives."""


def generated(folder: Path, rows: int) -> dict[str, Path]:
    """One file for each task: Friedman's function of five numbers, a shop with an effect, a boolean without."""
    rng = np.random.default_rng(0)
    paths = {task: folder / f"{task}.csv" for task in ("regression", "classification")}
    X, shop = rng.random((rows, 5)), rng.integers(6, size=rows)
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4] + shop
    y = f + rng.normal(size=rows)
    for task, path in paths.items():
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["a", "b", "c", "d", "e", "shop", "open", "target"])
            for t in range(rows):
                label = round(float(y[t]), 4) if task == "regression" else "high" if y[t] > np.median(y) else "low"
                row = [round(float(v), 4) for v in X[t]]
                writer.writerow([*row, f"shop {shop[t]}", bool(rng.random() < 0.5), label])
    return paths


def outcome(name: str, path: Path, target: list[str] | None, rows: int) -> dict[str, Any]:
    """The error as a share of doing nothing, and rows a second; or the refusal."""
    try:
        source = opened(open_rows(str(path), target=target, rows=rows))
        sigma = source.width(standardized=True)
        model = Model(build(name, source.task, sigma=sigma, kinds=source.schema.kinds), source.schema)
        metric = "accuracy" if source.task == "classification" else "of_mean"
        start = time.process_time()
        result = prequential(source, model, [metric, "mse"] if metric == "of_mean" else [metric], every=rows)
    except ValueError as error:
        return {"refused": str(error)}
    seconds = time.process_time() - start
    share = result.final[metric] if metric == "of_mean" else (1 - result.final[metric]) / _majority(path, target, rows)
    return {"share": share, "rows/s": result.rows / seconds}


def _majority(path: Path, target: list[str] | None, rows: int) -> float:
    """Error rate of the most frequent class so far."""
    counts: dict[Any, int] = {}
    wrong = n = 0
    for block in open_rows(str(path), target=target, rows=rows).blocks(256):
        for label in block.labels:
            best = max(counts, key=lambda k: counts[k]) if counts else None
            wrong, n = wrong + (label != best), n + 1
            counts[label] = counts.get(label, 0) + 1
    return wrong / n


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, nargs="?")
    parser.add_argument("--target", action="append")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--learner", nargs="*", help="these learners alone")
    parser.add_argument("--out", type=Path, help="results as JSON")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    results: dict[str, dict[str, Any]] = {}
    worse: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        paths = {asked.file.name: asked.file} if asked.file else generated(Path(folder), asked.rows)
        for title, path in paths.items():
            print(f"\n{title}, {asked.rows:,} rows: error as a share of that of the mean or of the most frequent class")
            for name in asked.learner or LEARNERS:
                found = outcome(name, path, asked.target, asked.rows)
                results.setdefault(title, {})[name] = found
                if "refused" in found:
                    print(f"  {name:24} refused: {found['refused']}", flush=True)
                    continue
                bad = not found["share"] <= WORST
                worse += [f"{name} ({title})"] if bad else []
                mark = "   WORSE" if bad else ""
                print(f"  {name:24} {found['share']:8.3f} {found['rows/s']:>10,.0f} rows/s{mark}", flush=True)
    if asked.out:
        asked.out.write_text(json.dumps(results, indent=1) + "\n")
    if worse:
        sys.exit(f"worse than doing nothing: {', '.join(worse)}")
    print("\nno learner is worse than doing nothing")


if __name__ == "__main__":
    main()
