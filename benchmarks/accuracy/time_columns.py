"""Tables with one time column: the numbers that a time becomes, before and now, for the next row and for later rows.

Run: python benchmarks/accuracy/time_columns.py [--rows N] [--table NAME ...]

Before: a time was days since the first row, log(1 + minutes since the row before), and sine and cosine of day, week and
year. Now: sine and cosine of day, week and year, the hour with its fraction, and the weekday. Both have the mean labels
by hour and weekday besides. "No time" leaves the column out.

Printed are error rates, or root mean squared errors over the deviation of the labels. "Next row": every row is
predicted before its label is learnt, by `Auto()`. "Later rows": the first 80 percent are learnt, the last 20 percent
predicted. The column "Auto" is `Auto(lags=False, changes=False)`, which still has experts that forget; "kernel ridge"
is ridge regression on 500 Nystrom features of the same dense columns, without answers of the sparse experts, its
kernel, width and ridge chosen on the last fifth of the rows learnt.
"""

from __future__ import annotations

import os

for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"  # before NumPy is loaded

import argparse
import csv
import itertools
import lzma
from typing import Any

import numpy as np
from mixed.reading import FOLDER, MixedTable, read
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge

from nystream import Auto
from nystream.data.batch import Batch
from nystream.learners.translator import Translator

DATA = FOLDER.parent
DAY, WEEK, YEAR = 86400e6, 7 * 86400e6, 365.2425 * 86400e6
TIME = "when"


# -- tables ----------------------------------------------------------------------------------------------------------
def bike() -> MixedTable:
    rows = _read_rows("bike-sharing/hour.csv.xz")
    times = [f"{row['dteday']}T{int(row['hr']):02d}" for row in rows]
    numbers = {name: [row[name] for row in rows] for name in ("weathersit", "temp", "atemp", "hum", "windspeed")}
    return _table("bike", times, numbers, {}, [float(row["cnt"]) for row in rows])


def beijing() -> MixedTable:
    every = _read_rows("beijing-pm25/PRSA_data_2010.1.1-2014.12.31.csv.xz")
    rows = [row for row in every if row["pm2.5"] != "NA"]
    times = [f"{row['year']}-{int(row['month']):02d}-{int(row['day']):02d}T{int(row['hour']):02d}" for row in rows]
    numbers = {name: [row[name] for row in rows] for name in ("DEWP", "TEMP", "PRES", "Iws", "Is", "Ir")}
    return _table("beijing", times, numbers, {"cbwd": [row["cbwd"] for row in rows]}, [row["pm2.5"] for row in rows])


def elec2() -> MixedTable:
    """Half hours from 7 May 1996 on: 45,312 rows without a gap."""
    with lzma.open(DATA / "elec2" / "elecNormNew.arff.xz", "rt") as file:
        rows = [line.strip().split(",") for line in file if line[:1].isdigit()]
    times = np.datetime64("1996-05-07", "us") + np.arange(len(rows)) * np.timedelta64(30, "m")
    names = ("nswprice", "nswdemand", "vicprice", "vicdemand", "transfer")
    numbers = {name: [row[3 + j] for row in rows] for j, name in enumerate(names)}
    return _table("elec2", times, numbers, {}, [row[-1] == "UP" for row in rows], classes=2)


def _read_rows(path: str) -> list[dict[str, str]]:
    with lzma.open(DATA / path, "rt", newline="") as file:
        return list(csv.DictReader(file))


def _table(name: str, times: Any, numbers: Any, categories: Any, y: Any, classes: int = 0) -> MixedTable:
    columns = {TIME: np.array(times, dtype="datetime64[us]")}
    columns |= {column: np.array(values, dtype=float) for column, values in numbers.items()}
    columns |= {column: np.array(values, dtype=object) for column, values in categories.items()}
    kinds = {TIME: "time"} | dict.fromkeys(numbers, "number") | dict.fromkeys(categories, "category")
    return MixedTable(name, kinds, columns, np.array(y, dtype=float), classes)


TABLES = {"bike": bike, "beijing": beijing, "elec2": elec2} | {
    name: (lambda name=name: read(name)) for name in ("flights_late", "flights_delay", "birds", "tweets")
}


def part(table: MixedTable, rows: slice) -> MixedTable:
    columns = {name: values[rows] for name, values in table.columns.items()}
    return MixedTable(table.name, table.kinds, columns, table.y[rows], table.classes)


# -- ways to give a time ---------------------------------------------------------------------------------------------


def no_time(table: MixedTable) -> MixedTable:
    kinds = {name: kind for name, kind in table.kinds.items() if name != TIME}
    return MixedTable(table.name, kinds, {name: table.columns[name] for name in kinds}, table.y, table.classes)


class Before:
    """The columns of a time as they were, made row by row; the last row that was learnt is remembered."""

    def __init__(self) -> None:
        self.first: float | None = None
        self.last: float | None = None

    def __call__(self, table: MixedTable, *, is_learnt: bool = True) -> MixedTable:
        times = table.columns[TIME]
        at = np.where(np.isnat(times), np.nan, times.view(np.int64).astype(float))
        known = at[~np.isnan(at)]
        self.first = known[0] if self.first is None else self.first
        if is_learnt:
            before = np.concatenate([[at[0] if self.last is None else self.last], at[:-1]])
            self.last = known[-1]
        else:
            before = np.full(len(at), self.last)
        numbers = {"days": (at - self.first) / DAY, "gap": np.log1p(np.maximum(at - before, 0) / 60e6)}
        for name, period in (("day", DAY), ("week", WEEK), ("year", YEAR)):
            numbers |= {f"sine of {name}": np.sin(2 * np.pi * at / period)}
            numbers |= {f"cosine of {name}": np.cos(2 * np.pi * at / period)}
        hours = times.astype("datetime64[h]").astype(np.int64)
        levels = {"hour": hours % 24, "weekday": (hours // 24 + 3) % 7}
        words = {name: np.array([str(v) for v in values], dtype=object) for name, values in levels.items()}
        plain = no_time(table)
        kinds = dict.fromkeys(numbers, "number") | dict.fromkeys(words, "category") | plain.kinds
        return MixedTable(table.name, kinds, numbers | words | plain.columns, table.y, table.classes)


# -- errors ----------------------------------------------------------------------------------------------------------
def next_row(table: MixedTable) -> float:
    auto = _started(table, Auto())
    return _error(table, auto.run(Batch(table.columns, table.kinds), table.y), table.y.std())


def later_rows(learnt: MixedTable, later: MixedTable) -> float:
    auto = _started(learnt, Auto(lags=False, changes=False))
    auto.run(Batch(learnt.columns, learnt.kinds), learnt.y)
    return _error(later, auto.predict(Batch(later.columns, later.kinds)), learnt.y.std())


def later_rows_by_ridge(learnt: MixedTable, later: MixedTable) -> float:
    translator = Translator(learnt.classes > 0)
    translator.start(learnt.kinds, max(1, learnt.classes))
    X = translator.run(Batch(learnt.columns, learnt.kinds), learnt.y[:, None]).dense
    Z = translator.predict(Batch(later.columns, later.kinds)).dense
    own = [j for j, owner in enumerate(translator.owners) if owner]
    X, Z = X[:, own], Z[:, own]
    cut, rng = int(0.8 * len(X)), np.random.default_rng(0)
    tried = rng.permutation(cut)[:6000]
    errors = {
        choice: _error(part(learnt, slice(cut, None)), _ridge(X[tried], learnt, tried, X[cut:], *choice), 1.0)
        for choice in itertools.product(("rbf", "laplacian"), (0.3, 1.0, 3.0), (0.1, 1.0))
    }
    used = rng.permutation(len(X))[:8000]
    P = _ridge(X[used], learnt, used, Z, *min(errors, key=errors.__getitem__))
    return _error(later, P, learnt.y.std())


def _ridge(X: Any, table: MixedTable, rows: Any, Z: Any, kernel: str, width: float, ridge: float) -> Any:
    y = table.y[rows]
    Y = (y[:, None] == np.arange(table.classes)).astype(float) if table.classes else y[:, None]
    mean, scale = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    scale = np.where(scale > 0, scale, np.inf)
    X, Z = (np.nan_to_num((rows - mean) / scale) for rows in (X, Z))
    features = Nystroem(kernel=kernel, gamma=width / X.shape[1], n_components=min(500, len(X)), random_state=0).fit(X)
    return Ridge(ridge).fit(features.transform(X), Y).predict(features.transform(Z))


def _started(table: MixedTable, auto: Auto) -> Auto:
    if not table.classes:
        return auto
    auto = auto.for_classes()
    auto.reserve_for(Batch(table.columns, table.kinds), table.classes)
    return auto


def _error(table: MixedTable, P: Any, deviation: float) -> float:
    P = np.asarray(P).reshape(len(table), -1)
    found = table.error(table.losses(P.argmax(axis=1).astype(float) if table.classes else P[:, 0]))
    return found if table.classes else found / deviation


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=18000, help="the first rows of each table alone")
    parser.add_argument("--table", nargs="*", default=list(TABLES), choices=list(TABLES))
    asked = parser.parse_args()
    print(f"{'table':14} {'time as':8}  next row  later rows: Auto  kernel ridge")
    for name in asked.table:
        table = part(TABLES[name](), slice(0, asked.rows))
        cut = int(0.8 * len(table))
        learnt, later = part(table, slice(0, cut)), part(table, slice(cut, None))
        before = Before()
        pairs = {
            "no time": (no_time(table), no_time(learnt), no_time(later)),
            "before": (Before()(table), before(learnt), before(later, is_learnt=False)),
            "now": (table, learnt, later),
        }
        for way, (whole, first, last) in pairs.items():
            errors = next_row(whole), later_rows(first, last), later_rows_by_ridge(first, last)
            print(f"{name:14} {way:8}  {errors[0]:8.4f}  {errors[1]:16.4f}  {errors[2]:12.4f}", flush=True)


if __name__ == "__main__":
    main()
