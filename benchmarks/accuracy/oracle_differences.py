"""How far every learner is from its definition written slowly: one table, the largest difference of predictions.

    python benchmarks/accuracy/oracle_differences.py [--part second|first|other] [--streams N] [NAME ...]

Streams of 300 rounds with noisy labels; where "repeats" stands, every third point of the later half is an earlier one
with a new label. The definitions (whole Gram matrices, explicit features, a fresh solve or search in every round) and
the cases are those of the tests: tests/oracles. Three ways through a stream: `run` on
all rows at once, `run` on blocks of 1 to 60 rows, and a loop of `step`. A row that differs by more than it may is
marked, and the exit code is then 1. NAME is a class or its name in the registry.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy is loaded
sys.path[:0] = [str(Path(__file__).parents[2] / "tests"), str(Path(__file__).parents[2] / "tests" / "helpers")]

from oracles.cases import PARTS, chosen
from oracles.cases.base import ROUNDS, Case, largest

WIDTHS = (41, 26, 72)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--streams", type=int, default=3, help="streams of each case, at least 1 (default 3)")
    given = parser.parse_args(arguments)
    try:
        cases = chosen(given.part, given.names)
    except ValueError as error:
        parser.error(str(error))
    if given.streams < 1 or not cases:
        parser.error("no stream to run" if cases else f"no case of {', '.join(given.names)} in part {given.part}")
    return report(cases, given.streams)


def report(cases: list[Case], streams: int) -> int:
    """Print the table; 1 where a learner is further from its definition than it may be, else 0."""
    print(line("learner", "loss", "setting", "rounds", "streams", "run", "blocks", "step", "may be"))
    start, failed, part = time.perf_counter(), [], None
    for case in cases:
        if case.part != part:
            part = case.part
            print(f"-- {part}")
        found = largest(case, streams)
        numbers = [f"{value:.1e}" for value in (found.run, found.blocks, found.step, case.tolerance)]
        good = found.worst <= case.tolerance  # False for nan
        text = line(f"{case.learner} {case.variant}".strip(), case.loss, case.setting, ROUNDS, streams, *numbers)
        print(text + ("" if good else "  <- differs"), flush=True)
        failed += [] if good else [case.name]
    took = time.perf_counter() - start
    print(f"\n{len(cases)} cases, {streams} streams each, {took:.0f} s; {len(failed)} differ by more than they may")
    return 1 if failed else 0


def line(learner: str, loss: str, setting: str, *numbers: object) -> str:
    texts = [text.ljust(width) for text, width in zip((learner, loss, setting), WIDTHS, strict=True)]
    return " ".join(texts) + "".join(f"{number!s:>9}" for number in numbers)


if __name__ == "__main__":
    sys.exit(main())
