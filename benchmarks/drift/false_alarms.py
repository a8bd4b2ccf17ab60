"""False drift alarms of `Auto`: stationary rows with a column that grows or repeats.

    python benchmarks/drift/false_alarms.py [KIND ...] [--rows 5000] [--seeds 0 1 2 3 4 5] [--labels signal noise]

Every stream has four normal columns and one more: a date (seconds, one row an hour), a counter of rows, an odometer
that grows by random amounts, the hour of the day, the day of the year (one row a day), a season of 8,766 rows with
noise, or a time in words as a column of a table (through `Model`). Labels are a nonlinear function of the normal
columns, and of the hour or the day, with noise ("signal"); or noise alone ("noise"). The function never changes, so
every alarm is a false one. Warnings (a shift of the inputs that the loss does not confirm) are counted beside the
alarms. The wanted result is at most one alarm in all.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from datetime import datetime, timedelta
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from nystream import Auto, Model

HOUR = 3600.0
KINDS = ("date", "counter", "odometer", "daily cycle", "yearly cycle", "noisy season", "table with a time")
BEGIN = datetime(2021, 3, 1)


def column(kind: str, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """(n,) a column that grows or repeats, and what it adds to the label."""
    t = np.arange(n, dtype=float)
    hour, day = t % 24, (59 + t) % 365.25
    daily, yearly = np.sin(2 * np.pi * hour / 24), np.cos(2 * np.pi * day / 365.25)
    found = {
        "date": (BEGIN.timestamp() + HOUR * t, 0 * t),
        "counter": (t, 0 * t),
        "odometer": (12_000 + np.cumsum(rng.exponential(3.0, n)), 0 * t),
        "daily cycle": (hour, daily),
        "yearly cycle": (day, yearly),
        "noisy season": (np.sin(2 * np.pi * t / 8766) + 0.7 * rng.normal(size=n), 0 * t),
        "table with a time": (t, daily),
    }
    return found[kind]


def stream(kind: str, labels: str, seed: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows (n, d), the kind's column last, and labels."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    Z, noise = rng.normal(size=(n, 4)), rng.normal(size=n)
    more, added = column(kind, rng, n)
    function = np.sin(Z[:, 0] * 1.5) + Z[:, 1] * Z[:, 2] + 0.5 * Z[:, 3] + added
    return np.column_stack([Z, more]), noise if labels == "noise" else function + 0.3 * noise


def learn(kind: str, labels: str, seed: int, n: int) -> Any:
    """A model that has learnt one stream."""
    X, y = stream(kind, labels, seed, n)
    if kind != "table with a time":
        model = Auto(task="regression")
        model.run(X, y)
        return model
    times = [(BEGIN + timedelta(hours=h)).isoformat(sep=" ") for h in X[:, -1]]
    table = {"when": times, **{f"x{j}": X[:, j] for j in range(4)}}
    model = Model(Auto(task="regression"))
    model.run(table, y)
    return model


def count(model: Any) -> tuple[int, int, Counter[str]]:
    """Alarms, warnings, and the causes of the alarms."""
    alarms = model.alarms()
    warnings = len(model.alarms(warnings=True)) - len(alarms)
    return len(alarms), warnings, Counter(alarm.cause for alarm in alarms)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("kinds", nargs="*", metavar="KIND", help=f"default: all of {', '.join(KINDS)}")
    options.add_argument("--rows", type=int, default=5000)
    options.add_argument("--seeds", type=int, nargs="+", default=list(range(6)))
    options.add_argument("--labels", nargs="+", choices=("signal", "noise"), default=["signal", "noise"])
    given = options.parse_args()
    print("| column | labels | alarms by seed | causes | warnings by seed |\n|---|---|---|---|---|")
    total = 0
    for kind in given.kinds or KINDS:
        for labels in given.labels:
            found = [count(learn(kind, labels, seed, given.rows)) for seed in given.seeds]
            causes = sum((causes for _, _, causes in found), Counter())
            total += sum(alarms for alarms, _, _ in found)
            each = [" ".join(str(one[k]) for one in found) for k in (0, 1)]
            named = ", ".join(f"{cause} {many}" for cause, many in causes.items()) or "none"
            print(f"| {kind} | {labels} | {each[0]} | {named} | {each[1]} |", flush=True)
    print(f"\nFalse alarms in all: {total}; wanted: at most one")
    return int(total > 1)


if __name__ == "__main__":
    sys.exit(main())
