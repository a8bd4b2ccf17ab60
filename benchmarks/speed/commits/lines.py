"""One table of the speed work, a line for each workload: before, now, and the limit of this machine.

    python benchmarks/speed/commits/lines.py [--before COMMIT] [--go-on] [--rounds 2] [--table]     or: make bench-lines

Every learner is measured row by row and as a whole stream, with the workloads of `make bench-compare`. An earlier
commit (built in out/compare and kept) and the present one run in turns. Then the scripts of benchmarks/speed for
starting, moves of landmarks and reading of files run. results/lines.json is written after every few lines. With
--go-on, lines of the same earlier commit that are in the file stay. results/lines.md is the table for the docs; --table
writes only this. With --names, only these workloads are measured: their lines replace those of the same earlier commit.
For another earlier commit, they are shown and no file is written.

The limit of a whole stream is the longer of two times: the multiplications and additions of the cost in
`nystream.registry` at the speed of dgemm, and reading the rows. The limit of a single row is a bare call of a Python
method plus the longer of the multiplications and additions and reading once the numbers that the round needs, at the
speed at which this machine reads as many numbers again and again. One thread; processor time.
"""

from __future__ import annotations

import os

ONE = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NYSTREAM_THREADS"), "1")
os.environ.update(ONE)  # before NumPy is loaded

import argparse
import datetime
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from compare import TURNS, Key, Times, built, measure, sides
from compare import run as output_of
from limits import bare_call, flops, reading

from nystream.registry import LEARNERS
from run import FOLDER, figure, measured, processor

RESULTS = Path(__file__).parents[2] / "results" / "lines.json"
BEFORE = "45bb842"
"""The commit before the speed work."""
SCRIPTS = ("start", "nolana_moves", "reading")
"""Of benchmarks/speed, those that note a limit and can be told of an earlier installation."""
FEW = 6
"""Learners that are measured together, and then written down."""
READ = {"NYSTREAM_ROWS": "60000"}
HEAD = "| workload | mode | before | now | limit | before / now | now / limit |\n|---|---|---:|---:|---:|---:|---:|"
Line = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", metavar="COMMIT", default=BEFORE)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--names", nargs="+", help="learners; default: all, and the scripts")
    parser.add_argument("--go-on", action="store_true", help="only lines that the file does not have")
    parser.add_argument("--table", action="store_true", help="measure nothing; the table of the lines that are there")
    given = parser.parse_args()
    there: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    written = True
    if not given.table:
        commit = output_of(["git", "rev-parse", "--verify", f"{given.before}^{{commit}}"])
        kept = (given.go_on or given.names) and there.get("before") == commit
        written = bool(kept or not given.names)
        there = {**circumstances(commit), "lines": there["lines"] if kept else []}
        done = {line["workload"] for line in there["lines"]} if given.go_on else set()
        for found in lines(built(commit), given.names, done, given.rounds):
            known = {(line["workload"], line["mode"]): line for line in [*there["lines"], *found]}
            there["lines"] = list(known.values())  # each where it was first
            if written:
                RESULTS.write_text(json.dumps(there, indent=1) + "\n")
    if written:
        RESULTS.with_suffix(".md").write_text(page(there))
    print(table(there["lines"]))


def circumstances(before: str) -> dict[str, Any]:
    return {
        "before": before,
        "now": output_of(["git", "describe", "--always", "--dirty=+", "--exclude=*", "--abbrev=40"]),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "processor": processor(),
        "load": round(os.getloadavg()[0], 1),
        "dgemm": flops(),
    }


# -- what is measured --------------------------------------------------------------------------------------------------
def lines(site: Path, names: list[str] | None, done: set[str], rounds: int) -> Iterator[list[Line]]:
    """Some lines at a time."""
    with sides(site) as both:
        known = both["after"].ask()
    if unknown := set(names or ()) - set(known["names"]):
        sys.exit(f"no workload {', '.join(sorted(unknown))}; there are {', '.join(known['names'])}")
    todo = [name for name in names or known["names"] if name not in done]
    for i in range(0, len(todo), FEW):
        some = todo[i : i + FEW]
        keys = [(name, mode) for name in some for mode in known["modes"] if (name, mode) != ("pixels", "row by row")]
        times: dict[Key, Times] = {}
        measure(site, keys, times, rounds, TURNS)
        with sides(site) as both:
            yield [of_learner(key, times[key], both["after"].ask) for key in keys]
    earlier = interpreter(site)
    os.environ.update(READ)
    for name in () if names else SCRIPTS:
        if name not in done:
            code, result = measured(FOLDER / f"{name}.py", "--before", str(earlier))
            if code:
                print(f"{name} has failed", file=sys.stderr)
            yield [
                {"script": name, "unit": line["unit"], "workload": line["workload"], "mode": line["mode"]}
                | {"before": line.get("before"), "now": line["value"], "limit": line.get("limit")}
                for line in (result["lines"] if not code else ())
            ]


def of_learner(key: Key, times: Times, ask: Callable[..., dict[str, Any]]) -> Line:
    """Microseconds of a row."""
    name, mode = key
    line: Line = {"workload": name, "mode": mode, "unit": "us"}
    if "after" not in times.seconds:
        return line | {"before": None, "now": None, "limit": None, "error": times.error}
    before = times.microseconds("before") if "before" in times.seconds else None
    sizes = ask(name=name, rows=times.rows) if name in LEARNERS else {}
    most = None if "sizes" not in sizes else multiply_adds(name, sizes)
    line |= {"rows": times.rows, "before": before, "now": times.microseconds("after"), "error": times.error}
    if most is None:
        return line | {"limit": None}
    computing = 2 * most / flops()
    if mode == "whole stream":
        return line | {"limit": 1e6 * max(computing, reading(8 * times.rows * sizes["columns"]) / times.rows)}
    return line | {"limit": 1e6 * (bare_call() + max(computing, reading(min(8 * most, sizes["bytes"]))))}


def multiply_adds(name: str, sizes: dict[str, Any]) -> float | None:
    """Of a row, by its cost, the mean along the stream; of learners of mistakes only a kernel row, which is all that
    most of their rows need. Letters of small things count as 1; None where the cost is none of letters."""
    cost = "m d" if LEARNERS[name].guarantee.startswith("mistakes") else LEARNERS[name].cost
    found = [_multiply_adds(cost, sizes["columns"], size) for size in sizes["sizes"]]
    return None if None in found else float(np.mean(np.array(found, dtype=float)))


def _multiply_adds(cost: str, columns: int, size: int) -> float | None:
    letters = dict.fromkeys("rmWt", size) | {"d": columns, "nonzeros": columns}
    total = 0.0
    for term in cost.split(" + "):
        product = 1.0
        for factor in term.split():
            found = re.fullmatch(r"(nonzeros|[a-zA-Z])(?:\^(\d))?(?:/(\d+))?", factor)
            if found is None:
                return None
            product *= letters.get(found[1], 1) ** int(found[2] or 1) / int(found[3] or 1)
        total += product
    return total


def interpreter(site: Path) -> Path:
    """One that has the package of before."""
    path = site.parent / "python"
    path.write_text(f'#!/bin/sh\nPYTHONPATH="{site}" exec "{sys.executable}" "$@"\n')
    path.chmod(0o755)
    return path


# -- the page ----------------------------------------------------------------------------------------------------------
def page(there: dict[str, Any]) -> str:
    return "\n".join(
        [
            "# Before, now, and the limit",
            "",
            f"This page compares the speed of each workload before the speed work (commit {there['before'][:10]}), now "
            f"(commit {there['now'][:10]}), and at the limit of the machine. The limit is an estimate of the shortest "
            "possible time. The figures are microseconds of processor time per row with one thread, unless a cell "
            "names another unit. `before / now` above 1 means that nystream became faster. `now / limit` is how many "
            "times slower than the limit nystream is.",
            "",
            "How the limits are computed:",
            "",
            "- Whole stream: the multiplications and additions of the stated cost, at the speed of dgemm (the matrix "
            "product of the BLAS library), or the time to read the rows, whichever is longer.",
            "- Row by row: a call of an empty Python method, plus the longer of two times: that of the multiplications "
            "and additions, and that of reading once the numbers that the row needs.",
            "- Learners that learn after mistakes: only the cost of a prediction is counted, since most rows need no "
            "more.",
            "- The last lines (starting, a round with a move, two cores): the scripts in `benchmarks/speed` describe "
            "their limits.",
            "",
            "A cell is empty if no limit is known, or if the earlier commit does not have the workload. `auto` now "
            "does more than in the earlier commit: the Laplacian experts and drift handling were added later.",
            "",
            "`make bench-lines` measures and writes this page. It runs both commits in turns, and can add lines in "
            f"several runs (`GO_ON=1`). Last run: {there['date'][:10]}, {there['processor']}, dgemm "
            f"{there['dgemm'] / 1e9:.0f} GF/s, load {there['load']:g}.",
            "",
            table(there["lines"]),
            "",
        ]
    )


def table(found: list[Line]) -> str:
    return "\n".join([HEAD, *map(row, found)])


def row(line: Line) -> str:
    before, now, limit = (line[name] for name in ("before", "now", "limit"))
    more = line["unit"] == "rows/s"  # the more the better

    def ratio(a: float | None, b: float | None) -> str:
        if not a or not b:
            return ""
        return f"{b / a if more else a / b:.2f}"

    unit = "" if line["unit"] == "us" else f" {line['unit']}"
    cells = ["" if value is None else f"{figure(value)}{unit}" for value in (before, now, limit)]
    return f"| {line['workload']} | {line['mode']} | {' | '.join(cells)} | {ratio(before, now)} | {ratio(now, limit)} |"


if __name__ == "__main__":
    main()
