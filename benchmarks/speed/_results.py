"""What a benchmark has measured, also for machines: `make bench` gathers it in benchmarks/results/speed.json."""

from __future__ import annotations

import json
import os

__all__ = ["VARIABLE", "note"]

VARIABLE = "NYSTREAM_BENCH"
"""Names the file that notes are added to, one line of JSON each."""


def note(
    workload: str,
    mode: str,
    value: float,
    unit: str,
    ratio: float | None = None,
    reference: str = "",
    *,
    before: float | None = None,
    limit: float | None = None,
) -> None:
    """A figure of this run, and how many times better it is than the reference that was measured beside it.

    `mode`: what of the workload was measured, such as "row by row" or "whole stream"; `unit`: "us", "rows/s", ...;
    `before`: the same figure of an earlier commit; `limit`: the best that it could be on this machine.
    """
    path = os.environ.get(VARIABLE)
    if path:
        line = {"workload": workload, "mode": mode, "value": float(value), "unit": unit}
        line |= {"ratio": None if ratio is None else float(ratio), "reference": reference}
        line |= {name: float(found) for name, found in (("before", before), ("limit", limit)) if found is not None}
        with open(path, "a") as file:
            file.write(json.dumps(line) + "\n")
