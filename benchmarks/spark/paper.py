"""Where Spark begins to pay, on paper: arithmetic from the costs that scaling.py measured, for more cores than it had.

All costs are seconds of cores. Assumed, not measured: work on rows and keys divides evenly among cores, the fixed cost
of a job or batch stays what it is here and is not divided, and neither source, network nor disk is slower than the
cores. Skewed keys, slow storage and starved networks move every figure the wrong way.
"""

from __future__ import annotations

from typing import Any

import numpy as np

CORES = (10, 100, 1_000)
MANY_ROWS = 1e9
INTERVAL = 60.0
"""Seconds between micro-batches."""
SHARE = 0.5
"""Of the interval that a batch may take, so that a stream can catch up after a failure."""
KEYS = 1_000_000
LEAST = 1e-7
"""Seconds of a row, where measuring cannot tell it from 0."""


def printed(costs: dict[str, Any]) -> None:
    """Both tables, in Markdown, with the costs they come from."""
    _fit(costs["fit"])
    print()
    _keyed(costs["streams"])


def _fit(fit: dict[str, Any]) -> None:
    big, small = (fit[f"local[1], 1 partitions, {share}"]["cores"] for share in (1.0, 0.1))
    rows, merge, state = fit["rows"], fit["merge"], fit["state bytes"]
    row = (big - small) / (0.9 * rows)
    start = max(small - 0.1 * rows * row, 0.0)
    task = max(fit["local[1], 8 partitions, 0.1"]["cores"] - small, 0.0) / 7
    alone = fit["alone"]["cores"] / rows
    print(
        f"fit, {fit['features']} features: one process {1e6 * alone:.2f} microseconds a row; Spark {start:.2f} s a "
        f"fit, {task:.3f} s a partition, {1e6 * row:.2f} microseconds a row and core; a partial model {state} bytes, "
        f"{1000 * merge:.1f} ms to merge"
    )
    print("| cores | fixed, s | pays from, rows | 1e9 rows, one process, s | 1e9 rows, Spark, s | to the driver, MB |")
    print("|---|---|---|---|---|---|")
    for cores in CORES:
        partitions = 3 * cores
        fixed = start + partitions / cores * task + partitions * merge
        gain = alone - row / cores
        pays = f"{fixed / gain:,.0f}" if gain > 0 else "never"
        one, spark = MANY_ROWS * alone, fixed + MANY_ROWS * row / cores
        print(f"| {cores:,} | {fixed:.1f} | {pays} | {one:,.0f} | {spark:,.0f} | {partitions * state / 1e6:,.0f} |")


def _keyed(streams: list[dict[str, Any]]) -> None:
    start, row, key = _line(streams, "cores")
    _, row_alone, key_alone = _line(streams, "alone")
    row_alone = max(row_alone, LEAST)
    row = max(row, row_alone)  # a row that cannot be told from noise costs what it costs in one process, at least
    model = streams[-1]["model bytes"]
    written, shuffle = streams[-1]["checkpoint bytes"], streams[-1]["shuffle bytes"]
    print(
        f"keyed: one process {1e6 * row_alone:.1f} microseconds a row and {1e6 * key_alone:.0f} a key; Spark "
        f"{start:.2f} s a batch, {1e6 * row:.1f} microseconds a row and core, {1e6 * key:.0f} a key and core; a "
        f"model {model:.0f} bytes, {written:.0f} bytes of checkpoint a key and batch, {shuffle:.0f} of shuffle a row"
    )
    print(
        f"{KEYS:,} keys that all appear in a batch every {INTERVAL:.0f} s, of which it may take {SHARE:.0%}; state "
        f"{KEYS * model / 1e9:.1f} GB in all, checkpoint {KEYS * written / 1e9:.1f} GB a batch"
    )
    print("| cores | keys' own s a batch | rows/s at most | state a core, MB | shuffle, MB/s | checkpoint, MB/s |")
    print("|---|---|---|---|---|---|")
    for cores in CORES:
        own = KEYS * key / cores
        left = SHARE * INTERVAL - start - own
        rate = max(left, 0.0) * cores / row / INTERVAL
        shown = f"{rate:,.0f}" if rate > 0 else "none: the keys alone take longer"
        print(
            f"| {cores:,} | {own:.1f} | {shown} | {KEYS * model / cores / 1e6:,.0f} | {rate * shuffle / 1e6:,.0f} | "
            f"{KEYS * written / INTERVAL / 1e6:,.0f} |"
        )
    one = (SHARE * INTERVAL - KEYS * key_alone) / row_alone / INTERVAL
    print(f"one process: keys' own {KEYS * key_alone:.0f} s a batch, {max(one, 0.0):,.0f} rows/s at most, nothing kept")
    print("| cores | rows of 20 each a key, from which a batch is faster than one process |")
    print("|---|---|")
    each, each_alone = row + key / 20, row_alone + key_alone / 20
    for cores in CORES:
        gain = each_alone - each / cores
        print(f"| {cores:,} | {start / gain:,.0f} |" if gain > 0 else f"| {cores:,} | never |")


def _line(streams: list[dict[str, Any]], name: str) -> tuple[float, float, float]:
    """Seconds of a core for a batch, for a row and for a key; none below 0."""
    from scipy.optimize import nnls

    A = np.array([[1.0, stream["rows"], stream["keys"]] for stream in streams])
    seconds = np.array([stream[name] for stream in streams])
    weight = 1 / np.maximum(seconds, 1e-9)  # errors count relative to what was measured
    found, _ = nnls(A * weight[:, None], seconds * weight)
    return float(found[0]), float(found[1]), float(found[2])
