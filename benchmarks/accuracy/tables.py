"""The eight mixed tables: Auto with its encoder beside online peers and refitted boosters, prequential.

Run: python benchmarks/accuracy/tables.py [--rows N] [--table NAME ...] [--only WORD ...] [--out FILE]

Every row is predicted before its label is learnt. Printed are error rates or root mean squared errors over all rows
and over the second half, and rows per second of processor time. Boosters are refitted on all rows so far after 100,
250, 500, 1,000, 2,000, ... rows. VW and river get labels of regression scaled by the moments of the whole stream, which
flatters them. One thread.
"""

from __future__ import annotations

import os

for library in ("OPENBLAS", "OMP", "MKL"):
    os.environ[f"{library}_NUM_THREADS"] = "1"  # before NumPy is loaded

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

from mixed.ours import OURS
from mixed.reading import names, read


def contestants() -> dict[str, Any]:
    found = dict(OURS)
    try:
        from mixed.boosters import BOOSTERS
        from mixed.online import ONLINE
    except ImportError as error:
        print(f"without peers: {error}; pip install -r benchmarks/accuracy/environment-tables.txt")
        return found
    return {**found, **ONLINE, **BOOSTERS}


def measured(contestant: Any, table: Any) -> dict[str, float]:
    start = time.process_time()
    said = contestant(table)
    seconds = time.process_time() - start
    losses = table.losses(said)
    half = len(table) // 2
    return {"error": table.error(losses), "second half": table.error(losses[half:]), "rows/s": len(table) / seconds}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, help="the first rows of each table alone")
    parser.add_argument("--table", nargs="*", help="these tables alone")
    parser.add_argument("--only", nargs="*", help="contestants with these names, or whose names contain one")
    parser.add_argument("--out", type=Path, help="results as JSON")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    every = contestants()
    if asked.only:
        whole = [word for word in asked.only if word in every]
        parts = [word.lower() for word in asked.only if word not in every]
        every = {n: work for n, work in every.items() if n in whole or any(part in n.lower() for part in parts)}
    results: dict[str, Any] = {}
    for name in asked.table or names():
        table = read(name, asked.rows)
        results[name] = {}
        what = f"{table.classes} classes, error rate" if table.classes else "RMSE"
        print(f"\n{name}: {len(table):,} rows, {len(table.kinds)} columns, {what}")
        for contestant, work in every.items():
            found = results[name][contestant] = measured(work, table)
            print(
                f"  {contestant:30} {found['error']:>10.4f}   second half {found['second half']:>10.4f}   "
                f"{found['rows/s']:>8,.0f} rows/s",
                flush=True,
            )
    if asked.out:
        asked.out.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
