"""Auto after changes of a stream, against a fresh copy of itself that begins at the change.

    python benchmarks/drift/auto_drift.py [STREAM ...] [--seeds 0 1 2] [--cache FILE] [--print] [--chart FILE.svg]

Streams of drift_streams.py: generated ones for every seed, real ones (names as in auto_streams.py, "shuffled ...",
"permuted ...": shuffled with columns that change places) once; "larger", "larger, another", "smaller", "level" and
"twice", whose labels are wild for what was there before or which change twice, only by name. Loss: squared error, or
log loss (probabilities at least 1e-6). For every change and L = 200, 500, 1000, 2000, 4000 rows after it: the loss over
that of the fresh copy, of `Auto()` and of `Auto(changes=False)`; met is at most 1.10. Where nothing changes, the loss
over that of `Auto(changes=False)` from two starts; met is at most 1.02, and every alarm is a false one. CPU seconds and
the largest `nbytes` (blocks of 256 rows) over those of `Auto(changes=False)`. What was run is kept in the cache and not
run again; `--print` only prints what is there. `--chart`: losses of one stream over rows, with the alarms.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from drift_streams import GENERATED, PERMUTED, REAL, SCALED, SHUFFLED, Stream, stream

from nystream import Auto

SEEDED = (*GENERATED, *SCALED)
CACHE = Path(__file__).resolve().parents[2] / "out" / "auto_drift.json"
LENGTHS = (200, 500, 1000, 2000, 4000)
STRETCHES = ((0, 200), (200, 500), (500, 1000), (1000, 2000), (6000, 8000))
LEAST = 1e-6
MET, UNTOUCHED = 1.10, 1.02
WINDOW = 100
"""Rows whose mean loss is a point of the chart."""
EXCHANGEABLE = ("none", "none, classes")
"""Streams, beside the shuffled ones, where every alarm is a false one."""


def learnt(data: Stream, start: int = 0, **options: Any) -> tuple[np.ndarray, dict[str, Any]]:
    """Losses from a row on, and CPU seconds, largest bytes, alarms."""
    model = Auto(task="regression" if data.regression else "classification", **options)
    X, y, losses, most = data.X[start:], data.y[start:], [], 0
    began = time.process_time()
    for i in range(0, len(X), 256):
        part = slice(i, i + 256)
        P = model.run(X[part], y[part])
        most = max(most, model.nbytes)
        if data.regression:
            losses.append((P - y[part]) ** 2)
        else:
            losses.append(-np.maximum(P[np.arange(len(P)), y[part].astype(int)], np.log(LEAST)))
    about: dict[str, Any] = {"seconds": time.process_time() - began, "bytes": most}
    if model.can("alarms"):
        about["alarms"] = [[a.row, a.change, a.cause, a.outcome, a.until, list(a.columns)] for a in model.alarms()]
    return np.concatenate(losses), about


def cells(name: str, seed: int) -> dict[str, Any]:
    """Everything that is told of one stream."""
    data = stream(name, seed)
    ours, about = learnt(data)
    plain, usual = learnt(data, changes=False)
    found: dict[str, Any] = {
        "rows": len(data.y),
        "changes": data.changes,
        "alarms": about["alarms"],
        "time": about["seconds"] / usual["seconds"],
        "memory": about["bytes"] / usual["bytes"],
        "loss": [float(ours.mean()), float(plain.mean())],
        "curves": {"Auto": _windows(ours), "without watching": _windows(plain)},
        "cells": [],
        "untouched": [],
    }
    ends = [*data.changes[1:], len(data.y)]
    for start, end in zip(data.changes, ends, strict=False):
        fresh, _ = learnt(Stream(data.X[:end], data.y[:end], data.regression, []), start, changes=False)
        found["curves"][f"fresh at {start:,}"] = [None] * (start // WINDOW) + _windows(fresh)
        for length in (n for n in LENGTHS if start + n <= end):
            part = slice(start, start + length)
            best = fresh[:length].sum()
            found["cells"].append([start, length, float(ours[part].sum() / best), float(plain[part].sum() / best)])
        if name == "user":
            found["stretches"] = [
                [a, b, *(float(v[start + a : start + b].mean()) for v in (plain, ours)), float(fresh[a:b].mean())]
                for a, b in STRETCHES
            ]
    if not data.changes:
        for start in (3500, 6000):
            for length in (n for n in LENGTHS if start + n <= len(data.y)):
                part = slice(start, start + length)
                found["untouched"].append([start, length, float(ours[part].sum() / plain[part].sum())])
    return found


def _windows(losses: np.ndarray) -> list[float]:
    whole = len(losses) // WINDOW * WINDOW
    return [float(f"{v:.5g}") for v in losses[:whole].reshape(-1, WINDOW).mean(axis=1)]


def run(names: list[str], seeds: list[int], cache: Path) -> dict[str, dict[str, Any]]:
    known: dict[str, dict[str, Any]] = json.loads(cache.read_text()) if cache.exists() else {}
    for name in names:
        for seed in seeds if name in SEEDED else [0]:
            key = f"{name}/{seed}"
            if key in known:
                continue
            known[key] = cells(name, seed)
            part = cache.with_suffix(".part")
            part.write_text(json.dumps(known))
            part.replace(cache)
            told = " ".join(f"{row}({since}){outcome}" for row, since, _, outcome, _, _ in known[key]["alarms"][:6])
            ratios = " ".join(f"{c[2]:.2f}" for c in known[key]["cells"])
            print(f"{key}: {ratios}  {told}", file=sys.stderr, flush=True)
    return known


def told(known: dict[str, dict[str, Any]], seeds: list[int]) -> None:
    """The tables."""
    by_stream = defaultdict(list)
    for key, found in known.items():
        name, seed = key.rsplit("/", 1)
        if int(seed) in seeds or name not in SEEDED:
            by_stream[name].append((int(seed), found))
    print("| change | seeds | without watching / fresh | Auto / fresh | worst | rows to the alarm (put at) |")
    print("|---|---|---|---|---|---|")
    met = total = 0
    for name, entries in by_stream.items():
        table = defaultdict(list)
        for _, found in entries:
            for _, length, ours, plain in found["cells"]:
                table[length].append((plain, ours))
                met, total = met + (ours <= MET), total + 1
        if not table:
            continue
        columns = [np.array(table[n]) for n in LENGTHS if n in table]
        means = [" ".join(f"{c[:, k].mean():.2f}" for c in columns) for k in (0, 1)]
        worst = " ".join(f"{c[:, 1].max():.2f}" for c in columns)
        delays = ", ".join(_delay(found) for _, found in entries)
        print(f"| {name} | {len(entries)} | {means[0]} | {means[1]} | {worst} | {delays} |")
    print(f"\nCells at most {MET:.2f} of fresh: {met} of {total} ({met / max(total, 1):.1%})\n")
    print("| nothing changes | loss, without watching -> Auto | alarms | worst Auto / without watching |")
    print("|---|---|---|---|")
    false = rows = good = of = 0
    for name, entries in by_stream.items():
        if name in (*EXCHANGEABLE, *SHUFFLED):
            false += sum(len(found["alarms"]) for _, found in entries)
            rows += sum(found["rows"] for _, found in entries)
        ratios = [c[2] for _, found in entries for c in found["untouched"]]
        if ratios:
            good, of = good + sum(r <= UNTOUCHED for r in ratios), of + len(ratios)
            a, b = np.mean([found["loss"] for _, found in entries], axis=0)
            outcomes = [alarm[3] for _, found in entries for alarm in found["alarms"]]
            counted = ", ".join(f"{outcomes.count(o)} {o}" for o in dict.fromkeys(outcomes)) or "0"
            print(f"| {name} | {b:.5g} -> {a:.5g} | {counted} | {max(ratios):.3f} |")
    print(f"\nCells at most {UNTOUCHED:.2f} of Auto without watching: {good} of {of}")
    print(f"False alarms where rows are exchangeable: {false} in {rows:,} rows")
    times, bytes_ = ([found[k] for e in by_stream.values() for _, found in e] for k in ("time", "memory"))
    if times:
        print(f"CPU time over that without watching: median {np.median(times):.2f}, most {max(times):.2f};", end=" ")
        print(f"bytes: median {np.median(bytes_):.2f}, most {max(bytes_):.2f}")
    for seed, found in by_stream.get("user", []):
        print(f"\n| rows after (seed {seed}) | without watching | fresh | Auto |\n|---|---|---|---|")
        for a, b, plain, ours, fresh in found["stretches"]:
            print(f"| {a}-{b} | {plain:.2f} | {fresh:.2f} | {ours:.2f} |")


def _delay(found: dict[str, Any]) -> str:
    """Of the first alarm after each change."""
    parts = []
    for start, end in zip(found["changes"], [*found["changes"][1:], found["rows"]], strict=False):
        first = next((a for a in found["alarms"] if start < a[0] <= end), None)
        parts.append("none" if first is None else f"{first[0] - start}({first[1] - start:+d})")
    return " ".join(parts)


def chart(found: dict[str, Any], title: str, path: Path) -> None:
    """Losses over rows, the changes, and the alarms with what became of them."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(9, 4.2), layout="constrained")
    for (name, curve), style in zip(found["curves"].items(), ("-", "--", ":", ":", ":"), strict=False):
        x = WINDOW * (np.arange(len(curve)) + 0.5)
        axes.plot(x, np.array(curve, dtype=float), style, label=name, linewidth=1.8 if style == "-" else 1.2)
    for start in found["changes"]:
        axes.axvline(start, color="0.8", linewidth=6, zorder=0)
    top = axes.get_ylim()[1]
    for row, _, _, outcome, until, _ in found["alarms"]:
        axes.axvline(row, color="tab:red", linewidth=0.8)
        axes.annotate(f"alarm, {outcome} at {until:,}", (row, top), (4, -4), textcoords="offset points", rotation=90,
                      va="top", fontsize=8, color="tab:red")  # fmt: skip
    axes.set(xlabel="rows", ylabel=f"mean loss of {WINDOW} rows", title=title)
    axes.legend(frameon=False, loc="upper left")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("streams", nargs="*", help="default: all")
    options.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options.add_argument("--cache", type=Path, default=CACHE)
    options.add_argument("--print", action="store_true")
    options.add_argument("--chart", type=Path)
    given = options.parse_args()
    names = given.streams or [*GENERATED, *REAL, *SHUFFLED, *PERMUTED]
    given.cache.parent.mkdir(exist_ok=True)
    known = run([] if given.print else names, given.seeds, given.cache)
    wanted = {key: found for key, found in known.items() if key.rsplit("/", 1)[0] in names}
    told(wanted, given.seeds)
    if given.chart is not None:
        key = f"{names[0]}/{given.seeds[0] if names[0] in SEEDED else 0}"
        chart(known[key], key.replace("/", ", seed "), given.chart)


if __name__ == "__main__":
    main()
