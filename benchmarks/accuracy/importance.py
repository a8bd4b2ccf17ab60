"""Importance of columns: a generated stream whose truth is known, and late flights. Numbers and figures.

Run: python benchmarks/accuracy/importance.py [--rows N] [--out FOLDER] [--only known|flights]

The generated stream has numbers, words, a date and columns of mere noise; half way the weight of two columns changes
places. Its truth is what the same measure says of the function that made it. Beside it stand what `Model.importance`
says on the last rows, which the model has learnt, and on rows that it has not. `flights_delay` is read from the folder
`tables` of NYSTREAM_DATA. Figures: bars with intervals, importance over the stream, and the course of one column.
"""

from __future__ import annotations

import os

for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"  # before NumPy is loaded

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
from mixed.reading import read

import nystream
from nystream import Model, Schema, plot
from nystream.explain import Importance, permutation_importance
from nystream.explain.errors import squared_error

NOISE = 0.5
LEVELS = {"ash": 0.0, "birch": 1.5, "cedar": -1.0, "fir": 0.5}
KINDS = {
    "before": "number",
    "after": "number",
    "pair_a": "number",
    "pair_b": "number",
    "wood": "category",
    "when": "time",
    "noise_1": "number",
    "noise_2": "number",
    "noise_3": "category",
}


def truth(columns: dict[str, Any], late: Any) -> np.ndarray:
    """The function that makes the labels: `before` counts in the first half, `after` in the second."""
    hour = columns["when"].astype("datetime64[h]").astype(np.int64) % 24
    level = np.array([LEVELS[word] for word in columns["wood"]])
    moved = np.where(late, columns["after"], columns["before"])
    return 2 * moved + columns["pair_a"] * columns["pair_b"] + level + np.sin(2 * np.pi * hour / 24)


def generated(n: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    found: dict[str, Any] = {}
    for name, kind in KINDS.items():
        if kind == "number":
            found[name] = rng.normal(size=n)
        elif kind == "category":
            words = list(LEVELS) if name == "wood" else [f"w{k}" for k in range(20)]
            found[name] = np.array(words, dtype=object)[rng.integers(len(words), size=n)]
        else:
            found[name] = np.datetime64("2024-01-01", "us") + np.arange(n) * np.timedelta64(7, "h")
    return found


def part(columns: dict[str, Any], rows: slice) -> list[dict[str, Any]]:
    names, values = list(columns), [columns[name][rows] for name in columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


def followed(
    model: Model, columns: dict[str, Any], y: np.ndarray, readings: int
) -> tuple[nystream.evaluate.Result, np.ndarray]:
    """The model over the rows, with readings of importance on the way, and the predictions."""
    n, said, at, shares = len(y), [], [], []
    for rows in np.array_split(np.arange(n), readings):
        piece = slice(int(rows[0]), int(rows[-1]) + 1)
        said.append(model.run(part(columns, piece), y[piece]))
        at.append(float(rows[-1] + 1))
        shares.append(model.importance())
    read_off = {f"importance[{name}]": np.array([share[name] for share in shares]) for name in shares[0]}
    result = nystream.evaluate.Result("Auto", "", {"n": np.array(at), **read_off}, {}, {"rows": n, "seconds": 0.0})
    return result, np.concatenate(said)


def known(rows: int, out: Path) -> None:
    columns = generated(rows, 0)
    late = np.arange(rows) >= rows // 2
    rng = np.random.default_rng(1)
    y = truth(columns, late) + NOISE * rng.normal(size=rows)
    model = Model(schema=Schema(KINDS, target="y", task="regression"))
    began = time.perf_counter()
    result, said = followed(model, columns, y, 12)
    print(
        f"generated: {rows:,} rows, mean squared error {np.mean((said - y)[rows // 2 :] ** 2):.3f} in the second half,"
    )
    print(f"noise {NOISE**2:.3f}; {time.perf_counter() - began:.0f} s with 12 readings of importance")
    fresh = generated(2000, 2)
    labels = truth(fresh, True) + NOISE * np.random.default_rng(3).normal(size=2000)
    error = squared_error(labels[:, None])
    right = permutation_importance(
        lambda c: truth(dict(c), True)[:, None], fresh, error.losses, unit=error.unit, constant=error.constant
    )
    began = time.perf_counter()
    last = model.importance()
    seconds = time.perf_counter() - began
    new = model.importance(part(fresh, slice(None)), labels)
    table(right, last, new)
    print(f"{seconds:.2f} s for importance; in words:")
    print(model.explain().splitlines()[0])
    one = part(fresh, slice(0, 1))[0]
    began = time.perf_counter()
    reasons = model.explain_row(one)
    print(f"\none row, {time.perf_counter() - began:.2f} s: {reasons}")
    gap = sum(reasons.values()) - (reasons.prediction - reasons.base)
    print(f"sum of the reasons less (prediction - mean): {gap:.1e}")
    plot.importance_chart(last, title="generated stream, at its end").savefig(out / "known.png")
    plot.importance_over_time(result, title="generated stream: half way, after takes the place of before").savefig(
        out / "known-over-time.png"
    )
    plot.partial_dependence(model, "wood", title="generated stream").savefig(out / "known-wood.png")


def table(right: Importance, last: Importance, new: Importance) -> None:
    told = {name: {c.column: c for c in found.columns} for name, found in (("last", last), ("new", new))}
    print(f"\n{'share of importance':19} {'truth':>8} {'last rows':>10} {'new rows':>10}   increase on new rows")
    for column in right.columns:
        a, b = told["last"][column.column], told["new"][column.column]
        print(
            f"{column.column:19} {column.share:8.1%} {a.share:10.1%} {b.share:10.1%}   "
            f"{b.increase:+8.1%}, {b.low:+.1%} to {b.high:+.1%}"
        )


def flights(rows: int, out: Path) -> None:
    data = read("flights_delay", rows)
    model = Model(schema=Schema(data.kinds, target="y", task="regression"))
    began = time.perf_counter()
    result, said = followed(model, data.columns, data.y, 12)
    print(f"\nflights_delay: {len(data):,} rows, {len(data.kinds)} columns, {time.perf_counter() - began:.0f} s")
    print(f"root mean squared error {data.error(data.losses(said)):.2f}")
    importance = model.importance()
    print(importance)
    print(model.explain().splitlines()[0])
    plot.importance_chart(importance, title="flights_delay, at its end").savefig(out / "flights.png")
    plot.importance_over_time(result, title="flights_delay").savefig(out / "flights-over-time.png")
    most = next(iter(importance))
    plot.partial_dependence(model, most, title="flights_delay").savefig(out / f"flights-{most}.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder of the figures")
    parser.add_argument("--only", choices=["known", "flights"])
    asked = parser.parse_args()
    asked.out.mkdir(parents=True, exist_ok=True)
    if asked.only != "flights":
        known(asked.rows, asked.out)
    if asked.only != "known":
        flights(asked.rows, asked.out)


if __name__ == "__main__":
    main()
