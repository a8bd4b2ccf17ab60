"""Rows that are not the next one: learn the first 80% of a stream in its order, predict the last 20% without labels.

    python benchmarks/accuracy/later_rows.py [NAME ...] [--rows N] [--json FILE]

Six streams and three tables, at most 20,000 rows (elec2, weather and covtype2: 12,000). `Auto().predict` (of tables:
`Model().predict`) beside default LightGBM, default HistGradientBoosting and the `fit` of the scikit-learn facade on the
same rows. Tables go to the boosters with times as numbers, hours and weekdays, and strings as categories. Printed are
root mean squared errors, or error rates, each over the best of the row; the share of labels inside 90% intervals of
`Auto`, or its log loss and that of LightGBM; and, for comparison, the error with `ahead=1`, as if every row were the
next one. One thread. LightGBM: benchmarks/accuracy/environment-boosters.txt.
"""

from __future__ import annotations

import os

for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")  # before NumPy is loaded

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from mixed.reading import read as read_table
from refitted.streams import read as read_stream
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from nystream import Model
from nystream.sklearn import OnlineKernelClassifier, OnlineKernelRegressor

STREAMS = {"bike": 20_000, "beijing": 20_000, "casp": 20_000, "elec2": 12_000, "weather": 12_000, "covtype2": 12_000}
TABLES = ("flights_delay", "adult", "diamonds")
COVERAGE = 0.9
LEAST = 1e-6
"""Probabilities below count as this in the log loss."""
LEVELS = 200
"""Levels of a category that HistGradientBoosting takes, the most frequent ones."""


class Task(NamedTuple):
    """Rows for `Model`, rows for the boosters, and labels."""

    rows: Any
    numbers: pd.DataFrame
    y: np.ndarray
    classes: int


def load(name: str, rows: int | None) -> Task:
    if name in STREAMS:
        found = read_stream(name, rows or STREAMS[name])
        return Task(found.X, pd.DataFrame(found.X).add_prefix("x"), found.y, found.classes)
    table = read_table(name, rows)
    out: dict[str, Any] = {}
    for column, kind in table.kinds.items():
        values = table.columns[column]
        if kind == "number":
            out[column] = values
        elif kind == "time":
            when = pd.Series(values)
            out[f"{column} days"] = (when - pd.Timestamp(0)).dt.total_seconds() / 86400
            out |= {f"{column} hour": when.dt.hour, f"{column} weekday": when.dt.weekday}
        else:
            words = pd.Series(["" if v is None else v for v in values])
            out[column] = words.where(words.isin(words.value_counts().index[:LEVELS]), "other").astype("category")
    return Task(pd.DataFrame(table.columns), pd.DataFrame(out), table.y, table.classes)


def error(p: np.ndarray, y: np.ndarray, classes: int) -> float:
    return float(np.mean(p != y)) if classes else float(np.sqrt(np.mean((p - y) ** 2)))


def log_loss(P: np.ndarray, y: np.ndarray) -> float:
    return float(-np.log(np.maximum(P[np.arange(len(y)), y.astype(int)], LEAST)).mean())


def boosters(classes: int) -> dict[str, Any]:
    from lightgbm import LGBMClassifier, LGBMRegressor

    light, hist = (
        (LGBMClassifier, HistGradientBoostingClassifier) if classes else (LGBMRegressor, HistGradientBoostingRegressor)
    )
    return {
        "LightGBM": light(verbose=-1, n_jobs=1),
        "HistGradientBoosting": hist(categorical_features="from_dtype", random_state=0),
    }


def measure(task: Task) -> dict[str, Any]:
    n, y, classes = int(0.8 * len(task.y)), task.y, task.classes
    past, later = task.rows[:n], task.rows[n:]
    labels = y.astype(int) if classes else y
    errors: dict[str, float] = {}
    found: dict[str, Any] = {"rows": n, "errors": errors}
    model, start = Model(), time.perf_counter()
    model.run(past, [f"class {int(label)}" for label in y[:n]] if classes else y[:n])
    found["us a row"] = 1e6 * (time.perf_counter() - start) / n
    if classes:
        order = [int(str(name).split()[1]) for name in model.classes]
        P = np.zeros((len(y) - n, classes))
        P[:, order] = model.probabilities(later)
        errors["Auto"], found["log loss"] = error(P.argmax(axis=1), y[n:], classes), log_loss(P, y[n:])
        told = [int(str(name).split()[1]) for name in model.predict(later, ahead=1)]
        found["as if next"] = error(np.array(told), y[n:], classes)
    else:
        errors["Auto"] = error(model.predict(later), y[n:], 0)
        found["as if next"] = error(model.predict(later, ahead=1), y[n:], 0)
        low, high = model.predict_interval(later, COVERAGE)
        found["covered"] = float(np.mean((low <= y[n:]) & (y[n:] <= high)))
    facade = (OnlineKernelClassifier if classes else OnlineKernelRegressor)()
    errors["facade's fit"] = error(facade.fit(past, labels[:n]).predict(later), y[n:], classes)
    for name, booster in boosters(classes).items():
        booster.fit(task.numbers[:n], labels[:n])
        errors[name] = error(booster.predict(task.numbers[n:]), y[n:], classes)
        if classes:
            found[f"log loss of {name}"] = log_loss(booster.predict_proba(task.numbers[n:]), y[n:])
    found["ratio"] = errors["Auto"] / min(errors.values())
    return found


def shown(name: str, found: dict[str, Any]) -> str:
    best = min(found["errors"].values())
    parts = "  ".join(f"{who} {value:.4g} ({value / best:.3f})" for who, value in found["errors"].items())
    if "covered" in found:
        more = f"covered {found['covered']:.3f}"
    else:
        more = f"log loss {found['log loss']:.3f}, LightGBM {found['log loss of LightGBM']:.3f}"
    return f"{name:14} {found['rows']:>6,} rows  {parts}  {more}  as if next {found['as if next']:.4g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join((*STREAMS, *TABLES))}")
    parser.add_argument("--rows", type=int, help="the first rows of each")
    parser.add_argument("--json", type=Path, help="keep the figures")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    results = {}
    for name in asked.names or (*STREAMS, *TABLES):
        results[name] = measure(load(name, asked.rows))
        print(shown(name, results[name]), flush=True)
    ratios = np.array([found["ratio"] for found in results.values()])
    print(
        f"within 1.05 of the best: {int((ratios <= 1.05).sum())} of {len(ratios)}; the largest ratio {ratios.max():.3f}"
    )
    if asked.json:
        asked.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
